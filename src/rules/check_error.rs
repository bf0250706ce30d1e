//! An error in a condition or text of a rule.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckError {
    /// Offset in bytes from the start of the condition or text.
    pub(crate) offset: usize,
    pub(crate) message: String,
}
