//! The page of `kubetoll classify`: verdict, reason, and differences between versions.

use super::display::{left_aligned, width as columns_of};
use super::plain::escaped;
use super::table::{table, wrapped};
use crate::apiserver::{Reason, Server, Verdict, VersionRange, across_versions_with, judge};
use crate::cost::{RANGE_READS_NOTE, needs_note, outline};
use crate::k8s::KubeVersion;
use crate::k8s::list_options::similar_list_option;
use crate::k8s::secrets::masked_target;
use crate::requests::contract::Readable;

pub(crate) fn render(request: &Readable<'_>, server: &Server, width: usize) -> String {
    let judged = request.judge(server);
    let mut page = String::new();
    let mut line = |name: &str, text: &str| {
        page.push_str(&wrapped(&format!("{name:<12}"), &" ".repeat(12), text, width));
    };
    line("request", &request_line(&judged));
    line("server", &server_line(server));
    line("served from", &source(judged.served_from, judged.likely, judged.rejected));
    line("limit", judged.limit);
    let shape = request.shape();
    line("cost", &outline(server, &shape, judge(server, &shape, None)));
    line("reason", judged.reason);
    line("certainty", certainty(judged.certainty));
    line("why", judged.explanation);
    for key in request.unknown_keys() {
        let hint =
            similar_list_option(&key).map_or(String::new(), |meant| format!("; did you mean {meant}?"));
        line("ignored", &format!("'{}' is not a parameter that the server reads{hint}", escaped(&key)));
    }
    page.push('\n');
    page.push_str(&versions(request, server, Some(server.version), width));
    page
}

/// Renders the request that kubectl would send for the command that the user gave.
pub(crate) fn sent(method: &str, uri: &str, width: usize) -> String {
    let text = format!("{} {}", escaped(method), escaped(&masked_target(uri)));
    wrapped(&format!("{:<12}", "sent"), &" ".repeat(12), &text, width)
}

pub(crate) fn note(text: &str, width: usize) -> String {
    wrapped("note: ", "      ", text, width)
}

/// Renders the verdicts of all releases. Used if the user gave no version.
pub(crate) fn render_versions(request: &Readable<'_>, server: &Server, width: usize) -> String {
    let name =
        wrapped(&format!("{:<12}", "request"), &" ".repeat(12), &request_line(&request.judge(server)), width);
    format!("{name}\n{}", versions(request, server, None, width))
}

/// Renders a table of releases with their verdicts, and marks the row of `version`.
fn versions(request: &Readable<'_>, server: &Server, version: Option<KubeVersion>, width: usize) -> String {
    let shape = request.shape();
    let spans = across_versions_with(server, &shape, |server, verdict| outline(server, &shape, *verdict));
    let from = |span: &VersionRange| KubeVersion::new(span.first.minor, span.first.patch.unwrap_or(0));
    let own = version.and_then(|version| spans.iter().rposition(|(span, _)| from(span) <= version));
    let own_reason = judge(server, &shape, None).reason;
    let rows = spans.iter().enumerate().map(|(at, (span, cost))| {
        let is_own = own == Some(at);
        // Releases in one row can have different reasons. The marked row shows the reason of its own release.
        row(span, cost, if is_own { own_reason } else { span.verdict.reason }, is_own)
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let mut text =
        if fits(&rows, width) { table(&COLUMNS, rows, REASON, width) } else { blocks(&rows, width) };
    if spans.iter().any(|(_, cost)| needs_note(cost)) {
        text.push('\n');
        text.push_str(&wrapped("", "", RANGE_READS_NOTE, width));
    }
    text
}

const COLUMNS: [(&str, bool); 5] =
    [("Kubernetes", false), ("served from", false), ("limit", false), ("cost", false), ("reason", false)];
/// The index of the column of reasons.
const REASON: usize = 4;
/// The maximum number of spaces between two columns.
const GAP: usize = 2;

fn fits(rows: &[Vec<String>], width: usize) -> bool {
    let widest = |at: usize| {
        let cells = rows.iter().map(|row| columns_of(&row[at]));
        cells.chain([columns_of(COLUMNS[at].0)]).max().unwrap_or(0)
    };
    (0..COLUMNS.len()).map(|at| widest(at) + GAP).sum::<usize>() <= width
}

/// Renders the rows for a narrow terminal. A row takes several lines, and no text is cut.
fn blocks(rows: &[Vec<String>], width: usize) -> String {
    let first = rows.iter().map(|row| columns_of(&row[0])).max().unwrap_or(0) + 1;
    let mut text = format!("{}\n", COLUMNS[0].0);
    for row in rows {
        let mut label = left_aligned(&row[0], first);
        for (column, cell) in COLUMNS.iter().zip(row).skip(1) {
            let line = format!("{:<11} {cell}", column.0);
            text.push_str(&wrapped(&label, &" ".repeat(first), &line, width));
            label = " ".repeat(first);
        }
    }
    text
}

fn request_line(judged: &crate::requests::contract::Output) -> String {
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

/// Returns a phrase that says what served the response, or that the server rejected the request.
pub(crate) fn source(served_from: &str, likely: Option<&str>, rejected: Option<u16>) -> String {
    match (likely, rejected) {
        (Some(likely), _) => format!("depends, likely {likely}"),
        (None, Some(status)) => format!("rejected with {status}"),
        (None, None) => served_from.to_owned(),
    }
}

fn certainty(code: &str) -> &'static str {
    match code {
        "certain" => "certain: all supported versions agree",
        "by-version" => "by-version: other versions have another verdict, see below",
        _ => "by-config: with default feature gates and a current etcd, this version has another verdict",
    }
}

fn row(span: &VersionRange, cost: &str, reason: Reason, here: bool) -> Vec<String> {
    let Verdict { served_from, likely, limit, rejected, .. } = span.verdict;
    vec![
        format!("{}{span}", if here { "▶ " } else { "  " }),
        source(served_from.as_str(), likely.map(crate::apiserver::ServedFrom::as_str), rejected),
        limit.as_str().to_owned(),
        cost.to_owned(),
        reason.code().to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_row_ends_with_the_reason_code() {
        let uri = "/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        let request = Readable::new("GET", uri).expect("a request");
        let page = render(&request, &Server::with_defaults(KubeVersion::new(29, 3)), 160);
        let marked = page.lines().find(|line| line.starts_with('▶')).expect("a marked row");
        assert!(marked.ends_with("send-initial-events-gate-off"), "{page}");
    }

    #[test]
    fn nothing_is_cut_at_80_columns() {
        for (method, uri) in [
            ("GET", "/api/v1/pods?limit=500&labelSelector=a"),
            ("GET", "/api/v1/pods?limit=500&resourceVersion=7"),
            ("GET", "/apis/example.com/v1/widgets?fieldSelector=metadata.name%3Da&limit=5"),
            ("GET", "/api/v1/events?watch=1"),
            ("DELETE", "/api/v1/namespaces/n/pods?labelSelector=a"),
        ] {
            let request = Readable::new(method, uri).expect("a request");
            let server = Server::with_defaults(KubeVersion::NEWEST);
            let spans = across_versions_with(&server, &request.shape(), |server, verdict| {
                outline(server, &request.shape(), *verdict)
            });
            for width in [80, 100, 200] {
                let page = render_versions(&request, &server, width);
                assert!(page.lines().all(|line| line.chars().count() <= width), "{width}: {page}");
                for (span, cost) in &spans {
                    let parts = [&span.to_string(), cost, span.verdict.reason.code()];
                    assert!(parts.iter().all(|part| page.contains(*part)), "{width}: {page}");
                }
            }
        }
    }
}
