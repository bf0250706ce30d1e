//! An event as the apiserver writes it: its fields, their order, and Go's escapes.
//!
//! Source: k8s.io/apiserver `pkg/apis/audit/v1/types.go`; Go `encoding/json`.

use std::fmt::Write;

use crate::time::format_micros;

use super::body::Bodies;
use super::cast::Client;

/// Requests that take longer carry the server's own measurements, in microseconds.
const SLOW: u64 = 500_000;

/// The stages at which a request has an event.
#[derive(Clone, Copy)]
pub enum Stages {
    /// Received and complete.
    Two,
    /// A long-running request also has ResponseStarted.
    Three,
    /// Only the rejection of a request whose authentication failed.
    Refused,
}

/// An event's `objectRef`: an object or a collection.
pub struct Object {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// API version.
    pub version: &'static str,
    /// Resource.
    pub resource: &'static str,
    /// Subresource, or empty.
    pub subresource: &'static str,
    /// Namespace, or empty.
    pub namespace: String,
    /// Name, or empty.
    pub name: String,
}

impl Object {
    /// The resource with its group, as messages name it.
    pub fn qualified(&self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        format!("{}{dot}{}", self.resource, self.group)
    }
}

/// Why a request failed.
pub struct Failure {
    /// The message, for people.
    pub message: String,
    /// The reason, for programs.
    pub reason: &'static str,
    /// Seconds after which it may be tried again, or 0.
    pub retry_after: u8,
}

/// A request and its response.
pub struct Request {
    /// Verb.
    pub verb: &'static str,
    /// Path and query.
    pub uri: String,
    /// The object or collection; none outside the API's resources.
    pub object: Option<Object>,
    /// The stages at which it has an event.
    pub stages: Stages,
    /// HTTP status.
    pub status: u16,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// How long it took, in microseconds.
    pub micros: u64,
    /// Whether the server sent a request to etcd.
    pub etcd: bool,
    /// Whether objects of a list came from etcd.
    pub decoded: bool,
    /// Annotations that the ResponseComplete event carries beside those of latency and authorization.
    pub annotations: Vec<(&'static str, String)>,
}

/// An event of a request.
pub struct Event<'a> {
    /// The client.
    pub client: &'a Client,
    /// The request and its response.
    pub request: &'a Request,
    /// Audit ID.
    pub id: &'a str,
    /// Stage.
    pub stage: &'static str,
    /// Received, in microseconds since 1970.
    pub received: i64,
    /// When the stage was reached, in microseconds since 1970.
    pub at: i64,
    /// The bodies at the level `RequestResponse`. Without them, the level is Metadata.
    pub bodies: Option<&'a Bodies>,
}

