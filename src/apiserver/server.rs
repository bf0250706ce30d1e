//! The server that a request is judged for.

use super::features::{FeatureGates, Gate};
use super::resources;
use crate::k8s::{EtcdVersion, KubeVersion};

/// A kube-apiserver's version and configuration, as far as they decide where a read is answered from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The server's version. One newer than [`KubeVersion::NEWEST`] is judged as the newest.
    pub version: KubeVersion,
    /// etcd's version; `None` is taken for one that supports progress requests.
    pub etcd: Option<EtcdVersion>,
    /// Gates that were set by hand.
    pub gates: FeatureGates,
    /// Resources without a watch cache beside `events`, as `resource` or `resource.group`
    /// (`--watch-cache-sizes=<resource>[.<group>]#0`).
    pub uncached: Vec<String>,
    /// API groups that an aggregated server answers, beside the metrics APIs.
    pub aggregated: Vec<String>,
}

impl Server {
    /// A server of that version with its defaults and an etcd that supports progress requests.
    #[must_use]
    pub fn with_defaults(version: KubeVersion) -> Self {
        Self {
            version,
            etcd: None,
            gates: FeatureGates::default(),
            uncached: Vec::new(),
            aggregated: Vec::new(),
        }
    }

    /// Whether a gate is on.
    #[must_use]
    pub fn enabled(&self, gate: Gate) -> bool {
        self.gates.enabled(gate, self.version)
    }

    /// Whether the server may answer a consistent read from its watch cache.
    ///
    /// Source: `ShouldDelegateConsistentRead` in k8s.io/apiserver `pkg/storage/cacher/cacher.go`. The alpha of
    /// 1.28 to 1.30 did not ask for etcd's version.
    #[must_use]
    pub fn consistent_reads_from_cache(&self) -> bool {
        self.enabled(Gate::ConsistentListFromCache)
            && (!self.version.at_least(31, 0) || self.etcd_supports_progress())
    }

    /// Whether etcd supports `RequestWatchProgress`.
    #[must_use]
    pub fn etcd_supports_progress(&self) -> bool {
        self.etcd.is_none_or(EtcdVersion::supports_request_watch_progress)
    }

    /// Whether the server keeps a watch cache for a resource.
    ///
    /// Source: kubernetes `pkg/kubeapiserver/default_storage_factory_builder.go:DefaultWatchCacheSizes`.
    #[must_use]
    pub fn has_watch_cache(&self, group: &str, resource: &str) -> bool {
        let is_events = resource == "events" && matches!(group, "" | "events.k8s.io");
        if is_events || resource == resources::OTHER_UNCACHED {
            return false;
        }
        !self.uncached.iter().any(|named| resources::is_named(named, group, resource))
    }

    /// Whether a group is answered by an aggregated server.
    #[must_use]
    pub fn is_aggregated(&self, group: &str) -> bool {
        matches!(group, "metrics.k8s.io" | "custom.metrics.k8s.io" | "external.metrics.k8s.io")
            || group == resources::AGGREGATED_GROUP
            || self.aggregated.iter().any(|named| named == group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_no_watch_cache_and_others_may_be_named() {
        let mut server = Server::with_defaults(KubeVersion::new(34, 0));
        server.uncached = vec!["pods".to_owned(), "deployments.apps".to_owned()];
        assert!(!server.has_watch_cache("", "events"));
        assert!(!server.has_watch_cache("events.k8s.io", "events"));
        assert!(server.has_watch_cache("example.com", "events"));
        assert!(!server.has_watch_cache("", "pods"));
        assert!(server.has_watch_cache("metrics.k8s.io", "pods"));
        assert!(!server.has_watch_cache("apps", "deployments"));
        assert!(server.has_watch_cache("apps", "daemonsets"));
    }
}
