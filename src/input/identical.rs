//! Finds files with the same bytes: copies of rotated logs, or a log and its copy in an archive directory.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::Hasher;
use std::io::Read;
use std::path::Path;

use siphasher::sip128::{Hasher128, SipHasher13};

use super::Source;

/// The number of bytes at the start of each file that are compared first. Only files with equal starts are compared as
/// a whole.
const START: u64 = 64 << 10;

/// Finds sources with the same bytes as an earlier source. Returns pairs of indexes, the duplicate first, in
/// ascending order. Only files of equal size are read. A file that can't be read is not a duplicate; kubetoll reports
/// the error when it reads the source.
pub(super) fn duplicates(sources: &[Source]) -> Vec<(usize, usize)> {
    let mut by_size: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, source) in sources.iter().enumerate().filter(|(_, source)| source.size > 0) {
        by_size.entry(source.size).or_default().push(index);
    }
    let mut pairs = Vec::new();
    for group in by_size.into_values() {
        for group in group_by_hash(sources, group, START) {
            for group in group_by_hash(sources, group, u64::MAX) {
                pairs.extend(group[1..].iter().map(|duplicate| (*duplicate, group[0])));
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Groups sources whose first `bytes` bytes are equal. Each group has at least two sources.
fn group_by_hash(sources: &[Source], candidates: Vec<usize>, bytes: u64) -> Vec<Vec<usize>> {
    let mut by_hash: BTreeMap<u128, Vec<usize>> = BTreeMap::new();
    if candidates.len() > 1 {
        for index in candidates {
            if let Some(hash) = sources[index].path.as_deref().and_then(|path| hash(path, bytes)) {
                by_hash.entry(hash).or_default().push(index);
            }
        }
    }
    by_hash.into_values().filter(|group| group.len() > 1).collect()
}

fn hash(path: &Path, bytes: u64) -> Option<u128> {
    let mut file = File::open(path).ok()?.take(bytes);
    let mut buffer = vec![0; 256 << 10];
    let mut hash = SipHasher13::new();
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hash.finish128().as_u128()),
            n => hash.write(&buffer[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sources;

    #[test]
    fn drop_duplicates_removes_and_lists_them() {
        let dir = tempfile::tempdir().expect("a directory");
        let long = "x".repeat(100_000);
        for (name, text) in
            [("a", "one"), ("b", "two"), ("c", "one"), ("d", ""), ("e", ""), ("f", &long), ("g", &long[1..])]
        {
            std::fs::write(dir.path().join(name), text).expect("a file");
        }
        std::fs::write(dir.path().join("h"), format!("{}y", &long[1..])).expect("a file");
        let mut sources = Sources::discover(&[dir.path().to_owned()]).expect("sources");
        let before = sources.bytes_on_disk;
        sources.drop_duplicates();
        assert_eq!(sources.list.len(), 7);
        assert_eq!(sources.bytes_on_disk, before - 3);
        let [duplicate] = &*sources.duplicates else { panic!("one duplicate") };
        assert!(duplicate.path.ends_with("c") && duplicate.original.ends_with("a"));
    }
}
