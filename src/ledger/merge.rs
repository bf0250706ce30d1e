//! Adds counts.

/// Adds values. The result does not depend on their order or grouping.
pub trait Merge {
    fn merge(&mut self, other: Self);
}
