//! Output that is written whole or not at all, messages on standard error, and the exit status of all commands.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::render::escape::{escaped, without_commands};
use crate::render::file::{ClosableWriter, Draft};

pub(super) const SUCCESS: u8 = 0;
/// A `--fail-on` condition is met.
pub(super) const GATE_FAILED: u8 = 1;
pub(super) const ERROR: u8 = 2;

/// Writes lines to standard error. Ignores write errors, because the exit status also shows the result.
pub(super) fn say(message: &str) {
    let lines: Vec<_> = message.lines().map(escaped).collect();
    let _ = writeln!(anstream::stderr().lock(), "{}", without_commands(&lines.join("\n")));
}

/// An output for text: standard output, or a file that appears only when it is complete.
pub(super) enum TextOutput {
    File { draft: Draft, path: PathBuf },
    Stdout,
}

impl TextOutput {
    /// Prepares the output, so that an invalid path is reported before the work.
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

    /// Writes the output. If the reader closes the pipe, writing stops without an error.
    pub(super) fn write_with(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        match self {
            Self::Stdout => {
                ClosableWriter::write_with(io::stdout().lock(), |out| write(out))?;
            }
            Self::File { mut draft, path } => {
                let written =
                    ClosableWriter::write_with(draft.file(), |out| write(out)).and_then(|()| draft.keep());
                written.with_context(|| unwritable(&path))?;
            }
        }
        Ok(())
    }

    pub(super) fn write_raw(self, text: &str) -> anyhow::Result<()> {
        self.write_with(|out| out.write_all(text.as_bytes()))
    }

    /// Writes a text for people. Workflow commands of CI runners are removed. Colors depend on the flag; a file has
    /// colors only with `--color always`.
    pub(super) fn write(self, text: &str, color: anstream::ColorChoice) -> anyhow::Result<()> {
        let color = match (&self, color) {
            (Self::File { .. }, anstream::ColorChoice::Auto) => anstream::ColorChoice::Never,
            (Self::Stdout, anstream::ColorChoice::Auto) => anstream::AutoStream::choice(&io::stdout()),
            (_, choice) => choice,
        };
        let plain;
        let text = if color == anstream::ColorChoice::Never {
            plain = anstream::adapter::strip_str(text).to_string();
            &plain
        } else {
            text
        };
        self.write_raw(&without_commands(text))
    }
}

pub(super) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Appends a text to a file that other programs also append to.
pub(super) fn append(path: &Path, text: &str) -> anyhow::Result<()> {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).with_context(|| unwritable(path))
}

fn unwritable(path: &Path) -> String {
    format!("{}: can't be written", path.display())
}

/// The width of the terminal. If it is unknown, the value of `COLUMNS`, else a default that suits most outputs.
pub(super) fn width() -> usize {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    terminal.or_else(columns).unwrap_or(100).max(40)
}
