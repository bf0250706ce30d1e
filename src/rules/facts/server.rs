//! The variables of the apiserver that served a row: `server.*`.

use super::RowGetter;
use crate::apiserver::Gate;
use crate::rules::value::{Variable, variables};

pub const SERVER: &[Variable<RowGetter>] = variables! { |row|
    /// The version of Kubernetes that the verdict assumes: `1.36.2`.
    version: Text = row.key.kube_version.to_string();
    /// The minor version in `server.version`: 36.
    minor: Int = i64::from(row.key.kube_version.minor);
    /// The patch level in `server.version`: 2. 0 if it is not known.
    patch: Int = i64::from(row.key.kube_version.patch.unwrap_or(0));
    /// The version was given, the log states it, or all versions that fit the log have the same verdicts.
    known: Bool = row.judged.version.is_settled;
    /// etcd's version, or empty if it was not given.
    etcd: Text = row.judged.server.etcd.map_or(String::new(), |version| version.to_string());
    /// A LIST without resourceVersion and without a limit comes from the watch cache.
    consistentLists: Bool = row.server().consistent_reads_from_cache();
    /// Further pages and LISTs at an exact revision come from snapshots of the watch cache.
    snapshots: Bool = {
        let server = row.server();
        server.consistent_reads_from_cache() && server.enabled(Gate::ListFromCacheSnapshot)
    };
    /// A watch may begin with the state of the collection (`sendInitialEvents`).
    watchList: Bool = row.server().enabled(Gate::WatchList);
};
