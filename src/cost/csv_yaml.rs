//! Parses a hand-written inventory: CSV with the columns `resource,objects,bytesPerObject`, or YAML by resource.

use std::collections::BTreeMap;

use super::inventory::InventoryEntry;
use crate::files::yaml::{self, YamlNode, YamlValue};
use crate::files::{FileErrors, FilePosition, expected};

/// The maximum number of objects of a resource. No cluster has more: etcd can store at most a few hundred million
/// keys.
const MAX_OBJECTS: u64 = 1_000_000_000;
/// The maximum size of an object, in bytes. etcd accepts 1.5 MB by default.
const MAX_OBJECT_BYTES: u64 = 100_000_000;

/// The maximum size of a YAML inventory, in bytes: enough for a hundred thousand resources.
const MAX_YAML_BYTES: usize = 16 << 20;

/// The columns of the CSV, and the keys of the YAML.
const RESOURCE: &str = "resource";
const OBJECTS: &str = "objects";
const BYTES: &str = "bytesPerObject";

/// Collects the entries and the errors of one file.
struct InventoryReader<'a> {
    file: &'a str,
    errors: FileErrors,
    /// The entries by resource, each with its line number.
    entries: BTreeMap<String, (InventoryEntry, u64)>,
}

impl<'a> InventoryReader<'a> {
    fn new(file: &'a str) -> Self {
        Self { file, errors: FileErrors::default(), entries: BTreeMap::new() }
    }

    fn error(&mut self, at: FilePosition, message: impl Into<String>) {
        self.errors.add(self.file, at, message);
    }

    fn finish(mut self) -> Result<BTreeMap<String, InventoryEntry>, FileErrors> {
        if self.entries.is_empty() && self.errors.0.is_empty() {
            self.error(
                FilePosition::START,
                format!("the inventory has no resource; write {RESOURCE},{OBJECTS},{BYTES}"),
            );
        }
        if !self.errors.0.is_empty() {
            self.errors.0.sort_by_key(|error| error.at);
            return Err(self.errors);
        }
        Ok(self.entries.into_iter().map(|(name, (entry, _))| (name, entry)).collect())
    }

    fn resource(&mut self, at: FilePosition, name: &str, entry: InventoryEntry) {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            self.error(
                at,
                format!(
                    "'{name}' is not a resource name; write it as in reports, such as pods or deployments.apps"
                ),
            );
        } else if let Some((_, line)) = self.entries.get(name) {
            let line = *line;
            self.error(at, format!("'{name}' is a duplicate of line {line}; remove one"));
        } else {
            if entry.objects.is_none() && entry.bytes_per_object.is_none() {
                self.error(at, format!("'{name}' has neither {OBJECTS} nor {BYTES}; add one"));
            }
            self.entries.insert(name.to_owned(), (entry, at.line));
        }
    }

    fn number(&mut self, at: FilePosition, what: &str, value: Result<u64, String>) -> Option<u64> {
        let (least, most) = if what == BYTES { (1, MAX_OBJECT_BYTES) } else { (0, MAX_OBJECTS) };
        let message = match value {
            Ok(value) if (least..=most).contains(&value) => return Some(value),
            Ok(value) => format!("{what} is {value}, but must be between {least} and {most}"),
            Err(text) => format!("{what} is '{text}', but must be a whole number between {least} and {most}"),
        };
        self.error(at, message);
        None
    }
}

/// Returns the column separator, or `None` if the text is not CSV. The first line that is not a comment decides. In
/// CSV, this line has a comma, a semicolon or a tab, and does not look like YAML. Spreadsheets write semicolons or
/// tabs.
pub(super) fn separator(text: &str) -> Option<char> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let is_yaml = first.contains(": ") || first.starts_with(['{', '[', '-']);
    [',', ';', '\t'].into_iter().find(|separator| !is_yaml && first.contains(*separator))
}

