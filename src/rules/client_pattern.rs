//! Matches clients with the patterns of a policy file.

use regex::Regex;

use crate::judged::ClientSummary;

/// Whether a pattern matches a client's identity. A ServiceAccount also matches as `namespace/name`.
pub(super) fn matches_client(pattern: &Regex, client: &ClientSummary) -> bool {
    let name = client.service_account().map(|(namespace, name)| format!("{namespace}/{name}"));
    pattern.is_match(&client.identity()) || name.is_some_and(|name| pattern.is_match(&name))
}
