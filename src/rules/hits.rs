//! Findings whose texts are not rendered yet.

use super::group::RowGroup;
use super::rule::{Rule, Severity};

/// A finding whose texts are not rendered yet.
#[derive(Debug, Clone, Copy)]
pub struct HitRef<'h, 'r> {
    pub rule: &'h Rule,
    pub severity: Severity,
    /// `None` for a finding on the input.
    pub group: Option<&'h RowGroup<'r>>,
}
