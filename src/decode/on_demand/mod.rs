//! Parses an audit event on demand. It locates the dozen fields that kubetoll needs. It skips all other values
//! without parsing them. The request and response bodies are the longest of these.
//!
//! Tests compare the result with that of `serde_json` and the `Deserialize` of [`Event`](crate::k8s::Event). For
//! valid JSON, both return the same, or [`EventFields::find`] returns `None` and the caller uses `serde_json`. In
//! skipped values, only brackets and strings are checked. So an event with a damaged body is not lost.

mod cached_callers;
mod cursor;
mod event_fields;
mod masks;
mod objects;
mod stage_pairing;

pub use cached_callers::CachedCallers;
pub use event_fields::EventFields;
pub(in crate::decode) use event_fields::START;
pub(crate) use stage_pairing::{PairedRequestReceived, PendingRequestReceived};

#[cfg(test)]
mod tests;
