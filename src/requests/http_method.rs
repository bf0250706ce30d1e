//! The HTTP method of an access line.
//!
//! The verb in a line is only a hint of the HTTP method. Releases 1.19 to 1.21 write GET for every read. Later releases
//! write GET for a LIST with one name, LIST for a path with the `/watch/` prefix, and CONNECT for some subresources. So the
//! API verb is computed as the server computes it: from the method and the target.
//!
//! Source: k8s.io/apiserver `pkg/endpoints/metrics/metrics.go:NormalizedVerb`.

use crate::apiserver::ParsedTarget;
use crate::k8s::RequestInfo;
use crate::k8s::request_info::Method;

/// The HTTP method that follows from the verb in a line.
pub(super) fn from_logged_verb(verb: &str, uri: &str) -> Method {
    match verb {
        "GET" | "LIST" | "WATCH" | "WATCHLIST" => Method::Get,
        "APPLY" => Method::Patch,
        "DELETECOLLECTION" => Method::Delete,
        "CONNECT" => connect(uri),
        other => Method::parse(other).unwrap_or(Method::Other),
    }
}

/// The likely method of a request that 1.27 and later log as CONNECT.
///
/// kubectl before 1.31, and every SPDY client, opens exec, attach and portforward with POST. `RequestInfo` calls that
/// `create`. A WebSocket client uses GET, but the line does not show which kind of client it was. Logs and most
/// proxied requests use GET.
fn connect(uri: &str) -> Method {
    let subresource = ParsedTarget::parse(uri).and_then(|target| {
        let info = RequestInfo::resolve(Method::Get, &target.path, &target.options).ok()?;
        Some(matches!(info.resource?.subresource, "exec" | "attach" | "portforward"))
    });
    if subresource == Some(true) { Method::Post } else { Method::Get }
}
