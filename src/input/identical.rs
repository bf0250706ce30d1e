//! Files that hold the same bytes: rotated logs that were copied, an archive beside its original.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

use super::discover::Source;

/// What of a file is compared before all of it is, in bytes.
const START: u64 = 64 << 10;

/// The sources that hold what an earlier one holds, each with that one, by index and in ascending order. Only files
/// of the same size are looked into. A file that can't be read is no copy; reading it says so later.
pub(super) fn duplicates(sources: &[Source]) -> Vec<(usize, usize)> {
    let mut by_size: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, source) in sources.iter().enumerate().filter(|(_, source)| source.size > 0) {
        by_size.entry(source.size).or_default().push(index);
    }
    let mut copies = Vec::new();
    for alike in by_size.into_values() {
        for alike in same(sources, alike, START) {
            for alike in same(sources, alike, u64::MAX) {
                copies.extend(alike[1..].iter().map(|copy| (*copy, alike[0])));
            }
        }
    }
    copies.sort_unstable();
    copies
}

/// Groups of two and more sources of which the first bytes are the same.
fn same(sources: &[Source], candidates: Vec<usize>, bytes: u64) -> Vec<Vec<usize>> {
    let mut by_hash: BTreeMap<u128, Vec<usize>> = BTreeMap::new();
    if candidates.len() > 1 {
        for index in candidates {
            if let Some(hash) = sources[index].path.as_deref().and_then(|path| hash(path, bytes)) {
                by_hash.entry(hash).or_default().push(index);
            }
        }
    }
    by_hash.into_values().filter(|alike| alike.len() > 1).collect()
}

fn hash(path: &Path, bytes: u64) -> Option<u128> {
    let mut file = File::open(path).ok()?.take(bytes);
    let mut buffer = vec![0; 256 << 10];
    let mut hash = Xxh3::new();
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hash.digest128()),
            n => hash.update(&buffer[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sources;

    #[test]
    fn copies_are_left_out_and_named() {
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
        let [copy] = &*sources.duplicates else { panic!("one copy") };
        assert!(copy.path.ends_with("c") && copy.original.ends_with("a"));
    }
}
