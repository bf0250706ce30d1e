//! Built-in resources by the names that kubectl accepts.
//!
//! Source: kubernetes v1.34, `ShortNames` in `pkg/registry/GROUP/RESOURCE/storage/storage.go`. The preferred versions of
//! the groups are from the output of `kubectl api-resources` 1.34.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BuiltIn {
    /// The plural name, as in paths.
    pub(crate) plural: &'static str,
    /// The API group; empty for the core group.
    pub(crate) group: &'static str,
    /// The version that kubectl prefers.
    pub(crate) version: &'static str,
}

impl BuiltIn {
    /// Finds a resource by its plural, singular or short name, with or without its group: `po`, `deployments.apps`,
    /// `ingresses.v1.networking.k8s.io`.
    #[must_use]
    pub(crate) fn named(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let (name, group) = text.split_once('.').map_or((&*text, None), |(name, group)| (name, Some(group)));
        let row = ROWS.iter().find(|(plural, singular, short, own, version)| {
            let is_in_group = group.is_none_or(|group| {
                group == *own
                    || group.strip_prefix(version).and_then(|rest| rest.strip_prefix('.')) == Some(own)
            });
            is_in_group && (name == *plural || name == *singular || short.contains(&name))
        });
        row.map(|(plural, _, _, group, version)| Self { plural, group, version })
    }

    /// Returns the path of the collection in one namespace, or in the whole cluster.
    #[must_use]
    pub(crate) fn path(self, namespace: Option<&str>) -> String {
        let Self { plural, group, version } = self;
        let root =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        match namespace {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}"),
            None => format!("{root}/{plural}"),
        }
    }
}

const ADMISSION: &str = "admissionregistration.k8s.io";
const FLOW: &str = "flowcontrol.apiserver.k8s.io";
const NETWORKING: &str = "networking.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const RESOURCE: &str = "resource.k8s.io";
const STORAGE: &str = "storage.k8s.io";

/// Plural, singular, short names, group, version. If several rows share a name, kubectl takes the first row.
type ResourceRow = (&'static str, &'static str, &'static [&'static str], &'static str, &'static str);

