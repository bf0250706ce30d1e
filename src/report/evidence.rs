//! The server's own measurements beside the verdicts.
//!
//! Source: k8s.io/apiserver `pkg/storage/etcd3/latency_tracker.go` (every KV call of a request),
//! `store.go:decodeListItem` (1.30 and later: objects that etcd returned to a LIST). Measured: a LIST has `etcd`
//! exactly if etcd was asked, for the revision check of a consistent read too; it has `decode-response-object`
//! exactly if objects came from etcd. For writes and watches the annotations tell nothing.

use super::v1;
use crate::apiserver::{ServedFrom, Verdict};
use crate::k8s::{KubeVersion, Verb};
use crate::ledger::Observed;

/// How the measurements of a row fit its verdict.
#[must_use]
pub fn compare(verb: Verb, verdict: &Verdict, version: KubeVersion, observed: &Observed) -> v1::Observed {
    let tells_decoding = version.at_least(30, 0);
    // 1.37 may read a list from etcd by RangeStream, which the tracker does not see.
    let tells_all_reads = !version.at_least(37, 0);
    let (agree, contradict) = match (verb, verdict.served_from) {
        (Verb::List | Verb::Get, ServedFrom::WatchCache) => {
            (observed.without_etcd, observed.etcd_only + observed.decoded)
        }
        (Verb::List, ServedFrom::WatchCacheAfterRevisionCheck) => {
            (if tells_decoding { observed.etcd_only } else { 0 }, observed.decoded + observed.without_etcd)
        }
        (Verb::List, ServedFrom::Etcd) => (
            observed.decoded + if tells_decoding { 0 } else { observed.etcd_only },
            if tells_all_reads { observed.without_etcd } else { 0 },
        ),
        (Verb::Get, ServedFrom::Etcd) => (observed.etcd_only + observed.decoded, observed.without_etcd),
        _ => (0, 0),
    };
    v1::Observed { measured: observed.measured(), agree, contradict, etcd_micros: observed.etcd_micros }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apiserver::{Asked, ParsedTarget, Server, judge};
    use crate::k8s::request_info::Method;

    fn fit(version: KubeVersion, uri: &str, observed: Observed) -> (u64, u64) {
        let target = ParsedTarget::parse(uri).expect("a target");
        let asked = Asked::new(Method::Get, &target.path, &target.options);
        let verdict = judge(&Server::with_defaults(version), &asked, None);
        let fit = compare(asked.verb, &verdict, version, &observed);
        (fit.agree, fit.contradict)
    }

    #[test]
    fn a_consistent_list_from_the_cache_asks_etcd_and_decodes_nothing() {
        let observed = Observed { etcd_only: 3, decoded: 1, ..Observed::default() };
        assert_eq!(fit(KubeVersion::new(34, 7), "/api/v1/pods", observed), (3, 1));
    }

    #[test]
    fn a_list_from_etcd_asks_etcd() {
        let observed = Observed { etcd_only: 3, without_etcd: 2, ..Observed::default() };
        assert_eq!(fit(KubeVersion::new(27, 16), "/api/v1/pods", observed), (3, 2));
        assert_eq!(fit(KubeVersion::new(30, 0), "/api/v1/pods", observed), (0, 2));
    }

    #[test]
    fn a_list_from_the_cache_asks_nothing() {
        let observed = Observed { etcd_only: 3, without_etcd: 2, ..Observed::default() };
        assert_eq!(fit(KubeVersion::new(30, 0), "/api/v1/pods?resourceVersion=0", observed), (2, 3));
    }
}
