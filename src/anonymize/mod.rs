//! Anonymizes audit events. Users, namespaces, objects, addresses and selectors become pseudonyms. A name gets the same
//! pseudonym everywhere, so a scan of the result finds the same cases.
//!
//! Allowlists decide what is written: each field, query key, annotation and public name is on a list. Everything else
//! is dropped or replaced.

mod access;
mod address;
mod anonymizer;
mod event;
mod names;
mod pseudonym;
mod public;
mod query;
mod selectors;
mod target;
mod user_agent;

pub use anonymizer::{Anonymizer, Key};
pub(crate) use event::to_json;
