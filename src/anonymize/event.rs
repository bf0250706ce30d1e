//! The event fields that an extract keeps. It drops all other fields, such as bodies, messages and UIDs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Anonymizer;
use crate::k8s::event::{Text, User as EventUser};
use crate::k8s::{Event, Verb, go_duration, timestamp};

/// The `extra` entry that distinguishes the instances of a ServiceAccount.
const POD_NAME: &str = "authentication.kubernetes.io/pod-name";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
/// The prefix of annotation keys under which the server logs its latency measurements.
const LATENCY: &str = "apiserver.latency.k8s.io/";

/// An event with the apiserver's field order.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct EventJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<String>,
    #[serde(rename = "auditID", skip_serializing_if = "Option::is_none")]
    audit_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<String>,
    #[serde(rename = "requestURI", skip_serializing_if = "Option::is_none")]
    request_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verb: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<UserJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    impersonated_user: Option<UserJson>,
    #[serde(rename = "sourceIPs", skip_serializing_if = "Option::is_none")]
    source_ips: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object_ref: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_status: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_received_timestamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage_timestamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<BTreeMap<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication_metadata: Option<Value>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct UserJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<BTreeMap<String, Value>>,
}

/// Drops a text that is not in `allowed`.
fn one_of(text: &mut Option<String>, allowed: &[&str]) {
    if text.as_deref().is_some_and(|text| !allowed.contains(&text)) {
        *text = None;
    }
}

/// Replaces each text of an array.
fn texts(value: &Value, replace: impl Fn(&str) -> String) -> Value {
    let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(Value::as_str).map(|text| Value::String(replace(text))).collect()
}

impl Anonymizer {
    /// Anonymizes an event's JSON. Returns one line without a line feed; `None` if a field has a wrong type.
    #[must_use]
    pub fn event(&self, json: &str) -> Option<String> {
        let mut event: EventJson = serde_json::from_str(json).ok()?;
        event.anonymize(self);
        serde_json::to_string(&event).ok()
    }
}

/// Converts an event to the JSON of the audit API. Used for events that were logged in another format.
#[must_use]
pub(crate) fn to_json(event: &Event<'_>) -> String {
    EventJson::from_event(event).to_json()
}

impl EventJson {
    fn anonymize(&mut self, names: &Anonymizer) {
        one_of(&mut self.kind, &["Event"]);
        let versions = ["audit.k8s.io/v1", "audit.k8s.io/v1beta1", "audit.k8s.io/v1alpha1"];
        one_of(&mut self.api_version, &versions);
        one_of(&mut self.level, &["None", "Metadata", "Request", "RequestResponse"]);
        one_of(&mut self.stage, &["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"]);
        let is_id = |id: &String| !id.is_empty();
        self.audit_id = self.audit_id.take().filter(is_id).map(|id| names.uuid(&id));
        self.request_uri = self.request_uri.take().map(|uri| names.target(&uri));
        let is_verb = |verb: &str| Verb::ALL.iter().any(|known| known.as_str().eq_ignore_ascii_case(verb));
        self.verb = self.verb.take().map(|verb| if is_verb(&verb) { verb } else { names.word(&verb) });
        for user in [&mut self.user, &mut self.impersonated_user].into_iter().flatten() {
            user.anonymize(names);
        }
        self.source_ips =
            self.source_ips.take().map(|addresses| texts(&addresses, |text| names.address(text)));
        self.user_agent = self.user_agent.take().map(|agent| names.user_agent(&agent));
        self.object_ref = self.object_ref.take().map(|object| object_ref(&object, names));
        self.response_status = self.response_status.take().map(|status| match status.get("code") {
            Some(Value::Number(code)) => json!({"metadata": {}, "code": code}),
            _ => json!({"metadata": {}}),
        });
        for time in [&mut self.request_received_timestamp, &mut self.stage_timestamp] {
            *time = time.take().filter(|time| is_time(time));
        }
        self.timestamp = self.timestamp.take().filter(|time| time.as_str().is_some_and(is_time));
        if let Some(annotations) = &mut self.annotations {
            annotations
                .retain(|key, value| value.as_str().is_some_and(|value| is_allowed_annotation(key, value)));
        }
        self.annotations = self.annotations.take().filter(|annotations| !annotations.is_empty());
        self.authentication_metadata = self.authentication_metadata.take().map(|_| json!({}));
    }

