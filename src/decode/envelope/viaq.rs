//! OpenShift cluster logging: an event with additional fields of the collector. In this format, `level` is the severity
//! of the log line, not the audit level.
//!
//! Source: openshift/cluster-logging-operator, the ViaQ data model.

use crate::k8s::Event;

/// Whether OpenShift's collector wrote the event. It stores the audit level under another key.
#[must_use]
pub(crate) fn is_viaq(event: &Event<'_>) -> bool {
    event.k8s_audit_level.is_some()
}