/// Parses CSV.
///
/// # Errors
/// Returns all errors in the file.
pub(super) fn csv(
    file: &str,
    text: &str,
    separator: char,
) -> Result<BTreeMap<String, InventoryEntry>, FileErrors> {
    let mut reader = InventoryReader::new(file);
    let mut csv_reader = csv::ReaderBuilder::new()
        .delimiter(u8::try_from(separator).unwrap_or(b','))
        .comment(Some(b'#'))
        .flexible(true)
        .trim(csv::Trim::All)
        .has_headers(false)
        .from_reader(text.as_bytes());
    let mut columns: Option<[Option<usize>; 3]> = None;
    for record in csv_reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let line = error.position().map_or(1, csv::Position::line);
                reader.error(FilePosition { line, column: 1 }, format!("not valid CSV: {error}"));
                break;
            }
        };
        let line = record.position().map_or(1, csv::Position::line);
        match columns {
            None => match header(&mut reader, line, &record) {
                Some(header) => columns = Some(header),
                None => break,
            },
            Some(columns) => row(&mut reader, text, line, &record, (columns, separator)),
        }
    }
    reader.finish()
}

/// Finds the index of each column.
fn header(
    reader: &mut InventoryReader<'_>,
    line: u64,
    record: &csv::StringRecord,
) -> Option<[Option<usize>; 3]> {
    let find = |name: &str| record.iter().position(|field| field.eq_ignore_ascii_case(name));
    let columns = [RESOURCE, OBJECTS, BYTES].map(find);
    let at = FilePosition { line, column: 1 };
    let before = reader.errors.0.len();
    for field in record {
        if ![RESOURCE, OBJECTS, BYTES].iter().any(|name| name.eq_ignore_ascii_case(field)) {
            reader.error(
                at,
                format!("no such column '{field}'{}", expected(field, [RESOURCE, OBJECTS, BYTES])),
            );
        }
    }
    if columns[0].is_none() || (columns[1].is_none() && columns[2].is_none()) {
        reader.error(at, format!("the first line must name the columns: {RESOURCE},{OBJECTS},{BYTES}"));
    }
    (reader.errors.0.len() == before).then_some(columns)
}

fn row(
    reader: &mut InventoryReader<'_>,
    text: &str,
    line: u64,
    record: &csv::StringRecord,
    (columns, separator): ([Option<usize>; 3], char),
) {
    let start = FilePosition { line, column: 1 };
    let most = columns.into_iter().flatten().max().unwrap_or(0) + 1;
    if record.len() > most {
        reader.error(start, format!("the line has {} fields, but the file has {most} columns", record.len()));
        return;
    }
    let column_of = |index: usize| {
        // The position of the field in the line, in characters, counted from 1. It is 1 if the line has quotes,
        // because quoted fields may contain separators.
        let source =
            usize::try_from(line).ok().and_then(|line| text.lines().nth(line - 1)).unwrap_or_default();
        let before: usize = source.split(separator).take(index).map(|field| field.chars().count() + 1).sum();
        if source.contains('"') { 1 } else { before as u64 + 1 }
    };
    let field = |column: Option<usize>| {
        let index = column?;
        let value = record.get(index).filter(|value| !value.is_empty())?;
        Some((FilePosition { line, column: column_of(index) }, value.to_owned()))
    };
    let mut number = |column: Option<usize>, what: &str| {
        let (at, value) = field(column)?;
        let parsed = value.parse::<u64>().map_err(|_| value);
        // The reader already reported the invalid number. Return 0 so that it does not also report a missing number.
        reader.number(at, what, parsed).or(Some(0))
    };
    let objects = number(columns[1], OBJECTS);
    let bytes_per_object = number(columns[2], BYTES);
    let name = record.get(columns[0].unwrap_or(0)).unwrap_or_default().to_owned();
    reader.resource(start, &name, InventoryEntry { objects, bytes_per_object, ..InventoryEntry::default() });
}

