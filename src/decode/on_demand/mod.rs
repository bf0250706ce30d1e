//! An audit event, taken from its line on demand: the dozen fields that are needed are found, and all else is skipped
//! without being read, bodies above all.
//!
//! The naive twin is `serde_json` with the `Deserialize` of [`Event`](crate::k8s::Event). What that reads is read the
//! same here, or not at all: [`EventFields::find`] gives `None`, and it is asked. Of what is skipped only brackets and
//! strings are looked at, so that damage within a body does not lose the event.

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
