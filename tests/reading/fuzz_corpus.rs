//! The fuzz targets' bodies over what is kept of their corpus, over the samples of every envelope, and over samples
//! that something happened to.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::samples::{self, SAMPLES, files};
use crate::support::cases;
use crate::support::library::targets;

/// How much of a corpus is kept in all, in bytes.
const MAX_CORPUS: u64 = 400 << 10;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// `.ci/fuzz` runs a target for each folder of the corpus.
#[test]
fn each_fuzz_target_has_a_small_corpus() {
    let corpus = root().join("fuzz/corpus");
    let mut folders = BTreeSet::new();
    let mut size = 0;
    for folder in fs::read_dir(&corpus).expect("a directory") {
        let name = folder.expect("an entry").file_name().into_string().expect("UTF-8");
        let files = files(&corpus.join(&name));
        assert!(!files.is_empty(), "{name} has no corpus");
        size += files.iter().map(|path| path.metadata().expect("a file").len()).sum::<u64>();
        folders.insert(name);
    }
    assert_eq!(folders, targets::names().map(str::to_owned).collect());
    assert!(size <= MAX_CORPUS, "{size} bytes");
}

#[test]
fn fuzz_targets_accept_the_corpus() {
    for name in targets::names() {
        for path in files(&root().join("fuzz/corpus").join(name)) {
            println!("{}", path.display());
            targets::run(name, &fs::read(path).expect("a file"));
        }
    }
}

/// Each target takes each sample, whichever envelope it is in.
#[test]
fn fuzz_targets_accept_the_samples() {
    assert!(SAMPLES.len() > 45);
    for (path, text) in SAMPLES.iter() {
        // One is of the length at which CloudWatch cuts, which takes each target long.
        let is_long = text.len() > 64 << 10;
        for name in targets::names().filter(|name| !is_long || *name == "aws-logs-tail") {
            println!("{name} {}", path.display());
            targets::run(name, text);
        }
    }
}

fn target() -> impl Strategy<Value = &'static str> {
    let at = any::<prop::sample::Index>();
    let all: Vec<&str> = targets::names().collect();
    prop_oneof![
        3 => at.prop_map(move |at| all[at.index(all.len())]),
        1 => prop::sample::select(vec!["klog", "on_demand", "json_scanner", "reader", "line", "etcd"]),
    ]
}

/// What means something in a rule or a policy, in places where it does not stand.
const WORDS: [&str; 40] = [
    "\n",
    "\n  ",
    "\n\n",
    ": ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "\"",
    "'",
    "\\",
    "|\n",
    ">-\n",
    "&a ",
    "*a ",
    "<<: ",
    "# ",
    "{{ ",
    " }}",
    "{% if ",
    " %}",
    "{% endif %}",
    "!",
    " && ",
    " || ",
    " ? ",
    " : ",
    "-",
    ".",
    "client",
    "stats.requests",
    "threshold.some",
    "true",
    "99999999999999999999",
    "1e400",
    "\u{feff}",
    "\t",
];

/// A rule or a policy that something happened to.
fn damaged_rule() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let index = any::<prop::sample::Index>;
    let damage = (index(), 0_usize..40, prop::sample::select(&WORDS[..]), 1_usize..4);
    let name = prop::sample::select(vec!["rule", "rule", "policy", "budget"]);
    (name, index(), prop::collection::vec(damage, 0..6)).prop_map(|(name, at, damage)| {
        let mut paths = files(&root().join("fuzz/corpus").join(name));
        if name == "rule" {
            paths.extend(files(&root().join("rules")));
        }
        let text = fs::read_to_string(&paths[at.index(paths.len())]).expect("a file of text");
        let mut text: Vec<char> = text.chars().collect();
        for (at, gap, word, times) in damage {
            let at = at.index(text.len() + 1);
            let end = text.len().min(at + gap.saturating_sub(30));
            text.splice(at..end, word.repeat(times).chars());
        }
        (name, text.into_iter().collect::<String>().into_bytes())
    })
}

proptest! {
    #![proptest_config(cases::cases(1_000))]

    #[test]
    fn fuzz_targets_accept_damaged_samples(name in target(), text in samples::damaged()) {
        targets::run(name, &text);
    }
}

proptest! {
    #![proptest_config(cases::cases(500))]

    #[test]
    fn fuzz_targets_accept_damaged_rules((name, text) in damaged_rule()) {
        targets::run(name, &text);
    }
}
