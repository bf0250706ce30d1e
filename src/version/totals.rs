//! What the totals are for each release of a set.

use std::sync::Arc;

use compact_str::CompactString;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::apiserver::{Asked, LimitVerdict, Releases, ServedFrom, Server, epochs, judge};
use crate::classify::Shape;
use crate::k8s::{KubeVersion, Verb};
use crate::ledger::Clients;

/// The totals for a range of releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionTotals {
    /// The oldest release of the range.
    pub min: KubeVersion,
    /// The newest.
    pub max: KubeVersion,
    /// LISTs from etcd.
    pub etcd_lists: u64,
    /// GETs from etcd.
    pub etcd_gets: u64,
    /// LISTs whose limit was ignored.
    pub limit_ignored: u64,
}

impl VersionTotals {
    /// The counts that differ by release.
    #[must_use]
    pub fn counts(&self) -> [u64; 3] {
        [self.etcd_lists, self.etcd_gets, self.limit_ignored]
    }

    /// The range in words.
    #[must_use]
    pub fn range(&self) -> String {
        Releases::between(self.min, self.max).to_string()
    }
}

/// What was asked, and the status of the answer.
type Question = (Arc<Asked<CompactString>>, Option<u16>);

/// The totals of each range of releases of a set, ascending; none if they are equal for all.
#[must_use]
pub fn totals(
    clients: &mut Clients,
    server: &Server,
    set: &Releases,
    received_only: bool,
) -> Vec<VersionTotals> {
    let ranges: Vec<(KubeVersion, KubeVersion)> = epochs(set).collect();
    if ranges.len() < 2 {
        return Vec::new();
    }
    let mut asked: HashMap<Question, u64, FxBuildHasher> = HashMap::default();
    let mut add = |shape: &Shape, status, requests| {
        if requests > 0 && matches!(shape.asked.verb, Verb::List | Verb::Get) {
            *asked.entry((Arc::clone(&shape.asked), status)).or_default() += requests;
        }
    };
    if received_only {
        clients.each_received(|shape, requests| add(shape, None, requests));
    } else {
        clients.each_row(|shape, row| add(shape, shape.answer.status(), row.requests(false)));
    }
    let mut totals: Vec<VersionTotals> = Vec::new();
    for (first, last) in ranges {
        let server = Server { version: last, ..server.clone() };
        let mut own = VersionTotals { min: first, max: last, etcd_lists: 0, etcd_gets: 0, limit_ignored: 0 };
        for ((asked, status), requests) in &asked {
            let verdict = judge(&server, &asked.as_borrowed(), *status);
            let is_from_etcd = verdict.likely_served_from() == ServedFrom::Etcd;
            let is_list = asked.verb == Verb::List;
            own.etcd_lists += if is_list && is_from_etcd { *requests } else { 0 };
            own.etcd_gets += if !is_list && is_from_etcd { *requests } else { 0 };
            own.limit_ignored +=
                if is_list && verdict.limit == LimitVerdict::Ignored { *requests } else { 0 };
        }
        match totals.last_mut() {
            Some(before) if before.counts() == own.counts() => before.max = own.max,
            _ => totals.push(own),
        }
    }
    if totals.len() < 2 { Vec::new() } else { totals }
}
