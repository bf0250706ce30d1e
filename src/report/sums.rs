//! Sums over shapes, and conversions of the ledger's numbers to the JSON report.

use std::collections::BTreeMap;

use super::cost::Costs;
use super::v1;
use crate::judged::RequestLoad;
use crate::ledger::timeline::Rate;
use crate::ledger::{self, DistinctSet, Histogram, Merge, Row, Timeline};
use crate::patterns::merge_counts;

/// Requests over time, in windows of any width.
#[derive(Debug, Default)]
pub(super) struct RequestsOverTime {
    pub(super) sum: Timeline,
    /// The rates that give the peak if a window of `sum` is wider than a minute. `None` if `sum` gives the exact
    /// peak.
    request_rates: Option<ledger::RequestRates>,
}

impl RequestsOverTime {
    pub(super) fn new(sum: Timeline) -> Self {
        let request_rates = (!sum.is_exact()).then(|| rates(&sum));
        Self { sum, request_rates }
    }

    pub(super) fn add(&mut self, other: &Self) {
        if self.request_rates.is_some() || other.request_rates.is_some() || !self.sum.fits(&other.sum) {
            let request_rates = self.request_rates.get_or_insert_with(|| rates(&self.sum));
            match &other.request_rates {
                Some(other) => request_rates.merge(other.clone()),
                None => request_rates.add_all(&other.sum),
            }
        }
        self.sum.merge_from(&other.sum);
    }

    pub(super) fn merge(&mut self, other: Self) {
        if self.request_rates.is_none() && self.sum.is_empty() { *self = other } else { self.add(&other) }
    }

    pub(super) fn rate(&self, span: Option<(i64, i64)>) -> Option<v1::Rate> {
        let rate = match &self.request_rates {
            Some(request_rates) => request_rates.rate(&self.sum)?,
            None => self.sum.rate()?,
        };
        let windows = self.sum.windows().counts.into_iter();
        let squares = windows.map(|(_, count)| count.saturating_mul(count)).fold(0, u64::saturating_add);
        Some(rate_to_v1(rate, self.sum.total(), squares, span))
    }
}

fn rates(timeline: &Timeline) -> ledger::RequestRates {
    let mut request_rates = ledger::RequestRates::default();
    request_rates.add_all(timeline);
    request_rates
}

