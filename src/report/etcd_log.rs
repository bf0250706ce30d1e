//! Converts etcd's own log to the JSON report.

use std::cmp::Reverse;

use super::files::{by_kind, by_reason, copies, damaged, not_read, skipped, skipped_at};
use super::sums::latency;
use super::v1;
use crate::input::Sources;
use crate::judged::JudgedClients;
use crate::judged::etcd::{Nearness, SLACK, SlowReads};
use crate::k8s::timestamp::format_micros;
use crate::ledger::EtcdLog;
use crate::ledger::etcd::{EtcdKind, Slow, SlowKey, SumAndMax, WorstRequest};

/// The name for the sum of the errors beyond the limit.
const OTHER_ERRORS: &str = "(other errors)";
/// The default of etcd's `--warning-apply-duration`. etcd logs a request that takes longer.
const WARNS_FROM: &str = "100 ms";

/// The parsed etcd log, and its files.
#[derive(Debug, Clone, Copy)]
pub struct EtcdLogInput<'a> {
    pub(crate) log: &'a EtcdLog,
    pub(crate) sources: &'a Sources,
}

impl EtcdLogInput<'_> {
    /// Returns the section of the report. `span` is the time range of the audit log, in microseconds since 1970.
    pub(super) fn section(&self, judged_clients: &JudgedClients, span: Option<(i64, i64)>) -> v1::EtcdLog {
        let lines = &self.log.lines;
        let input = &self.log.input;
        let compared = judged_clients.slow_reads.resources.values().map(|(reads, _)| reads).sum();
        let (requests, rest) = lines.requests.clone().into_parts();
        let mut requests: Vec<v1::EtcdRequests> =
            requests.into_iter().map(|(key, slow)| self.requests(key, slow, judged_clients)).collect();
        requests.sort_by_cached_key(|one| {
            let took = one.took.map_or(0, |took| took.sum_micros);
            let is_list = one.kind == EtcdKind::List.as_str();
            (Reverse(is_list), Reverse((one.bytes.sum, took)), one.resource.clone(), one.kind.clone())
        });
        let all_lists: u64 =
            requests.iter().filter(|one| one.kind == EtcdKind::List.as_str()).map(|one| one.requests).sum();
        v1::EtcdLog {
            files: self.sources.list.len() as u64,
            bytes: input.bytes,
            lines: input.lines,
            slow_requests: lines.slow,
            duplicates: lines.duplicates,
            undated: lines.undated,
            without_zone: lines.zoneless,
            other_lines: lines.other,
            foreign: by_kind(&input.foreign),
            skipped: skipped(input),
            skipped_at: skipped_at(input, self.sources),
            damaged: damaged(input, self.sources),
            first_timestamp: lines.span.map(|span| format_micros(span.0)),
            last_timestamp: lines.span.map(|span| format_micros(span.1)),
            not_read: not_read(self.sources),
            copies: copies(self.sources),
            sources: self.sources(),
            requests,
            requests_left_out: rest.map_or(0, |rest| rest.took.count()),
            lists_compared: compared,
            lists_not_compared: all_lists.saturating_sub(compared),
            slack_micros: SLACK.unsigned_abs(),
            notes: self.notes(judged_clients, span),
        }
    }

    /// Converts the slow reads that match a client's LISTs of a resource.
    pub(super) fn slow(&self, resource: &str, reads: &SlowReads) -> v1::EtcdSlow {
        let SlowReads { reads, covered, covered_bytes, alone, worst } = reads;
        v1::EtcdSlow {
            resource: resource.to_owned(),
            reads: *reads,
            covered: *covered,
            covered_bytes: *covered_bytes,
            alone: *alone,
            items: worst.items,
            bytes: worst.bytes,
            took_micros: worst.took_micros,
            timestamp: format_micros(worst.ended),
            file: self.sources.name(worst.place.source),
            line: worst.place.line,
        }
    }

    fn requests(&self, key: SlowKey, slow: Slow, judged_clients: &JudgedClients) -> v1::EtcdRequests {
        let SlowKey { resource, kind } = key;
        let is_list = kind == EtcdKind::List;
        let matched = &judged_clients.slow_reads;
        let (reads, with_client) = matched.resources.get(&*resource).copied().unwrap_or_default();
        let (errors, other_errors) = slow.errors.into_parts();
        let errors = errors.into_iter().map(|(text, count)| (String::from(text), count));
        let other_errors = other_errors.map(|count| (OTHER_ERRORS.to_owned(), count));
        v1::EtcdRequests {
            clients: if is_list {
                self.clients(&resource, slow.worst.as_deref(), judged_clients)
            } else {
                Vec::new()
            },
            without_client: if is_list { reads - with_client } else { 0 },
            resource: Some(String::from(resource)).filter(|resource| !resource.is_empty()),
            kind: kind.as_str().to_owned(),
            servers_own: kind.is_servers_own(),
            requests: slow.took.count(),
            took: latency(&slow.took),
            items: amount(slow.items),
            bytes: amount(slow.bytes),
            limited: slow.limited,
            at_revision: slow.at_revision,
            errors: errors.chain(other_errors).collect(),
            first_timestamp: slow.span.map(|span| format_micros(span.0)),
            last_timestamp: slow.span.map(|span| format_micros(span.1)),
            worst: slow.worst.map(|worst| self.worst(*worst)),
        }
    }

    fn worst(&self, worst: WorstRequest) -> v1::EtcdRequest {
        v1::EtcdRequest {
            key: worst.key.into(),
            timestamp: worst.ended.map(format_micros),
            took_micros: worst.took_micros,
            items: worst.items,
            bytes: worst.bytes,
            limit: worst.limit,
            revision: worst.revision,
            error: worst.error.map(Into::into),
            file: self.sources.name(worst.place.source),
            line: worst.place.line,
        }
    }

    /// Returns the clients whose LISTs match slow reads of a resource. Clients of the worst read are first.
    fn clients(
        &self,
        resource: &str,
        worst: Option<&WorstRequest>,
        judged_clients: &JudgedClients,
    ) -> Vec<v1::EtcdClient> {
        let matched = &judged_clients.slow_reads;
        let worst = worst.and_then(|worst| matched.ranges.iter().position(|range| worst.is(range)));
        let mut clients: Vec<(Option<Nearness>, v1::EtcdClient)> = matched
            .of_resource(resource)
            .filter_map(|(client, name, reads)| {
                let summary = &judged_clients.clients[client];
                let of_worst = reads.iter().filter(|read| Some(read.range) == worst);
                let of_worst = of_worst.map(|read| read.nearness).max();
                Some((
                    of_worst,
                    v1::EtcdClient {
                        client: summary.identity(),
                        name: summary.short_name(),
                        of_worst: of_worst.map(|nearness| nearness.as_str().to_owned()),
                        slow: self.slow(name, &matched.count(reads)?),
                    },
                ))
            })
            .collect();
        clients.sort_by(|a, b| order(a).cmp(&order(b)));
        clients.into_iter().map(|(_, client)| client).collect()
    }

    fn sources(&self) -> Vec<v1::EtcdSource> {
        let counts = &self.log.input.sources;
        let sources = counts.iter().map(|(source, counts)| {
            let [slow_requests, other_lines] =
                self.log.lines.by_source.get(source).copied().unwrap_or_default();
            v1::EtcdSource {
                file: self.sources.name(*source),
                lines: counts.lines,
                slow_requests,
                other_lines,
                foreign: by_kind(&counts.foreign),
                skipped: by_reason(counts.skipped.iter().map(|(reason, count)| (reason, *count))),
            }
        });
        sources.collect()
    }

    fn notes(&self, judged_clients: &JudgedClients, span: Option<(i64, i64)>) -> Vec<String> {
        let lines = &self.log.lines;
        let mut notes = Vec::new();
        if lines.slow == 0 {
            notes.push(format!(
                "etcd's log holds no slow request: none took longer than {WARNS_FROM} (or etcd's own warning threshold)"
            ));
        }
        if let (Some(own), Some(other)) = (lines.span.filter(|_| lines.slow > 0), span)
            && (own.1 < other.0.saturating_sub(SLACK) || own.0 > other.1.saturating_add(SLACK))
        {
            notes.push(format!(
                "etcd's log ({} to {}) and the audit log do not overlap in time, so no slow read has a client",
                format_micros(own.0),
                format_micros(own.1)
            ));
        } else if !judged_clients.slow_reads.resources.is_empty()
            && judged_clients.slow_reads.clients.is_empty()
        {
            notes.push(
                "no LIST from etcd ran during a slow read of a collection; pass the audit logs of all apiservers, and \
                 check the clocks"
                    .to_owned(),
            );
        }
        if lines.zoneless > 0 {
            notes.push(
                "slow requests have a time without a zone (capnslog, syslog), which kubetoll reads as UTC; if etcd's \
                 host uses another zone, the clients named here are wrong"
                    .to_owned(),
            );
        }
        if lines.undated > 0 {
            notes.push(
                "slow requests without a time match no client; syslog lines have no year, so pass --year"
                    .to_owned(),
            );
        }
        notes
    }
}

/// The sort key of a client: its best match with the worst read, then its numbers and names.
fn order((of_worst, client): &(Option<Nearness>, v1::EtcdClient)) -> impl Ord {
    let slow = &client.slow;
    let numbers = (slow.covered_bytes, slow.covered, slow.alone, slow.reads);
    (Reverse((*of_worst, numbers)), &client.client, &slow.resource, &slow.file, slow.line)
}

fn amount(amount: SumAndMax) -> v1::EtcdAmount {
    v1::EtcdAmount { sum: amount.sum, max: amount.max }
}
