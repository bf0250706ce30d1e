//! AKS diagnostics, a record by itself (storage accounts): the event is a string in `properties.log`.
//!
//! Source: Azure Monitor, "Resource logs" of Microsoft.ContainerService/managedClusters.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Content, Envelope};
use crate::decode::outcome::Foreign;
use crate::decode::outer::{Outer, instant, is_string, plain};

#[derive(Deserialize)]
struct Properties<'a> {
    #[serde(borrow, default)]
    log: Option<&'a RawValue>,
}

/// What a record of this category is named: `kube-audit-admin` holds no get and no list.
#[must_use]
pub fn or_admin(outer: &Outer<'_>, otherwise: Envelope) -> Envelope {
    match outer.category.and_then(plain) {
        Some("kube-audit-admin") => Envelope::AzureAdmin,
        _ => otherwise,
    }
}

/// What a record holds in `properties.log`.
pub(super) fn log<'a>(outer: &Outer<'a>) -> Option<&'a RawValue> {
    outer.category?;
    serde_json::from_str::<Properties<'a>>(outer.properties?.get()).ok()?.log
}

/// The event of a record, or the line of a component's log that it holds.
#[must_use]
pub fn open<'a>(outer: &Outer<'a>) -> Option<Content<'a>> {
    let log = log(outer).filter(|log| is_string(log));
    match (outer.category.and_then(plain)?, log) {
        ("kube-audit" | "kube-audit-admin" | "kube-apiserver", Some(log)) => {
            Some(Content::one(log, instant(outer.time)))
        }
        // Other components of the control plane, and of Azure.
        (_, Some(_)) => Some(Content::Foreign(Foreign::OtherCategory)),
        (_, None) => None,
    }
}
