//! Output files that are not complete yet. If a signal ends the process, the signal handler removes them.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, NamedTempFile};

/// The prefix of the file names of partial files. The next constant is the suffix.
const PREFIX: &str = ".kubetoll-";
const SUFFIX: &str = ".partial";

/// The partial files of this process. The lock is held while a file is created or renamed, so that the signal handler
/// finds every file.
static PARTIAL: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn partial() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PARTIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a path has the name of a partial file.
#[must_use]
pub(crate) fn is_partial(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
}

/// An incomplete file. If this value is dropped, the file is removed.
pub(crate) struct Partial(Option<NamedTempFile>);

impl Partial {
    pub(crate) fn new(mut builder: Builder<'_, '_>, directory: &Path) -> io::Result<Self> {
        let mut partial = partial();
        let file = builder.prefix(PREFIX).suffix(SUFFIX).tempfile_in(directory)?;
        partial.insert(file.path().to_owned());
        Ok(Self(Some(file)))
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.0.as_ref().map(NamedTempFile::path)
    }

    pub(crate) fn file(&mut self) -> &mut std::fs::File {
        self.0.as_mut().expect("only `persist` takes the file, and it consumes `self`").as_file_mut()
    }

    /// Renames the file to its final path.
    pub(crate) fn persist(mut self, path: &Path) -> io::Result<()> {
        self.file().sync_all()?;
        let mut partial = partial();
        let Some(file) = self.0.take() else { return Ok(()) };
        let own = file.path().to_owned();
        let done = file.persist(path);
        partial.remove(&own);
        done?;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            let mut partial = partial();
            partial.remove(file.path());
            drop(file);
        }
    }
}

/// Removes partial files when SIGINT, SIGTERM or SIGHUP ends the process. Signals that were ignored at the start, as
/// with `nohup`, stay ignored.
///
/// # Errors
/// Returns an error if the system refuses the handler or the thread.
#[cfg(unix)]
pub(crate) fn remove_on_signals() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    let ignored = ignored();
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !ignored.contains(signal)))?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // Holds the lock until the process ends, so that no new partial file appears.
            let partial = partial();
            for path in partial.iter() {
                let _ = std::fs::remove_file(path);
            }
            // Ends the process as the signal would without a handler, so that a shell sees the signal.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "other systems have other signals")]
pub(crate) fn remove_on_signals() -> io::Result<()> {
    Ok(())
}

/// Returns the signals that the process ignores, from Linux' `/proc`. On other systems, returns none.
#[cfg(unix)]
fn ignored() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (1..=64).filter(|signal| mask >> (signal - 1) & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_files_have_a_recognizable_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut file = Partial::new(Builder::new(), dir.path()).expect("a file");
        file.file();
        let found = || std::fs::read_dir(dir.path()).expect("the directory").flatten().next();
        assert!(is_partial(&found().expect("the file").path()));
        let place = dir.path().join("whole");
        file.persist(&place).expect("a file");
        assert!(found().expect("the file").path() == place && !is_partial(&place));
        assert!(!is_partial(Path::new(".kubetoll-x.partial/audit.log")));
    }
}
