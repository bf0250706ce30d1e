//! The samples of every envelope, and ways to damage them.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;

/// The samples by their paths, decompressed.
pub static SAMPLES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/logs");
    let paths = files(&folder).into_iter().chain(files(&folder.join("damaged")));
    let is_sample = |path: &PathBuf| {
        let path = path.to_string_lossy();
        !["README.md", "make.py", "mixed.jsonl", ".expected.json"].iter().any(|other| path.ends_with(other))
    };
    paths.filter(is_sample).map(|path| (path.clone(), text(&path))).collect()
});

/// The files of a folder, in their order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

fn text(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).expect("a file");
    if path.extension().is_none_or(|extension| extension != "gz") {
        return bytes;
    }
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(&*bytes).read_to_end(&mut text).expect("gzip");
    text
}

/// One way to damage a log.
#[derive(Debug, Clone)]
pub enum Damage {
    /// A bit flips.
    Flip(Index, u8),
    /// Some bytes change.
    Replace(Index, u8, Vec<u8>),
    /// Bytes are missing.
    Gap(Index, Index),
    /// The log ends here.
    End(Index),
    /// A line feed is missing.
    Join(Index),
    /// Lines occur twice or in another order.
    Double(Index),
    Swap(Index, Index),
    /// Another log continues here, from any place in it.
    Splice(Index, Index, Index),
    /// A line of another log is between two lines.
    Between(Index, Index, Index),
    /// The whole log again, as a string in an envelope.
    Wrap(&'static str),
}

const WORDS: [&str; 20] = [
    "\"",
    "\\",
    "\\\"",
    "{",
    "}",
    "[",
    "]",
    "\n",
    "\r\n",
    "\0",
    "\u{feff}",
    "\\ud800",
    "\\u0000",
    "1e999",
    " stdout P ",
    " stdout F ",
    "\"log\":",
    "null",
    "{}{}",
    "\n---\n",
];
const WRAPS: [&str; 4] = ["message", "log", "MESSAGE", "textPayload"];

/// A damaged sample.
pub fn damaged() -> impl Strategy<Value = Vec<u8>> {
    (any::<Index>(), prop::collection::vec(damage(), 0..5)).prop_map(|(sample, damage)| {
        // A few lines test a report as well, and faster.
        let mut text = some_lines(&SAMPLES[sample.index(SAMPLES.len())].1, sample);
        for damage in damage {
            damage.apply(&mut text);
        }
        text
    })
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<Index>;
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..4),
        prop::sample::select(&WORDS[..]).prop_map(|word| word.as_bytes().to_vec())
    ];
    prop_oneof![
        (index(), 0_u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        (index(), 0_u8..4, bytes).prop_map(|(at, length, bytes)| Damage::Replace(at, length, bytes)),
        (index(), index()).prop_map(|(at, length)| Damage::Gap(at, length)),
        index().prop_map(Damage::End),
        index().prop_map(Damage::Join),
        index().prop_map(Damage::Double),
        (index(), index()).prop_map(|(one, other)| Damage::Swap(one, other)),
        (index(), index(), index()).prop_map(|(sample, from, to)| Damage::Splice(sample, from, to)),
        (index(), index(), index()).prop_map(|(sample, line, at)| Damage::Between(sample, line, at)),
        prop::sample::select(&WRAPS[..]).prop_map(Damage::Wrap),
    ]
}

/// At most some kilobytes of a text, in whole lines if those are shorter.
fn some_lines(text: &[u8], from: Index) -> Vec<u8> {
    const MOST: usize = 6_000;
    if text.len() <= MOST {
        return text.to_vec();
    }
    let start = from.index(text.len() - MOST);
    let start = memchr::memrchr(b'\n', &text[..start]).map_or(0, |feed| feed + 1);
    text[start..text.len().min(start + 4 * MOST)].to_vec()
}

fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

impl Damage {
    fn apply(&self, text: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        let place = |at: &Index| at.index(text.len());
        match self {
            Self::Flip(at, bit) => {
                let at = place(at);
                text[at] ^= 1 << bit;
            }
            Self::Replace(at, length, bytes) => {
                let at = place(at);
                let end = text.len().min(at + usize::from(*length));
                text.splice(at..end, bytes.iter().copied());
            }
            Self::Gap(at, length) => {
                let at = place(at);
                let length = length.index(text.len() - at);
                drop(text.drain(at..at + length));
            }
            Self::End(at) => text.truncate(at.index(text.len())),
            Self::Join(at) => {
                let at = place(at);
                if let Some(feed) = memchr::memchr(b'\n', &text[at..]) {
                    text.remove(at + feed);
                }
            }
            Self::Double(at) => {
                let mut lines = lines(text);
                let at = at.index(lines.len());
                lines.insert(at, lines[at].clone());
                *text = lines.concat();
            }
            Self::Swap(one, other) => {
                let mut lines = lines(text);
                let (one, other) = (one.index(lines.len()), other.index(lines.len()));
                lines.swap(one, other);
                *text = lines.concat();
            }
            Self::Splice(sample, from, to) => {
                let other = some_lines(&SAMPLES[sample.index(SAMPLES.len())].1, *to);
                text.truncate(from.index(text.len()));
                text.extend_from_slice(&other[to.index(other.len())..]);
            }
            Self::Between(sample, line, at) => {
                let others = lines(&SAMPLES[sample.index(SAMPLES.len())].1);
                let mut lines = lines(text);
                let mut other = others[line.index(others.len())].clone();
                other.truncate(40_000);
                lines.insert(at.index(lines.len()), other);
                *text = lines.concat();
            }
            Self::Wrap(key) => {
                let wrap = |line: &[u8]| {
                    let text = String::from_utf8_lossy(line.trim_ascii_end());
                    format!("{}\n", serde_json::json!({ *key: text })).into_bytes()
                };
                *text = lines(text).iter().flat_map(|line| wrap(line)).collect();
            }
        }
    }
}
