//! Output that is written whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::render::file::Draft;

/// Where text goes: a file, which is there only when it is whole, or standard output.
pub(super) enum Output {
    File { draft: Draft, path: PathBuf },
    Stdout,
}

impl Output {
    /// Prepares the output, so that a path that can't be written is said before the work.
    pub(super) fn prepare(path: Option<&Path>) -> anyhow::Result<Self> {
        Ok(match path {
            None => Self::Stdout,
            Some(path) => {
                let draft = Draft::beside(path).with_context(|| unwritable(path))?;
                Self::File { draft, path: path.to_owned() }
            }
        })
    }

    /// Writes all of a text without colours, such as JSON.
    pub(super) fn write_plain(self, text: &str) -> anyhow::Result<()> {
        match self {
            Self::Stdout => {
                let mut stdout = std::io::stdout().lock();
                stdout.write_all(text.as_bytes())?;
                stdout.flush()?;
            }
            Self::File { mut draft, path } => {
                let written = draft.file().write_all(text.as_bytes()).and_then(|()| draft.keep());
                written.with_context(|| unwritable(&path))?;
            }
        }
        Ok(())
    }

    /// Writes all of a text for people.
    pub(super) fn write(self, text: &str, color: anstream::ColorChoice) -> anyhow::Result<()> {
        match self {
            Self::Stdout => {
                let mut stdout = anstream::AutoStream::new(std::io::stdout().lock(), color);
                stdout.write_all(text.as_bytes())?;
                stdout.flush()?;
                Ok(())
            }
            // A file is no terminal: colours only where they were asked for.
            Self::File { .. } if color == anstream::ColorChoice::Always => self.write_plain(text),
            Self::File { .. } => self.write_plain(&anstream::adapter::strip_str(text).to_string()),
        }
    }
}

fn unwritable(path: &Path) -> String {
    format!("{}: can't be written", path.display())
}

/// The width of the terminal, or of `COLUMNS`, or one that fits most places where text without a terminal ends up.
pub(super) fn width() -> usize {
    let asked = || std::env::var("COLUMNS").ok()?.parse().ok();
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    terminal.or_else(asked).unwrap_or(100).max(40)
}
