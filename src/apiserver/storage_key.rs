//! Finds the resource of a key in etcd.
//!
//! Source: kubernetes `pkg/kubeapiserver/default_storage_factory_builder.go:SpecialDefaultResourcePrefixes` and
//! k8s.io/apiserver `pkg/server/storage/storage_factory.go:ResourcePrefix` (built-in resources: the plural alone),
//! `pkg/server/options/etcd.go` and apiextensions-apiserver `customresource_handler.go` (custom resources: group and
//! plural).

use std::borrow::Cow;

/// The known roots of keys in etcd, such as `registry` in `/registry/pods/a/b`. They are upstream's default and the
/// roots of OpenShift's two servers. Any other first segment also counts as a root, because `--etcd-prefix` can set
/// it.
const ROOTS: [&str; 3] = ["registry", "kubernetes.io", OPENSHIFT_ROOT];
/// The root of the resources that only OpenShift has, such as `oauthclients`. OpenShift's kube-apiserver uses
/// `kubernetes.io`.
const OPENSHIFT_ROOT: &str = "openshift.io";

/// Built-in resources whose prefix differs from their name in reports: prefix, plural, group. An empty plural means
/// that it equals the prefix.
const BUILT_IN: [(&str, &str, &str); 61] = [
    ("controllers", "replicationcontrollers", ""),
    ("minions", "nodes", ""),
    ("services/endpoints", "endpoints", ""),
    ("services/specs", "services", ""),
    ("ingress", "ingresses", "networking.k8s.io"),
    ("podsecuritypolicy", "podsecuritypolicies", "policy"),
    ("mutatingadmissionpolicies", "", "admissionregistration.k8s.io"),
    ("mutatingadmissionpolicybindings", "", "admissionregistration.k8s.io"),
    ("mutatingwebhookconfigurations", "", "admissionregistration.k8s.io"),
    ("validatingadmissionpolicies", "", "admissionregistration.k8s.io"),
    ("validatingadmissionpolicybindings", "", "admissionregistration.k8s.io"),
    ("validatingwebhookconfigurations", "", "admissionregistration.k8s.io"),
    ("controllerrevisions", "", "apps"),
    ("daemonsets", "", "apps"),
    ("deployments", "", "apps"),
    ("replicasets", "", "apps"),
    ("statefulsets", "", "apps"),
    ("horizontalpodautoscalers", "", "autoscaling"),
    ("cronjobs", "", "batch"),
    ("jobs", "", "batch"),
    ("certificatesigningrequests", "", "certificates.k8s.io"),
    ("clustertrustbundles", "", "certificates.k8s.io"),
    ("podcertificaterequests", "", "certificates.k8s.io"),
    ("leasecandidates", "", "coordination.k8s.io"),
    ("leases", "", "coordination.k8s.io"),
    ("endpointslices", "", "discovery.k8s.io"),
    ("flowschemas", "", "flowcontrol.apiserver.k8s.io"),
    ("prioritylevelconfigurations", "", "flowcontrol.apiserver.k8s.io"),
    ("storageversions", "", "internal.apiserver.k8s.io"),
    ("clustercidrs", "", "networking.k8s.io"),
    ("ingressclasses", "", "networking.k8s.io"),
    ("ipaddresses", "", "networking.k8s.io"),
    ("networkpolicies", "", "networking.k8s.io"),
    ("servicecidrs", "", "networking.k8s.io"),
    ("runtimeclasses", "", "node.k8s.io"),
    ("poddisruptionbudgets", "", "policy"),
    ("clusterrolebindings", "", "rbac.authorization.k8s.io"),
    ("clusterroles", "", "rbac.authorization.k8s.io"),
    ("rolebindings", "", "rbac.authorization.k8s.io"),
    ("roles", "", "rbac.authorization.k8s.io"),
    ("deviceclasses", "", "resource.k8s.io"),
    ("devicetaintrules", "", "resource.k8s.io"),
    ("podschedulingcontexts", "", "resource.k8s.io"),
    ("podschedulings", "", "resource.k8s.io"),
    ("resourceclaimparameters", "", "resource.k8s.io"),
    ("resourceclaims", "", "resource.k8s.io"),
    ("resourceclaimtemplates", "", "resource.k8s.io"),
    ("resourceclasses", "", "resource.k8s.io"),
    ("resourceclassparameters", "", "resource.k8s.io"),
    ("resourceslices", "", "resource.k8s.io"),
    ("podgroups", "", "scheduling.k8s.io"),
    ("priorityclasses", "", "scheduling.k8s.io"),
    ("workloads", "", "scheduling.k8s.io"),
    ("podpresets", "", "settings.k8s.io"),
    ("csidrivers", "", "storage.k8s.io"),
    ("csinodes", "", "storage.k8s.io"),
    ("csistoragecapacities", "", "storage.k8s.io"),
    ("storageclasses", "", "storage.k8s.io"),
    ("volumeattachments", "", "storage.k8s.io"),
    ("volumeattributesclasses", "", "storage.k8s.io"),
    ("storageversionmigrations", "", "storagemigration.k8s.io"),
];

