//! Summary rows below a table of cases, for the cases, clients and requests that have no row of their own. With the
//! summary rows, the loads add up to the total.

use std::cmp::Reverse;

use super::page::Report;
use super::v1::{Case, Client, Load, is_estimate};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SummaryContent<'r> {
    /// Cases with an error or a warning. If the report has none, all cases.
    Cases(&'r [Case]),
    /// Cases of severity `info`, if the report also has errors or warnings.
    Info(&'r [Case]),
    /// Clients without a finding, in order of load.
    Clients(Vec<&'r Client>),
    /// Requests without a finding, from clients with findings.
    Requests,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SummaryRow<'r> {
    pub(crate) what: SummaryContent<'r>,
    /// `None` for a row without requests.
    pub(crate) load: Option<Load>,
}

/// Returns the number of cases in a table of at most `top` rows. If the report has errors or warnings, cases of
/// severity `info` are left out.
pub(crate) fn shown_cases(report: &Report, top: usize) -> usize {
    let urgent = report.cases.iter().filter(|case| case.severity != "info").count();
    if urgent == 0 { report.cases.len().min(top) } else { urgent.min(top) }
}

/// Returns the clients without a finding, in the report's order.
pub(crate) fn without_finding(report: &Report) -> impl Iterator<Item = &Client> {
    report.clients.iter().filter(|client| !client.has_finding())
}

/// Returns the summary rows for a table. The table shows the first `cases` cases and the first `clients` clients
/// without a finding.
pub(crate) fn summary_rows(report: &Report, cases: usize, clients: usize) -> Vec<SummaryRow<'_>> {
    let left = &report.cases[cases.min(report.cases.len())..];
    let is_only_info = report.cases.iter().all(|case| case.severity == "info");
    let urgent = left.iter().filter(|case| case.severity != "info").count();
    let (urgent, info) = left.split_at(if is_only_info { left.len() } else { urgent });
    let mut rows = Vec::new();
    if !urgent.is_empty() {
        rows.push(SummaryRow { what: SummaryContent::Cases(urgent), load: total_load(urgent) });
    }
    if !info.is_empty() {
        rows.push(SummaryRow { what: SummaryContent::Info(info), load: total_load(info) });
    }
    let mut others: Vec<&Client> = without_finding(report).skip(clients).collect();
    if !others.is_empty() {
        others.sort_by_key(|client| Reverse(client.load.amount));
        let load = sum(others.iter().map(|client| &client.load));
        rows.push(SummaryRow { what: SummaryContent::Clients(others), load: Some(load) });
    }
    let in_cases: u64 = report.cases.iter().map(|case| case.load.amount).fold(0, u64::saturating_add);
    let with = report.clients.iter().filter(|client| client.has_finding());
    let with: u64 = with.map(|client| client.load.amount).fold(0, u64::saturating_add);
    if with > in_cases {
        let load = part(with - in_cases, report.totals.load);
        rows.push(SummaryRow { what: SummaryContent::Requests, load: Some(load) });
    }
    rows
}

/// Returns the load of the cases; `None` if all cases are on the log itself.
fn total_load(cases: &[Case]) -> Option<Load> {
    let loads = cases.iter().filter(|case| case.members.count > 0).map(|case| &case.load);
    (loads.clone().count() > 0).then(|| sum(loads))
}

fn sum<'l>(loads: impl Iterator<Item = &'l Load>) -> Load {
    let add = |sum: Load, load: &Load| Load {
        amount: sum.amount.saturating_add(load.amount),
        share: sum.share.into_iter().chain(load.share).reduce(|a, b| a + b),
        bound: if is_estimate(sum.bound) { sum.bound } else { load.bound },
        unit: load.unit,
    };
    loads.fold(Load::default(), add)
}

/// Returns a load with this amount and its share of the load of all clients.
#[allow(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn part(amount: u64, all: Load) -> Load {
    Load { amount, share: (all.amount > 0).then(|| amount as f64 / all.amount as f64), ..all }
}