/// Parses YAML: a map by resource, or a list with `resource` in each entry. Either can be below the key `resources`.
///
/// # Errors
/// Returns all errors in the file.
pub(super) fn yaml(file: &str, text: &str) -> Result<BTreeMap<String, InventoryEntry>, FileErrors> {
    let mut reader = InventoryReader::new(file);
    if let Some(node) = yaml::read(file, text, MAX_YAML_BYTES, &mut reader.errors) {
        let node = match node.content {
            YamlValue::Map(mut map) if map.len() == 1 && map[0].0 == "resources" => map.remove(0).2,
            content => YamlNode { at: node.at, content },
        };
        entries(&mut reader, node);
    }
    reader.finish()
}

fn entries(reader: &mut InventoryReader<'_>, node: YamlNode) {
    match node.content {
        YamlValue::Map(map) => {
            for (name, at, node) in map {
                let (entry, _) = entry(reader, node);
                reader.resource(at, &name, entry);
            }
        }
        YamlValue::List(list) => {
            for node in list {
                let at = node.at;
                match entry(reader, node) {
                    (entry, Some(name)) => reader.resource(at, &name, entry),
                    (_, None) => reader.error(at, format!("a list entry needs '{RESOURCE}'")),
                }
            }
        }
        other => reader.error(
            node.at,
            format!(
                "an inventory is a map by resource (pods: {{{OBJECTS}: 100, {BYTES}: 2000}}), but this is {}",
                other.kind()
            ),
        ),
    }
}

