//! The report as JSON: the public contract of `report/v1.rs`, indented.

use crate::report::Report;

/// Renders the report, with a line feed at its end.
///
/// # Errors
/// Never for a report that was built; serde's signature says otherwise.
pub fn render(report: &Report) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}