    /// Converts a decoded event.
    fn from_event(event: &Event<'_>) -> Self {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let user =
            |user: &EventUser<Text<'_>>| UserJson { username: text(&user.username), ..UserJson::default() };
        let object = event.object.as_deref().map(|object| {
            let parts = [
                ("resource", &object.resource),
                ("namespace", &object.namespace),
                ("name", &object.name),
                ("apiGroup", &object.api_group),
                ("subresource", &object.subresource),
            ];
            let parts = parts.into_iter().filter(|(_, part)| !part.is_empty());
            parts.map(|(key, part)| (key.to_owned(), Value::String(part.to_string()))).collect()
        });
        Self {
            kind: text("Event"),
            api_version: text("audit.k8s.io/v1"),
            level: text("Metadata"),
            audit_id: text(&event.audit_id),
            stage: text(&event.stage_name),
            request_uri: text(&event.request_uri),
            verb: text(&event.verb),
            object_ref: object,
            response_status: event
                .response_status
                .as_ref()
                .and_then(|status| status.code)
                .map(|code| json!({"metadata": {}, "code": code})),
            request_received_timestamp: text(event.received()),
            stage_timestamp: text(&event.stage_timestamp),
            user: event.user.as_ref().map(user),
            impersonated_user: event.impersonated_user.as_ref().map(user),
            source_ips: event.source_ips.as_ref().and_then(|raw| serde_json::from_str(raw).ok()),
            user_agent: text(&event.user_agent),
            ..Self::default()
        }
    }

    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("keys are strings")
    }
}

impl UserJson {
    fn anonymize(&mut self, names: &Anonymizer) {
        self.username = self.username.take().map(|name| names.user(&name));
        self.groups = self.groups.take().map(|groups| texts(&groups, |text| names.user(text)));
        if let Some(extra) = &mut self.extra {
            extra.retain(|key, _| matches!(&**key, POD_NAME | NODE_NAME));
            for (key, value) in extra {
                let is_pod = key == POD_NAME;
                *value = texts(value, |text| if is_pod { names.pod(text) } else { names.name(text) });
            }
        }
    }
}

fn object_ref(object: &Value, names: &Anonymizer) -> Value {
    let of = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let group = of("apiGroup");
    let revision = of("resourceVersion");
    let is_revision = revision.len() <= 20 && revision.bytes().all(|byte| byte.is_ascii_digit());
    let parts = [
        ("resource", names.resource(group, of("resource"))),
        ("namespace", names.name(of("namespace"))),
        ("name", names.object(group, of("resource"), of("name"))),
        ("apiGroup", names.group(group)),
        ("apiVersion", names.version(of("apiVersion"))),
        ("resourceVersion", if is_revision { revision.to_owned() } else { String::new() }),
        ("subresource", names.subresource(of("subresource"))),
    ];
    let parts = parts.into_iter().filter(|(_, part)| !part.is_empty());
    parts.map(|(key, part)| (key.to_owned(), Value::String(part))).collect()
}

fn is_time(text: &str) -> bool {
    timestamp::parse_micros(text).is_some()
}

/// Whether the server writes this annotation, and its value contains no name from the cluster.
fn is_allowed_annotation(key: &str, value: &str) -> bool {
    let is_release = |text: &str| {
        let parts = text.split_once('.');
        parts.is_some_and(|(major, minor)| major.parse::<u8>().is_ok() && minor.parse::<u8>().is_ok())
    };
    match key {
        "authorization.k8s.io/decision" => matches!(value, "allow" | "forbid"),
        "k8s.io/deprecated" | "audit.k8s.io/truncated" => value == "true",
        "k8s.io/removed-release" => is_release(value),
        key => key.strip_prefix(LATENCY).is_some_and(|part| {
            part.len() <= 40
                && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
                && value.len() <= 40
                && go_duration::parse_nanoseconds(value).is_some()
        }),
    }
}
