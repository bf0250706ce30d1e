//! Compares the verdicts with the server's own measurements.
//!
//! Source: k8s.io/apiserver `pkg/storage/etcd3/latency_tracker.go` tracks every KV call of a request. From 1.30 on,
//! `store.go:decodeListItem` tracks the objects that etcd returned to a LIST.
//!
//! Measurements on servers showed the following. A LIST has the annotation `etcd` if and only if the server called
//! etcd. The revision check of a consistent read is such a call. A LIST has `decode-response-object` if and only if
//! objects came from etcd. For writes and watches, the annotations prove nothing.

use schemars::JsonSchema;
use serde::Serialize;

use crate::apiserver::{ServedFrom, Verdict};
use crate::k8s::{KubeVersion, Verb};
use crate::ledger::{Merge, Observed};

/// Compares the server's own measurements of slow requests (`apiserver.latency.k8s.io/*`) with the verdicts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Observed")]
pub(crate) struct Agreement {
    /// Requests that the server measured: those longer than 500 ms.
    pub(crate) measured: u64,
    /// Reads whose measurement agrees with the verdict.
    pub(crate) agree: u64,
    /// Reads whose measurement contradicts the verdict. Also requests that the server served, although the verdict
    /// says that it refuses them.
    pub(crate) contradict: u64,
    /// The time that these slow requests spent in calls to etcd.
    pub(crate) etcd_micros: u64,
}

impl Merge for Agreement {
    fn merge(&mut self, other: Self) {
        self.measured += other.measured;
        self.agree += other.agree;
        self.contradict += other.contradict;
        self.etcd_micros = self.etcd_micros.saturating_add(other.etcd_micros);
    }
}

pub(crate) fn compare(verb: Verb, verdict: Verdict, version: KubeVersion, observed: &Observed) -> Agreement {
    let annotates_decoding = version.at_least(30, 0);
    // 1.37 may read a LIST from etcd with RangeStream, which the latency tracker does not see.
    let measures_all_reads = !version.at_least(37, 0);
    let (agree, contradict) = match (verb, verdict.served_from) {
        (Verb::List | Verb::Get, ServedFrom::WatchCache) => {
            (observed.without_etcd, observed.etcd_only + observed.decoded)
        }
        (Verb::List, ServedFrom::WatchCacheAfterRevisionCheck) => (
            if annotates_decoding { observed.etcd_only } else { 0 },
            observed.decoded + observed.without_etcd,
        ),
        (Verb::List, ServedFrom::Etcd) => (
            observed.decoded + if annotates_decoding { 0 } else { observed.etcd_only },
            if measures_all_reads { observed.without_etcd } else { 0 },
        ),
        (Verb::Get, ServedFrom::Etcd) => (observed.etcd_only + observed.decoded, observed.without_etcd),
        _ => (0, 0),
    };
    Agreement { measured: observed.measured(), agree, contradict, etcd_micros: observed.etcd_micros }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apiserver::{ParsedTarget, RequestShape, Server, judge};
    use crate::k8s::request_info::Method;

    fn fit(version: KubeVersion, uri: &str, observed: Observed) -> (u64, u64) {
        let target = ParsedTarget::parse(uri).expect("a target");
        let shape = RequestShape::new(Method::Get, &target.path, &target.options);
        let verdict = judge(&Server::with_defaults(version), &shape, None);
        let fit = compare(shape.verb, verdict, version, &observed);
        (fit.agree, fit.contradict)
    }

    #[test]
    fn consistent_list_from_the_cache_calls_etcd_and_decodes_nothing() {
        let observed = Observed { etcd_only: 3, decoded: 1, ..Observed::default() };
        assert_eq!(fit(KubeVersion::new(34, 7), "/api/v1/pods", observed), (3, 1));
    }

    #[test]
    fn list_from_etcd_contradicts_measurements_without_etcd_calls() {
        let observed = Observed { etcd_only: 3, without_etcd: 2, ..Observed::default() };
        assert_eq!(fit(KubeVersion::new(27, 16), "/api/v1/pods", observed), (3, 2));
        assert_eq!(fit(KubeVersion::new(30, 0), "/api/v1/pods", observed), (0, 2));
    }

    #[test]
    fn list_from_the_cache_contradicts_measurements_with_etcd_calls() {
        let observed = Observed { etcd_only: 3, without_etcd: 2, ..Observed::default() };
        assert_eq!(fit(KubeVersion::new(30, 0), "/api/v1/pods?resourceVersion=0", observed), (2, 3));
    }
}
