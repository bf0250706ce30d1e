//! Messages on standard error.

use std::io::Write;

use crate::render::escape::{escaped, without_commands};

/// Writes lines to standard error. Ignores write errors, because the exit status also shows the result.
pub(super) fn say(message: &str) {
    let lines: Vec<_> = message.lines().map(escaped).collect();
    let _ = writeln!(anstream::stderr().lock(), "{}", without_commands(&lines.join("\n")));
}
