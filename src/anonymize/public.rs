//! Public names, which an extract keeps: Kubernetes' own names, and names from which kubetoll recognizes products. Some
//! verdicts and rules depend on them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::apiserver::resources::is_built_in_group;
use crate::k8s::built_in::BuiltIn;
use crate::products;

/// Splits a list at its commas.
pub(super) fn words(list: &'static str) -> BTreeSet<&'static str> {
    list.split(',').map(str::trim).collect()
}

/// Namespaces, objects and users of Kubernetes.
static NAMES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    words(
        "attachdetach-controller, bootstrap-signer, certificate-controller, cloud-controller-manager,
        cloud-node-controller, cloud-provider, cluster-admin, clusterrole-aggregation-controller,
        coredns, cronjob-controller, daemon-set-controller, default, deployment-controller,
        device-taint-eviction-controller, disruption-controller, endpoint-controller,
        endpointslice-controller, endpointslicemirroring-controller, ephemeral-volume-controller,
        expand-controller, generic-garbage-collector, horizontal-pod-autoscaler, job-controller,
        kube-apiserver, kube-controller-manager, kube-dns, kube-node-lease, kube-proxy, kube-public,
        kube-root-ca.crt, kube-scheduler, kube-system, kubernetes, legacy-service-account-token-cleaner,
        namespace-controller, node-controller, persistent-volume-binder, pod-garbage-collector,
        pv-protection-controller, pvc-protection-controller, replicaset-controller,
        replication-controller, resource-claim-controller, resourcequota-controller,
        root-ca-cert-publisher, route-controller, selinux-warning-controller,
        service-account-controller, service-ca-cert-publisher, service-cidrs-controller,
        service-controller, statefulset-controller, token-cleaner, ttl-after-finished-controller,
        ttl-controller, vac-protection-controller, validatingadmissionpolicy-status-controller, view",
    )
});

/// Users and groups of Kubernetes, except those that contain a cluster's names.
static SYSTEM: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    words(
        "system:anonymous, system:apiserver, system:authenticated, system:cloud-controller-manager,
        system:kube-apiserver, system:kube-controller-manager, system:kube-proxy, system:kube-scheduler,
        system:masters, system:nodes, system:serviceaccounts, system:unauthenticated,
        system:volume-scheduler",
    )
});

/// API groups that are kept in addition to the built-in ones. Either a SIG defines them, or a verdict depends on them.
static GROUPS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    words(
        "custom.metrics.k8s.io, external.metrics.k8s.io, gateway.networking.k8s.io, metrics.k8s.io,
        snapshot.storage.k8s.io",
    )
});

/// Public resource names besides those of [`BuiltIn`]: rare built-in ones, and those of [`GROUPS`].
static OTHER_RESOURCES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    words(
        "bindings, clustertrustbundles, devicetaintrules, gatewayclasses, gateways, httproutes,
        leasecandidates, localsubjectaccessreviews, mutatingadmissionpolicies,
        mutatingadmissionpolicybindings, podcertificaterequests, selfsubjectaccessreviews,
        selfsubjectreviews, selfsubjectrulesreviews, storageversions, subjectaccessreviews,
        tokenreviews, volumesnapshotclasses, volumesnapshotcontents, volumesnapshots",
    )
});

static SUBRESOURCES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    words(
        "approval, attach, binding, ephemeralcontainers, eviction, exec, finalize, log, portforward,
        proxy, resize, scale, status, token",
    )
});

/// Segments of the server's non-resource paths, such as `api` and `version`.
static PATH: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    words(
        ".well-known, api, apis, cmdline, debug, etcd, flags, goroutine, healthz, heap, jwks, livez,
        logs, metrics, openapi, openid, openid-configuration, ping, poststarthook, pprof, profile,
        readyz, swagger.json, swaggerapi, symbol, trace, v2, v3, version",
    )
});

/// Field selector values from the API's fixed lists, such as a pod's phase. They stay, because they are not names.
static FIELD_VALUES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    words(
        "DaemonSet, Deployment, Failed, False, Job, Node, Normal, Opaque, Pending, Pod, ReplicaSet,
        Running, StatefulSet, Succeeded, True, Unknown, Warning, bootstrap.kubernetes.io/token, false,
        helm.sh/release.v1, kubernetes.io/dockerconfigjson, kubernetes.io/service-account-token,
        kubernetes.io/tls, true",
    )
});

