//! What rules found, before it is put into words.

use super::group::Group;
use super::rule::{Rule, Severity};

/// A finding that is not put into words yet.
#[derive(Debug, Clone, Copy)]
pub struct HitRef<'h, 'r> {
    /// The rule.
    pub rule: &'h Rule,
    /// How bad it is.
    pub severity: Severity,
    /// Its requests; `None` for a finding on the input.
    pub group: Option<&'h Group<'r>>,
}