/// The number of requests for each word of a small fixed set, such as the verbs. A list is faster than a map here.
#[derive(Debug, Default)]
pub(super) struct Tally(Vec<(&'static str, u64)>);

impl Tally {
    pub(super) fn add(&mut self, word: &'static str, count: u64) {
        match self.0.iter_mut().find(|(own, _)| *own == word) {
            Some((_, sum)) => *sum += count,
            None => self.0.push((word, count)),
        }
    }

    pub(super) fn add_to(&self, own: &mut BTreeMap<String, u64>) {
        self.0.iter().for_each(|(word, count)| add(own, word, *count));
    }
}

/// The sums over the request shapes of a client or of all clients.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) counts: v1::Counts,
    /// One client's requests by verb, before they are added to `counts`.
    pub(super) by_verb: Tally,
    pub(super) by_served_from: Tally,
    pub(super) latency: Histogram,
    pub(super) times: RequestsOverTime,
    pub(super) span: Option<(i64, i64)>,
    /// The earliest receive time of the summed events, except events of long-running requests.
    pub(super) first_not_long_running: Option<i64>,
    pub(super) open: u64,
    pub(super) unfinished: u64,
    pub(super) events_without_request: u64,
    pub(super) costs: Costs,
    pub(super) load: RequestLoad,
}

impl Sums {
    pub(super) fn add(&mut self, other: &Self) {
        let (own, new) = (&mut self.counts, &other.counts);
        own.requests += new.requests;
        add_all(&mut own.by_verb, &new.by_verb);
        add_all(&mut own.by_served_from, &new.by_served_from);
        own.etcd_lists += new.etcd_lists;
        own.etcd_gets += new.etcd_gets;
        own.etcd_micros = own.etcd_micros.saturating_add(new.etcd_micros);
        own.limit_ignored += new.limit_ignored;
        own.etcd_writes += new.etcd_writes;
        own.statuses.merge(new.statuses);
        own.observed.merge(new.observed);
        self.latency.merge_from(&other.latency);
        self.times.add(&other.times);
        self.add_span(other.span);
        self.add_first_not_long_running(other.first_not_long_running);
        self.open += other.open;
        self.unfinished += other.unfinished;
        self.events_without_request += other.events_without_request;
        self.costs.add(&other.costs);
        self.load.add(other.load);
    }

    pub(super) fn add_first_not_long_running(&mut self, first: Option<i64>) {
        self.first_not_long_running = self.first_not_long_running.into_iter().chain(first).min();
    }

    pub(super) fn add_span(&mut self, span: Option<(i64, i64)>) {
        self.span = match (self.span, span) {
            (Some(own), Some(new)) => Some((own.0.min(new.0), own.1.max(new.1))),
            (own, new) => own.or(new),
        };
    }
}

fn add(own: &mut BTreeMap<String, u64>, key: &str, count: u64) {
    if count == 0 {
        return;
    }
    match own.get_mut(key) {
        Some(sum) => *sum += count,
        None => drop(own.insert(key.to_owned(), count)),
    }
}

fn add_all(own: &mut BTreeMap<String, u64>, new: &BTreeMap<String, u64>) {
    for (key, count) in new {
        add(own, key, *count);
    }
}

pub(super) fn statuses(row: &Row, requests: u64) -> v1::Statuses {
    let class = |class: u16| row.statuses.count(|status| status / 100 == class);
    let one = |wanted: u16| row.statuses.count(|status| status == wanted);
    let (informational, success, redirect) = (class(1), class(2), class(3));
    let (client_error, server_error) = (class(4), class(5));
    let with_status = informational + success + redirect + client_error + server_error;
    v1::Statuses {
        informational,
        success,
        redirect,
        client_error,
        server_error,
        none: requests.saturating_sub(with_status),
        conflict: one(409),
        gone: one(410),
        too_many_requests: one(429),
    }
}

merge_counts! {
    v1::Statuses:
    add informational, success, redirect, client_error, server_error, none, conflict, gone, too_many_requests;
    max
}

pub(super) fn distinct(set: &DistinctSet) -> v1::Distinct {
    let (count, more) = set.count();
    v1::Distinct { count, more }
}

pub(super) fn latency(histogram: &Histogram) -> Option<v1::Latency> {
    Some(v1::Latency {
        count: histogram.count(),
        sum_micros: histogram.sum(),
        min_micros: histogram.min()?,
        max_micros: histogram.max()?,
        p50_micros: histogram.percentile(50)?,
        p99_micros: histogram.percentile(99)?,
    })
}

/// The most requests in one minute, rounded to one decimal.
#[allow(clippy::cast_precision_loss, reason = "rates are for people, and counts are far below 2^52")]
pub(super) fn peak_per_minute(rate: Rate) -> f64 {
    (rate.peak as f64 / rate.window_minutes as f64 * 10.0).round() / 10.0
}

fn rate_to_v1(rate: Rate, total: u64, sum_of_squares: u64, span: Option<(i64, i64)>) -> v1::Rate {
    v1::Rate {
        peak_per_minute: peak_per_minute(rate),
        peak_at: v1::Timestamp(rate.peak_at),
        mean_per_active_minute: rate.mean_per_minute(total, span),
        active_minutes: rate.active_minutes,
        window_minutes: rate.window_minutes,
        sum_of_squares,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The rate must equal that of one `RequestRates` to which all timelines were added.
        #[test]
        fn rate_equals_that_of_a_load_over_all_windows(
            parts in prop::collection::vec((0_i64..3_000, 1_usize..2_000, 1_usize..4, 1_usize..3), 0..4),
        ) {
            let (mut times, mut load, mut all) = (RequestsOverTime::default(), ledger::RequestRates::default(), Timeline::default());
            for (from, minutes, step, each) in parts {
                let mut timeline = Timeline::default();
                for minute in (from..).step_by(step).take(minutes) {
                    (0..each).for_each(|_| timeline.record(minute * 60_000_000));
                }
                load.add_all(&timeline);
                all.merge(timeline.clone());
                times.add(&RequestsOverTime::new(timeline));
            }
            let squares = all.windows().counts.iter().map(|(_, count)| count * count).sum();
            let naive = load.rate(&all).map(|rate| rate_to_v1(rate, all.total(), squares, None));
            prop_assert_eq!(times.rate(None), naive);
        }
    }
}
