//! Computes how many LISTs and GETs each possible release would read from etcd, and how many limits it would ignore.

use std::sync::Arc;

use compact_str::CompactString;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::apiserver::{LimitVerdict, Releases, RequestShape, ServedFrom, Server, epochs, judge};
use crate::k8s::{KubeVersion, Verb};
use crate::ledger::Clients;
use crate::requests::RowKey;

/// The totals of the log's requests, if the server runs a release of this range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VersionTotals {
    /// Oldest release of the range.
    pub(crate) min: KubeVersion,
    /// Newest release of the range.
    pub(crate) max: KubeVersion,
    /// The number of LISTs from etcd.
    pub(crate) etcd_lists: u64,
    /// The number of GETs from etcd.
    pub(crate) etcd_gets: u64,
    /// The number of LISTs whose limit the server ignores.
    pub(crate) limit_ignored: u64,
}

impl VersionTotals {
    /// The counts that depend on the release.
    #[must_use]
    pub(crate) fn counts(&self) -> [u64; 3] {
        [self.etcd_lists, self.etcd_gets, self.limit_ignored]
    }

    /// The range as text.
    #[must_use]
    pub(crate) fn range(&self) -> String {
        Releases::between(self.min, self.max).to_string()
    }
}

/// A request shape, the response status and the version index.
type ShapeAndStatus = (Arc<RequestShape<CompactString>>, Option<u16>, u8);

/// The totals for each range of possible releases, in ascending order. Empty if all totals are equal. `versions` are
/// the versions of the timeline, each with its possible releases.
#[must_use]
pub(crate) fn totals(
    clients: &mut Clients,
    server: &Server,
    versions: &[(KubeVersion, &Releases)],
    received_only: bool,
) -> Vec<VersionTotals> {
    if versions.iter().all(|(_, set)| epochs(set).count() < 2) {
        return Vec::new();
    }
    let mut requests_by_shape: HashMap<ShapeAndStatus, u64, FxBuildHasher> = HashMap::default();
    let mut add = |row_key: &RowKey, status, requests| {
        if requests > 0 && matches!(row_key.shape.verb, Verb::List | Verb::Get) {
            *requests_by_shape
                .entry((Arc::clone(&row_key.shape), status, row_key.version_index))
                .or_default() += requests;
        }
    };
    if received_only {
        clients.each_received(|row_key, requests| add(row_key, None, requests));
    } else {
        clients.each_row(|row_key, row| add(row_key, row_key.status_class.status(), row.requests(false)));
    }
    let counts = |version: KubeVersion, is_of: &dyn Fn(u8) -> bool| {
        let server = Server { version, ..server.clone() };
        let mut own = [0; 3];
        for ((shape, status, _), requests) in
            requests_by_shape.iter().filter(|((.., version_index), _)| is_of(*version_index))
        {
            let verdict = judge(&server, &shape.as_borrowed(), *status);
            let is_from_etcd = verdict.likely_served_from() == ServedFrom::Etcd;
            let is_list = shape.verb == Verb::List;
            let is_ignored = is_list && verdict.limit == LimitVerdict::Ignored;
            for (count, is_counted) in
                own.iter_mut().zip([is_list && is_from_etcd, !is_list && is_from_etcd, is_ignored])
            {
                *count += if is_counted { *requests } else { 0 };
            }
        }
        own
    };
    let mut all = Vec::new();
    for (version_index, (_, set)) in (0_u8..).zip(versions) {
        let ranges: Vec<(KubeVersion, KubeVersion)> = epochs(set).collect();
        if ranges.len() < 2 {
            continue;
        }
        let others = (0_u8..).zip(versions).filter(|(other, _)| *other != version_index);
        let others = others
            .map(|(other, (version, _))| counts(*version, &|of| of == other))
            .fold([0; 3], |all: [u64; 3], one| std::array::from_fn(|at| all[at] + one[at]));
        let mut totals: Vec<VersionTotals> = Vec::new();
        for (min, max) in ranges {
            let own = counts(max, &|of| of == version_index);
            let [etcd_lists, etcd_gets, limit_ignored] = std::array::from_fn(|at| own[at] + others[at]);
            let own = VersionTotals { min, max, etcd_lists, etcd_gets, limit_ignored };
            match totals.last_mut() {
                Some(before) if before.counts() == own.counts() => before.max = own.max,
                _ => totals.push(own),
            }
        }
        if totals.len() > 1 {
            all.append(&mut totals);
        }
    }
    all
}
