//! The report for a person at a terminal.

use anstyle::{AnsiColor, Style};

use super::facts::on_average;
use super::plain::{count, counted, cut, duration, escaped};
use super::request::source;
use super::table::{table, wrapped};
use super::{cases, clients, cost, etcd_log, facts, findings, input, over_time, patterns, traces};
use crate::report::v1::{Client, EtcdLog, Finding, Report, Shape};

/// How much is shown, and how wide.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Clients in the table.
    pub top: usize,
    /// Characters in a line.
    pub width: usize,
}

/// Clients whose shapes are shown, and shapes per client.
const DETAILED_CLIENTS: usize = 3;
const DETAILED_SHAPES: usize = 3;

const HEADING: Style = Style::new().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// Renders the report. Text that clients sent is escaped; the only control sequences are colours.
#[must_use]
pub fn render(report: &Report, view: &View) -> String {
    let mut page = head(report, view);
    if !report.cases.is_empty() {
        page.push_str(&heading("cases, worst first (findings with one cause are one case)"));
        page.push_str(&cases::overview(report, view.top, view.width));
        page.push('\n');
        page.push_str(&findings::details(report, view.top, view.width));
    }
    if !report.clients.is_empty() {
        let first = if report.finding_counts.error > 0 { ", errors first, then" } else { "," };
        page.push_str(&heading(&format!("clients{first} most load first ({})", cost::order(report))));
        page.push_str(&clients::table(report, view));
    }
    let traces = traces::rows(&report.traces, view.width);
    if !traces.is_empty() {
        page.push_str(&heading(
            "slow requests that the server traced (above 500 ms), the greatest time first",
        ));
        page.push_str(&traces);
    }
    if let Some(log) = &report.etcd_log {
        page.push_str(&etcd(log, view));
    }
    let found = |client: &Client| {
        let is_of = |finding: &Finding| finding.client.as_ref() == Some(&client.identity);
        report.untold.contains(&client.identity) || report.findings.iter().any(is_of)
    };
    let costly: Vec<&Client> = report
        .clients
        .iter()
        .filter(|client| !found(client) && client.shapes.iter().any(|shape| shape.is_costly))
        .take(DETAILED_CLIENTS.min(view.top))
        .collect();
    if !report.clients.iter().any(|client| client.shapes.iter().any(|shape| shape.is_costly)) {
        let text =
            "as far as this log tells, no client had a list or get answered by etcd, or a parameter ignored";
        page.push('\n');
        page.push_str(&wrapped("", "", text, view.width));
    } else if !costly.is_empty() {
        page.push_str(&heading("what clients without a finding asked of etcd"));
    }
    for (rank, client) in costly.iter().enumerate() {
        page.push_str(&detail(rank + 1, client, view));
    }
    page
}

fn heading(text: &str) -> String {
    format!("\n{HEADING}{text}{HEADING:#}\n\n")
}

fn head(report: &Report, view: &View) -> String {
    let mut page = String::new();
    let mut line = |name: &str, text: &str| {
        page.push_str(&wrapped(&format!("{name:<9}"), "         ", text, view.width));
    };
    input::lines(&report.input, &mut line);
    line("server", &facts::server(&report.server));
    if let Some(evidence) = facts::version_evidence(&report.server) {
        line("", &evidence);
    }
    for note in facts::notes(&report.server).chain(patterns::left_out(report)) {
        line("", &note);
    }
    let totals = &report.totals.counts;
    line(
        "totals",
        &format!(
            "{} and {} read from etcd ({} of request time), {} to etcd; {} with an ignored limit",
            counted(totals.etcd_lists, "LIST"),
            counted(totals.etcd_gets, "GET"),
            duration(totals.etcd_micros),
            counted(totals.etcd_writes, "write"),
            counted(totals.limit_ignored, "LIST")
        ),
    );
    let observed = &totals.observed;
    if observed.agree + observed.contradict > 0 {
        line(
            "",
            &format!(
                "evidence in the log ({} measured by the server, and what it served or refused): {} for the \
                 verdicts, {} against{}",
                counted(observed.measured, "slow request"),
                count(observed.agree),
                count(observed.contradict),
                if observed.contradict > observed.agree { "; is the version right?" } else { "" }
            ),
        );
    }
    for (index, peak) in over_time::peaks(report).iter().enumerate() {
        line(if index == 0 { "peak" } else { "" }, peak);
    }
    if let Some(costs) = cost::totals(report) {
        line("costs", &costs);
    }
    for (index, told) in report.inventory.iter().flat_map(cost::inventory).enumerate() {
        line(if index == 0 { "cluster" } else { "" }, &escaped(&told));
    }
    line("findings", &facts::verdict(report));
    if report.findings.is_empty() {
        line("", "what the log does not hold was not judged");
    }
    if let Some(file) = &report.policy.file {
        let held = counted(report.policy.suppressed.len() as u64, "finding");
        line("policy", &format!("{}; it holds back {held}", escaped(file)));
    }
    for amiss in facts::amiss(report) {
        line("", &escaped(&amiss));
    }
    page
}

