//! Audit events without the names of their cluster. Users, namespaces, objects, addresses and selectors become
//! pseudonyms: the same name gets the same pseudonym everywhere, and a scan of the result finds the same cases.
//!
//! What is written is chosen, not what is left out: each field, each key of a query and each annotation that is written
//! is on a list, and so is each name that is kept. Everything else is dropped or replaced.

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

/// Replaces names by pseudonyms.
#[derive(Debug)]
pub struct Anonymizer {
    key: Key,
    /// API groups and resources, such as `widgets.example.com`, of the server's configuration.
    configured: BTreeSet<String>,
}

impl Anonymizer {
    /// An anonymizer with a key. `configured` are the resources (`widgets.example.com`) and API groups that the server's
    /// configuration names: they are kept, as the verdicts depend on them.
    #[must_use]
    pub fn new(key: Key, configured: &[String]) -> Self {
        let group = |name: &String| name.split_once('.').map(|(_, group)| group.to_owned());
        let groups = configured.iter().filter_map(group);
        Self { key, configured: configured.iter().cloned().chain(groups).collect() }
    }

    /// An event from its JSON, as one line without its end. `None` if a field has a type that no event has.
    #[must_use]
    pub fn event(&self, json: &str) -> Option<String> {
        let mut event: event::Written = serde_json::from_str(json).ok()?;
        event.anonymize(self);
        serde_json::to_string(&event).ok()
    }
}

/// An event that was read from another form than the API's JSON, as its JSON.
#[must_use]
pub fn to_json(event: &Event<'_>) -> String {
    event::Written::of(event).to_json()
}
