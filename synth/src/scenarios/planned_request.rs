//! A request before it is sent, with the server's response.

use super::api::Kind;

/// A request and its response.
#[derive(Clone)]
pub struct PlannedRequest {
    pub verb: &'static str,
    pub kind: Option<Kind>,
    /// The path of a request outside the API's resources.
    pub path: String,
    pub namespace: String,
    pub name: String,
    /// The name is in the event's objectRef but not in the path, as for a created object.
    pub name_in_body: bool,
    pub subresource: &'static str,
    pub query: Vec<(&'static str, String)>,
    pub status: u16,
    /// In microseconds; drawn if absent.
    pub duration: Option<u64>,
    pub annotations: Vec<(&'static str, String)>,
}

fn planned(verb: &'static str, kind: Kind) -> PlannedRequest {
    PlannedRequest {
        verb,
        kind: Some(kind),
        path: String::new(),
        namespace: String::new(),
        name: String::new(),
        name_in_body: false,
        subresource: "",
        query: Vec::new(),
        status: 200,
        duration: None,
        annotations: Vec::new(),
    }
}

/// A GET outside the API's resources; the path may have a query.
pub fn path(path: impl Into<String>) -> PlannedRequest {
    PlannedRequest { kind: None, path: path.into(), ..planned("get", super::api::PODS) }
}

pub fn get(kind: Kind) -> PlannedRequest {
    planned("get", kind)
}

pub fn list(kind: Kind) -> PlannedRequest {
    planned("list", kind)
}

pub fn watch(kind: Kind) -> PlannedRequest {
    planned("watch", kind)
}

pub fn create(kind: Kind) -> PlannedRequest {
    PlannedRequest { status: 201, name_in_body: true, ..planned("create", kind) }
}

pub fn update(kind: Kind) -> PlannedRequest {
    planned("update", kind)
}

pub fn patch(kind: Kind) -> PlannedRequest {
    planned("patch", kind)
}

pub fn delete(kind: Kind) -> PlannedRequest {
    planned("delete", kind)
}

pub fn delete_collection(kind: Kind) -> PlannedRequest {
    planned("deletecollection", kind)
}

impl PlannedRequest {
    pub fn ns(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// A subresource of a named object.
    pub fn sub(mut self, subresource: &'static str) -> Self {
        self.subresource = subresource;
        self.name_in_body = false;
        self
    }

    pub fn q(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.query.push((key, value.into()));
        self
    }

    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub fn millis(mut self, millis: u64) -> Self {
        self.duration = Some(millis * 1_000);
        self
    }

    pub fn note(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.annotations.push((key, value.into()));
        self
    }

    /// The first LIST of client-go's reflector: `limit` with `resourceVersion=0`.
    pub fn first_list(self) -> Self {
        self.q("limit", "500").q("resourceVersion", "0")
    }

    /// The watch cache serves it without a request to etcd.
    pub fn is_at_any_revision(&self) -> bool {
        self.query.iter().any(|(key, value)| *key == "resourceVersion" && value == "0")
    }

    pub fn is_write(&self) -> bool {
        matches!(self.verb, "create" | "update" | "patch" | "delete" | "deletecollection")
    }

    /// Path and query, as Go writes them.
    pub fn uri(&self) -> String {
        let Some(kind) = self.kind else { return self.path.clone() };
        let mut uri = String::with_capacity(160);
        if kind.group.is_empty() {
            uri.push_str("/api/v1");
        } else {
            uri.extend(["/apis/", kind.group, "/", kind.version]);
        }
        if kind.namespaced && !self.namespace.is_empty() {
            uri.extend(["/namespaces/", &self.namespace]);
        }
        uri.extend(["/", kind.resource]);
        if !self.name.is_empty() && !self.name_in_body {
            uri.extend(["/", &self.name]);
        }
        if !self.subresource.is_empty() {
            uri.extend(["/", self.subresource]);
        }
        let mut query = self.query.clone();
        query.sort_by_key(|(key, _)| *key);
        for (index, (key, value)) in query.iter().enumerate() {
            uri.extend([if index == 0 { "?" } else { "&" }, key, "="]);
            escape(&mut uri, value);
        }
        uri
    }

    /// The name in the event's objectRef. For collections, it comes from the field selector.
    pub fn object_name(&self) -> String {
        let selected = self.query.iter().find(|(key, _)| *key == "fieldSelector");
        match selected.and_then(|(_, value)| value.strip_prefix("metadata.name=")) {
            Some(name) if matches!(self.verb, "list" | "watch") => name.to_owned(),
            _ => self.name.clone(),
        }
    }
}

/// Escapes a value of a query as Go's `url.QueryEscape` does.
fn escape(out: &mut String, value: &str) {
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            _ => {
                use std::fmt::Write;
                write!(out, "%{byte:02X}").expect("a string takes everything");
            }
        }
    }
}
