//! Output that is written whole or not at all.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::render::escape::without_commands;
use crate::render::file::{Draft, Watched};

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
            Some(path) if is_stdout(path) => Self::Stdout,
            Some(path) => {
                let draft = Draft::beside(path).with_context(|| unwritable(path))?;
                Self::File { draft, path: path.to_owned() }
            }
        })
    }

    /// Lets all of it be written. A reader that goes away ends the writing, and no more: the exit status does not depend
    /// on it.
    pub(super) fn write_with(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        match self {
            Self::Stdout => {
                Watched::write_with(io::stdout().lock(), |out| write(out))?;
            }
            Self::File { mut draft, path } => {
                let written = Watched::write_with(draft.file(), |out| write(out)).and_then(|()| draft.keep());
                written.with_context(|| unwritable(&path))?;
            }
        }
        Ok(())
    }

    /// Writes a text as it is.
    pub(super) fn write_whole(self, text: &str) -> anyhow::Result<()> {
        self.write_with(|out| out.write_all(text.as_bytes()))
    }

    /// Writes a text for people, without commands to a job's runner, colored where that is wanted; in a file, only where it was asked for.
    pub(super) fn write(self, text: &str, color: anstream::ColorChoice) -> anyhow::Result<()> {
        let color = match (&self, color) {
            (Self::File { .. }, anstream::ColorChoice::Auto) => anstream::ColorChoice::Never,
            (Self::Stdout, anstream::ColorChoice::Auto) => anstream::AutoStream::choice(&io::stdout()),
            (_, asked) => asked,
        };
        let plain;
        let text = if color == anstream::ColorChoice::Never {
            plain = anstream::adapter::strip_str(text).to_string();
            &plain
        } else {
            text
        };
        self.write_whole(&without_commands(text))
    }
}

/// Whether a path is the name of standard output.
pub(super) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Adds a text to the end of a file that others write to, too.
pub(super) fn append(path: &Path, text: &str) -> anyhow::Result<()> {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).with_context(|| unwritable(path))
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
