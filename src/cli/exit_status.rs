//! The exit status of all commands.

/// Exit status: success.
pub(super) const SUCCESS: u8 = 0;
/// Exit status: a `--fail-on` condition is met.
pub(super) const GATE_FAILED: u8 = 1;
/// Exit status: an error.
pub(super) const ERROR: u8 = 2;
