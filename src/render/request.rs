//! One request for people: the verdict, the reason, and how versions differ.

use super::plain::escaped;
use super::table::{table, wrapped};
use crate::apiserver::{Server, Span, Verdict, across_versions};
use crate::classify::contract::Readable;
use crate::k8s::KubeVersion;
use crate::k8s::list_options::meant_key;

/// Renders the page of `kubetoll classify`.
#[must_use]
pub fn render(request: &Readable<'_>, server: &Server, width: usize) -> String {
    let judged = request.judge(server);
    let mut page = String::new();
    let mut line = |name: &str, text: &str| {
        page.push_str(&wrapped(&format!("{name:<12}"), &" ".repeat(12), text, width));
    };
    line("request", &asked(&judged));
    line("server", &server_line(server));
    line("served from", &source(judged.served_from, judged.likely, judged.rejected));
    line("limit", judged.limit);
    line("reason", judged.reason);
    line("certainty", certainty(judged.certainty));
    line("why", judged.explanation);
    for key in request.unknown_keys() {
        let hint = meant_key(&key).map_or(String::new(), |meant| format!("; did you mean {meant}?"));
        line("ignored", &format!("'{}' is no parameter that the server reads{hint}", escaped(&key)));
    }
    page.push('\n');
    page.push_str(&versions(request, server, Some(server.version), width));
    page
}

/// Renders what each release does, where no version is given.
#[must_use]
pub fn render_versions(request: &Readable<'_>, server: &Server, width: usize) -> String {
    let name = wrapped(&format!("{:<12}", "request"), &" ".repeat(12), &asked(&request.judge(server)), width);
    format!("{name}\n{}", versions(request, server, None, width))
}

/// The table of releases. The row of a version is marked.
fn versions(request: &Readable<'_>, server: &Server, version: Option<KubeVersion>, width: usize) -> String {
    let spans = across_versions(server, &request.asked());
    let from = |span: &Span| KubeVersion::new(span.first.minor, span.first.patch.unwrap_or(0));
    let own = version.and_then(|version| spans.iter().rposition(|span| from(span) <= version));
    let rows = spans.iter().enumerate().map(|(at, span)| row(span, own == Some(at))).collect();
    table(
        &[("Kubernetes", false), ("served from", false), ("limit", false), ("reason", false)],
        rows,
        3,
        width,
    )
}

fn asked(judged: &crate::classify::contract::Output) -> String {
    let mut text = judged.verb.clone();
    match &judged.resource {
        None => text.push_str(" of a path outside the API's resources"),
        Some(resource) => {
            text.push(' ');
            text.push_str(&escaped(resource));
            if let Some(group) = judged.group.as_deref().filter(|group| !group.is_empty()) {
                text.push('.');
                text.push_str(&escaped(group));
            }
            if let Some(subresource) = &judged.subresource {
                text.push('/');
                text.push_str(&escaped(subresource));
            }
        }
    }
    match judged.scope {
        Some("cluster") => text.push_str(", cluster-wide"),
        Some("namespace") => text.push_str(", of one namespace"),
        _ => {}
    }
    text
}

fn server_line(server: &Server) -> String {
    let etcd = server.etcd.map_or_else(
        || "etcd 3.4.31, 3.5.13 or later (not given)".to_owned(),
        |version| format!("etcd {version}"),
    );
    let gates: Vec<String> = server.gates.iter().map(|(name, value)| format!(", {name}={value}")).collect();
    format!("Kubernetes {}, {etcd}{}", server.version, gates.concat())
}

/// Where an answer came from, in words.
#[must_use]
pub fn source(served_from: &str, likely: Option<&str>, rejected: Option<u16>) -> String {
    match (likely, rejected) {
        (Some(likely), _) => format!("depends, likely {likely}"),
        (None, Some(status)) => format!("rejected with {status}"),
        (None, None) => served_from.to_owned(),
    }
}

fn certainty(code: &str) -> &'static str {
    match code {
        "certain" => "certain: all supported versions agree",
        "by-version" => "by-version: other versions decide otherwise, see below",
        _ => "by-config: this version decides otherwise with its defaults and a current etcd",
    }
}

fn row(span: &Span, here: bool) -> Vec<String> {
    let Verdict { served_from, likely, limit, rejected, reason } = span.verdict;
    vec![
        format!("{}{span}", if here { "▶ " } else { "  " }),
        source(served_from.as_str(), likely.map(crate::apiserver::ServedFrom::as_str), rejected),
        limit.as_str().to_owned(),
        reason.code().to_owned(),
    ]
}
