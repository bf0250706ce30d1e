//! The `sources` of a policy file: where the code of a client is in the repository.

use std::path::{Component, Path};

use regex::Regex;

use super::error::FilePosition;
use super::rule_file::{FileKey, Positioned, Reader, optional, required};
use super::yaml::{YamlNode, YamlValue};
use crate::judged::ClientSummary;
use crate::requests::filter::pattern;

/// The keys of an entry of `sources`.
pub(crate) const SOURCE_KEYS: [FileKey; 3] = [
    required("client", "The client's identity, or a ServiceAccount's namespace/name; * stands for anything."),
    required("path", "A file of the repository, relative to its root, such as controllers/widget.go."),
    optional("line", "The line in the file, from 1. Without it, 1."),
];

/// The location of a client's code.
#[derive(Debug, Clone)]
pub(crate) struct ClientSource {
    /// The pattern of the client, as in the file.
    pub(crate) client: String,
    /// The path of the source file, relative to the root of the repository, with `/` as separator.
    pub(crate) path: String,
    /// The line in the source file, counted from 1.
    pub(crate) line: u64,
    /// The position of the entry in the policy file.
    pub(crate) at: FilePosition,
    pattern: Regex,
}

impl ClientSource {
    pub(crate) fn is_of(&self, client: &ClientSummary) -> bool {
        matches_client(&self.pattern, client)
    }
}

/// Whether a pattern matches a client's identity. A ServiceAccount also matches as `namespace/name`.
pub(super) fn matches_client(pattern: &Regex, client: &ClientSummary) -> bool {
    let name = client.service_account().map(|(namespace, name)| format!("{namespace}/{name}"));
    pattern.is_match(&client.identity()) || name.is_some_and(|name| pattern.is_match(&name))
}

/// Compiles a pattern with `*`.
pub(crate) fn compiled(text: &Positioned<String>, reader: &mut Reader<'_>) -> Option<Regex> {
    let compiled = Regex::new(&pattern(&text.value));
    if compiled.is_err() {
        reader.say(text.at, "the pattern is too long; shorten it");
    }
    compiled.ok()
}

pub(super) fn read(node: YamlNode, reader: &mut Reader<'_>) -> Vec<ClientSource> {
    reader.list("sources", node).into_iter().filter_map(|node| source(node, reader)).collect()
}

fn source(node: YamlNode, reader: &mut Reader<'_>) -> Option<ClientSource> {
    let at = node.at;
    let (mut client, mut path, mut line) = (None, None, Some(1));
    let mut has_key = [false; 2];
    for (key, node) in reader.map("a source", node) {
        match key.value.as_str() {
            "client" => {
                has_key[0] = true;
                client = reader.text("client", node);
            }
            "path" => {
                has_key[1] = true;
                path = reader.text("path", node).and_then(|text| in_repository(&text, reader));
            }
            "line" => line = line_number(&node, reader),
            _ => reader.unknown(&key, SOURCE_KEYS.iter().map(|key| key.name)),
        }
    }
    for (key, _) in SOURCE_KEYS.iter().zip(has_key).filter(|(_, has_key)| !has_key) {
        reader.say(at, format!("a source needs '{}': {}", key.name, key.doc));
    }
    let client = client?;
    let pattern = compiled(&client, reader)?;
    Some(ClientSource { client: client.value, path: path?, line: line?, at, pattern })
}

/// Normalizes a path as SARIF and GitHub need it.
fn in_repository(text: &Positioned<String>, reader: &mut Reader<'_>) -> Option<String> {
    let path = text.value.as_str();
    let parts: Option<Vec<&str>> = Path::new(path)
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    let is_file = |parts: &Vec<&str>| {
        !parts.is_empty()
            && !path.ends_with(['/', '.'])
            && !path.contains(['\\', ':'])
            && !path.contains(char::is_control)
    };
    let parts = parts.filter(is_file);
    if parts.is_none() {
        let expected = "write a file of the repository, relative to its root, without '..', such as \
                        controllers/widget.go";
        reader.say(text.at, format!("path: '{path}' is not a file in the repository; {expected}"));
    }
    parts.map(|parts| parts.join("/"))
}

fn line_number(node: &YamlNode, reader: &mut Reader<'_>) -> Option<u64> {
    let line = match node.content {
        YamlValue::Int(line) => {
            u64::try_from(line).ok().filter(|line| (1..=u64::from(u32::MAX)).contains(line))
        }
        _ => None,
    };
    if line.is_none() {
        reader.say(node.at, "line must be a whole number of 1 or more");
    }
    line
}
