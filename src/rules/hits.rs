//! Findings whose texts are not rendered yet.

use super::group::RowGroup;
use super::rule::{Rule, Severity};

/// A finding whose texts are not rendered yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HitRef<'h, 'r> {
    pub(crate) rule: &'h Rule,
    pub(crate) severity: Severity,
    /// `None` for a finding on the input.
    pub(crate) group: Option<&'h RowGroup<'r>>,
}
