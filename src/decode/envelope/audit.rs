//! One audit event: the file backend's own form, one to a line.
//!
//! Source: k8s.io/apiserver `plugin/pkg/audit/log/backend.go`, format `json`.

use super::Envelope;
use crate::k8s::Event;

/// Whether a JSON object with an event's fields is an audit event.
#[must_use]
pub fn is_event(event: &Event<'_>) -> bool {
    // Some exporters drop kind and apiVersion; a stage and an audit ID no other log has.
    matches!(&*event.kind, "Event" | "")
        && (event.api_version.is_empty() || event.api_version.starts_with("audit.k8s.io/"))
        && !event.audit_id.is_empty()
        && event.stage().is_some()
}

/// Which form of an event it is.
#[must_use]
pub fn form(event: &Event<'_>) -> Envelope {
    if super::viaq::is_viaq(event) { Envelope::Viaq } else { Envelope::Audit }
}
