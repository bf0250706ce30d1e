//! From the paths that were given to the sources that are read, in an order that does not depend on how they were
//! given.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

/// What is wrong with a path that was given. Said before any work.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum InputError {
    #[error("{}: can't be read", .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{}: the directory holds no files; name the one with the audit logs", .0.display())]
    EmptyDirectory(PathBuf),
    #[error("standard input ('-') was named twice; name it once")]
    StdinTwice,
}

/// One thing to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file, or `None` for standard input.
    pub path: Option<PathBuf>,
    /// Named on the command line, not found in a directory.
    pub explicit: bool,
}

impl Source {
    /// How messages and reports name the source.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.as_deref().map_or_else(|| "<stdin>".to_owned(), |path| path.display().to_string())
    }
}

/// All sources of a run, sorted, each once.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The sources; a source's index is its identity throughout a run.
    pub list: Vec<Source>,
    /// Their size on disk, in bytes; 0 for pipes.
    pub bytes_on_disk: u64,
}

impl Sources {
    /// Finds the sources behind the given paths; `-` is standard input, a directory is searched.
    ///
    /// # Errors
    /// [`InputError`] for a path that can't be opened or that leads to nothing.
    pub fn discover(paths: &[PathBuf]) -> Result<Self, InputError> {
        let mut found: BTreeSet<(PathBuf, bool)> = BTreeSet::new();
        let mut stdin = false;
        for path in paths {
            if path.as_os_str() == "-" {
                if std::mem::replace(&mut stdin, true) {
                    return Err(InputError::StdinTwice);
                }
            } else {
                let unreadable = |source| InputError::Unreadable { path: path.clone(), source };
                if fs::metadata(path).map_err(unreadable)?.is_dir() {
                    let before = found.len();
                    search(path, &mut found)?;
                    if found.len() == before && !found.iter().any(|(file, _)| file.starts_with(path)) {
                        return Err(InputError::EmptyDirectory(path.clone()));
                    }
                } else {
                    found.insert((path.clone(), true));
                }
            }
        }
        let mut sources = Self::default();
        let mut seen = BTreeSet::new();
        for (path, explicit) in found {
            let unreadable = |source| InputError::Unreadable { path: path.clone(), source };
            let metadata = fs::metadata(&path).map_err(unreadable)?;
            if metadata.is_file() {
                File::open(&path).map_err(unreadable)?;
                // The same file by two paths is read once.
                if !seen.insert(fs::canonicalize(&path).map_err(unreadable)?) {
                    continue;
                }
            }
            sources.bytes_on_disk += metadata.len();
            sources.list.push(Source { path: Some(path), explicit });
        }
        if stdin {
            sources.list.push(Source { path: None, explicit: true });
        }
        Ok(sources)
    }

    /// Whether the sources can be read a second time.
    #[must_use]
    pub fn can_be_read_again(&self) -> bool {
        self.list.iter().all(|source| {
            source.path.as_deref().is_some_and(|path| fs::metadata(path).is_ok_and(|meta| meta.is_file()))
        })
    }
}

fn search(directory: &Path, found: &mut BTreeSet<(PathBuf, bool)>) -> Result<(), InputError> {
    for entry in WalkDir::new(directory).follow_links(true) {
        match entry {
            Ok(entry) if entry.file_type().is_file() => {
                found.insert((entry.into_path(), false));
            }
            Ok(_) => {}
            // A link that leads back up: what is behind it is found by its own path.
            Err(error) if error.loop_ancestor().is_some() => {}
            // A link to what is no longer there, as rotation leaves them: there is nothing to read.
            Err(error)
                if error.io_error().is_some_and(is_missing) && error.path().is_some_and(Path::is_symlink) => {
            }
            Err(error) => {
                let path = error.path().unwrap_or(directory).to_owned();
                let source = error.into_io_error().unwrap_or_else(|| std::io::ErrorKind::Other.into());
                return Err(InputError::Unreadable { path, source });
            }
        }
    }
    Ok(())
}

fn is_missing(error: &std::io::Error) -> bool {
    // A link to itself ends in ELOOP, which has no stable name yet.
    error.kind() == std::io::ErrorKind::NotFound || error.raw_os_error() == Some(40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_files_in_directories_once_and_sorted() {
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
        assert!(!sources.can_be_read_again());
        assert_eq!(sources.bytes_on_disk, 2);
    }

    #[test]
    fn a_path_that_leads_to_nothing_is_an_error() {
        let dir = tempfile::tempdir().expect("a directory");
        let missing = Sources::discover(&[dir.path().join("missing")]);
        assert!(matches!(missing, Err(InputError::Unreadable { .. })));
        let empty = Sources::discover(&[dir.path().to_owned()]);
        assert!(matches!(empty, Err(InputError::EmptyDirectory(_))));
    }
}
