//! An error in a condition or text of a rule.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckError {
    /// Offset in bytes from the start of the condition or text.
    pub offset: usize,
    pub message: String,
}
