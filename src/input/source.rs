//! One source: a file, or standard input.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A file, or standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file, or `None` for standard input.
    pub path: Option<PathBuf>,
    /// True if the command line names this file. False if it was found in a directory.
    pub explicit: bool,
    /// When the file was last modified, in microseconds since 1970.
    pub modified: Option<i64>,
    /// Size on disk in bytes; 0 for pipes.
    pub size: u64,
}

impl Source {
    /// Creates a source. For a regular file, also returns two numbers that identify the file on this machine, such as
    /// device and inode.
    pub(super) fn from_path(path: &Path, explicit: bool) -> std::io::Result<(Self, Option<(u64, u64)>)> {
        let metadata = fs::metadata(path)?;
        let modified = metadata.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let source = Self {
            path: Some(path.to_owned()),
            explicit,
            modified: modified.and_then(|since| i64::try_from(since.as_micros()).ok()),
            size: if metadata.is_file() { metadata.len() } else { 0 },
        };
        if !metadata.is_file() {
            return Ok((source, None));
        }
        // Reports unreadable files before the work begins. A pipe is not opened here, because that waits for its
        // writer.
        File::open(path)?;
        Ok((source, Some(identity(&metadata, path)?)))
    }

    /// The name in messages and reports.
    #[must_use]
    pub(crate) fn name(&self) -> String {
        self.path.as_deref().map_or_else(|| "<stdin>".to_owned(), |path| path.display().to_string())
    }
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "it may fail on other systems")]
fn identity(metadata: &fs::Metadata, _: &Path) -> std::io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Ok((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata, path: &Path) -> std::io::Result<(u64, u64)> {
    use std::hash::BuildHasher;
    Ok((0, rustc_hash::FxBuildHasher.hash_one(fs::canonicalize(path)?)))
}
