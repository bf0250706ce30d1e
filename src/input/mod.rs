//! Bytes: which sources there are, how they are compressed, and blocks of whole lines for the workers.

pub mod block;
pub mod discover;
pub mod feed;
mod open;

pub use block::{Block, Damage, Place};
pub use discover::{InputError, Source, Sources};
pub use feed::Feed;
