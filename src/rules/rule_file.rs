//! Reads the keys of a rule file and checks their types. Conditions and placeholders are checked elsewhere.

use super::error::{FileErrors, FilePosition, expected};
use super::yaml::{YamlNode, YamlValue};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Positioned<T> {
    pub(crate) value: T,
    pub(crate) at: FilePosition,
}

/// A text of a fix, and its condition. The first text whose condition holds applies.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FixCase {
    /// The condition; `None` means that the text always applies.
    pub(crate) when: Option<Positioned<String>>,
    pub(crate) text: Positioned<String>,
}

/// The parsed content of a rule file, not checked yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RuleFile {
    pub(crate) id: Option<Positioned<String>>,
    pub(crate) name: Option<Positioned<String>>,
    pub(crate) summary: Option<Positioned<String>>,
    pub(crate) matches: Option<Positioned<String>>,
    pub(crate) group_by: Vec<Positioned<String>>,
    pub(crate) thresholds: Vec<(Positioned<String>, f64)>,
    pub(crate) levels: Vec<(Positioned<String>, Positioned<String>)>,
    pub(crate) message: Option<Positioned<String>>,
    pub(crate) why: Option<Positioned<String>>,
    pub(crate) fix: Vec<(Positioned<String>, Vec<FixCase>)>,
    pub(crate) tradeoff: Option<Positioned<String>>,
    pub(crate) quiet_for: Option<Positioned<String>>,
    pub(crate) verify: Option<Positioned<String>>,
    pub(crate) references: Vec<Positioned<String>>,
}

/// A key of a rule file or policy file.
#[derive(Debug, Clone, Copy)]
pub struct FileKey {
    pub name: &'static str,
    pub(crate) required: bool,
    /// The description for the reference and the JSON Schema.
    pub(crate) doc: &'static str,
}

pub(crate) const fn required(name: &'static str, doc: &'static str) -> FileKey {
    FileKey { name, required: true, doc }
}

pub(crate) const fn optional(name: &'static str, doc: &'static str) -> FileKey {
    FileKey { name, required: false, doc }
}

/// The keys of a rule file, in the recommended order. The reference and the JSON Schema are generated from this list.
pub const KEYS: [FileKey; 14] = [
    required(
        "id",
        "Never changes: two to eight capitals and three digits. It replaces a rule of the same id.",
    ),
    required("name", "The name, in lower case with hyphens. You can use it instead of the id everywhere."),
    required("summary", "What the rule finds, in one line."),
    optional("match", "Selects rows: CEL over client.*, request.* and server.*. Without it, all rows."),
    required(
        "groupBy",
        "How rows are grouped: client, optionally with product, resource and shape; or input alone. A rule that replaces KT601, KT602 or KT603 has budget alone. With program, clients that run one program are also evaluated together, with the same conditions on their sums.",
    ),
    optional(
        "thresholds",
        "Named numbers. Levels use them as threshold.<name>. A policy file can change them.",
    ),
    required(
        "levels",
        "When a group is a finding: CEL over stats.*, threshold.*, client.* and server.*, for info, warning and error. The highest severity that holds counts.",
    ),
    required(
        "message",
        "The finding in one sentence, with placeholders such as {{ client }} and {{ stats.requests }}.",
    ),
    required("why", "What the server does and what it costs, by version if that matters."),
    required(
        "fix",
        "What to change, by kind of client: agents that request the pods of their node (`node-agent`), backup tools and one-shot jobs (`job`), a client library, and all others (`any`). Each is a text, or a list of cases with `when` (CEL over client.*, request.* and server.*) and `text`. The first case that holds is used. The first sentence of a text is the first step.",
    ),
    optional("tradeoff", "What the fix makes worse."),
    optional("quietFor", "What looks like a finding but is by design, and how the rule excludes it."),
    optional("verify", "What to look for in the next log."),
    optional("references", "Issues, enhancement proposals and documents."),
];

/// The severities that `levels` accepts as keys.
pub(crate) const LEVELS: [&str; 3] = ["info", "warning", "error"];

/// Reads YAML nodes and collects errors.
pub(crate) struct Reader<'a> {
    pub(crate) file: &'a str,
    pub(crate) errors: &'a mut FileErrors,
}

