//! Turns a record into the events that it contains, or into the reasons why it contains none.

pub(crate) mod decoder;
pub mod detect;
pub(crate) mod envelope;
mod envelope_keys;
pub(crate) mod etcd;
mod foreign;
pub mod klog;
mod line_parts;
pub mod on_demand;
pub(crate) mod outcome;
pub(crate) mod skip;
mod unescape;
mod unfinished_lines;

pub use decoder::{Decoder, LocatedEvent, SourceFacts};
pub use envelope::Envelope;
pub use foreign::Foreign;
pub use outcome::{Extent, Layers, Outcome};
pub use skip::SkipReason;
