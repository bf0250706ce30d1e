//! Reads bytes: finds sources, decompresses them, and cuts them into blocks of whole records for the workers.

pub mod block;
mod block_buffer;
pub mod cut;
mod decompress;
pub(crate) mod discover;
pub(crate) mod feed;
pub mod framing;
mod identical;
pub mod json;
mod kind;
mod long_records;
mod open;
mod read_ahead;
mod source;

pub use block::{Block, Damage, SourcePosition, TooLong};
pub use cut::Cutter;
pub use discover::{InputError, SkippedPath, Sources, can_be_read_again};
pub use feed::Feed;
pub use framing::{Framing, Record, RecordKind, RecordRun, RecordSpan, Repeats};
pub(crate) use kind::FileKind;
pub(crate) use open::read_whole;
pub use source::Source;