impl Reader<'_> {
    pub(crate) fn say(&mut self, at: FilePosition, message: impl Into<String>) {
        self.errors.add(self.file, at, message);
    }

    /// Reads a string. Numbers and booleans become strings, because `info: true` is a condition.
    pub(crate) fn text(&mut self, what: &str, node: YamlNode) -> Option<Positioned<String>> {
        let value = match node.content {
            YamlValue::Text(text) if text.trim().is_empty() => {
                self.say(node.at, format!("{what} is empty; add a value or remove the key"));
                return None;
            }
            YamlValue::Text(text) => text,
            YamlValue::Bool(value) => value.to_string(),
            YamlValue::Int(value) => value.to_string(),
            YamlValue::Double(value) => value.to_string(),
            other => {
                self.say(node.at, format!("{what} must be a string, not {}", other.kind()));
                return None;
            }
        };
        Some(Positioned { value, at: node.at })
    }

    /// Reads a finite number that is not negative.
    pub(crate) fn number(&mut self, what: &str, node: &YamlNode) -> Option<f64> {
        #[allow(clippy::cast_precision_loss, reason = "thresholds are small")]
        let number = match node.content {
            YamlValue::Int(value) => Some(value as f64),
            YamlValue::Double(value) => Some(value),
            _ => None,
        };
        let number = number.filter(|number| number.is_finite() && *number >= 0.0);
        if number.is_none() {
            self.say(node.at, format!("{what} must be a number of 0 or more"));
        }
        number
    }

    /// Reads a list of strings. A single string counts as a list of one.
    pub(crate) fn texts(&mut self, what: &str, node: YamlNode) -> Vec<Positioned<String>> {
        match node.content {
            YamlValue::List(list) => {
                list.into_iter().filter_map(|node| self.text(&format!("an entry of {what}"), node)).collect()
            }
            YamlValue::Text(_) => self.text(what, node).into_iter().collect(),
            other => {
                self.say(node.at, format!("{what} must be a list of strings, not {}", other.kind()));
                Vec::new()
            }
        }
    }

    pub(crate) fn list(&mut self, what: &str, node: YamlNode) -> Vec<YamlNode> {
        match node.content {
            YamlValue::List(list) => list,
            other => {
                self.say(node.at, format!("{what} must be a list, not {}", other.kind()));
                Vec::new()
            }
        }
    }

    pub(crate) fn map(&mut self, what: &str, node: YamlNode) -> Vec<(Positioned<String>, YamlNode)> {
        match node.content {
            YamlValue::Map(map) => {
                map.into_iter().map(|(key, at, node)| (Positioned { value: key, at }, node)).collect()
            }
            other => {
                self.say(node.at, format!("{what} must be a map, not {}", other.kind()));
                Vec::new()
            }
        }
    }

    pub(crate) fn unknown<'k>(&mut self, key: &Positioned<String>, keys: impl IntoIterator<Item = &'k str>) {
        self.say(key.at, format!("no such key '{}'{}", key.value, expected(&key.value, keys)));
    }
}

/// Reads a rule and returns its valid parts. Errors are added to the reader.
pub(crate) fn read(node: YamlNode, reader: &mut Reader<'_>) -> RuleFile {
    let mut rule = RuleFile::default();
    let at = node.at;
    let is_map = matches!(node.content, YamlValue::Map(_));
    let mut seen = Vec::new();
    for (key, node) in reader.map("a rule", node) {
        let name = key.value.clone();
        let what = name.as_str();
        let is_empty = match &node.content {
            YamlValue::List(list) => list.is_empty(),
            YamlValue::Map(map) => map.is_empty(),
            _ => false,
        };
        if is_empty {
            reader.say(node.at, format!("{what} is empty; add a value or remove the key"));
        }
        match what {
            "id" => rule.id = reader.text(what, node),
            "name" => rule.name = reader.text(what, node),
            "summary" => rule.summary = reader.text(what, node),
            "match" => rule.matches = reader.text(what, node),
            "groupBy" => rule.group_by = reader.texts(what, node),
            "thresholds" => {
                for (name, node) in reader.map(what, node) {
                    // If the number is wrong, the threshold still exists, with the value 0. Otherwise, each condition
                    // that uses the threshold would report another error.
                    let number = reader.number("a threshold", &node).unwrap_or(0.0);
                    rule.thresholds.push((name, number));
                }
            }
            "levels" => {
                for (level, node) in reader.map(what, node) {
                    if !LEVELS.contains(&level.value.as_str()) {
                        reader.unknown(&level, LEVELS);
                    } else if let Some(condition) = reader.text("a level", node) {
                        rule.levels.push((level, condition));
                    }
                }
            }
            "message" => rule.message = reader.text(what, node),
            "why" => rule.why = reader.text(what, node),
            "fix" => rule.fix = fix(node, reader),
            "tradeoff" => rule.tradeoff = reader.text(what, node),
            "quietFor" => rule.quiet_for = reader.text(what, node),
            "verify" => rule.verify = reader.text(what, node),
            "references" => rule.references = reader.texts(what, node),
            _ => {
                reader.unknown(&key, KEYS.iter().map(|key| key.name));
                continue;
            }
        }
        seen.push(name);
    }
    // `reader.map` has already reported that the rule is not a map. Errors about missing keys would not help.
    if !is_map {
        return rule;
    }
    for key in KEYS.iter().filter(|key| key.required && !seen.iter().any(|seen| seen == key.name)) {
        reader.say(at, format!("the key '{}' is missing: {}", key.name, key.doc));
    }
    rule
}

fn fix(node: YamlNode, reader: &mut Reader<'_>) -> Vec<(Positioned<String>, Vec<FixCase>)> {
    let mut fixes = Vec::new();
    for (library, node) in reader.map("fix", node) {
        let cases = match node.content {
            YamlValue::List(list) => {
                if list.is_empty() {
                    reader.say(node.at, "the fix is empty; add a text");
                }
                list.into_iter().filter_map(|node| case(node, reader)).collect()
            }
            _ => reader.text("a fix", node).map(|text| FixCase { when: None, text }).into_iter().collect(),
        };
        fixes.push((library, cases));
    }
    fixes
}

fn case(node: YamlNode, reader: &mut Reader<'_>) -> Option<FixCase> {
    let (mut when, mut text, at) = (None, None, node.at);
    for (key, node) in reader.map("a case of a fix", node) {
        match key.value.as_str() {
            "when" => when = reader.text("when", node),
            "text" => text = reader.text("text", node),
            _ => reader.unknown(&key, ["when", "text"]),
        }
    }
    if text.is_none() {
        reader.say(at, "a case of a fix needs a 'text'");
    }
    Some(FixCase { when, text: text? })
}
