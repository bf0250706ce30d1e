//! The rules of the architecture and of the language, checked on the sources.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use super::{language, prose};

use super::modules::{Module, Modules};
use super::prose::Prose;

/// The rooms. Each may import only those above it.
const ROOMS: [&str; 20] = [
    "files",
    "k8s",
    "apiserver",
    "input",
    "decode",
    "requests",
    "ledger",
    "version",
    "patterns",
    "cost",
    "judged",
    "upgrade",
    "rules",
    "report",
    "profile",
    "diff",
    "budget",
    "render",
    "pipeline",
    "cli",
];

fn below(directory: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            below(&path, extension, found);
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
}

fn all_sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    below(&root, "rs", &mut found);
    let relative = |path: PathBuf| path.strip_prefix(&root).expect("below src").to_owned();
    found
        .into_iter()
        .map(|path| (relative(path.clone()), fs::read_to_string(path).expect("a source")))
        .collect()
}

fn room_of(path: &Path) -> Option<usize> {
    let first = path.components().next()?.as_os_str().to_str()?.trim_end_matches(".rs");
    ROOMS.iter().position(|room| *room == first)
}

#[test]
fn each_room_imports_only_rooms_above_it() {
    let mut wrong = Vec::new();
    for (path, text) in all_sources() {
        let Some(own) = room_of(&path) else { continue };
        for line in text.lines().take_while(|line| !line.contains("mod tests")) {
            let imported = line.split("crate::").skip(1).filter_map(|rest| {
                let name: String =
                    rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                ROOMS.iter().position(|room| *room == name)
            });
            wrong.extend(
                imported
                    .filter(|room| *room > own)
                    .map(|room| format!("{} imports {}: {}", path.display(), ROOMS[room], line.trim())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_export_room_imports_polars() {
    for (path, text) in all_sources() {
        assert!(!text.contains("polars::") || path.starts_with("render/export"), "{}", path.display());
    }
}

#[test]
fn files_begin_with_a_comment_on_their_purpose() {
    for (path, text) in all_sources() {
        assert!(text.starts_with("//!"), "{} does not say what it is for", path.display());
    }
}

/// Places with texts, and the number of forbidden phrases left there. Numbers may only decrease; the goal is 0.
const LANGUAGE: [(&str, usize); 26] = [
    ("src/judged", 0),
    ("src/anonymize", 0),
    ("src/apiserver", 0),
    ("src/cli", 0),
    ("src/cost", 0),
    ("src/decode", 0),
    ("src/files", 0),
    ("src/input", 0),
    ("src/k8s", 0),
    ("src/ledger", 0),
    ("src/patterns", 0),
    ("src/pipeline", 0),
    ("src/render", 0),
    ("src/report", 0),
    ("src/requests", 0),
    ("src/rules", 0),
    ("src/version", 0),
    ("src", 0),
    ("rules", 0),
    ("docs/rules", 0),
    ("docs", 0),
    ("README.md", 0),
    ("CHANGELOG.md", 0),
    ("CONTRIBUTING.md", 0),
    ("ARCHITECTURE.md", 0),
    ("SECURITY.md", 0),
];

/// All texts that a person reads, each file with its room.
fn texts() -> Vec<(String, Vec<Prose>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = Vec::new();
    for (directory, extension) in [("src", "rs"), ("docs", "md"), ("rules", "yaml"), ("rules", "md")] {
        let mut files = Vec::new();
        below(&root.join(directory), extension, &mut files);
        texts.extend(files);
    }
    texts.extend(LANGUAGE.iter().map(|(place, _)| root.join(place)).filter(|path| path.is_file()));
    texts.sort();
    let prose = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a text");
        let prose = match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => prose::of_rust(&text),
            Some("yaml") => prose::of_yaml(&text),
            _ => prose::of_markdown(&text),
        };
        let path = path.strip_prefix(root).expect("below the root");
        (path.to_str().expect("UTF-8").to_owned(), prose)
    };
    texts.into_iter().map(prose).collect()
}

/// `LANGUAGE=src/decode,docs cargo test --test project plain` lists each phrase in these places.
#[test]
fn texts_are_in_plain_words() {
    let wanted = std::env::var("LANGUAGE").unwrap_or_default();
    let mut hits: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, texts) in texts() {
        let place =
            LANGUAGE.iter().map(|(place, _)| *place).find(|place| Path::new(&path).starts_with(place));
        let place = place.unwrap_or_else(|| panic!("LANGUAGE has no entry for {path}"));
        for prose in texts {
            hits.entry(place).or_default().extend(
                language::hits(&prose.text)
                    .into_iter()
                    .map(|hit| format!("{path}:{}: '{}'; say: {}", prose.line(hit.at), hit.phrase, hit.say)),
            );
        }
    }
    let mut wrong = String::new();
    for (place, allowed) in LANGUAGE {
        let found = hits.remove(place).unwrap_or_default();
        let listed = wanted.split(',').any(|wanted| wanted == place);
        if found.len() > allowed || listed {
            write!(wrong, "{place}: {} phrases, {allowed} allowed\n{}\n", found.len(), found.join("\n"))
                .expect("a String takes all");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// ARCHITECTURE.md lists the functions that carry a line, so that a reader can follow it.
#[test]
fn a_line_passes_at_most_18_functions_and_each_exists() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
    let text = fs::read_to_string(path).expect("a text");
    let (_, section) = text.split_once("## The path of a line").expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let function = Regex::new(r"`(\w+)::(\w+)`").expect("valid");
    let functions: Vec<[&str; 2]> = function.captures_iter(section).map(|found| found.extract().1).collect();
    assert!((10..=18).contains(&functions.len()), "{} functions", functions.len());
    let sources = all_sources();
    for [owner, name] in functions {
        let is_there = |(path, text): &(PathBuf, String)| {
            let owns = text.contains(&format!("struct {owner}")) || path.with_extension("").ends_with(owner);
            owns && [format!("fn {name}("), format!("fn {name}<")].iter().any(|start| text.contains(start))
        };
        assert!(sources.iter().any(is_there), "{owner}::{name} does not exist");
    }
}

fn module(path: &Path) -> Module {
    let path = path.with_extension("");
    let names = path.iter().map(|name| name.to_str().expect("UTF-8").to_owned());
    names.filter(|name| name != "mod").collect()
}

#[test]
fn files_of_a_room_do_not_import_each_other_in_a_circle() {
    let modules = Modules::new(all_sources().into_iter().map(|(path, text)| (module(&path), text)));
    let circles = modules.circles().into_iter().map(|circle| {
        let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
        names.join(", ")
    });
    let circles: Vec<String> = circles.collect();
    assert!(circles.is_empty(), "files import each other in a circle:\n{}", circles.join("\n"));
}

/// Names that have the same meaning in each module.
const SAME_IDEA: [&str; 3] = ["Builder", "Error", "Kind"];

/// Files whose types are named as an external format names them.
const CONTRACTS: [&str; 3] = ["report/v1", "render/sarif/log", "render/junit"];

#[test]
fn no_two_types_have_the_same_name() {
    let definition =
        Regex::new(r"(?m)^(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type|union) (\w+)").expect("valid");
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in all_sources() {
        let module = module(&path).join("/");
        if CONTRACTS.iter().any(|contract| module.starts_with(contract)) || module.ends_with("tests") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        for found in definition.captures_iter(code) {
            types.entry(found[1].to_owned()).or_default().push(module.clone());
        }
    }
    let mut wrong = Vec::new();
    for (name, modules) in types {
        if modules.len() > 1 && !SAME_IDEA.contains(&&*name) {
            wrong.push(format!("{name}: {}", modules.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "several types have one name:\n{}", wrong.join("\n"));
}
