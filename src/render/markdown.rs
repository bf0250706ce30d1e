//! Placeholder until the renderer lands.

use crate::report::Report;

/// Renders the report.
#[must_use]
pub fn render(_report: &Report) -> String {
    String::new()
}
