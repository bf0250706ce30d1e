//! Files that are written whole or not at all.

use std::fs::{self, File, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use crate::files::partial::Partial;

pub(crate) enum Draft {
    /// A temporary file beside `path`, renamed to `path` at the end.
    New { file: Partial, path: PathBuf },
    /// A pipe or a device. It is written directly, because renaming a file to its path would replace the pipe or
    /// device.
    Through(File),
}

impl Draft {
    /// Creates a temporary file in the directory of `path`. If `path` is a link, [`Draft::keep`] replaces the link's
    /// target, and the link stays. If `path` is a pipe or a device, opens it instead.
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        let old = match fs::metadata(path) {
            Ok(old) if old.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(_) if is_pipe_or_device(path) => {
                return Ok(Self::Through(File::options().write(true).open(path)?));
            }
            Ok(old) => Some(old.permissions()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let path = if old.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Fails for a missing directory, with a message that does not contain the temporary file's name.
        fs::metadata(directory)?;
        let mut builder = tempfile::Builder::new();
        if let Some(permissions) = old.or_else(default_permissions) {
            builder.permissions(permissions);
        }
        Ok(Self::New { file: Partial::new(builder, directory)?, path })
    }

    pub(crate) fn file(&mut self) -> &mut File {
        match self {
            Self::New { file, .. } => file.file(),
            Self::Through(file) => file,
        }
    }

    /// Renames the temporary file to its final path. If a [`Draft`] is dropped without this call, the temporary file
    /// is removed.
    pub(crate) fn keep(self) -> io::Result<()> {
        match self {
            Self::New { file, path } => file.persist(&path),
            Self::Through(_) => Ok(()),
        }
    }
}

/// A writer that notes whether the reader closed the pipe. A closed pipe is not an error (`kubetoll … | head`).
pub(crate) struct ClosableWriter<W> {
    inner: W,
    is_closed: bool,
}

impl<W: io::Write> ClosableWriter<W> {
    /// Calls `write` with a writer to `inner`. If the reader of a pipe closes it early, this is not an error: the
    /// result is `Ok`.
    pub(crate) fn write_with(inner: W, write: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        let mut watched = Self { inner, is_closed: false };
        let result = write(&mut watched).and_then(|()| io::Write::flush(&mut watched));
        if watched.is_closed { Ok(()) } else { result }
    }

    fn note_closed<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.inspect_err(|error| self.is_closed |= error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl<W: io::Write> io::Write for ClosableWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        self.note_closed(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.inner.flush();
        self.note_closed(flushed)
    }
}

/// Whether a path is a pipe or a device. Reads only the metadata and does not open the path. If a pipe is opened and
/// closed as a test, its reader sees the end of the file.
pub(crate) fn is_pipe_or_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|old| !old.is_file() && !old.is_dir())
}

/// Returns the default permissions of a new file. A temporary file needs them, because otherwise only its owner can
/// read it.
#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "other systems have no such permissions")]
fn default_permissions() -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn default_permissions() -> Option<Permissions> {
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn dropped_draft_keeps_the_old_file_and_leaves_no_other() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("rows");
        fs::write(&path, "old").expect("a file");
        let mut draft = Draft::beside(&path).expect("a draft");
        draft.file().write_all(b"ne").expect("two bytes");
        drop(draft);
        assert_eq!(fs::read_to_string(&path).expect("the file"), "old");
        assert_eq!(fs::read_dir(dir.path()).expect("the directory").count(), 1);

        let mut draft = Draft::beside(&path).expect("a draft");
        draft.file().write_all(b"new").expect("three bytes");
        draft.keep().expect("a file");
        assert_eq!(fs::read_to_string(&path).expect("the file"), "new");
        assert_eq!(fs::read_dir(dir.path()).expect("the directory").count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn draft_keeps_links_and_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a directory");
        let (path, link) = (dir.path().join("rows"), dir.path().join("link"));
        fs::write(&path, "old").expect("a file");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("permissions");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        let mut draft = Draft::beside(&link).expect("a draft");
        draft.file().write_all(b"new").expect("three bytes");
        draft.keep().expect("a file");
        assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
        assert_eq!(fs::read_to_string(&path).expect("the file"), "new");
        assert_eq!(fs::metadata(&path).expect("the file").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    #[cfg(unix)]
    fn draft_writes_to_a_device_without_replacing_it() {
        use std::os::unix::fs::FileTypeExt;
        let mut draft = Draft::beside(Path::new("/dev/null")).expect("a draft");
        draft.file().write_all(b"new").expect("three bytes");
        draft.keep().expect("nothing to do");
        assert!(fs::metadata("/dev/null").expect("the device").file_type().is_char_device());
    }

    #[test]
    fn draft_reports_directories_and_missing_ones() {
        let dir = tempfile::tempdir().expect("a directory");
        let kind = |path: &Path| Draft::beside(path).err().map(|error| error.kind());
        assert_eq!(kind(dir.path()), Some(io::ErrorKind::IsADirectory));
        assert_eq!(kind(&dir.path().join("missing/rows")), Some(io::ErrorKind::NotFound));
    }
}
