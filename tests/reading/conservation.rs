//! For any damage to a log in any input format, each record is an event, foreign or skipped. Nothing panics.
//! The number of threads and the compression do not matter.

use std::fs;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use kubetoll::report::Report;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use crate::support::cases::cases;
use crate::support::library::{conservation, run, same};

use super::any_damage::{Damage, any_damage, gzip};
use crate::support::library::same::difference;

/// The maximum size of a sample in bytes: enough for all its features.
const KEPT: usize = 200_000;

/// All samples, damaged ones too, decompressed.
fn samples() -> Vec<Vec<u8>> {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/logs");
    let mut paths: Vec<PathBuf> = [logs.clone(), logs.join("damaged")]
        .iter()
        .flat_map(|directory| fs::read_dir(directory).expect("a directory"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file() && !["README.md", "make.py"].iter().any(|name| path.ends_with(name)))
        .filter(|path| !path.to_string_lossy().ends_with(".expected.json"))
        .collect();
    paths.sort();
    paths.iter().map(|path| content(path)).collect()
}

fn content(path: &Path) -> Vec<u8> {
    let stored = fs::read(path).expect("a sample");
    if !stored.starts_with(&[0x1f, 0x8b]) {
        return stored;
    }
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut MultiGzDecoder::new(&*stored), &mut plain).expect("gzip");
    plain.truncate(plain.len().min(KEPT));
    plain
}

/// A change to the whole log.
#[derive(Debug, Clone)]
enum Change {
    /// Damage to bytes or lines.
    Damage(Damage),
    /// A range occurs again at another place.
    Copied(Index, Index, Index),
    /// Two ranges swap places.
    Swapped(Index, Index),
    /// The lines are in another order.
    Shuffled(u64),
    /// All lines are joined into one.
    Joined,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        8 => any_damage().prop_map(Change::Damage),
        2 => any::<(Index, Index, Index)>().prop_map(|(a, b, c)| Change::Copied(a, b, c)),
        1 => any::<(Index, Index)>().prop_map(|(a, b)| Change::Swapped(a, b)),
        1 => any::<u64>().prop_map(Change::Shuffled),
        1 => Just(Change::Joined),
    ]
}

fn apply(change: &Change, log: &mut Vec<u8>) {
    if log.is_empty() {
        return;
    }
    let size = log.len();
    match change {
        Change::Damage(damage) => damage.apply(log),
        Change::Copied(from, to, at) => {
            let (from, to) = (from.index(size), to.index(size));
            let piece = log[from.min(to)..from.max(to)].to_vec();
            let at = at.index(size);
            log.splice(at..at, piece);
        }
        Change::Swapped(a, b) => {
            let (a, b) = (a.index(size), b.index(size));
            log[a.min(b)..].rotate_left(a.abs_diff(b));
        }
        Change::Shuffled(seed) => {
            let mut lines: Vec<&[u8]> = log.split(|byte| *byte == b'\n').collect();
            lines.sort_by_key(|line| xxhash_rust::xxh3::xxh3_64_with_seed(line, *seed));
            *log = lines.join(&b'\n');
        }
        Change::Joined => log.retain(|byte| *byte != b'\n'),
    }
}

/// Files with these contents, and their report.
fn scan(contents: &[Vec<u8>], threads: usize) -> Report {
    let directory = tempfile::tempdir().expect("a directory");
    let paths: Vec<PathBuf> =
        (0..contents.len()).map(|number| directory.path().join(number.to_string())).collect();
    for (path, content) in paths.iter().zip(contents) {
        fs::write(path, content).expect("a file");
    }
    run::scan(&paths, &run::settings(threads, &[]))
}

/// A report without file names, because each run has another directory.
fn nameless(report: &Report) -> Value {
    // The commands of findings name the file.
    let mut value = same::json_without(report, &["verify"]);
    rename(&mut value);
    value
}

fn rename(value: &mut Value) {
    match value {
        Value::Object(map) => map.values_mut().for_each(rename),
        Value::Array(values) => values.iter_mut().for_each(rename),
        Value::String(text) if text.starts_with('/') => {
            if let Some((directory, name)) = text.rsplit_once('/')
                && Path::new(directory).starts_with(std::env::temp_dir())
            {
                *text = name.to_owned();
            }
        }
        _ => {}
    }
}

#[test]
fn counts_of_each_sample_add_up_plain_and_compressed() {
    for (number, sample) in samples().into_iter().enumerate() {
        let packed = scan(&[gzip(&sample)], 3);
        let plain = scan(&[sample], 1);
        conservation::check(&plain);
        assert_eq!(
            difference(&nameless(&plain), &nameless(&packed)),
            Vec::<String>::new(),
            "sample {number}"
        );
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn damaged_samples_lose_no_record(
        which in prop::collection::vec((any::<Index>(), prop::collection::vec(change(), 0..5)), 1..4),
    ) {
        let samples = samples();
        let mut logs: Vec<Vec<u8>> = Vec::new();
        for (index, changes) in &which {
            let mut log = samples[index.index(samples.len())].clone();
            for change in changes {
                apply(change, &mut log);
            }
            logs.push(log);
        }
        let one = scan(&logs, 1);
        conservation::check(&one);
        prop_assert!(one.input.damaged.is_empty());
        prop_assert_eq!(difference(&nameless(&scan(&logs, 3)), &nameless(&one)), Vec::<String>::new());
        let packed: Vec<Vec<u8>> = logs.iter().map(|log| gzip(log)).collect();
        prop_assert_eq!(difference(&nameless(&scan(&packed, 2)), &nameless(&one)), Vec::<String>::new());
    }

    #[test]
    fn concatenated_samples_lose_no_record(
        which in prop::collection::vec((any::<Index>(), any::<Index>(), any::<Index>()), 2..6),
        feed: bool,
    ) {
        let samples = samples();
        let mut log = Vec::new();
        for (index, from, to) in &which {
            let sample = &samples[index.index(samples.len())];
            let (from, to) = (from.index(sample.len()), to.index(sample.len()));
            log.extend_from_slice(&sample[from.min(to)..from.max(to)]);
            if feed {
                log.push(b'\n');
            }
        }
        let one = scan(std::slice::from_ref(&log), 1);
        conservation::check(&one);
        let lines = log.split_inclusive(|byte| *byte == b'\n').count() as u64;
        prop_assert_eq!(one.input.lines, lines);
        prop_assert_eq!(difference(&nameless(&scan(&[gzip(&log)], 3)), &nameless(&one)), Vec::<String>::new());
    }
}