/// Parses the entry of a resource. Also returns the resource's name if the entry has the key `resource`.
fn entry(reader: &mut InventoryReader<'_>, node: YamlNode) -> (InventoryEntry, Option<String>) {
    let (mut entry, mut name) = (InventoryEntry::default(), None);
    let map = match node.content {
        YamlValue::Map(map) => map,
        other => {
            let message =
                format!("a resource is a map with {OBJECTS} and {BYTES}, but this is {}", other.kind());
            reader.error(node.at, message);
            // Use 0 so that the reader does not also report a missing number.
            return (InventoryEntry { objects: Some(0), ..entry }, name);
        }
    };
    for (key, at, node) in map {
        let value = match &node.content {
            YamlValue::Int(value) => u64::try_from(*value).map_err(|_| value.to_string()),
            YamlValue::Text(text) => Err(text.clone()),
            YamlValue::Double(value) => Err(value.to_string()),
            other => Err(other.kind().to_owned()),
        };
        match key.as_str() {
            OBJECTS => entry.objects = reader.number(node.at, OBJECTS, value).or(Some(0)),
            BYTES => entry.bytes_per_object = reader.number(node.at, BYTES, value).or(Some(0)),
            RESOURCE => match node.content {
                YamlValue::Text(text) => name = Some(text),
                other => {
                    reader
                        .error(node.at, format!("{RESOURCE} must be a string, but this is {}", other.kind()));
                }
            },
            _ => {
                reader
                    .error(at, format!("no such key '{key}'{}", expected(&key, [OBJECTS, BYTES, RESOURCE])));
            }
        }
    }
    (entry, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rows = Vec<(String, Option<u64>, Option<u64>)>;

    fn rows(read: Result<BTreeMap<String, InventoryEntry>, FileErrors>) -> Result<Rows, String> {
        let row = |(name, one): (String, InventoryEntry)| (name, one.objects, one.bytes_per_object);
        read.map(|entries| entries.into_iter().map(row).collect()).map_err(|errors| errors.to_string())
    }

    fn expected_rows() -> Rows {
        vec![("deployments.apps".to_owned(), Some(5), None), ("pods".to_owned(), Some(100_000), Some(20_000))]
    }

    #[test]
    fn csv_and_yaml_give_the_same_entries() {
        for text in [
            "resource,objects,bytesPerObject\npods,100000,20000\ndeployments.apps,5,\n",
            "# mine\n\nbytesPerObject, objects, resource\r\n20000, 100000, pods\r\n,5,deployments.apps\r\n",
            "resource,objects,bytesPerObject\n\"pods\",100000,20000\ndeployments.apps,5",
        ] {
            assert_eq!(separator(text), Some(','), "{text}");
            assert_eq!(rows(csv("i.csv", text, ',')), Ok(expected_rows()), "{text}");
        }
        for separated in [';', '\t'] {
            let text = "resource,objects,bytesPerObject\npods,100000,20000\ndeployments.apps,5,\n";
            let text = text.replace(',', &separated.to_string());
            assert_eq!(separator(&text), Some(separated));
            assert_eq!(rows(csv("i.csv", &text, separated)), Ok(expected_rows()));
        }
        for text in [
            "pods: {objects: 100000, bytesPerObject: 20000}\ndeployments.apps:\n  objects: 5\n",
            "resources:\n- {resource: pods, objects: 100000, bytesPerObject: 20000}\n- resource: deployments.apps\n  objects: 5\n",
            "{\"pods\": {\"objects\": 100000, \"bytesPerObject\": 20000}, \"deployments.apps\": {\"objects\": 5}}",
        ] {
            assert_eq!(separator(text), None, "{text}");
            assert_eq!(rows(yaml("i.yaml", text)), Ok(expected_rows()), "{text}");
        }
    }

    #[test]
    fn every_error_in_csv_has_its_position() {
        let text = "resource,objects,bytesPerObject\npods,-1,20000\nPods,1,1\nnodes,5,99999999999\nnodes,5.5,0\nsecrets,,\na,1,2,3\n";
        assert_eq!(
            rows(csv("i.csv", text, ',')).expect_err("errors"),
            "i.csv:2:6: objects is '-1', but must be a whole number between 0 and 1000000000\n\
             i.csv:3:1: 'Pods' is not a resource name; write it as in reports, such as pods or deployments.apps\n\
             i.csv:4:9: bytesPerObject is 99999999999, but must be between 1 and 100000000\n\
             i.csv:5:1: 'nodes' is a duplicate of line 4; remove one\n\
             i.csv:5:7: objects is '5.5', but must be a whole number between 0 and 1000000000\n\
             i.csv:5:11: bytesPerObject is 0, but must be between 1 and 100000000\n\
             i.csv:6:1: 'secrets' has neither objects nor bytesPerObject; add one\n\
             i.csv:7:1: the line has 4 fields, but the file has 3 columns"
        );
        assert_eq!(
            rows(csv("i.csv", "pods,1,2\n", ',')).expect_err("no header").lines().last(),
            Some("i.csv:1:1: the first line must name the columns: resource,objects,bytesPerObject")
        );
        assert_eq!(
            rows(csv("i.csv", "resource,object\npods,1\n", ','))
                .expect_err("a misspelled column")
                .lines()
                .next(),
            Some("i.csv:1:1: no such column 'object'; did you mean 'objects'?")
        );
    }

    #[test]
    fn every_error_in_yaml_has_its_position() {
        let text = "pods: {objects: -1, bytes: 5}\nnodes: 7\nsecrets: {objects: many}\nevents: {}\n";
        assert_eq!(
            rows(yaml("i.yaml", text)).expect_err("errors"),
            "i.yaml:1:17: objects is '-1', but must be a whole number between 0 and 1000000000\n\
             i.yaml:1:21: no such key 'bytes'; known: objects, bytesPerObject, resource\n\
             i.yaml:2:8: a resource is a map with objects and bytesPerObject, but this is a number\n\
             i.yaml:3:20: objects is 'many', but must be a whole number between 0 and 1000000000\n\
             i.yaml:4:1: 'events' has neither objects nor bytesPerObject; add one"
        );
        assert!(rows(yaml("i.yaml", "- objects: 5\n")).expect_err("no name").contains("needs 'resource'"));
        assert!(rows(yaml("i.yaml", "pods")).expect_err("a text").contains("a map by resource"));
        assert!(rows(yaml("i.yaml", "a: [")).expect_err("no YAML").contains("not valid YAML"));
    }
}