impl Event<'_> {
    /// The line, without a line feed.
    pub fn to_line(&self) -> String {
        let mut line = Line(String::with_capacity(1_400));
        let Self { client, request, .. } = self;
        let level = if self.bodies.is_some() { "RequestResponse" } else { "Metadata" };
        line.raw(r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"#).text(level);
        line.raw(r#","auditID":"#);
        line.text(self.id).raw(r#","stage":"#).text(self.stage);
        line.raw(r#","requestURI":"#).text(&request.uri).raw(r#","verb":"#).text(request.verb);
        line.raw(r#","user":"#).raw(if matches!(request.stages, Stages::Refused) {
            "{}"
        } else {
            &client.user
        });
        if let Some(user) = &client.impersonated {
            line.raw(r#","impersonatedUser":"#).raw(user);
        }
        line.raw(r#","sourceIPs":["#).text(&client.address).raw("]");
        if !client.agent.is_empty() {
            line.raw(r#","userAgent":"#).text(&client.agent);
        }
        if let Some(object) = &request.object {
            line.object(object);
        }
        let has_response = self.stage != "RequestReceived";
        if has_response {
            line.raw(r#","responseStatus":{"metadata":{}"#);
            status_fields(&mut line.0, request);
            for (key, body) in self.bodies.into_iter().flat_map(Bodies::with_keys) {
                line.raw(",").text(key).raw(":").raw(body);
            }
        }
        line.raw(r#","requestReceivedTimestamp":"#).text(&format_micros(self.received));
        line.raw(r#","stageTimestamp":"#).text(&format_micros(self.at));
        if has_response && !matches!(request.stages, Stages::Refused) {
            line.annotations(self);
        }
        line.raw("}");
        line.0
    }
}

struct Line(String);

impl Line {
    fn raw(&mut self, text: &str) -> &mut Self {
        self.0.push_str(text);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        quote(&mut self.0, text);
        self
    }

    fn object(&mut self, object: &Object) {
        self.raw(r#","objectRef":{"resource":"#).text(object.resource);
        for (key, value) in [
            (r#","namespace":"#, &*object.namespace),
            (r#","name":"#, &*object.name),
            (r#","apiGroup":"#, object.group),
            (r#","apiVersion":"#, object.version),
            (r#","subresource":"#, object.subresource),
        ] {
            if !value.is_empty() {
                self.raw(key).text(value);
            }
        }
        self.raw("}");
    }

    fn annotations(&mut self, event: &Event<'_>) {
        let Event { client, request, .. } = event;
        self.raw(r#","annotations":{"#);
        if request.micros > SLOW && event.stage == "ResponseComplete" && matches!(request.stages, Stages::Two)
        {
            if request.decoded {
                self.latency("decode-response-object", request.micros / 7);
            }
            if request.etcd {
                self.latency("etcd", request.micros / 3);
            }
            self.latency("response-write", request.micros / 4);
            self.latency("serialize-response-object", request.micros / 2);
            self.latency("total", request.micros);
            self.raw(r#""apiserver.latency.k8s.io/transform-response-object":"2.944µs","#);
        }
        if event.stage == "ResponseComplete" {
            for (key, value) in &request.annotations {
                self.text(key).raw(":").text(value).raw(",");
            }
        }
        let (decision, reason) = match request.status {
            403 => ("forbid", ""),
            _ => ("allow", &*client.allowed_by),
        };
        self.raw(r#""authorization.k8s.io/decision":"#).text(decision);
        self.raw(r#","authorization.k8s.io/reason":"#).text(reason).raw("}");
    }

    /// A duration as Go writes it.
    fn latency(&mut self, name: &str, micros: u64) {
        let (whole, fraction, unit) = match micros {
            0..1_000 => (micros, 17, "µs"),
            1_000..1_000_000 => (micros / 1_000, micros % 1_000, "ms"),
            _ => (micros / 1_000_000, micros / 1_000 % 1_000, "s"),
        };
        write!(self.0, r#""apiserver.latency.k8s.io/{name}":"{whole}.{fraction:03}{unit}","#)
            .expect("a string takes everything");
    }
}

/// A `Status` behind its metadata, and the brace that ends it.
pub fn status_fields(out: &mut String, request: &Request) {
    let mut line = Line(std::mem::take(out));
    if let Some(failure) = &request.failure {
        line.raw(r#","status":"Failure","message":"#).text(&failure.message);
        line.raw(r#","reason":"#).text(failure.reason);
        if failure.retry_after > 0 {
            write!(line.0, r#","details":{{"retryAfterSeconds":{}}}"#, failure.retry_after)
                .expect("a string takes everything");
        } else if let Some(object) = request.object.as_ref().filter(|_| request.status != 401) {
            line.raw(r#","details":{"#);
            if !object.name.is_empty() {
                line.raw(r#""name":"#).text(&object.name).raw(",");
            }
            if !object.group.is_empty() {
                line.raw(r#""group":"#).text(object.group).raw(",");
            }
            line.raw(r#""kind":"#).text(object.resource).raw("}");
        }
    }
    write!(line.0, r#","code":{}}}"#, request.status).expect("a string takes everything");
    *out = line.0;
}

/// A JSON string as Go's encoder writes it, with what could end a script in HTML escaped.
pub fn quote(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                write!(out, "\\u{:04x}", u32::from(character)).expect("a string takes everything");
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}
