//! Parses YAML and keeps the position of each value.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::error::{FileErrors, FilePosition};

/// The maximum size of a rule or policy file in bytes, about twenty times the size of kubetoll's own files.
pub(crate) const LONGEST: usize = 256 << 10;

/// A value and its position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct YamlNode {
    /// The position of the value's first character.
    pub(crate) at: FilePosition,
    pub(crate) content: YamlValue,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum YamlValue {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(String),
    List(Vec<YamlNode>),
    Map(Vec<(String, FilePosition, YamlNode)>),
}

impl YamlValue {
    /// Returns the type of the value, for messages.
    #[must_use]
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Double(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

impl YamlNode {
    fn from_spanned(spanned: Spanned<YamlValue>) -> Self {
        Self { at: at(&spanned), content: spanned.value }
    }
}

fn at<T>(spanned: &Spanned<T>) -> FilePosition {
    FilePosition { line: spanned.referenced.line().max(1), column: spanned.referenced.column().max(1) }
}

/// Parses a file of at most `longest` bytes. Invalid YAML yields only one error, because the parser stops at the first.
#[must_use]
pub(crate) fn read(file: &str, text: &str, longest: usize, errors: &mut FileErrors) -> Option<YamlNode> {
    if text.len() > longest {
        errors.add(
            file,
            FilePosition::START,
            format!("the file has {} bytes; the limit is {longest}", text.len()),
        );
        return None;
    }
    let options = serde_saphyr::options! {
        // The parser repeats the content of an anchor for each alias, so a short file could become huge. This limits
        // the total of the repeated parser events.
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 1_000 },
    };
    match serde_saphyr::from_str_with_options::<Spanned<YamlValue>>(text, options) {
        Ok(spanned) => Some(YamlNode::from_spanned(spanned)),
        Err(error) => {
            let place = error.location();
            let at = place.map_or(FilePosition::START, |place| FilePosition {
                line: place.line().max(1),
                column: place.column().max(1),
            });
            let plain = error.without_snippet().to_string();
            let message = plain.lines().next().unwrap_or("it can't be read").trim();
            // `FileError` has the position already, so remove it from the message.
            let message = message.strip_prefix("error: ").unwrap_or(message);
            let message = message
                .split_once(": ")
                .filter(|(head, _)| head.starts_with("line "))
                .map_or(message, |(_, rest)| rest);
            errors.add(file, at, format!("not valid YAML: {}", for_authors(message)));
            None
        }
    }
}

/// Rewrites a message of the YAML library for a person who writes a file. Removes hints for programmers.
fn for_authors(message: &str) -> String {
    if let Some(rest) = message.strip_prefix("duplicate mapping key: ") {
        let key = rest.split(',').next().unwrap_or(rest);
        return format!("the key '{key}' occurs twice; remove one");
    }
    if message.starts_with("multiple YAML documents") {
        return "the file holds several YAML documents; write each to its own file".to_owned();
    }
    message.split(" at line ").next().unwrap_or(message).to_owned()
}

/// Returns the position in the file of the byte at `offset` in `text`. `text` is the value of a scalar that begins at
/// `start`. Returns `start` if escapes or line breaks make the position hard to find.
#[must_use]
pub(crate) fn inside(source: &str, start: FilePosition, text: &str, offset: usize) -> FilePosition {
    let Some(line) = source.lines().nth(usize::try_from(start.line).map_or(0, |line| line - 1)) else {
        return start;
    };
    let column = usize::try_from(start.column).unwrap_or(1);
    let rest: String = line.chars().skip(column - 1).collect();
    let chars = |text: &str| text.chars().count() as u64;
    let before = text.get(..offset).unwrap_or(text);
    if line.chars().take(column - 1).all(char::is_whitespace) && is_block(source, start.line) {
        return inside_block(source, start, text, before.len()).unwrap_or(start);
    }
    let first = rest.chars().next();
    let quote = u64::from(matches!(first, Some('"' | '\'')));
    let whole = text.lines().next().unwrap_or_default();
    if rest.chars().skip(usize::from(quote > 0)).collect::<String>().starts_with(whole)
        && !before.contains('\n')
    {
        FilePosition { line: start.line, column: start.column + quote + chars(before) }
    } else {
        start
    }
}

/// Whether a line is the first line of a block scalar (`|`, `>`). Such a scalar begins on the line after the
/// indicator.
fn is_block(source: &str, line: u64) -> bool {
    let before = usize::try_from(line).unwrap_or(0).saturating_sub(1);
    let marked = source.lines().take(before).filter(|line| !line.trim().is_empty()).last();
    let marked = marked.and_then(|line| line.split(" #").next()).unwrap_or_default().trim_end();
    marked.trim_end_matches(|c: char| c.is_ascii_digit() || "+-".contains(c)).ends_with(['|', '>'])
}

/// Returns the position of a byte in a block scalar. Each line begins after the indentation of the first line. In the
/// parsed text, a line feed or a space separates two lines.
fn inside_block(source: &str, start: FilePosition, text: &str, offset: usize) -> Option<FilePosition> {
    let indent = usize::try_from(start.column).ok()? - 1;
    let mut done = 0;
    for (line, number) in source.lines().zip(1_u64..).skip_while(|(_, number)| *number < start.line) {
        let content = line.get(indent..).unwrap_or_default();
        let rest = text.get(done..)?;
        if !rest.starts_with(content) {
            return None;
        }
        if offset <= done + content.len() {
            let across = content.get(..offset - done)?.chars().count() + indent + 1;
            return Some(FilePosition { line: number, column: across as u64 });
        }
        done += content.len();
        // In a folded scalar, a line end and the empty line after it become one line feed in the text.
        let is_parted = !content.is_empty() || rest.starts_with('\n');
        done += usize::from(is_parted && done < text.len());
    }
    None
}

impl<'de> Deserialize<'de> for YamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct YamlVisitor;
        impl<'de> Visitor<'de> for YamlVisitor {
            type Value = YamlValue;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_bool<E>(self, value: bool) -> Result<YamlValue, E> {
                Ok(YamlValue::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<YamlValue, E> {
                Ok(YamlValue::Int(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<YamlValue, E> {
                Ok(i64::try_from(value).map_or(YamlValue::Double(f64::INFINITY), YamlValue::Int))
            }
            fn visit_f64<E>(self, value: f64) -> Result<YamlValue, E> {
                Ok(YamlValue::Double(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<YamlValue, E> {
                Ok(YamlValue::Text(value.to_owned()))
            }
            fn visit_unit<E>(self) -> Result<YamlValue, E> {
                Ok(YamlValue::Null)
            }
            fn visit_none<E>(self) -> Result<YamlValue, E> {
                Ok(YamlValue::Null)
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<YamlValue, D::Error> {
                YamlValue::deserialize(deserializer)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<YamlValue, A::Error> {
                let mut list = Vec::new();
                while let Some(value) = values.next_element::<Spanned<YamlValue>>()? {
                    list.push(YamlNode::from_spanned(value));
                }
                Ok(YamlValue::List(list))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<YamlValue, A::Error> {
                let mut map = Vec::new();
                while let Some(key) = entries.next_key::<Spanned<String>>()? {
                    let value = YamlNode::from_spanned(entries.next_value::<Spanned<YamlValue>>()?);
                    map.push((key.value.clone(), at(&key), value));
                }
                Ok(YamlValue::Map(map))
            }
        }
        deserializer.deserialize_any(YamlVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_one(text: &str) -> Result<YamlNode, String> {
        let mut errors = FileErrors::default();
        read("r.yaml", text, LONGEST, &mut errors).ok_or_else(|| errors.to_string())
    }

    #[test]
    fn each_value_has_its_position() {
        let node = read_one("a: 1\nb:\n  - x\n  - c: true\n").expect("YAML");
        let YamlValue::Map(map) = node.content else { panic!("a map") };
        assert_eq!((map[0].1, map[0].2.at), (FilePosition::START, FilePosition { line: 1, column: 4 }));
        let YamlValue::List(list) = &map[1].2.content else { panic!("a list") };
        assert_eq!(
            (list[0].at, list[1].at),
            (FilePosition { line: 3, column: 5 }, FilePosition { line: 4, column: 5 })
        );
    }

    #[test]
    fn yaml_errors_have_their_position() {
        let error = read_one("a: 1\nb: [1, 2\nc: 3\n").expect_err("a list without an end");
        assert!(error.starts_with("r.yaml:"), "{error}");
        assert!(error.contains("not valid YAML"), "{error}");
        assert!(!error.contains('\n'), "{error}");
        let error = read_one("a: 1\na: 2\n").expect_err("a key twice");
        assert_eq!(error, "r.yaml:2:1: not valid YAML: the key 'a' occurs twice; remove one");
        let error = read_one("a: 1\n---\na: 2\n").expect_err("two documents");
        assert!(
            error.ends_with("the file holds several YAML documents; write each to its own file"),
            "{error}"
        );
    }

    #[test]
    fn positions_inside_scalars_match_the_source() {
        let source =
            "a: x == 1\nb: \"x == 1\"\nc: |\n  y &&\n  x == 1\nd: >-  # z\n  y\n  && z\n    || x == 1\n";
        let YamlValue::Map(map) = read_one(source).expect("YAML").content else { panic!("a map") };
        let at = |key: usize, part: &str| {
            let YamlValue::Text(text) = &map[key].2.content else { panic!("a text") };
            let place = inside(source, map[key].2.at, text, text.find(part).expect("the text contains it"));
            (place.line, place.column)
        };
        assert_eq!(at(0, "1"), (1, 9));
        assert_eq!(at(1, "1"), (2, 10));
        assert_eq!((at(2, "y"), at(2, "&&"), at(2, "1")), ((4, 3), (4, 5), (5, 8)));
        assert_eq!((at(3, "y"), at(3, "&& z"), at(3, "z"), at(3, "x ==")), ((7, 3), (8, 3), (8, 6), (9, 8)));
    }
}
