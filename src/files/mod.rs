//! Files that people write: YAML with the place of each value, and all that is wrong with a file at once.

pub mod mistake;
pub mod partial;
pub mod yaml;

pub use mistake::{At, Mistake, Mistakes, expected};
