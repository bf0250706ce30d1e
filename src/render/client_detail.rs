//! The details of a client without a finding, for a terminal.

use super::client_name::client_name;
use super::display::cut;
use super::plain::{count, counted, duration, escaped, rounded};
use super::request::source;
use super::style::BOLD;
use super::table::{titled, wrapped};
use super::{cost, facts};
use crate::report::v1::{Client, Shape};

/// How many request shapes of a client are shown.
const DETAILED_SHAPES: usize = 3;

/// Renders the details of a client without a finding: request shapes that read from etcd or have an ignored
/// parameter.
pub(super) fn render(client: &Client, width: usize) -> String {
    let mut page = format!("\n{BOLD}{}{BOLD:#}\n", client_name(client));
    let agents: Vec<_> = client.user_agents.iter().take(3).map(|agent| escaped(&agent.product)).collect();
    page.push_str(&titled("User agents", &agents.join(", "), width));
    if client.pods.count > 0 {
        let more = if client.pods.more { " or more" } else { "" };
        let (pods, nodes) = (counted(client.pods.count, "pod"), counted(client.nodes.count, "node"));
        page.push_str(&titled("Pods", &format!("{pods}{more} on {nodes}"), width));
    }
    let costly: Vec<&Shape> = client.shapes.iter().filter(|shape| shape.is_costly()).collect();
    if costly.is_empty() {
        page.push_str(&titled("", "no read from etcd, and no parameter ignored", width));
    }
    for shape in costly.iter().take(DETAILED_SHAPES) {
        page.push('\n');
        page.push_str(&shape_lines(shape, width));
    }
    if let Some(more) = costly.len().checked_sub(DETAILED_SHAPES).filter(|more| *more > 0) {
        let text = format!("{} more such request shapes: --format json", count(more as u64));
        page.push_str(&titled("", &text, width));
    }
    page
}

fn shape_lines(shape: &Shape, width: usize) -> String {
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
    let mut page = wrapped("  ", "    ", &what, width);
    let mut line = |title: &str, text: &str| page.push_str(&titled(title, text, width));
    let took = shape.latency.map_or(String::new(), |l| {
        format!(", p50 {}, p99 {}", duration(l.p50_micros), duration(l.p99_micros))
    });
    let peak = shape.rate.as_ref().map_or(String::new(), |rate| {
        let mean = facts::on_average(rate.window_minutes);
        format!(", {} a minute at peak{mean}", count(rounded(rate.peak_per_minute)))
    });
    line("How much", &format!("{}{peak}{took}", counted(shape.requests, "request")));
    if let Some(costs) = cost::known_cost(&shape.cost, shape.requests) {
        line("Costs", &costs);
    }
    let from = source(shape.served_from, shape.likely, shape.rejected);
    let limit = if shape.limit == "ignored" { ", limit ignored" } else { "" };
    line("Served from", &format!("{from}{limit}: {}", shape.explanation));
    if let Some(example) = &shape.example {
        let uri = cut(&example.request_uri, 3 * width).into_owned();
        line("Costliest", &escaped(&uri));
        let place =
            format!("{}:{}, auditID {}", escaped(&example.file), example.line, escaped(&example.audit_id));
        line("Logged at", &place);
    }
    page
}
