//! Access lines up to 1.18: `GET /api/v1/pods: (1.2ms) 200 [[kubelet/v1.5.5 (linux/amd64) kubernetes/0f1e2d3]
//! 10.0.0.1:51234]`.
//!
//! Source: k8s.io/apiserver `pkg/server/httplog/httplog.go` before 1.19. Recorded lines vary. The space before the
//! bracket may be missing, and client and address may share one pair of brackets. The line may be cut anywhere after
//! the status. After an error status, a stack follows over several lines.

use super::access::{AccessLine, micros};
use crate::k8s::Mark;

/// Parses the text after klog's header. Returns `None` if the line is not an access line in the older format.
pub(super) fn read(text: &str) -> Option<AccessLine<'_>> {
    let (method, rest) =
        text.split_at(memchr::memchr(b' ', text.as_bytes()).filter(|at| (3..=7).contains(at))?);
    if !method.bytes().all(|b| b.is_ascii_uppercase()) || !rest.starts_with(" /") {
        return None;
    }
    let rest = &rest[1..];
    let (uri, rest) = target(rest)?;
    let (duration, rest) = rest.split_once(')')?;
    let mut line = AccessLine {
        verb: method.into(),
        uri: uri.into(),
        latency_micros: Some(micros(duration)?),
        ..AccessLine::default()
    };
    let rest = rest.trim_start_matches(' ');
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    line.set_status(rest[..digits].parse().ok());
    let (user_agent, source) = client(rest[digits..].trim());
    line.user_agent = user_agent.into();
    line.source = source.into();
    line.marks.set(Mark::OldAccessLine);
    Some(line)
}

/// Splits off the request target and the bracket after it. A target contains no space, but may contain colons and
/// brackets.
fn target(text: &str) -> Option<(&str, &str)> {
    let (token, rest) = text.split_once(' ').unwrap_or((text, ""));
    if let (Some(uri), Some(rest)) = (token.strip_suffix(':'), rest.strip_prefix('(')) {
        return Some((uri, rest));
    }
    let at = token.rfind(":(")?;
    Some((&text[..at], &text[at + 2..]))
}

/// Parses user agent and address: `[[agent] address]` or `[agent address]`.
fn client(text: &str) -> (&str, &str) {
    let Some(inner) = text.strip_prefix('[') else { return ("", "") };
    let (inner, is_complete) = match inner.strip_suffix(']') {
        Some(inner) => (inner, true),
        None => (inner, false),
    };
    let (inner, split) = match inner.strip_prefix('[') {
        Some(inner) => (inner, inner.rsplit_once("] ")),
        None => (inner, inner.rsplit_once(' ')),
    };
    match split {
        Some((user_agent, source)) if is_complete => (user_agent, source),
        // A cut line may end inside the address or inside the agent. Only the part of the agent before a space or
        // slash is certainly whole.
        Some((user_agent, _)) => (user_agent, ""),
        None if is_complete => ("", inner),
        None => (inner.split_inclusive('/').next().filter(|name| name.ends_with('/')).unwrap_or(""), ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, uri: &str, latency: u64, status: Option<u16>, user_agent: &str, source: &str) {
        let line = read(text).expect("an access line");
        assert_eq!((&*line.uri, line.latency_micros, line.status), (uri, Some(latency), status), "{text}");
        assert_eq!((&*line.user_agent, &*line.source), (user_agent, source), "{text}");
    }

    #[test]
    fn formats_of_all_releases_are_parsed() {
        let agent = "kubelet/v0.16.1 (linux/amd64) kubernetes/1a2b3c4";
        check(
            &format!("GET /api/v1beta3/pods?fieldSelector=x: (41.700000681s) 200 [[{agent}] 10.0.0.1:43210]"),
            "/api/v1beta3/pods?fieldSelector=x",
            41_700_000,
            Some(200),
            agent,
            "10.0.0.1:43210",
        );
        check(
            &format!(
                "PUT /api/v1/x/y?timeout=10s:(8.12345ms) 409 [{agent}/leader-election 172.31.9.8:45670]"
            ),
            "/api/v1/x/y?timeout=10s",
            8_123,
            Some(409),
            &format!("{agent}/leader-election"),
            "172.31.9.8:45670",
        );
        check(
            "GET /apis/x.io/v1/clusterroles/system:node:(x): (511.007µs) 429 [[a b] [::1]:1]",
            "/apis/x.io/v1/clusterroles/system:node:(x)",
            511,
            Some(429),
            "a b",
            "[::1]:1",
        );
        check("GET /api/v1/pods: (5.001234567s) 500", "/api/v1/pods", 5_001_234, Some(500), "", "");
        check("GET /api/v1/pods: (5s) 500\n\tgoroutine", "/api/v1/pods", 5_000_000, Some(500), "", "");
        check(
            "GET /api/v1/pods: (1s) 200 [[kubectl/v1.1",
            "/api/v1/pods",
            1_000_000,
            Some(200),
            "kubectl/",
            "",
        );
        check("GET /api/v1/pods: (1s) 200 [[kubec", "/api/v1/pods", 1_000_000, Some(200), "", "");
        check("GET /api/v1/pods: (1s) 200 [[a/1 x] 10.0", "/api/v1/pods", 1_000_000, Some(200), "a/1 x", "");
        check("GET /healthz: (1s) 200 [10.0.0.1:5]", "/healthz", 1_000_000, Some(200), "", "10.0.0.1:5");
    }

    #[test]
    fn watch_of_1_4_has_status_zero() {
        let line =
            read("GET /api/v1/watch/pods: (3m21.123456789s) 0 [[h/v1] 10.0.0.9:41200]").expect("a line");
        assert_eq!((line.status, line.has_status_zero), (None, true));
    }

    #[test]
    fn other_lines_are_rejected() {
        for text in [
            "",
            "GET",
            "GET /x",
            "GET /x: (soon) 200",
            "GET /x: (1s",
            "Get /x: (1s) 200",
            "Starting /x: (1s) 200",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
