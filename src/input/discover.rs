//! Finds the sources for the paths on the command line. Their order does not depend on the order of the paths.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::identical::duplicates;
use super::{FileKind, Source};
use crate::files::partial::is_partial;

/// An error in a path from the command line, reported before any work.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("{}: can't be read", .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{}: the directory holds no files; name the one with the audit logs", .0.display())]
    EmptyDirectory(PathBuf),
    #[error("standard input ('-') was named twice; name it once")]
    StdinTwice,
}

/// A path that kubetoll found in a directory, but skips.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkippedPath {
    pub(crate) path: PathBuf,
    /// The reason, for messages.
    pub(crate) why: String,
    /// The file type, if the file is not a log.
    pub(crate) kind: Option<FileKind>,
}

/// A file with the same bytes as another source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateFile {
    pub(crate) path: PathBuf,
    /// The source with the same bytes. kubetoll reads only this one.
    pub(crate) original: PathBuf,
}

/// All sources of a run, sorted and without repetitions.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The sources. A source's index identifies it throughout a run.
    pub list: Vec<Source>,
    /// Size of all sources on disk in bytes. Pipes count as 0.
    pub bytes_on_disk: u64,
    /// The paths that kubetoll found in directories, but skips.
    pub not_read: BTreeSet<SkippedPath>,
    /// The types of files as their first bytes show them. gzip and zstd files have no entry.
    pub kinds: BTreeMap<PathBuf, FileKind>,
    /// Files that duplicate another source; see [`Sources::drop_duplicates`].
    pub duplicates: Vec<DuplicateFile>,
}

impl Sources {
    /// The name of a source; empty if no source has the index.
    #[must_use]
    pub(crate) fn name(&self, index: u32) -> String {
        usize::try_from(index)
            .ok()
            .and_then(|index| self.list.get(index))
            .map(Source::name)
            .unwrap_or_default()
    }

    /// Finds the sources at the given paths. `-` is standard input, and directories are searched.
    ///
    /// # Errors
    /// [`InputError`] if a path can't be opened or contains no file.
    pub fn discover(paths: &[PathBuf]) -> Result<Self, InputError> {
        let mut files: BTreeSet<(PathBuf, bool)> = BTreeSet::new();
        let mut sources = Self::default();
        let mut stdin = false;
        for path in paths {
            if path.as_os_str() == "-" {
                if std::mem::replace(&mut stdin, true) {
                    return Err(InputError::StdinTwice);
                }
                continue;
            }
            let unreadable = |source| InputError::Unreadable { path: path.clone(), source };
            if fs::metadata(path).map_err(unreadable)?.is_dir() {
                fs::read_dir(path).map_err(unreadable)?;
                search(path, &mut files, &mut sources.not_read);
                let any = files.iter().any(|(file, _)| file.starts_with(path))
                    || sources.not_read.iter().any(|one| one.path.starts_with(path));
                if !any {
                    return Err(InputError::EmptyDirectory(path.clone()));
                }
            } else {
                files.insert((path.clone(), true));
            }
        }
        let mut seen = BTreeSet::new();
        for (path, explicit) in files {
            match Source::from_path(&path, explicit) {
                // Another path already led to this file.
                Ok((_, Some(inode))) if !seen.insert(inode) => {}
                Ok((source, inode)) => {
                    let kind = inode.and_then(|_| FileKind::from_path(&path));
                    sources.kinds.extend(kind.map(|kind| (path.clone(), kind)));
                    if let Some(kind) = kind.filter(|kind| kind.is_unreadable()) {
                        sources.not_read.insert(SkippedPath {
                            path,
                            why: kind.to_string(),
                            kind: Some(kind),
                        });
                        continue;
                    }
                    sources.bytes_on_disk += source.size;
                    sources.list.push(source);
                }
                Err(source) if explicit => return Err(InputError::Unreadable { path, source }),
                Err(error) => {
                    sources.not_read.insert(SkippedPath { path, why: error.to_string(), kind: None });
                }
            }
        }
        if stdin {
            sources.list.push(Source { path: None, explicit: true, modified: None, size: 0 });
        }
        Ok(sources)
    }

