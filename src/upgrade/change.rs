//! The change of one verdict between two versions of the server.

use crate::apiserver::{LimitVerdict, RequestShape, ServedFrom, Server, Verdict, judge};
use crate::k8s::Verb;
use crate::named::named;

named! {
    /// How the server's treatment of a request changes. The first variants are the most urgent.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub(crate) enum ChangeKind {
        /// The server no longer serves the API. It returns 404.
        ApiRemoved = "api-removed",
        /// The server refuses the request.
        Refused = "refused",
        /// The server reads from etcd, and no longer from its watch cache.
        ToEtcd = "to-etcd",
        /// The server ignores `limit`, and returns all objects.
        LimitIgnored = "limit-ignored",
        /// The server serves the request from its watch cache, and no longer from etcd.
        FromEtcd = "from-etcd",
        /// The server honors `limit`.
        LimitHonored = "limit-honored",
        /// The server no longer refuses the request.
        Accepted = "accepted",
    }
    /// The value in the public JSON contract.
    pub(crate) fn as_str;
}

impl ChangeKind {
    /// Whether the change breaks the client, or costs the control plane more.
    pub(crate) fn is_worse(self) -> bool {
        matches!(self, Self::ApiRemoved | Self::Refused | Self::ToEtcd | Self::LimitIgnored)
    }

    /// The changes between two verdicts on one request. A request can move to the watch cache, and lose its limit.
    pub(super) fn between(verb: Verb, before: Verdict, after: Verdict) -> impl Iterator<Item = Self> {
        let refused = [before, after].map(|verdict| verdict.rejected.is_some());
        let etcd = [before, after].map(|verdict| reads_etcd(verb, verdict));
        let ignored = [before, after].map(|verdict| verdict.limit == LimitVerdict::Ignored);
        let honored = [before, after].map(|verdict| verdict.limit == LimitVerdict::Honored);
        let both_served = refused == [false, false];
        [
            (refused == [false, true]).then_some(Self::Refused),
            (refused == [true, false]).then_some(Self::Accepted),
            (both_served && etcd == [false, true]).then_some(Self::ToEtcd),
            (both_served && etcd == [true, false]).then_some(Self::FromEtcd),
            (both_served && !ignored[0] && ignored[1]).then_some(Self::LimitIgnored),
            (both_served && ignored[0] && honored[1]).then_some(Self::LimitHonored),
        ]
        .into_iter()
        .flatten()
    }
}

/// Whether the server reads from etcd for a LIST, GET or WATCH.
pub(super) fn reads_etcd(verb: Verb, verdict: Verdict) -> bool {
    matches!(verb, Verb::List | Verb::Get | Verb::Watch) && verdict.likely_served_from() == ServedFrom::Etcd
}

/// The verdict of another server on a recorded request. `status` is the status in the record. It applies to the other
/// server too, unless it depends on the version: a success, or a refusal that the model of `recorded` explains.
pub(super) fn judge_elsewhere(
    recorded: &Server,
    other: &Server,
    shape: &RequestShape<&str>,
    status: Option<u16>,
) -> Verdict {
    let rejected = judge(recorded, shape, None).rejected;
    // A success that the model of `recorded` does not explain holds for the other server too.
    let by_version = |status: u16| {
        if (200..300).contains(&status) { rejected.is_none() } else { rejected == Some(status) }
    };
    judge(other, shape, status.filter(|status| !by_version(*status)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::k8s::KubeVersion;
    use crate::requests::contract::Readable;

    fn changes(uri: &str, from: KubeVersion, to: KubeVersion, status: Option<u16>) -> Vec<ChangeKind> {
        let request = Readable::new("GET", uri).expect("a request");
        let shape = request.shape();
        let [from, to] = [from, to].map(Server::with_defaults);
        let before = judge(&from, &shape, status);
        ChangeKind::between(shape.verb, before, judge_elsewhere(&from, &to, &shape, status)).collect()
    }

    #[test]
    fn changes_follow_the_verdicts_of_both_versions() {
        let v = KubeVersion::new;
        for (uri, from, to, status, expected) in [
            ("/api/v1/pods", v(30, 4), v(34, 2), Some(200), &[ChangeKind::FromEtcd][..]),
            ("/api/v1/pods", v(34, 2), v(30, 4), Some(200), &[ChangeKind::ToEtcd]),
            ("/api/v1/pods", v(34, 2), v(35, 0), Some(200), &[]),
            ("/api/v1/pods?limit=5", v(32, 0), v(33, 1), Some(200), &[ChangeKind::ToEtcd]),
            ("/api/v1/pods", v(30, 4), v(34, 2), Some(403), &[]),
            // The token is damaged, but the recorded server accepted it.
            ("/api/v1/pods?limit=5&continue=damaged", v(33, 6), v(34, 2), Some(200), &[]),
            (
                "/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
                v(31, 0),
                v(34, 2),
                Some(422),
                &[ChangeKind::Accepted],
            ),
            (
                "/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
                v(34, 2),
                v(31, 0),
                Some(200),
                &[ChangeKind::Refused],
            ),
        ] {
            assert_eq!(changes(uri, from, to, status), expected, "{uri} {from} {to}");
        }
    }
}
