//! The public contract of `kubetoll classify --stdin`: one JSON object in, one JSON object out.
//!
//! The contract is frozen: fields may be added, but no field may change its name or meaning. See `docs/classify.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::apiserver::{ParsedTarget, RequestShape, Server, certainty, judge};
use crate::k8s::request_info::Method;
use crate::k8s::secrets::{masked, masked_parameter};
use crate::k8s::{RequestInfo, Verb};

/// One request to judge.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    /// HTTP method; upper or lower case.
    pub(crate) method: String,
    /// Request target: path and query.
    pub(crate) uri: String,
    /// Overrides the server's version.
    #[serde(default)]
    pub(crate) kube_version: Option<String>,
    /// Overrides etcd's version.
    #[serde(default)]
    pub(crate) etcd_version: Option<String>,
    /// Overrides feature gates of the server. Only gates that affect where a read is served from have an effect.
    #[serde(default)]
    pub(crate) feature_gates: Option<BTreeMap<String, bool>>,
}

/// The verdict on one request. Absent values are `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Output {
    pub(crate) verb: String,
    pub(crate) group: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) resource: Option<String>,
    pub(crate) subresource: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) scope: Option<&'static str>,
    pub(crate) served_from: &'static str,
    pub(crate) likely: Option<&'static str>,
    pub(crate) limit: &'static str,
    pub(crate) rejected: Option<u16>,
    pub(crate) reason: &'static str,
    pub(crate) certainty: &'static str,
    pub(crate) explanation: &'static str,
}

/// Why a request cannot be judged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("'{0}' is not an HTTP method; write one such as GET")]
    Method(String),
    #[error("the uri must begin with '/', such as /api/v1/pods?limit=500")]
    Uri,
    #[error("the uri's path holds a bad percent-escape")]
    Escape,
    #[error(transparent)]
    Version(#[from] crate::k8s::version::BadVersion),
    #[error("kubetoll knows Kubernetes 1.19 and later, not {0}")]
    TooOld(crate::k8s::KubeVersion),
}

/// A request whose method and target are valid.
#[derive(Debug)]
pub(crate) struct Readable<'a> {
    method: Method,
    method_name: String,
    target: ParsedTarget<'a>,
}

impl<'a> Readable<'a> {
    /// Parses a method and a request target.
    ///
    /// # Errors
    /// If the method is unknown, or if the target has no valid path.
    pub(crate) fn new(method: &str, uri: &'a str) -> Result<Self, Unreadable> {
        let method_name = method.to_owned();
        let method = Method::parse(method).ok_or_else(|| Unreadable::Method(method.to_owned()))?;
        if !uri.starts_with('/') && !uri.starts_with("http://") && !uri.starts_with("https://") {
            return Err(Unreadable::Uri);
        }
        let target = ParsedTarget::parse(uri).ok_or(Unreadable::Escape)?;
        Ok(Self { method, method_name, target })
    }

    #[must_use]
    pub(crate) fn shape(&self) -> RequestShape<&str> {
        RequestShape::new(self.method, &self.target.path, &self.target.options)
    }

    /// The query keys that the server ignores.
    #[must_use]
    pub(crate) fn unknown_keys(&self) -> Vec<String> {
        self.target.options.unknown_keys.iter().map(|key| masked_parameter(key)).collect()
    }

    /// Judges the request for a server.
    #[must_use]
    pub(crate) fn judge(&self, server: &Server) -> Output {
        let shape = self.shape();
        let verdict = judge(server, &shape, None);
        let info = RequestInfo::resolve(self.method, &self.target.path, &self.target.options).ok();
        let path = info.as_ref().and_then(|info| info.resource.as_ref());
        let text = |text: &str| (!text.is_empty()).then(|| masked(text).into_owned());
        let verb = match shape.verb {
            // For a resource, an unknown method has no Kubernetes verb, so the text is empty. For a non-resource
            // path, the method is the verb.
            Verb::Other if path.is_some() => String::new(),
            Verb::Other => self.method_name.to_ascii_lowercase(),
            verb => verb.to_string(),
        };
        Output {
            verb,
            group: path.map(|path| masked(path.group).into_owned()),
            version: path.and_then(|path| text(path.version)),
            resource: path.and_then(|path| text(path.resource)),
            subresource: path.and_then(|path| text(path.subresource)),
            namespace: path.and_then(|path| text(path.namespace)),
            name: info.as_ref().and_then(|info| text(&info.name)),
            scope: info.as_ref().and_then(RequestInfo::scope).map(crate::k8s::Scope::as_str),
            served_from: verdict.served_from.as_str(),
            likely: verdict.likely.map(crate::apiserver::ServedFrom::as_str),
            limit: verdict.limit.as_str(),
            rejected: verdict.rejected,
            reason: verdict.reason.code(),
            certainty: certainty(server, &shape, None).as_str(),
            explanation: verdict.reason.sentence(),
        }
    }
}

impl Input {
    /// The server for which this request is judged: `base`, changed by the overrides in the request.
    ///
    /// # Errors
    /// If a version cannot be parsed or is too old.
    pub(crate) fn server(&self, base: &Server) -> Result<Server, Unreadable> {
        let mut server = base.clone();
        if let Some(version) = &self.kube_version {
            server.version = supported(version.parse()?)?;
        }
        if let Some(version) = &self.etcd_version {
            server.etcd = Some(version.parse()?);
        }
        for (name, value) in self.feature_gates.iter().flatten() {
            server.gates.set_by_name(name, *value);
        }
        Ok(server)
    }
}

/// Returns the version if the server model covers it.
///
/// # Errors
/// [`Unreadable::TooOld`] for versions before 1.19.
pub(crate) fn supported(version: crate::k8s::KubeVersion) -> Result<crate::k8s::KubeVersion, Unreadable> {
    if version < crate::k8s::KubeVersion::OLDEST { Err(Unreadable::TooOld(version)) } else { Ok(version) }
}

#[derive(Serialize)]
#[serde(untagged)]
enum OutputLine {
    Judged(Box<Output>),
    Unreadable { error: String },
}

/// The JSON output for an input line of more than `limit` bytes.
#[must_use]
pub(crate) fn too_long(limit: u64) -> String {
    serde_json::json!({ "error": format!("a line is at most {limit} bytes long") }).to_string()
}

/// The JSON output for one line of input: an [`Output`], or `{"error":"…"}`.
#[must_use]
pub(crate) fn classify_line(base: &Server, line: &[u8]) -> String {
    let judged = || -> anyhow::Result<Output> {
        let input: Input = serde_json::from_slice(line)?;
        let server = input.server(base)?;
        Ok(Readable::new(&input.method, &input.uri)?.judge(&server))
    };
    let output_line = match judged() {
        Ok(output) => OutputLine::Judged(Box::new(output)),
        Err(error) => OutputLine::Unreadable { error: masked(&error.to_string()).into_owned() },
    };
    serde_json::to_string(&output_line).expect("the output has only string keys")
}