/// The built-in flow schemas and priority levels.
///
/// Source: k8s.io/apiserver `pkg/apis/flowcontrol/bootstrap/default.go`.
static APF: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    words(
        "catch-all, endpoint-controller, exempt, global-default, kube-controller-manager, kube-scheduler,
        kube-system-service-accounts, leader-election, node-high, probes, service-accounts, system,
        system-leader-election, system-node-high, system-nodes, workload-high, workload-leader-election,
        workload-low",
    )
});

/// The namespaces and names in the ServiceAccount patterns of products: first those without `*`, then those with `*`.
static PRODUCTS: LazyLock<(BTreeSet<&'static str>, Vec<&'static str>)> = LazyLock::new(|| {
    let patterns = products::all().iter().flat_map(|product| &product.service_accounts);
    let parts = patterns.flat_map(|pattern| pattern.split('/'));
    let (globs, literals): (Vec<&str>, Vec<&str>) = parts.partition(|part| part.contains('*'));
    (literals.into_iter().collect(), globs.into_iter().filter(|glob| *glob != "*").collect())
});

pub(super) fn is_name(name: &str) -> bool {
    NAMES.contains(name) || PRODUCTS.0.contains(name)
}

/// Whether a name is a built-in flow schema or priority level, or empty.
pub(super) fn is_apf(name: &str) -> bool {
    name.is_empty() || APF.contains(name)
}

/// Splits a name that matches a product's pattern. Returns the text before the `*`, the text that the `*` matches,
/// and the text after it.
pub(super) fn around_star(name: &str) -> Option<(&'static str, &str, &'static str)> {
    PRODUCTS.1.iter().find_map(|glob| {
        let (before, behind) = glob.split_once('*')?;
        let inner = name.strip_prefix(before)?.strip_suffix(behind)?;
        Some((before, inner, behind))
    })
}

pub(super) fn is_system(name: &str) -> bool {
    SYSTEM.contains(name)
}

pub(super) fn is_group(group: &str) -> bool {
    is_built_in_group(group) || GROUPS.contains(group)
}

pub(super) fn is_resource(resource: &str) -> bool {
    OTHER_RESOURCES.contains(resource)
        || BuiltIn::named(resource).is_some_and(|known| known.plural == resource)
}

pub(super) fn is_subresource(subresource: &str) -> bool {
    SUBRESOURCES.contains(subresource)
}

pub(super) fn is_path(part: &str) -> bool {
    PATH.contains(part)
}

pub(super) fn is_field_value(value: &str) -> bool {
    FIELD_VALUES.contains(value)
}

/// Whether a user agent pattern of a known product contains this word.
pub(super) fn is_in_product(word: &str) -> bool {
    static WORDS: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
        let patterns = products::all().iter().flat_map(|product| &product.user_agents);
        patterns.flat_map(|pattern| pattern.split(['*', '/', ' '])).filter(|word| !word.is_empty()).collect()
    });
    WORDS.contains(word)
}

/// Prefixes of products' user agents.
pub(super) fn starts_of_products() -> impl Iterator<Item = &'static str> {
    let patterns = products::all().iter().flat_map(|product| &product.user_agents);
    patterns.filter_map(|pattern| pattern.split(['*', '/', ' ']).next()).filter(|start| !start.is_empty())
}

/// Whether a text is an API version: `v1`, `v2beta1`.
pub(super) fn is_version(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('v') else { return false };
    let digits =
        |text: &str| !text.is_empty() && text.len() < 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    let (major, minor) = rest.split_once("alpha").or_else(|| rest.split_once("beta")).unwrap_or((rest, "1"));
    digits(major) && digits(minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_recognized_by_names_and_patterns() {
        assert!(is_name("velero") || is_name("kube-state-metrics"));
        assert_eq!(
            around_star("prod-kube-prometheus-operator"),
            Some(("", "prod", "-kube-prometheus-operator"))
        );
        assert_eq!(around_star("acme-operator"), None);
    }
}
