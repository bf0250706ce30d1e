//! Judges a run by a budget.

use std::collections::{BTreeMap, BTreeSet};

use super::file::{Budget, BudgetClient, BudgetRequest, Phase, Unlisted};
use super::init::{MeasuredShape, entry_line};
use super::measured::{PhaseCounts, sources};
use super::number::{allowed, plain, round_up};
use super::quote::quoted;
use crate::diff::NameFolding;
use crate::k8s::text::count;
use crate::profile::{ClientProfile, RunProfile, ShapeProfile};
use crate::report::AddedFinding;
use crate::report::v1::BudgetLine;
use crate::rules::Severity;
use crate::shell::option;

const OVER: &str = "KT601";
const NOT_LISTED: &str = "KT602";
const UNUSED: &str = "KT603";

/// A client of the run, or all clients that match one entry.
#[derive(Default)]
struct OwnClient<'r> {
    profile: ClientProfile,
    /// The names of the clients in the run, with their profiles.
    parts: Vec<(&'r str, &'r ClientProfile)>,
}

impl<'r> OwnClient<'r> {
    fn add(&mut self, name: &'r str, client: &'r ClientProfile) {
        self.profile.add_other(client);
        self.parts.push((name, client));
    }

    /// The name of the client with the most requests of a shape, or of all shapes.
    fn largest(&self, shape: Option<&str>) -> Option<String> {
        let requests = |client: &ClientProfile| -> u64 {
            let shapes = client.shapes.iter().filter(|(name, _)| shape.is_none_or(|shape| shape == *name));
            shapes.map(|(_, shape)| shape.requests()).sum()
        };
        let largest = self.parts.iter().rev().max_by_key(|(_, client)| requests(client));
        largest.map(|(name, _)| (*name).to_owned())
    }
}

/// The findings of a run.
#[must_use]
pub(crate) fn judge(budget: &Budget, run: &RunProfile) -> Vec<AddedFinding> {
    let folding = NameFolding::default();
    let mut of_entries: BTreeMap<usize, OwnClient<'_>> = BTreeMap::new();
    let mut others: BTreeMap<String, OwnClient<'_>> = BTreeMap::new();
    for (name, client) in &run.clients {
        match budget.entry_of(name, &folding) {
            Some(entry) => of_entries.entry(entry).or_default().add(name, client),
            None if budget.is_about(name) => others.entry(folding.fold(name)).or_default().add(name, client),
            None => {}
        }
    }
    let judging = BudgetJudging { budget, run };
    let mut findings = Vec::new();
    for (index, entry) in budget.clients.iter().enumerate() {
        match of_entries.get(&index) {
            Some(client) => judging.client(entry, client, &mut findings),
            None => findings.push(judging.unused_client(entry)),
        }
    }
    let severity = severity(budget.unlisted);
    findings
        .extend(others.iter().filter_map(|(name, client)| judging.unlisted_client(name, client, severity?)));
    findings
}

/// The severity of requests without an entry; `None` if they are allowed.
fn severity(unlisted: Unlisted) -> Option<Severity> {
    match unlisted {
        Unlisted::Fail => Some(Severity::Error),
        Unlisted::Warn => Some(Severity::Warning),
        Unlisted::Allow => None,
    }
}

/// A limit that a run is above.
struct Excess {
    phase: Phase,
    limit: f64,
    number: f64,
    /// The line of the limit, or of its entry.
    line: u64,
    /// Whether the file states the limit. Without it, the limit is 0.
    is_stated: bool,
}

struct BudgetJudging<'b> {
    budget: &'b Budget,
    run: &'b RunProfile,
}

