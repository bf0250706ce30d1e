//! From a line to an event, or to the reason why it is none.

pub mod line;
pub mod skip;

pub use line::{Line, lines};
pub use skip::SkipReason;
