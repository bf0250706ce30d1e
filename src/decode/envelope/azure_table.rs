//! AKS through the resource-specific tables of Log Analytics (`AKSAudit`, `AKSAuditAdmin`), exported as JSON. Each
//! column holds a field of the event. Structured columns hold an object, or a string that contains one.
//!
//! Source: Azure Monitor Logs reference, table AKSAudit.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{Content, JsonObject};
use crate::decode::envelope_keys::is_string;
use crate::k8s::Event;
use crate::k8s::event::{ObjectRef, ResponseStatus, Text, User};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AksAuditRow<'a> {
    #[serde(borrow)]
    audit_id: Text<'a>,
    #[serde(borrow)]
    stage: Text<'a>,
    #[serde(borrow, default)]
    request_uri: Text<'a>,
    #[serde(borrow, default)]
    verb: Text<'a>,
    #[serde(borrow, default)]
    user: Option<&'a RawValue>,
    #[serde(borrow, default)]
    impersonated_user: Option<&'a RawValue>,
    #[serde(borrow, default)]
    user_agent: Text<'a>,
    #[serde(borrow, default)]
    object_ref: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response_status: Option<&'a RawValue>,
    #[serde(borrow, default)]
    request_received_time: Text<'a>,
    #[serde(borrow, default)]
    stage_received_time: Text<'a>,
}

/// Builds the event from a row.
#[must_use]
pub(crate) fn open<'a>(object: &JsonObject<'_, 'a>) -> Option<Content<'a>> {
    object.keys.table_audit_id?;
    let row: AksAuditRow<'_> = serde_json::from_str(object.text).ok()?;
    let user = |raw: Option<&RawValue>| {
        column::<Text<'static>>(raw, "username").map(|username| User { username, extra: None })
    };
    let object = row.object_ref.map(|raw| {
        let field = |key| column(Some(raw), key).unwrap_or_default();
        Box::new(ObjectRef {
            resource: field("resource"),
            namespace: field("namespace"),
            name: field("name"),
            api_group: field("apiGroup"),
            subresource: field("subresource"),
        })
    });
    let code = column_value(row.response_status, "code").and_then(|code| i32::try_from(code.as_i64()?).ok());
    Some(Content::Event(Box::new(Event {
        audit_id: row.audit_id,
        stage_name: row.stage,
        request_uri: row.request_uri,
        verb: row.verb,
        user: user(row.user),
        impersonated_user: user(row.impersonated_user),
        user_agent: row.user_agent,
        object,
        response_status: code.map(|code| ResponseStatus { code: Some(code) }),
        request_received_timestamp: row.request_received_time,
        stage_timestamp: row.stage_received_time,
        ..Event::default()
    })))
}

/// The value of a key in a structured column.
fn column_value(raw: Option<&RawValue>, key: &str) -> Option<serde_json::Value> {
    let raw = raw?;
    let mut value: serde_json::Value = if is_string(raw) {
        serde_json::from_str(&serde_json::from_str::<String>(raw.get()).ok()?).ok()?
    } else {
        serde_json::from_str(raw.get()).ok()?
    };
    Some(value.get_mut(key)?.take())
}

fn column<T: From<String>>(raw: Option<&RawValue>, key: &str) -> Option<T> {
    match column_value(raw, key)? {
        serde_json::Value::String(text) => Some(T::from(text)),
        _ => None,
    }
}
