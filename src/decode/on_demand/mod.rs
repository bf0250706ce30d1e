//! Parses an audit event on demand: it locates the dozen fields that kubetoll needs, and skips the others without
//! parsing them, most of all bodies.
//!
//! The naive twin is `serde_json` with the `Deserialize` of [`Event`](crate::k8s::Event). For valid JSON, both return
//! the same, or [`EventFields::find`] returns `None` and the twin decides. In skipped values only brackets and
//! strings are checked, so damage in a body does not lose the event.

mod cached_callers;
mod cursor;
mod event_fields;
mod masks;
mod objects;
mod stage_pairing;

pub use cached_callers::CachedCallers;
pub use event_fields::EventFields;
pub(in crate::decode) use event_fields::START;
pub use stage_pairing::{PairedRequestReceived, PendingRequestReceived};

#[cfg(test)]
mod tests;