impl BudgetJudging<'_> {
    fn client(&self, entry: &BudgetClient, client: &OwnClient<'_>, findings: &mut Vec<AddedFinding>) {
        let listed: BTreeSet<&str> = entry.requests.iter().map(|request| &*request.request).collect();
        for request in &entry.requests {
            match client.profile.shapes.get(&request.request) {
                Some(shape) => {
                    findings.extend(self.over(entry, request, client, shape));
                    findings.extend(self.moved(entry, request, client, shape));
                }
                None => findings.push(self.unused_request(entry, request, client)),
            }
        }
        let Some(severity) = severity(entry.unlisted.unwrap_or(self.budget.unlisted)) else { return };
        let others = client.profile.shapes.iter().filter(|(name, _)| !listed.contains(name.as_str()));
        findings
            .extend(others.map(|(name, shape)| self.unlisted_shape(entry, client, name, shape, severity)));
    }

    fn line(&self, line: u64, client: &str, write: Vec<String>) -> BudgetLine {
        BudgetLine { file: self.budget.file.clone(), line, client: client.to_owned(), write }
    }

    /// The file's name as code in Markdown.
    fn file(&self) -> String {
        format!("`{}`", self.budget.file.replace('`', "'"))
    }

    fn over(
        &self,
        entry: &BudgetClient,
        request: &BudgetRequest,
        client: &OwnClient<'_>,
        shape: &ShapeProfile,
    ) -> Option<AddedFinding> {
        let counts = PhaseCounts::new(&client.profile, shape, request.is_steady());
        let excesses: Vec<Excess> =
            Phase::ALL.into_iter().filter_map(|phase| excess(request, counts, phase)).collect();
        let first = excesses.first()?;
        let shape_name = &request.request;
        let parts: Vec<String> = excesses.iter().map(|excess| excess.text(shape_name)).collect();
        let parts = parts.join(", and ");
        let is_only_watches = excesses.iter().all(|excess| excess.phase == Phase::Watches);
        let does =
            if is_only_watches { format!("holds {parts}") } else { format!("sends {shape_name} {parts}") };
        let write: Vec<String> = excesses.iter().map(|excess| excess.write(self.budget)).collect();
        let written = write.join(", ");
        let verb = if first.is_stated { "write" } else { "add" };
        let with = if request.reason.is_some() { "an updated reason" } else { "a reason" };
        Some(AddedFinding {
            rule: OVER,
            severity: Severity::Error,
            client: client.largest(Some(shape_name)),
            shape: Some(shape_name.clone()),
            does,
            change: format!("{verb} {written} with {with}, or send fewer requests"),
            fix: format!(
                "Send fewer requests, or {verb} `{written}` with {with}.\n\nThe limit is in line {} of {}.",
                first.line,
                self.file()
            ),
            budget: self.line(first.line, &entry.client, write),
        })
    }

    /// Requests from a source that the entry does not list.
    fn moved(
        &self,
        entry: &BudgetClient,
        request: &BudgetRequest,
        client: &OwnClient<'_>,
        shape: &ShapeProfile,
    ) -> Option<AddedFinding> {
        let first = request.served_from.first()?;
        let allowed: Vec<&str> = request.served_from.iter().map(|source| &*source.value).collect();
        let new: Vec<&str> = sources(shape).into_iter().filter(|source| !allowed.contains(source)).collect();
        if new.is_empty() {
            return None;
        }
        let severity = if new.contains(&"etcd") { Severity::Error } else { Severity::Warning };
        let requests: u64 = new.iter().filter_map(|source| shape.served_from.get(*source)).sum();
        let all: Vec<&str> = allowed.iter().chain(&new).copied().collect();
        let write = format!("servedFrom: [{}]", all.join(", "));
        let shape_name = &request.request;
        let times = times(&count(requests), requests == 1);
        Some(AddedFinding {
            rule: OVER,
            severity,
            client: client.largest(Some(shape_name)),
            shape: Some(shape_name.clone()),
            does: format!(
                "sends {shape_name} {times} served from {}, and the budget allows {}",
                new.join(" and "),
                allowed.join(" and ")
            ),
            change: format!("write {write} with a reason, or change the request"),
            fix: format!(
                "Change the request, or write `{write}` with a reason.\n\nThe sources are in line {} of {}.",
                first.at.line,
                self.file()
            ),
            budget: self.line(first.at.line, &entry.client, vec![write]),
        })
    }

    fn unused_request(
        &self,
        entry: &BudgetClient,
        request: &BudgetRequest,
        client: &OwnClient<'_>,
    ) -> AddedFinding {
        AddedFinding {
            rule: UNUSED,
            severity: Severity::Info,
            client: client.largest(None),
            shape: Some(request.request.clone()),
            does: format!("sends no {}, which the budget lists{}", request.request, self.filtered()),
            change: "remove the entry if the client does not need it".to_owned(),
            fix: format!(
                "Remove the entry if the client does not need it.\n\nThe entry begins in line {} of {}.",
                request.at.line,
                self.file()
            ),
            budget: self.line(request.at.line, &entry.client, Vec::new()),
        }
    }

    fn unused_client(&self, entry: &BudgetClient) -> AddedFinding {
        AddedFinding {
            rule: UNUSED,
            severity: Severity::Warning,
            client: None,
            shape: None,
            does: format!(
                "the log has no request of {}, which the budget lists{}",
                entry.client,
                self.filtered()
            ),
            change: "correct the name, or remove the entry".to_owned(),
            fix: format!(
                "Correct the name, or remove the entry.\n\nThe entry begins in line {} of {}.",
                entry.at.line,
                self.file()
            ),
            budget: self.line(entry.at.line, &entry.client, Vec::new()),
        }
    }

    /// A note that a filter may hide requests.
    fn filtered(&self) -> &'static str {
        if self.run.is_filtered { " (a filter of this scan may hide it)" } else { "" }
    }

    fn unlisted_shape(
        &self,
        entry: &BudgetClient,
        client: &OwnClient<'_>,
        name: &str,
        shape: &ShapeProfile,
        severity: Severity,
    ) -> AddedFinding {
        let counts = PhaseCounts::new(&client.profile, shape, shape.steady > 0);
        let numbers = Phase::ALL.map(|phase| {
            let number = counts.number(phase);
            if phase.is_whole() { number } else { round_up(number) }
        });
        let sources = sources(shape).into_iter().map(str::to_owned).collect();
        let write = entry_line(name, &MeasuredShape { numbers, sources }, self.budget.slack);
        let requests = shape.requests();
        AddedFinding {
            rule: NOT_LISTED,
            severity,
            client: client.largest(Some(name)),
            shape: Some(name.to_owned()),
            does: format!(
                "sends {name} {}, and the budget does not list it",
                times(&count(requests), requests == 1)
            ),
            change: format!("add {write}"),
            fix: format!(
                "Check that the requests are wanted, and add an entry.\n\nAdd it to `requests` in line {} of {}:\n\n`{write}`",
                entry.requests_at.line,
                self.file()
            ),
            budget: self.line(entry.requests_at.line, &entry.client, vec![write]),
        }
    }

    fn unlisted_client(
        &self,
        name: &str,
        client: &OwnClient<'_>,
        severity: Severity,
    ) -> Option<AddedFinding> {
        let requests: u64 = client.profile.shapes.values().map(ShapeProfile::requests).sum();
        let largest = client.largest(None)?;
        let user = largest.split_once(" (by ").map_or(largest.as_str(), |(user, _)| user);
        let user = option("user", user).replace('`', "'");
        let write = format!("- client: {}", quoted(name));
        let noun = if requests == 1 { "request" } else { "requests" };
        Some(AddedFinding {
            rule: NOT_LISTED,
            severity,
            client: Some(largest.clone()),
            shape: None,
            does: format!("sends {} {noun}, and the budget does not list the client", count(requests)),
            change: format!("add {write}, or limit the budget with users"),
            fix: format!(
                "Check that the client is wanted, and add an entry.\n\nAdd it to `clients` in line {} of {}. \
                 `kubetoll budget init LOG {user} -o ./new.yaml` writes the entry. Or limit the budget to some clients \
                 with `users`.",
                self.budget.clients_at.line,
                self.file()
            ),
            budget: self.line(self.budget.clients_at.line, name, vec![write]),
        })
    }
}