/// Like [`BUILT_IN`], but for keys below OpenShift's root.
///
/// Source: openshift/origin `pkg/cmd/openshift-apiserver/openshiftapiserver/rest.go:specialDefaultResourcePrefixes`,
/// openshift/oauth-apiserver `pkg/cmd/oauth-apiserver/server.go`. All other resources use their plural as prefix.
const OPENSHIFT: [(&str, &str, &str); 21] = [
    ("oauth/accesstokens", "oauthaccesstokens", "oauth.openshift.io"),
    ("oauth/authorizetokens", "oauthauthorizetokens", "oauth.openshift.io"),
    ("oauth/clientauthorizations", "oauthclientauthorizations", "oauth.openshift.io"),
    ("oauth/clients", "oauthclients", "oauth.openshift.io"),
    ("useridentities", "identities", "user.openshift.io"),
    ("registry/egressnetworkpolicy", "egressnetworkpolicies", "network.openshift.io"),
    ("registry/sdnnetnamespaces", "netnamespaces", "network.openshift.io"),
    ("registry/sdnnetworks", "clusternetworks", "network.openshift.io"),
    ("registry/sdnsubnets", "hostsubnets", "network.openshift.io"),
    ("deploymentconfigs", "", "apps.openshift.io"),
    ("buildconfigs", "", "build.openshift.io"),
    ("builds", "", "build.openshift.io"),
    ("images", "", "image.openshift.io"),
    ("imagestreams", "", "image.openshift.io"),
    ("routes", "", "route.openshift.io"),
    ("rangeallocations", "", "security.openshift.io"),
    ("brokertemplateinstances", "", "template.openshift.io"),
    ("templateinstances", "", "template.openshift.io"),
    ("templates", "", "template.openshift.io"),
    ("groups", "", "user.openshift.io"),
    ("users", "", "user.openshift.io"),
];

/// A parsed key of etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StorageKey<'a> {
    /// The resource's name in reports, such as `pods` or `deployments.apps`. For keys outside of the API (`ranges`,
    /// `masterleases`, `health`), this is the first segment. It can be empty.
    pub(crate) resource: Cow<'a, str>,
    /// The rest of the key: a namespace and a name, or a part of them. `None` if the key ends with the resource.
    pub(crate) rest: Option<&'a str>,
}

impl<'a> StorageKey<'a> {
    /// Parses a key, or a prefix of keys.
    #[must_use]
    pub(crate) fn parse(key: &'a str) -> Self {
        let (root, path) = below_root(key);
        let table: &[(&str, &str, &str)] = if root == OPENSHIFT_ROOT { &OPENSHIFT } else { &BUILT_IN };
        for (prefix, plural, group) in table {
            let rest = path.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/'));
            if let Some(rest) = rest {
                let resource = qualified(if plural.is_empty() { prefix } else { plural }, group);
                return Self { resource, rest: rest.strip_prefix('/') };
            }
        }
        let (first, rest) = cut(path);
        match rest {
            // If the first segment contains a dot, it is a group, because plurals never contain a dot.
            Some(inside) if first.contains('.') && !inside.is_empty() => {
                let (plural, rest) = cut(inside);
                Self { resource: qualified(plural, first), rest }
            }
            _ => Self { resource: Cow::Borrowed(first), rest },
        }
    }
}

/// Returns the name under which etcd stores a resource. The name differs from `resource` if several groups serve the
/// resource.
///
/// Source: kubernetes `pkg/kubeapiserver/default_storage_factory_builder.go:New` (`AddCohabitatingResources`).
#[must_use]
pub(crate) fn stored_name(resource: &str) -> Cow<'_, str> {
    if resource == "events.events.k8s.io" {
        return Cow::Borrowed("events");
    }
    match resource.strip_suffix(".extensions") {
        Some(plural) => BUILT_IN
            .iter()
            .find(|(prefix, own, _)| if own.is_empty() { *prefix == plural } else { *own == plural })
            .map_or(Cow::Borrowed(resource), |(_, _, group)| qualified(plural, group)),
        None => Cow::Borrowed(resource),
    }
}

/// Splits a key after its root. The root is a known root, a path that ends with a known root, or else the first
/// segment.
fn below_root(key: &str) -> (&str, &str) {
    let Some(path) = key.strip_prefix('/') else { return ("", key) };
    let (first, rest) = cut(path);
    if !ROOTS.contains(&first) {
        let inside = |root: &&'static str| Some((key.find(&format!("/{root}/"))? + root.len() + 2, *root));
        if let Some((at, root)) = ROOTS.iter().filter_map(inside).min() {
            return (root, &key[at..]);
        }
    }
    (first, rest.unwrap_or_default())
}

