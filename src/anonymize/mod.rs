//! Anonymizes audit events. Users, namespaces, objects, addresses and selectors become pseudonyms. A name gets the same
//! pseudonym everywhere, so a scan of the result finds the same cases.
//!
//! Allowlists decide what is written: each field, query key, annotation and public name is on a list. Everything else
//! is dropped or replaced.

mod access;
mod address;
mod event;
mod names;
mod pseudonym;
mod public;
mod query;
mod selectors;
mod target;
mod user_agent;

use std::collections::BTreeSet;

pub use pseudonym::Key;

use crate::k8s::Event;

/// Replaces names with pseudonyms.
#[derive(Debug)]
pub struct Anonymizer {
    key: Key,
    /// API groups and resources from the server's configuration, such as `widgets.example.com`.
    configured: BTreeSet<String>,
}

impl Anonymizer {
    /// Creates an anonymizer. `configured` are resources (`widgets.example.com`) and API groups from the server's
    /// configuration. They are kept, because verdicts depend on them.
    #[must_use]
    pub fn new(key: Key, configured: &[String]) -> Self {
        let group = |name: &String| name.split_once('.').map(|(_, group)| group.to_owned());
        let groups = configured.iter().filter_map(group);
        Self { key, configured: configured.iter().cloned().chain(groups).collect() }
    }

    /// Anonymizes an event's JSON. Returns one line without a line feed; `None` if a field has a wrong type.
    #[must_use]
    pub fn event(&self, json: &str) -> Option<String> {
        let mut event: event::AnonymousEvent = serde_json::from_str(json).ok()?;
        event.anonymize(self);
        serde_json::to_string(&event).ok()
    }
}

/// Converts an event that was decoded from another format to the API's JSON.
#[must_use]
pub fn to_json(event: &Event<'_>) -> String {
    event::AnonymousEvent::from_event(event).to_json()
}
