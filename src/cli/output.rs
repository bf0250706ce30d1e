//! Output that is written whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::NamedTempFile;

/// Where text goes: a file, which is there only when it is whole, or standard output.
pub(super) enum Output {
    File { draft: NamedTempFile, path: PathBuf },
    Stdout,
}

impl Output {
    /// Prepares the output, so that a path that can't be written is said before the work.
    pub(super) fn prepare(path: Option<&Path>) -> anyhow::Result<Self> {
        Ok(match path {
            None => Self::Stdout,
            Some(path) => Self::File { draft: draft_beside(path)?, path: path.to_owned() },
        })
    }

    /// Writes all of it.
    pub(super) fn write(self, text: &str, color: anstream::ColorChoice) -> anyhow::Result<()> {
        match self {
            Self::Stdout => {
                let mut stdout = anstream::AutoStream::new(std::io::stdout().lock(), color);
                stdout.write_all(text.as_bytes())?;
                stdout.flush()?;
            }
            Self::File { draft, path } => {
                // A file is no terminal: colours only where they were asked for.
                let color = if color == anstream::ColorChoice::Always { color } else { anstream::ColorChoice::Never };
                anstream::AutoStream::new(draft.reopen()?, color).write_all(text.as_bytes())?;
                draft.persist(&path).with_context(|| format!("{}: can't be written", path.display()))?;
            }
        }
        Ok(())
    }
}

/// A new file beside a path, which is then renamed to it.
pub(super) fn draft_beside(path: &Path) -> anyhow::Result<NamedTempFile> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        anyhow::bail!("{}: is a directory; name a file in it", path.display());
    }
    tempfile::Builder::new()
        .prefix(".kubetoll-")
        .tempfile_in(directory)
        .with_context(|| format!("{}: can't be written", path.display()))
}

/// The width of the terminal, or one that fits most places where text without a terminal ends up.
pub(super) fn width() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0).max(40))
}
