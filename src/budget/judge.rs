//! Judges a run by a budget.

use std::collections::{BTreeMap, BTreeSet};

use super::file::{Budget, BudgetClient, BudgetRequest, Unlisted};
use super::init::{MeasuredShape, entry_line};
use super::measured::{PhaseCounts, sources};
use super::number::{allowed, plain, round_up};
use super::phase::Phase;
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
                // A log that begins after the client's start does not show its requests.
                None if client.profile.was_running && !request.is_steady() => {}
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

    /// A line of the file, as code in Markdown.
    fn place(&self, line: u64) -> String {
        format!("`{}:{line}`", self.budget.file.replace('`', "'"))
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
        let is_only_watches = excesses.iter().all(|excess| excess.phase == Phase::Watches);
        let parts: Vec<String> = excesses.iter().map(Excess::text).collect();
        let verb = if is_only_watches { "holds" } else { "sends" };
        let does = format!("{verb} {}: {shape_name}", parts.join(", and "));
        let write: Vec<String> = excesses.iter().map(|excess| excess.write(self.budget)).collect();
        let written = write.join(", ");
        let change = if first.is_stated { "write" } else { "add" };
        let with = if request.reason.is_some() { "an updated reason" } else { "a reason" };
        Some(AddedFinding {
            rule: OVER,
            severity: Severity::Error,
            client: client.largest(Some(shape_name)),
            shape: Some(shape_name.clone()),
            aspect: "limits",
            does,
            change: format!("{change} {written} with {with}, or send fewer requests"),
            fix: format!(
                "In {}, {change} `{written}` with {with}. Or send fewer requests.",
                self.place(first.line)
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
        let noun = noun(requests == 1);
        Some(AddedFinding {
            rule: OVER,
            severity,
            client: client.largest(Some(shape_name)),
            shape: Some(shape_name.clone()),
            aspect: "servedFrom",
            does: format!(
                "sends {} {noun} served from {} (the budget allows {}): {shape_name}",
                count(requests),
                new.join(" and "),
                allowed.join(" and ")
            ),
            change: format!("write {write} with a reason, or change the request"),
            fix: format!(
                "In {}, write `{write}` with a reason. Or change the request.",
                self.place(first.at.line)
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
            aspect: "entry",
            does: format!(
                "sends no request of an entry in the budget{}: {}",
                self.filtered(),
                request.request
            ),
            change: "remove the entry if the client does not need it".to_owned(),
            fix: format!(
                "In {}, remove the entry if the client does not need it.",
                self.place(request.at.line)
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
            aspect: "entry",
            does: format!(
                "the log has no request of {}, which the budget lists{}",
                entry.client,
                self.filtered()
            ),
            change: "correct the name, or remove the entry".to_owned(),
            fix: format!("In {}, correct the name, or remove the entry.", self.place(entry.at.line)),
            budget: self.line(entry.at.line, &entry.client, Vec::new()),
        }
    }

    /// A note that a filter may hide requests.
    fn filtered(&self) -> &'static str {
        if self.run.filters.as_ref().is_none_or(|filters| !filters.is_empty()) {
            " (a filter of this scan may hide it)"
        } else {
            ""
        }
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
            aspect: "entry",
            does: format!(
                "sends {} {} that the budget does not list: {name}",
                count(requests),
                noun(requests == 1)
            ),
            change: format!("add {write}"),
            fix: format!(
                "In {}, add an entry if the requests are wanted.\n\nThe entry: `{write}`",
                self.place(entry.requests_at.line)
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
        let noun = noun(requests == 1);
        Some(AddedFinding {
            rule: NOT_LISTED,
            severity,
            client: Some(largest.clone()),
            shape: None,
            aspect: "entry",
            does: format!("sends {} {noun}, and the budget does not list the client", count(requests)),
            change: format!("add {write}, or limit the budget with users"),
            fix: format!(
                "In {}, add an entry if the client is wanted.\n\n`kubetoll budget init LOG {user} -o ./new.yaml` writes \
                 the entry. To judge only some clients, add `users`.",
                self.place(self.budget.clients_at.line)
            ),
            budget: self.line(self.budget.clients_at.line, name, vec![write]),
        })
    }
}

fn excess(request: &BudgetRequest, counts: PhaseCounts, phase: Phase) -> Option<Excess> {
    let limit = request.limit(phase);
    // An entry without a rate is for requests of the start. If the client sends some of them later, they still count
    // for the start.
    let beyond = match phase {
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
    beyond.exceeds(phase, limit).then(|| Excess {
        phase,
        limit,
        number: counts.number(phase),
        line: stated.map_or(request.at, |limit| limit.at).line,
        is_stated: stated.is_some(),
    })
}

impl Excess {
    /// The number and its limit.
    fn text(&self) -> String {
        let number = plain(self.number);
        let text = match self.phase {
            Phase::Watches => self.phase.text(&number),
            Phase::Minute => format!("{number} requests per minute"),
            Phase::Start => format!("{number} {} for each start", noun(self.number <= 1.0)),
        };
        format!("{text} (the budget allows {})", plain(self.limit))
    }

    /// The limit to write.
    fn write(&self, budget: &Budget) -> String {
        let number = if self.phase.is_whole() { self.number } else { round_up(self.number) };
        format!("{}: {}", self.phase.as_str(), plain(allowed(self.phase, number, budget.slack)))
    }
}

fn noun(is_one: bool) -> &'static str {
    if is_one { "request" } else { "requests" }
}
