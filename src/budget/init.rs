//! Writes a budget from runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::file::Unlisted;
use super::measured::{MeasuredRun, PhaseCounts, sources};
use super::number::{Slack, allowed, plain, round_up};
use super::phase::Phase;
use super::quote::quoted;

/// The first lines of a new budget.
const HEAD: &str = "\
# A budget of kubetoll: the requests that clients may send. docs/budget.md explains it.
version: 1
";

/// What runs show of one request shape: the largest number of each phase, and all sources.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct MeasuredShape {
    pub(super) numbers: [f64; 3],
    pub(super) sources: BTreeSet<String>,
}

/// Measures the shapes of each client over several runs.
pub(super) fn measured(runs: &[MeasuredRun]) -> BTreeMap<&str, BTreeMap<&str, MeasuredShape>> {
    let mut clients: BTreeMap<&str, BTreeMap<&str, MeasuredShape>> = BTreeMap::new();
    for name in runs.iter().flat_map(|run| run.clients.keys()) {
        let in_runs = || runs.iter().filter_map(|run| run.clients.get(name));
        let shapes = clients.entry(name).or_default();
        for shape in in_runs().flat_map(|client| client.shapes.keys()) {
            let profiles = || in_runs().filter_map(|client| Some((client, client.shapes.get(shape)?)));
            // One run may be too short to show that the client repeats a request.
            let is_steady = profiles().any(|(_, shape)| shape.steady > 0);
            let mut all = MeasuredShape::default();
            for (client, profile) in profiles() {
                let counts = PhaseCounts::new(client, profile, is_steady);
                for phase in Phase::ALL {
                    let number = counts.number(phase);
                    let number = if phase.is_whole() { number } else { round_up(number) };
                    let largest = &mut all.numbers[phase as usize];
                    *largest = largest.max(number);
                }
                all.sources.extend(sources(profile).into_iter().map(str::to_owned));
            }
            shapes.insert(shape, all);
        }
    }
    clients
}

/// Writes a budget: limits are the largest measured numbers plus slack.
#[must_use]
pub(crate) fn init(runs: &[MeasuredRun], users: &[String], slack: Slack, unlisted: Unlisted) -> String {
    let mut text = HEAD.to_owned();
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    line(&format!("unlisted: {} # requests without an entry: fail, warn or allow", unlisted.as_str()));
    line(&format!("slack: {slack} # how far a limit may be above `measured` without a reason"));
    if !users.is_empty() {
        line("users:");
        for user in users {
            line(&format!("  - {}", quoted(user)));
        }
    }
    let clients = measured(runs);
    line(if clients.is_empty() { "clients: []" } else { "clients:" });
    for (client, shapes) in clients {
        line(&format!("  - client: {}", quoted(client)));
        line("    requests:");
        for (shape, measured) in shapes {
            let lines = entry(shape, &measured, slack);
            line(&format!("      - {}", lines[0]));
            for own in &lines[1..] {
                line(&format!("        {own}"));
            }
        }
    }
    text
}

/// The lines of an entry of `requests`.
fn entry(shape: &str, measured: &MeasuredShape, slack: Slack) -> Vec<String> {
    let mut lines = vec![format!("request: {}", quoted(shape))];
    let numbers = || Phase::ALL.into_iter().map(|phase| (phase, measured.numbers[phase as usize]));
    let sent = || numbers().filter(|(_, number)| *number > 0.0);
    for (phase, number) in sent() {
        lines.push(format!("{}: {}", phase.as_str(), plain(allowed(phase, number, slack))));
    }
    let sources: Vec<String> = measured.sources.iter().map(|source| quoted(source)).collect();
    let sources = match sources.as_slice() {
        [one] => one.clone(),
        all => format!("[{}]", all.join(", ")),
    };
    let mut parts: Vec<String> =
        sent().map(|(phase, number)| format!("{}: {}", phase.as_str(), plain(number))).collect();
    if !measured.sources.is_empty() {
        lines.push(format!("servedFrom: {sources}"));
        parts.push(format!("servedFrom: {sources}"));
    }
    lines.push(format!("measured: {{{}}}", parts.join(", ")));
    lines
}

/// An entry of `requests` on one line, for a message.
pub(super) fn entry_line(shape: &str, measured: &MeasuredShape, slack: Slack) -> String {
    let mut line = "- {".to_owned();
    for (at, part) in entry(shape, measured, slack).iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        let _ = write!(line, "{comma}{part}");
    }
    line + "}"
}
