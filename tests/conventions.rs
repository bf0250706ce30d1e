//! The architecture's own rules, read from the sources.

use std::fs;
use std::path::{Path, PathBuf};

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

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn all_sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    sources(&root, &mut found);
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
