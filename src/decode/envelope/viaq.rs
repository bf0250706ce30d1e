//! OpenShift's cluster logging: an event with the collector's fields beside its own, and `level` taken by the
//! severity.
//!
//! Source: openshift/cluster-logging-operator, the ViaQ data model.

use crate::k8s::Event;

/// Whether an event was written by OpenShift's collector, which keeps the audit level under another key.
#[must_use]
pub fn is_viaq(event: &Event<'_>) -> bool {
    event.k8s_audit_level.is_some()
}
