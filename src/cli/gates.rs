//! Gates for CI jobs: `--fail-on` and `--require-requests`, with their messages.

use std::fmt::Write;

use super::args::FailOn;
use super::output::{GATE_FAILED, SUCCESS, say};
use crate::render::plain::{counted, escaped};
use crate::report::Report;
use crate::requests::filter::Filter;
use crate::rules::rule::word_selects;
use crate::rules::{GateRequests, Severity, Worst};

#[derive(Debug)]
pub(super) struct RemainingRequests {
    pub(super) requests: u64,
    /// Events that the filters left out.
    pub(super) filtered: u64,
    /// Whether the log has only RequestReceived events.
    pub(super) received_only: bool,
}

/// Whether the filters leave enough requests. Prints a message if not.
pub(super) fn enough_requests(remaining: &RemainingRequests, required: Option<u64>, filter: &Filter) -> bool {
    let RemainingRequests { requests, filtered, received_only } = *remaining;
    let unmatched = filter.unmatched(received_only);
    let prefix = if required.is_some() { "error" } else { "note" };
    for (flag, name) in &unmatched {
        say(&format!("{prefix}: --{flag} '{}': no request matches this", escaped(name)));
    }
    let Some(required) = required else {
        // Without requests, a gate would pass silently.
        if filtered > 0 && requests == 0 {
            say(
                "note: the filters leave no request, so nothing was judged; --require-requests makes this an error",
            );
        }
        return true;
    };
    if requests < required {
        let by = if filtered > 0 { "the filters leave" } else { "the log holds" };
        let left = counted(requests, "request");
        let least = counted(required, "request");
        say(&format!("error: {by} {left}; --require-requests={required} needs at least {least}"));
    }
    unmatched.is_empty() && requests >= required
}

pub(super) fn fail_on(report: &Report, wanted: &[FailOn]) -> u8 {
    let messages: Vec<String> = wanted.iter().filter_map(|what| failure(report, what)).collect();
    for message in &messages {
        say(&format!("failed: {message}"));
    }
    if messages.is_empty() { SUCCESS } else { GATE_FAILED }
}

/// The message of a failed gate; `None` if it passes.
fn failure(report: &Report, what: &FailOn) -> Option<String> {
    let gates = &report.page.gates;
    match what {
        FailOn::Severity(least) => {
            let name = match least {
                Severity::Info => "finding",
                Severity::Warning => "finding that is a warning or an error",
                Severity::Error => "error",
            };
            findings(report, *least, |_, _| true, name, least.as_str())
        }
        FailOn::Rule(word) => {
            findings(report, Severity::Info, |id, name| word_selects(word, id, name), "finding", word)
        }
        FailOn::EtcdList => requests(&gates.etcd_list, "LIST", "read from etcd", "etcd-list"),
        FailOn::EtcdGet => requests(&gates.etcd_get, "GET", "read from etcd", "etcd-get"),
        FailOn::LimitIgnored => {
            requests(&gates.limit_ignored, "LIST", "whose limit the server ignored", "limit-ignored")
        }
    }
}

fn findings(
    report: &Report,
    least: Severity,
    is_wanted: impl Fn(&str, &str) -> bool,
    noun: &str,
    word: &str,
) -> Option<String> {
    let rules = || report.page.gates.rules.iter().filter(|rule| is_wanted(&rule.id, &rule.name));
    let all: u64 = rules().flat_map(|rule| rule.counts.range(least..)).map(|(_, count)| count).sum();
    if all == 0 {
        return None;
    }
    let mut message = format!("{} (--fail-on {})", count_findings(all, noun), escaped(word));
    let worst = rules().filter_map(|rule| Some((rule, rule.worst.as_ref()?)));
    let worst = worst.max_by_key(|(_, (severity, worst))| {
        (*severity, worst.as_ref().map_or(u64::MAX, |worst| worst.requests))
    });
    if let Some((rule, (_, worst))) = worst {
        let lead = if all == 1 { "" } else { "the worst: " };
        let _ = write!(message, "; {lead}{} {}", rule.id, rule.name);
        if let Some(worst) = worst {
            let _ = write!(message, ", {}", named(worst));
        }
    }
    Some(message)
}

fn count_findings(all: u64, noun: &str) -> String {
    match noun.strip_prefix("finding that is") {
        Some(_) if all == 1 => format!("1 {noun}"),
        Some(_) => format!("{} that are warnings or errors", counted(all, "finding")),
        None => counted(all, noun),
    }
}

fn requests(gate: &GateRequests, verb: &str, what: &str, word: &str) -> Option<String> {
    let worst = gate.worst.as_ref().filter(|_| gate.requests > 0)?;
    let mut message = format!("{} {what} (--fail-on {word}); ", counted(gate.requests, verb));
    let lead = if worst.requests == gate.requests { "all" } else { "most" };
    let _ = write!(message, "{lead} by {}", named(worst));
    for (left_out, why) in
        [(gate.informers, "that a WATCH follows"), (gate.suppressed, "that kubetoll.yaml suppresses")]
    {
        if left_out > 0 {
            let _ = write!(message, "; {} {why} not counted", counted(left_out, verb));
        }
    }
    Some(message)
}

fn named(worst: &Worst) -> String {
    let Worst { client, shape, requests } = worst;
    format!("{}: {}, {}", escaped(client), escaped(shape), counted(*requests, "request"))
}