/// What etcd's own log says.
fn etcd(log: &EtcdLog, view: &View) -> String {
    let mut page = heading(etcd_log::HEADING);
    for line in etcd_log::summary(log) {
        page.push_str(&wrapped("", "  ", &line.plain(), view.width));
    }
    let rows: Vec<Vec<String>> = etcd_log::rows(log)
        .into_iter()
        .map(|row| row.iter().map(|cell| escaped(cell).into_owned()).collect())
        .collect();
    if !rows.is_empty() {
        page.push('\n');
        page.push_str(&table(&etcd_log::COLUMNS, rows, 0, view.width));
    }
    for (title, line) in etcd_log::details(log) {
        page.push_str(&wrapped(&format!("{title:<11}"), "           ", &line.plain(), view.width));
    }
    page
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is a small positive number"
)]
pub(super) fn rounded(rate: f64) -> u64 {
    rate.round() as u64
}

/// A client's short name.
pub(super) fn name(client: &Client) -> String {
    let base = match (&client.service_account, client.kind.as_str()) {
        (Some(account), _) => format!("{}/{}", account.namespace, account.name),
        (None, "node") => {
            let more = if client.nodes.more { " or more" } else { "" };
            format!("{}{more}", counted(client.nodes.count, "node"))
        }
        (None, "control-plane") => {
            client.identity.strip_prefix("system:").unwrap_or(&client.identity).to_owned()
        }
        (None, "user") if !client.identity.starts_with('(') => format!("user {}", client.identity),
        (None, _) => client.identity.clone(),
    };
    let name = match &client.impersonated_by {
        Some(real) => format!("{base} (by {real})"),
        None => base,
    };
    escaped(&name).into_owned()
}

fn detail(rank: usize, client: &Client, view: &View) -> String {
    let mut page = format!("{HEADING}{rank}. {}{HEADING:#}\n", name(client));
    let agents: Vec<_> = client.user_agents.iter().take(3).map(|agent| escaped(&agent.product)).collect();
    let mut facts = vec![format!("user agent {}", agents.join(", "))];
    if client.pods.count > 0 {
        let more = if client.pods.more { " or more" } else { "" };
        facts.push(format!(
            "{}{more} on {}",
            counted(client.pods.count, "pod"),
            counted(client.nodes.count, "node")
        ));
    }
    page.push_str(&wrapped("   ", "   ", &facts.join("; "), view.width));
    let costly: Vec<&Shape> = client.shapes.iter().filter(|shape| shape.is_costly).collect();
    let mut told = Vec::new();
    for shape in costly.iter().take(DETAILED_SHAPES) {
        let again = told.contains(&&shape.explanation);
        told.push(&shape.explanation);
        page.push_str(&shape_lines(shape, again, view));
    }
    if costly.len() > DETAILED_SHAPES {
        let more = costly.len() - DETAILED_SHAPES;
        page.push_str(&wrapped(
            "   ",
            "   ",
            &format!("and {more} more such shapes; --format json shows all"),
            view.width,
        ));
    }
    page.push('\n');
    page
}

fn shape_lines(shape: &Shape, again: bool, view: &View) -> String {
    let resource = shape.resource.as_deref().unwrap_or("(other shapes)");
    let subresource = shape.subresource.as_deref().map_or(String::new(), |sub| format!("/{sub}"));
    let scope = match shape.scope {
        Some("cluster") => " cluster-wide",
        Some("namespace") => " in a namespace",
        _ => "",
    };
    let parameters = if shape.parameters.is_empty() {
        String::new()
    } else {
        format!("  ?{}", escaped(&shape.parameters))
    };
    let what = format!("{} {}{}{scope}{parameters}", shape.verb, escaped(resource), escaped(&subresource));
    let mut page = wrapped("   ", "     ", &what, view.width);
    let mut line = |name: &str, text: &str| {
        page.push_str(&wrapped(&format!("     {name:<8}"), "             ", text, view.width));
    };
    let took = shape.latency.map_or(String::new(), |l| {
        format!(", p50 {}, p99 {}", duration(l.p50_micros), duration(l.p99_micros))
    });
    let peak = shape.rate.as_ref().map_or(String::new(), |rate| {
        let mean = on_average(rate.window_minutes);
        format!(", {} a minute at peak{mean}", count(rounded(rate.peak_per_minute)))
    });
    let from = source(shape.served_from, shape.likely, shape.rejected);
    let limit = if shape.limit == "ignored" { format!(", {BAD}limit ignored{BAD:#}") } else { String::new() };
    line("count", &format!("{}{peak}{took}", counted(shape.requests, "request")));
    if let Some(costs) = cost::known(&shape.cost, shape.requests) {
        line("costs", &costs);
    }
    line("served", &format!("{from}{limit}"));
    line("why", if again { "as above" } else { shape.explanation });
    if let Some(example) = &shape.example {
        let uri = cut(&example.request_uri, 3 * view.width).into_owned();
        line("example", &escaped(&uri));
        line("", &format!("{}:{} {}", escaped(&example.file), example.line, escaped(&example.audit_id)));
    }
    if let Some(advice) = shape.advice.as_ref().filter(|_| !again || !shape.misspelt.is_empty()) {
        line("change", &escaped(advice));
    }
    page
}
