//! Version evidence from latency annotations. The annotations show whether the server called etcd for a request. If
//! that contradicts the verdicts for a release, the server does not run this release.

use std::sync::Arc;

use compact_str::CompactString;

use super::facts::{Fact, Trust};
use crate::apiserver::{Releases, RequestShape, ServedFrom, Server, epochs, judge};
use crate::k8s::{EtcdVersion, Verb};
use crate::ledger::{Clients, Observed, Presence, ServerTimeline, TimelineVersion};

/// The minimum number of contradictions that exclude a release. A watch cache that is still filling causes a few
/// contradictions.
const LEAST: u64 = 5;

/// The server's measurements for one request shape. All requests succeeded.
#[derive(Debug)]
pub(super) struct MeasuredRow {
    shape: Arc<RequestShape<CompactString>>,
    observed: Observed,
}

/// The rows of LISTs and GETs with measurements, except rows with a failed request. Such a request may have failed
/// before it reached the storage.
pub(super) fn rows(clients: &mut Clients) -> Vec<MeasuredRow> {
    let mut rows = Vec::new();
    clients.each_row(|row_key, row| {
        let observed = row.rare().observed;
        let is_read = matches!(row_key.shape.verb, Verb::List | Verb::Get);
        if is_read && observed.measured() > 0 && row.statuses.count(|status| status / 100 != 2) == 0 {
            rows.push(MeasuredRow { shape: Arc::clone(&row_key.shape), observed });
        }
    });
    rows
}

/// The number of measurements that contradict a release, and the number that agree with it. Comparisons consider the
/// contradictions first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct ReleaseSupport {
    against: u64,
    agree: u64,
}

/// Counts the measurements that agree with a server's verdicts, and those that contradict them. A measurement
/// contradicts a verdict in two cases:
/// - The verdict includes a call to etcd, but the server made none.
/// - The verdict is a read from the watch cache alone, but the server called etcd.
///
/// A consistent LIST that falls back to etcd is not a contradiction. Such a LIST is slow, so the server measures it
/// more often than others.
fn support(rows: &[MeasuredRow], server: &Server) -> ReleaseSupport {
    let mut support = ReleaseSupport::default();
    for MeasuredRow { shape, observed } in rows {
        let with_etcd_calls = observed.etcd_only + observed.decoded;
        let (agree, against) = match judge(server, &shape.as_borrowed(), Some(200)).served_from {
            ServedFrom::WatchCache => (observed.without_etcd, with_etcd_calls),
            ServedFrom::WatchCacheAfterRevisionCheck => (with_etcd_calls, observed.without_etcd),
            // 1.37 may read from etcd with RangeStream, which the server does not measure.
            ServedFrom::Etcd if server.version.at_least(37, 0) => (with_etcd_calls, 0),
            ServedFrom::Etcd => (with_etcd_calls, observed.without_etcd),
            _ => (0, 0),
        };
        support.agree += agree;
        support.against += against;
    }
    support
}

/// The server with the etcd version that the user sets. If the user sets none, returns two servers: one with a new
/// etcd and one with an old etcd.
fn with_each_etcd(server: &Server) -> Vec<Server> {
    let old: Option<EtcdVersion> = "3.4.0".parse().ok();
    let all = if server.etcd.is_some() { vec![server.etcd] } else { vec![None, old] };
    all.into_iter().map(|etcd| Server { etcd, ..server.clone() }).collect()
}

/// Creates the fact that the measurements exclude some releases of the set. Returns `None` if they contradict no
/// release, or all releases equally.
pub(super) fn contradictions(rows: &[MeasuredRow], server: &Server, set: &Releases) -> Option<Fact> {
    if rows.is_empty() {
        return None;
    }
    let fits: Vec<((_, _), ReleaseSupport)> = epochs(set)
        .map(|(first, last)| {
            let server = Server { version: last, ..server.clone() };
            let best = with_each_etcd(&server).iter().map(|server| support(rows, server)).min();
            ((first, last), best.unwrap_or_default())
        })
        .collect();
    let least = fits.iter().map(|(_, support)| support.against).min()?;
    let is_wrong = |support: &ReleaseSupport| {
        support.against >= LEAST && support.against > 4 * support.agree && support.against >= 10 * least
    };
    let wrong: Vec<_> = fits.iter().filter(|(_, support)| is_wrong(support)).collect();
    let against = wrong.iter().map(|(_, support)| support.against).min()?;
    let allows = wrong
        .iter()
        .map(|((first, last), _)| Releases::between(*first, *last).others())
        .fold(Releases::all(), |all, one| all.and(&one));
    let text =
        format!("{against} reads have latency annotations that contradict the verdicts of other versions");
    let presence = Presence::default();
    Some(Fact { text, sources: Vec::new(), allows, trust: Trust::Measured, is_rare: false, presence })
}

/// Creates a note about LISTs that the server read from etcd. With a newer etcd, the server would serve them from its
/// watch cache.
pub(super) fn old_etcd(rows: &[MeasuredRow], server: &Server, timeline: &ServerTimeline) -> Option<String> {
    let [TimelineVersion { version, .. }] = *timeline.versions else { return None };
    if server.etcd.is_some() || !version.at_least(31, 0) {
        return None;
    }
    let server = Server { version, ..server.clone() };
    let (mut decoded, mut all) = (0, 0);
    for MeasuredRow { shape, observed } in rows {
        let verdict = judge(&server, &shape.as_borrowed(), Some(200));
        if shape.verb == Verb::List && verdict.served_from == ServedFrom::WatchCacheAfterRevisionCheck {
            decoded += observed.decoded;
            all += observed.decoded + observed.etcd_only;
        }
    }
    (decoded >= LEAST && decoded * 2 > all).then(|| {
        format!(
            "{decoded} of {all} measured LISTs without resourceVersion were read from etcd. With etcd 3.4.31, 3.5.13 \
             or later, Kubernetes {version} serves them from its watch cache: etcd is older, or the watch cache lags. \
             Pass etcd's version with --etcd-version"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apiserver::ParsedTarget;
    use crate::k8s::KubeVersion;
    use crate::k8s::request_info::Method;

    /// A LIST that 1.30 reads from etcd and 1.31 serves from its watch cache alone.
    fn row(observed: Observed) -> MeasuredRow {
        let uri = "/api/v1/pods?limit=5&resourceVersion=100&resourceVersionMatch=NotOlderThan";
        let target = ParsedTarget::parse(uri).expect("a target");
        let shape = RequestShape::new(Method::Get, &target.path, &target.options);
        MeasuredRow { shape: Arc::new(shape.to_owned()), observed }
    }

    fn allowed(observed: Observed) -> Option<String> {
        let server = Server::with_defaults(KubeVersion::NEWEST);
        let set = Releases::minors(29, 33);
        let fact = contradictions(&[row(observed)], &server, &set)?;
        Some(fact.allows.and(&set).to_string())
    }

    #[test]
    fn reads_without_an_etcd_annotation_exclude_versions_that_read_from_etcd() {
        let observed = Observed { without_etcd: 8, ..Observed::default() };
        assert_eq!(allowed(observed).as_deref(), Some("1.31 to 1.33"));
    }

    #[test]
    fn reads_with_an_etcd_annotation_exclude_versions_that_read_from_the_cache() {
        let observed = Observed { etcd_only: 3, decoded: 5, ..Observed::default() };
        assert_eq!(allowed(observed).as_deref(), Some("1.29 to 1.30"));
    }

    #[test]
    fn few_contradictions_exclude_nothing() {
        assert_eq!(allowed(Observed { without_etcd: LEAST - 1, ..Observed::default() }), None);
    }
}
