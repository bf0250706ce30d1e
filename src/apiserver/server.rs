//! The version and configuration of the apiserver that a verdict assumes.

use super::features::{FeatureGates, Gate};
use super::resources;
use crate::k8s::{EtcdVersion, KubeVersion};

/// A kube-apiserver: its version, and the settings that decide where a read is served from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The server's version. A version after [`KubeVersion::NEWEST`] behaves as the newest.
    pub version: KubeVersion,
    /// etcd's version. `None` means a version that supports progress requests.
    pub etcd: Option<EtcdVersion>,
    /// Feature gates that differ from the defaults.
    pub gates: FeatureGates,
    /// Resources without a watch cache, as `resource` or `resource.group`
    /// (`--watch-cache-sizes=<resource>[.<group>]#0`). `events` never has a watch cache and need not be here.
    pub uncached: Vec<String>,
    /// API groups that aggregated API servers serve. The metrics APIs always belong to one and need not be here.
    pub aggregated: Vec<String>,
}

impl Server {
    /// Creates a server with default settings and an etcd that supports progress requests.
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

    #[must_use]
    pub fn enabled(&self, gate: Gate) -> bool {
        self.gates.enabled(gate, self.version)
    }

    /// Whether the server can serve a consistent read from its watch cache.
    ///
    /// Source: `ShouldDelegateConsistentRead` in k8s.io/apiserver `pkg/storage/cacher/cacher.go`. While this feature
    /// was alpha (1.28 to 1.30), the server did not check etcd's version.
    #[must_use]
    pub fn consistent_reads_from_cache(&self) -> bool {
        self.enabled(Gate::ConsistentListFromCache)
            && (!self.version.at_least(31, 0) || self.etcd_supports_progress())
    }

    /// Whether etcd supports `RequestWatchProgress`.
    #[must_use]
    pub(crate) fn etcd_supports_progress(&self) -> bool {
        self.etcd.is_none_or(EtcdVersion::supports_request_watch_progress)
    }

    /// Whether the server has a watch cache for a resource.
    ///
    /// Source: kubernetes `pkg/kubeapiserver/default_storage_factory_builder.go:DefaultWatchCacheSizes`.
    #[must_use]
    pub(crate) fn has_watch_cache(&self, group: &str, resource: &str) -> bool {
        let is_events = resource == "events" && matches!(group, "" | "events.k8s.io");
        if is_events || resource == resources::OTHER_UNCACHED {
            return false;
        }
        !self.uncached.iter().any(|named| resources::is_named(named, group, resource))
    }

    /// Whether an aggregated API server serves the group.
    #[must_use]
    pub(crate) fn is_aggregated(&self, group: &str) -> bool {
        matches!(group, "metrics.k8s.io" | "custom.metrics.k8s.io" | "external.metrics.k8s.io")
            || group == resources::AGGREGATED_GROUP
            || self.aggregated.iter().any(|named| named == group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_configured_resources_have_no_watch_cache() {
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