const ROWS: [ResourceRow; 60] = [
    ("pods", "pod", &["po"], "", "v1"),
    ("services", "service", &["svc"], "", "v1"),
    ("nodes", "node", &["no"], "", "v1"),
    ("namespaces", "namespace", &["ns"], "", "v1"),
    ("configmaps", "configmap", &["cm"], "", "v1"),
    ("secrets", "secret", &[], "", "v1"),
    ("serviceaccounts", "serviceaccount", &["sa"], "", "v1"),
    ("events", "event", &["ev"], "", "v1"),
    ("endpoints", "endpoints", &["ep"], "", "v1"),
    ("persistentvolumes", "persistentvolume", &["pv"], "", "v1"),
    ("persistentvolumeclaims", "persistentvolumeclaim", &["pvc"], "", "v1"),
    ("replicationcontrollers", "replicationcontroller", &["rc"], "", "v1"),
    ("limitranges", "limitrange", &["limits"], "", "v1"),
    ("resourcequotas", "resourcequota", &["quota"], "", "v1"),
    ("podtemplates", "podtemplate", &[], "", "v1"),
    ("componentstatuses", "componentstatus", &["cs"], "", "v1"),
    ("deployments", "deployment", &["deploy"], "apps", "v1"),
    ("replicasets", "replicaset", &["rs"], "apps", "v1"),
    ("statefulsets", "statefulset", &["sts"], "apps", "v1"),
    ("daemonsets", "daemonset", &["ds"], "apps", "v1"),
    ("controllerrevisions", "controllerrevision", &[], "apps", "v1"),
    ("jobs", "job", &[], "batch", "v1"),
    ("cronjobs", "cronjob", &["cj"], "batch", "v1"),
    ("horizontalpodautoscalers", "horizontalpodautoscaler", &["hpa"], "autoscaling", "v2"),
    ("ingresses", "ingress", &["ing"], NETWORKING, "v1"),
    ("ingressclasses", "ingressclass", &[], NETWORKING, "v1"),
    ("networkpolicies", "networkpolicy", &["netpol"], NETWORKING, "v1"),
    ("servicecidrs", "servicecidr", &[], NETWORKING, "v1"),
    ("ipaddresses", "ipaddress", &["ip"], NETWORKING, "v1"),
    ("poddisruptionbudgets", "poddisruptionbudget", &["pdb"], "policy", "v1"),
    ("podsecuritypolicies", "podsecuritypolicy", &["psp"], "policy", "v1beta1"),
    ("roles", "role", &[], RBAC, "v1"),
    ("rolebindings", "rolebinding", &[], RBAC, "v1"),
    ("clusterroles", "clusterrole", &[], RBAC, "v1"),
    ("clusterrolebindings", "clusterrolebinding", &[], RBAC, "v1"),
    ("storageclasses", "storageclass", &["sc"], STORAGE, "v1"),
    ("csidrivers", "csidriver", &[], STORAGE, "v1"),
    ("csinodes", "csinode", &[], STORAGE, "v1"),
    ("csistoragecapacities", "csistoragecapacity", &[], STORAGE, "v1"),
    ("volumeattachments", "volumeattachment", &[], STORAGE, "v1"),
    ("volumeattributesclasses", "volumeattributesclass", &["vac"], STORAGE, "v1"),
    ("leases", "lease", &[], "coordination.k8s.io", "v1"),
    ("endpointslices", "endpointslice", &[], "discovery.k8s.io", "v1"),
    ("events", "event", &["ev"], "events.k8s.io", "v1"),
    ("priorityclasses", "priorityclass", &["pc"], "scheduling.k8s.io", "v1"),
    ("runtimeclasses", "runtimeclass", &[], "node.k8s.io", "v1"),
    ("certificatesigningrequests", "certificatesigningrequest", &["csr"], "certificates.k8s.io", "v1"),
    ("validatingwebhookconfigurations", "validatingwebhookconfiguration", &[], ADMISSION, "v1"),
    ("mutatingwebhookconfigurations", "mutatingwebhookconfiguration", &[], ADMISSION, "v1"),
    ("validatingadmissionpolicies", "validatingadmissionpolicy", &[], ADMISSION, "v1"),
    ("validatingadmissionpolicybindings", "validatingadmissionpolicybinding", &[], ADMISSION, "v1"),
    ("customresourcedefinitions", "customresourcedefinition", &["crd", "crds"], "apiextensions.k8s.io", "v1"),
    ("apiservices", "apiservice", &[], "apiregistration.k8s.io", "v1"),
    ("flowschemas", "flowschema", &[], FLOW, "v1"),
    ("prioritylevelconfigurations", "prioritylevelconfiguration", &[], FLOW, "v1"),
    ("deviceclasses", "deviceclass", &[], RESOURCE, "v1"),
    ("resourceclaims", "resourceclaim", &[], RESOURCE, "v1"),
    ("resourceclaimtemplates", "resourceclaimtemplate", &[], RESOURCE, "v1"),
    ("resourceslices", "resourceslice", &[], RESOURCE, "v1"),
    ("storageversionmigrations", "storageversionmigration", &[], "storagemigration.k8s.io", "v1beta1"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_found_by_plural_singular_and_short_name() {
        for (name, path) in [
            ("po", "/api/v1/pods"),
            ("Pod", "/api/v1/pods"),
            ("pods", "/api/v1/pods"),
            ("deploy", "/apis/apps/v1/deployments"),
            ("deployments.apps", "/apis/apps/v1/deployments"),
            ("deployments.v1.apps", "/apis/apps/v1/deployments"),
            ("events", "/api/v1/events"),
            ("events.events.k8s.io", "/apis/events.k8s.io/v1/events"),
            ("hpa", "/apis/autoscaling/v2/horizontalpodautoscalers"),
        ] {
            assert_eq!(
                BuiltIn::named(name).map(|built_in| built_in.path(None)).as_deref(),
                Some(path),
                "{name}"
            );
        }
        assert_eq!(BuiltIn::named("widgets.example.com"), None);
        assert_eq!(BuiltIn::named("deployments.example.com"), None);
    }

    #[test]
    fn short_names_are_unique_within_a_group() {
        for (at, (_, _, short, group, _)) in ROWS.iter().enumerate() {
            for name in *short {
                let index = ROWS.iter().position(|(plural, singular, other, own, _)| {
                    own == group && (plural == name || singular == name || other.contains(name))
                });
                assert_eq!(index, Some(at), "{name}");
            }
        }
    }
}