fn cut(path: &str) -> (&str, Option<&str>) {
    path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)))
}

fn qualified<'a>(plural: &'a str, group: &str) -> Cow<'a, str> {
    if group.is_empty() { Cow::Borrowed(plural) } else { Cow::Owned(format!("{plural}.{group}")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apiserver::resources::is_built_in_group;

    #[test]
    fn keys_parse_to_their_resource() {
        for (key, resource, rest) in [
            ("/registry/pods/kube-system/a", "pods", Some("kube-system/a")),
            ("/registry/pods/", "pods", Some("")),
            ("/registry/pods", "pods", None),
            ("/kubernetes.io/pods/a/b", "pods", Some("a/b")),
            ("/openshift.io/routes/shop/", "routes.route.openshift.io", Some("shop/")),
            ("/openshift.io/oauth/clients/", "oauthclients.oauth.openshift.io", Some("")),
            ("/openshift.io/useridentities/a:b", "identities.user.openshift.io", Some("a:b")),
            ("/openshift.io/registry/sdnsubnets/n", "hostsubnets.network.openshift.io", Some("n")),
            ("/openshift.io/quota.openshift.io/a/b", "a.quota.openshift.io", Some("b")),
            ("/kubernetes.io/route.openshift.io/routes/a/b", "routes.route.openshift.io", Some("a/b")),
            ("/my-cluster/pods/a/b", "pods", Some("a/b")),
            ("/clusters/one/registry/pods/a/b", "pods", Some("a/b")),
            ("/registry/configmaps/registry/x", "configmaps", Some("registry/x")),
            ("/registry/minions/node-1", "nodes", Some("node-1")),
            ("/registry/services/endpoints/a/b", "endpoints", Some("a/b")),
            ("/registry/services/specs/", "services", Some("")),
            ("/registry/controllers/a/b", "replicationcontrollers", Some("a/b")),
            ("/registry/controllerrevisions/a/b", "controllerrevisions.apps", Some("a/b")),
            ("/registry/ingress/a/b", "ingresses.networking.k8s.io", Some("a/b")),
            ("/registry/ingressclasses/a", "ingressclasses.networking.k8s.io", Some("a")),
            ("/registry/podsecuritypolicy/a", "podsecuritypolicies.policy", Some("a")),
            ("/registry/leases/kube-system/x", "leases.coordination.k8s.io", Some("kube-system/x")),
            (
                "/registry/apiregistration.k8s.io/apiservices/v1.apps",
                "apiservices.apiregistration.k8s.io",
                Some("v1.apps"),
            ),
            (
                "/registry/crd.projectcalico.org/blockaffinities/",
                "blockaffinities.crd.projectcalico.org",
                Some(""),
            ),
            (
                "/registry/apps.kruise.io/containerrecreaterequests",
                "containerrecreaterequests.apps.kruise.io",
                None,
            ),
            ("/registry/ranges/serviceips", "ranges", Some("serviceips")),
            ("/registry/masterleases/10.0.0.1", "masterleases", Some("10.0.0.1")),
            ("/registry/health", "health", None),
            ("/registry/", "", None),
            ("compact_rev_key", "compact_rev_key", None),
            ("/", "", None),
            ("", "", None),
        ] {
            let stored = StorageKey::parse(key);
            assert_eq!((&*stored.resource, stored.rest), (resource, rest), "{key}");
        }
    }

    #[test]
    fn prefixes_are_unique_and_have_known_groups() {
        for (at, (prefix, _, group)) in OPENSHIFT.iter().enumerate() {
            assert!(group.ends_with(".openshift.io") && !is_built_in_group(group), "{group}");
            assert!(OPENSHIFT[..at].iter().all(|(other, ..)| other != prefix), "{prefix}");
        }
        for (at, (prefix, _, group)) in BUILT_IN.iter().enumerate() {
            assert!(is_built_in_group(group), "{group}");
            assert!(BUILT_IN[..at].iter().all(|(other, ..)| other != prefix), "{prefix}");
        }
    }

    #[test]
    fn resources_of_several_groups_have_one_stored_name() {
        assert_eq!(stored_name("events.events.k8s.io"), "events");
        assert_eq!(stored_name("ingresses.extensions"), "ingresses.networking.k8s.io");
        assert_eq!(stored_name("deployments.extensions"), "deployments.apps");
        assert_eq!(stored_name("a.extensions"), "a.extensions");
        assert_eq!(stored_name("pods"), "pods");
    }
}
