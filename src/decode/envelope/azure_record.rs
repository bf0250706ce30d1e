//! A single AKS diagnostic record (storage accounts): the event is a string in `properties.log`.
//!
//! Source: Azure Monitor, "Resource logs" of Microsoft.ContainerService/managedClusters.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{Content, JsonObject};
use crate::decode::envelope_keys::{EnvelopeKeys, is_string, plain, timestamp};
use crate::decode::foreign::Foreign;

#[derive(Deserialize)]
struct Properties<'a> {
    #[serde(borrow, default)]
    log: Option<&'a RawValue>,
}

/// The value of `properties.log`, if the object is a diagnostic record.
pub(super) fn log<'a>(keys: &EnvelopeKeys<'a>) -> Option<&'a RawValue> {
    keys.category?;
    serde_json::from_str::<Properties<'a>>(keys.properties?.get()).ok()?.log
}

/// Returns the event of a record, or the line of the apiserver's own log.
#[must_use]
pub(crate) fn open<'a>(object: &JsonObject<'_, 'a>) -> Option<Content<'a>> {
    let keys = object.keys;
    let log = log(keys).filter(|log| is_string(log));
    match (keys.category.and_then(plain)?, log) {
        ("kube-audit" | "kube-audit-admin" | "kube-apiserver", Some(log)) => {
            Some(Content::one(log, timestamp(keys.time)))
        }
        // These are categories of other control plane components, and of Azure itself.
        (_, Some(_)) => Some(Content::Foreign(Foreign::OtherCategory)),
        (_, None) => None,
    }
}
