//! A trait for counts that can be added to each other.

/// Adds another value of the same type. The result does not depend on the order or the grouping of the additions.
pub trait Merge {
    fn merge(&mut self, other: Self);
}