    /// Removes sources with the same bytes as another source.
    pub(crate) fn drop_duplicates(&mut self) {
        let copies = duplicates(&self.list);
        for (copy, original) in copies.iter().rev() {
            let path = |index: usize| self.list[index].path.clone().unwrap_or_default();
            self.duplicates.push(DuplicateFile { path: path(*copy), original: path(*original) });
        }
        self.duplicates.reverse();
        let mut left_out = copies.iter().map(|(copy, _)| *copy).peekable();
        let mut index = 0;
        self.list.retain(|source| {
            let is_copy = left_out.next_if_eq(&index).is_some();
            self.bytes_on_disk -= if is_copy { source.size } else { 0 };
            index += 1;
            !is_copy
        });
    }
}

/// Whether all sources can be read a second time.
#[must_use]
pub fn can_be_read_again(sources: &[Source]) -> bool {
    sources.iter().all(|source| {
        source.path.as_deref().is_some_and(|path| fs::metadata(path).is_ok_and(|meta| meta.is_file()))
    })
}

fn search(directory: &Path, files: &mut BTreeSet<(PathBuf, bool)>, not_read: &mut BTreeSet<SkippedPath>) {
    let mut skip = |path: &Path, why: String| {
        not_read.insert(SkippedPath { path: path.to_owned(), why, kind: None });
    };
    for entry in WalkDir::new(directory).follow_links(true) {
        match entry {
            Ok(entry) if entry.file_type().is_file() && is_partial(entry.path()) => {
                skip(entry.path(), "an incomplete output of kubetoll".to_owned());
            }
            Ok(entry) if entry.file_type().is_file() => {
                files.insert((entry.into_path(), false));
            }
            Ok(entry) if entry.file_type().is_dir() => {}
            // Reading a pipe waits for its writer, so a pipe is read only if the command line names it.
            Ok(entry) => skip(entry.path(), "neither a file nor a directory".to_owned()),
            Err(error) => {
                let path = error.path().unwrap_or(directory);
                let why = match (error.loop_ancestor(), error.io_error()) {
                    (Some(above), _) => format!("a link that leads back to {}", above.display()),
                    // Log rotation leaves symbolic links whose target is deleted.
                    (None, Some(io)) if is_missing(io) && path.is_symlink() => "a link to nothing".to_owned(),
                    (None, Some(io)) => io.to_string(),
                    (None, None) => error.to_string(),
                };
                skip(path, why);
            }
        }
    }
}

fn is_missing(error: &std::io::Error) -> bool {
    // A link to itself returns ELOOP, which has no stable name in the standard library yet.
    error.kind() == std::io::ErrorKind::NotFound || error.raw_os_error() == Some(40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discover_finds_files_once_and_sorted() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join("b")).expect("a directory");
        for name in ["b/2.log", "a.log"] {
            fs::write(dir.path().join(name), "x").expect("a file");
        }
        let given = [dir.path().to_owned(), dir.path().join("a.log"), "-".into()];
        let sources = Sources::discover(&given).expect("sources");
        let names: Vec<_> = sources.list.iter().map(Source::name).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(names[0].ends_with("a.log") && names[1].ends_with("2.log") && names[2] == "<stdin>");
        assert!(!can_be_read_again(&sources.list));
        assert_eq!(sources.bytes_on_disk, 2);
    }

    #[test]
    fn missing_path_and_empty_directory_are_errors() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(!dir.path().join("x").exists());
        let missing = Sources::discover(&[dir.path().join("missing")]);
        assert!(matches!(missing, Err(InputError::Unreadable { .. })));
        let empty = Sources::discover(&[dir.path().to_owned()]);
        assert!(matches!(empty, Err(InputError::EmptyDirectory(_))));
    }
}
