//! The architecture's own rules, read from the sources.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "support/language.rs"]
mod language;
#[path = "support/prose.rs"]
mod prose;

use prose::Prose;

/// The rooms, each of which may import those above it only.
const ROOMS: [&str; 16] = [
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
    "rules",
    "report",
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
fn files_say_what_they_are_for() {
    for (path, text) in all_sources() {
        assert!(text.starts_with("//!"), "{} does not say what it is for", path.display());
    }
}

/// Where texts are, and how many phrases that must go are left there. The numbers only sink; the goal is none.
const LANGUAGE: [(&str, usize); 26] = [
    ("src/judged", 57),
    ("src/anonymize", 8),
    ("src/apiserver", 44),
    ("src/cli", 29),
    ("src/cost", 50),
    ("src/decode", 212),
    ("src/files", 9),
    ("src/input", 40),
    ("src/k8s", 57),
    ("src/ledger", 212),
    ("src/patterns", 63),
    ("src/pipeline", 19),
    ("src/render", 103),
    ("src/report", 148),
    ("src/requests", 164),
    ("src/rules", 194),
    ("src/version", 15),
    ("src", 4),
    ("rules", 7),
    ("docs/rules", 67),
    ("docs", 192),
    ("README.md", 0),
    ("CHANGELOG.md", 20),
    ("CONTRIBUTING.md", 0),
    ("ARCHITECTURE.md", 0),
    ("SECURITY.md", 1),
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

/// `LANGUAGE=src/decode,docs cargo test --test conventions plain` lists each phrase in these places.
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
