//! From a record to the events that it holds, or to the reasons why it holds none.

mod carry;
pub mod decoder;
pub mod detect;
pub mod envelope;
pub mod etcd;
pub mod klog;
pub mod on_demand;
pub mod outcome;
mod outer;
mod parts;
mod prefix;
pub mod skip;
mod unescape;

pub use decoder::{Decoder, Found, SourceFacts};
pub use envelope::Envelope;
pub use outcome::{Extent, Foreign, Layers, Outcome};
pub use skip::SkipReason;
