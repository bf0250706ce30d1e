//! Finds the given paths whose files have no event (or no line of etcd) that the run can use.

use std::path::{Path, PathBuf};

use crate::input::Sources;

/// Returns the given paths that have files, but no file with usable content. `holds_none` gets the index of a source
/// file. It returns true if this file has no usable content.
pub(super) fn without_content<'p>(
    paths: &'p [PathBuf],
    sources: &'p Sources,
    holds_none: impl Fn(u32) -> bool,
) -> impl Iterator<Item = &'p PathBuf> {
    paths.iter().filter(move |given| {
        let is_below = |path: Option<&Path>| match path {
            Some(path) => path.starts_with(given),
            None => given.as_os_str() == "-",
        };
        // For a duplicate, check the file that kubetoll reads instead: it has the same content.
        let original =
            |path: &Path| sources.list.iter().position(|source| source.path.as_deref() == Some(path));
        let copies = sources.duplicates.iter().filter(|copy| is_below(Some(&copy.path)));
        let mut below = sources
            .list
            .iter()
            .enumerate()
            .filter(|(_, source)| is_below(source.path.as_deref()))
            .map(|(index, _)| index)
            .chain(copies.filter_map(|copy| original(&copy.original)))
            .peekable();
        let mut not_read = sources.not_read.iter().filter(|one| is_below(Some(&one.path)));
        (below.peek().is_some() || not_read.next().is_some())
            && below.all(|index| u32::try_from(index).is_ok_and(&holds_none))
    })
}

/// The name of a path in messages.
pub(super) fn name(given: &Path) -> String {
    if given.as_os_str() == "-" { "standard input".to_owned() } else { given.display().to_string() }
}