fn excess(request: &BudgetRequest, counts: PhaseCounts, phase: Phase) -> Option<Excess> {
    let limit = request.limit(phase);
    // An entry without a rate is for requests of the start. If the client sends some of them later, they still count
    // for the start.
    let counts = match phase {
        Phase::Minute if !request.is_steady() => {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "`as` stops at the limits"
            )]
            let most = (request.limit(Phase::Start) as u64).saturating_mul(counts.starts);
            let left = most.saturating_sub(counts.start);
            PhaseCounts { steady: counts.steady.saturating_sub(left), ..counts }
        }
        _ => counts,
    };
    let stated = request.limits[phase as usize].as_ref();
    counts.exceeds(phase, limit).then(|| Excess {
        phase,
        limit,
        number: counts.number(phase),
        line: stated.map_or(request.at, |limit| limit.at).line,
        is_stated: stated.is_some(),
    })
}

impl Excess {
    /// The number and its limit, after the name of the shape.
    fn text(&self, shape: &str) -> String {
        let limit = plain(self.limit);
        match self.phase {
            Phase::Watches => {
                let number = self.phase.text(&plain(self.number));
                format!("{number} of {shape} (the budget allows {limit})")
            }
            Phase::Minute => {
                format!("{} per minute (the budget allows {limit})", times(&rate(self.number), false))
            }
            Phase::Start => {
                let times = times(&plain(self.number), self.number <= 1.0);
                format!("{times} for each start (the budget allows {limit})")
            }
        }
    }

    /// The limit to write.
    fn write(&self, budget: &Budget) -> String {
        let number = if self.phase.is_whole() { self.number } else { round_up(self.number) };
        format!("{}: {}", self.phase.as_str(), plain(allowed(self.phase, number, budget.slack)))
    }
}

fn times(number: &str, is_one: bool) -> String {
    if is_one { format!("{number} time") } else { format!("{number} times") }
}

/// A rate with at most two decimals, unless it is very small.
fn rate(number: f64) -> String {
    if number < 0.01 {
        return plain(number);
    }
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
