//! Plain audit events, one per line, as the apiserver's file backend writes them.
//!
//! Source: k8s.io/apiserver `plugin/pkg/audit/log/backend.go`, format `json`.

use crate::k8s::Event;

/// Whether a decoded object is an audit event.
#[must_use]
pub(crate) fn is_event(event: &Event<'_>) -> bool {
    // Some exporters drop `kind` and `apiVersion`. No other log has both a stage and an audit ID.
    matches!(&*event.kind, "Event" | "")
        && (event.api_version.is_empty() || event.api_version.starts_with("audit.k8s.io/"))
        && !event.audit_id.is_empty()
        && event.stage().is_some()
}
