//! Bytes: which sources there are, how they are compressed, and blocks of whole records for the workers.

mod ahead;
pub mod block;
pub mod cut;
pub mod discover;
pub mod feed;
mod filling;
pub mod framing;
mod identical;
pub mod json;
mod kind;
mod long;
mod open;
mod unpack;

pub use block::{Block, Damage, SourcePosition, TooLong};
pub use cut::Cutter;
pub use discover::{InputError, SkippedPath, Source, Sources, can_be_read_again};
pub use feed::Feed;
pub use framing::{Framing, Record, RecordKind, RecordRun, RecordSpan, Repeats};
pub use kind::FileKind;
pub use open::read_whole;
