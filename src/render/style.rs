//! The colors of a page. The text of a page is the same with and without colors.

use anstyle::{AnsiColor, Style};

pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const INFO: Style = AnsiColor::Cyan.on_default().bold();
pub(super) const FIX: Style = AnsiColor::Green.on_default();
pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();

pub(super) fn severity(severity: &str) -> Style {
    match severity {
        "error" => ERROR,
        "warning" => WARNING,
        _ => INFO,
    }
}
