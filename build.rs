//! Embeds the files of `rules/` and of `rules/products/`. So a new rule or product needs no Rust. Also writes the names of
//! the rules, because each rule has a test of its own.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let rules = Path::new(&root).join("rules");
    println!("cargo::rerun-if-changed=rules");
    let names = embed(&rules, "rules.in");
    write(
        "rule_cases.in",
        &format!("cases! {{ {} }}\n", names.join(" ").replace('-', "_").replace(".yaml", "")),
    );
    embed(&rules.join("products"), "products.in");
}

/// Writes the names and texts of a directory's YAML files as a Rust expression. Returns the names.
fn embed(directory: &Path, name: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .expect("the directory is there")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    names.sort_unstable();
    let mut text = String::from("&[\n");
    for name in &names {
        let path = directory.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        writeln!(text, "    ({name:?}, include_str!({:?})),", path.display().to_string())
            .expect("a String takes all");
    }
    text.push_str("]\n");
    write(name, &text);
    names
}

fn write(name: &str, text: &str) {
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join(name), text).expect("OUT_DIR can be written");
}
