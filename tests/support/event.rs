//! Audit events, for logs that tests write.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};

/// The fields in the order in which the apiserver writes them.
///
/// Source: k8s.io/apiserver `pkg/apis/audit/v1/types.go:Event`.
const ORDER: [&str; 19] = [
    "kind",
    "apiVersion",
    "level",
    "auditID",
    "stage",
    "requestURI",
    "verb",
    "user",
    "impersonatedUser",
    "sourceIPs",
    "userAgent",
    "objectRef",
    "responseStatus",
    "requestObject",
    "responseObject",
    "requestReceivedTimestamp",
    "stageTimestamp",
    "annotations",
    "authenticationMetadata",
];

/// An event as a line, with its fields in the apiserver's order.
pub fn line(event: &Value) -> String {
    let mut fields: Vec<(&String, &Value)> = event.as_object().expect("an object").iter().collect();
    fields.sort_by_key(|(name, _)| ORDER.iter().position(|own| own == name).unwrap_or(ORDER.len()));
    let fields: Vec<String> = fields.into_iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}\n", fields.join(","))
}

/// An event at the end of a request. A test that needs other fields sets them on the value.
pub struct AuditEvent {
    begin: DateTime<Utc>,
    value: Value,
}

impl AuditEvent {
    /// A request of 2026-07-23T10:00:00Z without a duration.
    pub fn new(id: &dyn ToString, verb: &str, uri: &str) -> Self {
        let value = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": id.to_string(),
            "stage": "ResponseComplete", "requestURI": uri, "verb": verb,
            "responseStatus": {"metadata": {}, "code": 200},
        });
        Self { begin: DateTime::UNIX_EPOCH, value }.since("2026-07-23T10:00:00Z").at(0, 0)
    }

    pub fn by(mut self, user: &str, agent: &str) -> Self {
        self.value["user"] = json!({"username": user});
        self.value["userAgent"] = agent.into();
        self
    }

    pub fn ip(mut self, ip: &str) -> Self {
        self.value["sourceIPs"] = json!([ip]);
        self
    }

    pub fn code(mut self, code: u16) -> Self {
        self.value["responseStatus"]["code"] = code.into();
        self
    }

    /// Binds the token to a pod.
    pub fn pod(self, pod: &str) -> Self {
        self.extra("authentication.kubernetes.io/pod-name", pod)
    }

    pub fn node(self, node: &str) -> Self {
        self.extra("authentication.kubernetes.io/node-name", node)
    }

    fn extra(mut self, key: &str, name: &str) -> Self {
        self.value["user"]["extra"][key] = json!([name]);
        self
    }

    /// RequestReceived has no status.
    pub fn stage(mut self, stage: &str) -> Self {
        self.value["stage"] = stage.into();
        if stage == "RequestReceived" {
            self.value.as_object_mut().expect("an object").remove("responseStatus");
        }
        self
    }

    /// Sets any other field.
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.value[field] = value;
        self
    }

    /// When the log begins; before [`Self::at`].
    pub fn since(mut self, begin: &str) -> Self {
        self.begin = begin.parse().expect("a timestamp");
        self
    }

    /// When the server received the request, since the log's begin, and its duration, in microseconds.
    pub fn at(mut self, received: u64, micros: u64) -> Self {
        let text = |micros: u64| {
            let at = self.begin + TimeDelta::microseconds(i64::try_from(micros).expect("few"));
            at.to_rfc3339_opts(SecondsFormat::Micros, true)
        };
        let [received, ended] = [received, received + micros].map(text);
        self.value["requestReceivedTimestamp"] = received.into();
        self.value["stageTimestamp"] = ended.into();
        self
    }

    pub fn value(self) -> Value {
        self.value
    }

    pub fn line(self) -> String {
        line(&self.value)
    }
}
