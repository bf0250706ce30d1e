//! The anonymizer: a secret key, and the configured names that stay readable.

use std::collections::BTreeSet;

use super::key::Key;

/// Replaces names with pseudonyms.
#[derive(Debug)]
pub struct Anonymizer {
    pub(super) key: Key,
    /// API groups and resources from the server's configuration, such as `widgets.example.com`.
    pub(super) configured: BTreeSet<String>,
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
}
