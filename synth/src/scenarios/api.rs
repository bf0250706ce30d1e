//! Resources of the Kubernetes API and of common extensions.

/// A resource.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// API version.
    pub version: &'static str,
    /// Resource, in the plural.
    pub resource: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

/// A resource in namespaces.
pub const fn namespaced(group: &'static str, version: &'static str, resource: &'static str) -> Kind {
    Kind { group, version, resource, namespaced: true }
}

/// A cluster-scoped resource.
pub const fn cluster(group: &'static str, version: &'static str, resource: &'static str) -> Kind {
    Kind { group, version, resource, namespaced: false }
}

pub const PODS: Kind = namespaced("", "v1", "pods");
pub const SERVICES: Kind = namespaced("", "v1", "services");
pub const SERVICE_ACCOUNTS: Kind = namespaced("", "v1", "serviceaccounts");
pub const CONFIG_MAPS: Kind = namespaced("", "v1", "configmaps");
pub const SECRETS: Kind = namespaced("", "v1", "secrets");
pub const EVENTS: Kind = namespaced("", "v1", "events");
pub const NEW_EVENTS: Kind = namespaced("events.k8s.io", "v1", "events");
pub const CLAIMS: Kind = namespaced("", "v1", "persistentvolumeclaims");
pub const ENDPOINTS: Kind = namespaced("", "v1", "endpoints");
pub const QUOTAS: Kind = namespaced("", "v1", "resourcequotas");
pub const NODES: Kind = cluster("", "v1", "nodes");
pub const NAMESPACES: Kind = cluster("", "v1", "namespaces");
pub const VOLUMES: Kind = cluster("", "v1", "persistentvolumes");
pub const DEPLOYMENTS: Kind = namespaced("apps", "v1", "deployments");
pub const REPLICA_SETS: Kind = namespaced("apps", "v1", "replicasets");
pub const STATEFUL_SETS: Kind = namespaced("apps", "v1", "statefulsets");
pub const DAEMON_SETS: Kind = namespaced("apps", "v1", "daemonsets");
pub const JOBS: Kind = namespaced("batch", "v1", "jobs");
pub const CRON_JOBS: Kind = namespaced("batch", "v1", "cronjobs");
pub const LEASES: Kind = namespaced("coordination.k8s.io", "v1", "leases");
pub const SLICES: Kind = namespaced("discovery.k8s.io", "v1", "endpointslices");
pub const INGRESSES: Kind = namespaced("networking.k8s.io", "v1", "ingresses");
pub const INGRESS_CLASSES: Kind = cluster("networking.k8s.io", "v1", "ingressclasses");
pub const POLICIES: Kind = namespaced("networking.k8s.io", "v1", "networkpolicies");
pub const SCALERS: Kind = namespaced("autoscaling", "v2", "horizontalpodautoscalers");
pub const BUDGETS: Kind = namespaced("policy", "v1", "poddisruptionbudgets");
pub const ROLES: Kind = namespaced("rbac.authorization.k8s.io", "v1", "roles");
pub const ROLE_BINDINGS: Kind = namespaced("rbac.authorization.k8s.io", "v1", "rolebindings");
pub const CLUSTER_ROLES: Kind = cluster("rbac.authorization.k8s.io", "v1", "clusterroles");
pub const CRDS: Kind = cluster("apiextensions.k8s.io", "v1", "customresourcedefinitions");
pub const CSI_NODES: Kind = cluster("storage.k8s.io", "v1", "csinodes");
pub const CSI_DRIVERS: Kind = cluster("storage.k8s.io", "v1", "csidrivers");
pub const STORAGE_CLASSES: Kind = cluster("storage.k8s.io", "v1", "storageclasses");
pub const ATTACHMENTS: Kind = cluster("storage.k8s.io", "v1", "volumeattachments");
pub const RUNTIME_CLASSES: Kind = cluster("node.k8s.io", "v1", "runtimeclasses");
pub const SIGNING_REQUESTS: Kind = cluster("certificates.k8s.io", "v1", "certificatesigningrequests");
pub const TOKEN_REVIEWS: Kind = cluster("authentication.k8s.io", "v1", "tokenreviews");
pub const ACCESS_REVIEWS: Kind = cluster("authorization.k8s.io", "v1", "subjectaccessreviews");
pub const POD_METRICS: Kind = namespaced("metrics.k8s.io", "v1beta1", "pods");
pub const CILIUM_ENDPOINTS: Kind = namespaced("cilium.io", "v2", "ciliumendpoints");
pub const CILIUM_NODES: Kind = cluster("cilium.io", "v2", "ciliumnodes");
pub const CILIUM_IDENTITIES: Kind = cluster("cilium.io", "v2", "ciliumidentities");
pub const CILIUM_POLICIES: Kind = namespaced("cilium.io", "v2", "ciliumnetworkpolicies");
pub const CERTIFICATES: Kind = namespaced("cert-manager.io", "v1", "certificates");
pub const CERTIFICATE_REQUESTS: Kind = namespaced("cert-manager.io", "v1", "certificaterequests");
pub const ISSUERS: Kind = namespaced("cert-manager.io", "v1", "issuers");
pub const APPLICATIONS: Kind = namespaced("argoproj.io", "v1alpha1", "applications");
pub const APP_PROJECTS: Kind = namespaced("argoproj.io", "v1alpha1", "appprojects");
pub const KUSTOMIZATIONS: Kind = namespaced("kustomize.toolkit.fluxcd.io", "v1", "kustomizations");
pub const HELM_RELEASES: Kind = namespaced("helm.toolkit.fluxcd.io", "v2", "helmreleases");
pub const GIT_REPOSITORIES: Kind = namespaced("source.toolkit.fluxcd.io", "v1", "gitrepositories");
pub const SERVICE_MONITORS: Kind = namespaced("monitoring.coreos.com", "v1", "servicemonitors");
pub const PROMETHEUSES: Kind = namespaced("monitoring.coreos.com", "v1", "prometheuses");
pub const DATABASES: Kind = namespaced("postgresql.example.com", "v1", "databases");
pub const BACKUPS: Kind = namespaced("velero.io", "v1", "backups");
pub const SCHEDULES: Kind = namespaced("velero.io", "v1", "schedules");
