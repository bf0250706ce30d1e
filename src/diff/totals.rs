//! Sums over all clients, before and after.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::compared_client::{ComparedClient, ComparedPhase, ComparedShape};
use super::contract::DiffTotal;
use super::noise;
use crate::profile::ShapeProfile;

/// Sums of rates have rounding errors.
const ROUNDING: f64 = 1e-9;

/// The name of a metric in `--fail-on`, and its count.
type Metric = (&'static str, fn(&ShapeProfile) -> u64);

/// The sums, by metric and phase.
#[derive(Debug, Default)]
pub(super) struct Totals {
    sums: BTreeMap<(&'static str, &'static str), TotalSum>,
}

#[derive(Debug, Default)]
struct TotalSum {
    before: f64,
    after: f64,
    /// Variance of the difference of both rates.
    variance: f64,
    /// The sum of the differences that are more than chance.
    decided: f64,
}

impl Totals {
    /// Adds the requests of a shape.
    pub(super) fn add(&mut self, client: &ComparedClient<'_>, compared: &ComparedShape<'_>) {
        const METRICS: [Metric; 3] = [
            ("requests", ShapeProfile::requests),
            ("etcd-reads", |shape| shape.etcd_reads),
            ("writes", |shape| shape.writes),
        ];
        self.count(("watches", "start"), &compared.watches, [1.0; 2], false);
        let moves = compared.is_served_from_elsewhere();
        for (metric, of) in METRICS {
            let shares = match metric {
                "requests" => [1.0; 2],
                _ => [0, 1].map(|side| client.fraction(side, compared.shape, of)),
            };
            let moves = moves && metric == "etcd-reads";
            self.count((metric, "start"), &compared.informers, shares, moves);
            self.count((metric, "start"), &compared.once, shares, moves);
            if !client.is_too_short {
                self.count((metric, "steady"), &compared.steady, shares, moves);
            }
        }
    }

    fn count(
        &mut self,
        key: (&'static str, &'static str),
        phase: &ComparedPhase,
        shares: [f64; 2],
        moves: bool,
    ) {
        let Some(rates) = phase.rates() else { return };
        let sum = self.sums.entry(key).or_default();
        let [before, after] = [rates[0] * shares[0], rates[1] * shares[1]];
        sum.before += before;
        sum.after += after;
        if phase.is_decided || moves {
            sum.decided += after - before;
        }
        for (samples, rate) in phase.samples.iter().zip([before, after]) {
            let units: f64 = samples.iter().map(|sample| sample.units).sum();
            if units > 0.0 {
                sum.variance += rate * phase.dispersion / units;
            }
        }
    }

    pub(super) fn into_vec(self) -> Vec<DiffTotal> {
        let total = |((metric, phase), sum): (_, TotalSum)| {
            let difference = sum.after - sum.before;
            let is_decided =
                difference.abs() > ROUNDING && noise::is_more_than_chance(difference, sum.variance);
            let decided = if is_decided { difference } else { sum.decided };
            let decided = if decided.abs() > ROUNDING { decided } else { 0.0 };
            DiffTotal { metric, phase, before: sum.before, after: sum.after, decided }
        };
        let mut totals: Vec<DiffTotal> = self.sums.into_iter().map(total).collect();
        let place =
            |metric| ["requests", "etcd-reads", "writes", "watches"].iter().position(|name| *name == metric);
        totals.sort_by_key(|total| (Reverse(total.phase), place(total.metric)));
        totals
    }
}
