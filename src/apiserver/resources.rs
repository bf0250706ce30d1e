//! What the server knows of its built-in resources: which groups are its own, which resources have no namespaces,
//! which fields a selector may name, and which are not stored at all.

/// API groups that kube-apiserver itself serves.
const BUILT_IN_GROUPS: [&str; 25] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "settings.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Built-in resources without namespaces, over all versions from 1.19.
const CLUSTER_SCOPED: [&str; 35] = [
    "apiservices",
    "certificatesigningrequests",
    "clusterrolebindings",
    "clusterroles",
    "clustertrustbundles",
    "componentstatuses",
    "csidrivers",
    "csinodes",
    "customresourcedefinitions",
    "deviceclasses",
    "devicetaintrules",
    "flowschemas",
    "ingressclasses",
    "ipaddresses",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "namespaces",
    "nodes",
    "persistentvolumes",
    "podsecuritypolicies",
    "priorityclasses",
    "prioritylevelconfigurations",
    "resourceslices",
    "runtimeclasses",
    "selfsubjectaccessreviews",
    "servicecidrs",
    "storageclasses",
    "storageversionmigrations",
    "storageversions",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
    "volumeattachments",
    "volumeattributesclasses",
];

/// Name of the overflow resource.
pub const OTHER: &str = "(other resources)";
/// Name of the overflow resource without a watch cache. Reports show it as [`OTHER`].
pub const OTHER_UNCACHED: &str = "(other uncached resources)";
/// Group of overflow resources that an aggregated server answers.
pub const AGGREGATED_GROUP: &str = "(aggregated groups)";
/// Group of overflow resources that are not built in.
pub const OTHER_GROUP: &str = "(other groups)";

/// Whether a name stands for several resources.
#[must_use]
pub fn is_overflow(resource: &str) -> bool {
    matches!(resource, OTHER | OTHER_UNCACHED)
}

/// Whether the verdict on a resource depends on its name, with any configuration of the server.
#[must_use]
pub fn is_named_by_model(group: &str, resource: &str, subresource: &str) -> bool {
    (matches!(group, "" | "events.k8s.io") && resource == "events")
        || matches!(group, "metrics.k8s.io" | "custom.metrics.k8s.io" | "external.metrics.k8s.io")
        || is_never_stored(group, resource, subresource)
        || is_connection(group, resource, subresource)
}

/// Whether kube-apiserver serves the group itself; any other group is a custom resource's or an aggregated server's.
#[must_use]
pub fn is_built_in_group(group: &str) -> bool {
    BUILT_IN_GROUPS.contains(&group)
}

/// Whether a built-in resource has no namespaces; `None` for a resource that is not built in.
#[must_use]
pub fn is_cluster_scoped(group: &str, resource: &str) -> Option<bool> {
    is_built_in_group(group).then(|| CLUSTER_SCOPED.contains(&resource))
}

/// Whether `resource` or `resource.group` names this resource; without a group it names the core group's.
#[must_use]
pub fn is_named(named: &str, group: &str, resource: &str) -> bool {
    match named.split_once('.') {
        Some((named_resource, named_group)) => named_resource == resource && named_group == group,
        None => named == resource && group.is_empty(),
    }
}

/// What a field selector on a label means to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldLabel {
    /// The server selects by it.
    Supported,
    /// The server answers 400.
    Unsupported,
    /// A custom resource may declare it (`selectableFields`); else the server answers 400.
    IfDeclared,
}

/// Whether a resource's field selector may name a label.
///
/// Source: the `AddFieldLabelConversionFunc` calls of kubernetes `pkg/apis/*/v1/conversion.go`; everything else has
/// k8s.io/apimachinery `pkg/runtime/scheme.go:DefaultMetaV1FieldSelectorConversion`; custom resources, KEP-4358.
#[must_use]
pub fn field_label(group: &str, resource: &str, label: &str) -> FieldLabel {
    if matches!(label, "metadata.name" | "metadata.namespace") {
        return FieldLabel::Supported;
    }
    if !is_built_in_group(group) {
        return FieldLabel::IfDeclared;
    }
    let supported = match (group, resource) {
        ("", "pods") => matches!(
            label,
            "spec.nodeName"
                | "spec.restartPolicy"
                | "spec.schedulerName"
                | "spec.serviceAccountName"
                | "spec.hostNetwork"
                | "status.phase"
                | "status.podIP"
                | "status.podIPs"
                | "status.hostIP"
                | "status.hostIPs"
                | "status.nominatedNodeName"
        ),
        ("", "nodes") => label == "spec.unschedulable",
        ("", "namespaces") => matches!(label, "status.phase" | "name"),
        ("", "secrets") => label == "type",
        ("", "services") => matches!(label, "spec.clusterIP" | "spec.type"),
        ("", "replicationcontrollers") => matches!(label, "status.replicas" | "name"),
        ("", "events") => {
            label.strip_prefix("involvedObject.").is_some_and(is_object_reference_field)
                || matches!(label, "reason" | "reportingComponent" | "source" | "type")
        }
        ("events.k8s.io", "events") => {
            label.strip_prefix("regarding.").is_some_and(is_object_reference_field)
                || matches!(label, "reason" | "reportingController" | "type")
        }
        ("apps", "statefulsets") | ("batch", "jobs") => label == "status.successful",
        ("apps" | "extensions", "replicasets") => label == "status.replicas",
        ("certificates.k8s.io", "certificatesigningrequests") => label == "spec.signerName",
        ("certificates.k8s.io", "clustertrustbundles" | "podcertificaterequests") => {
            matches!(label, "spec.signerName" | "spec.podName" | "spec.nodeName")
        }
        ("resource.k8s.io", "resourceslices") => {
            matches!(label, "spec.nodeName" | "spec.driver" | "nodeName" | "driverName")
        }
        _ => false,
    };
    if supported { FieldLabel::Supported } else { FieldLabel::Unsupported }
}

fn is_object_reference_field(field: &str) -> bool {
    matches!(field, "kind" | "namespace" | "name" | "uid" | "apiVersion" | "resourceVersion" | "fieldPath")
}

/// Whether a resource is answered without being stored: reviews, tokens, and component statuses, whose GET and
/// LIST run health probes.
#[must_use]
pub fn is_never_stored(group: &str, resource: &str, subresource: &str) -> bool {
    match group {
        "authentication.k8s.io" => matches!(resource, "tokenreviews" | "selfsubjectreviews"),
        "authorization.k8s.io" => matches!(
            resource,
            "subjectaccessreviews"
                | "localsubjectaccessreviews"
                | "selfsubjectaccessreviews"
                | "selfsubjectrulesreviews"
        ),
        "" => resource == "componentstatuses" || (resource, subresource) == ("serviceaccounts", "token"),
        _ => false,
    }
}

/// Whether a subresource connects the client through to something else. The server first reads the object behind
/// it from etcd, whatever the query says.
///
/// Source: kubernetes `pkg/registry/core/pod/strategy.go:getPod` and the `ResourceLocation` functions of
/// `pkg/registry/core/{node,service}`: all with empty `GetOptions`.
#[must_use]
pub fn is_connection(group: &str, resource: &str, subresource: &str) -> bool {
    group.is_empty()
        && match resource {
            "pods" => matches!(subresource, "log" | "exec" | "attach" | "portforward" | "proxy"),
            "nodes" | "services" => subresource == "proxy",
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_labels() {
        assert_eq!(field_label("", "pods", "spec.nodeName"), FieldLabel::Supported);
        assert_eq!(field_label("", "pods", "bogus.field"), FieldLabel::Unsupported);
        assert_eq!(field_label("", "configmaps", "metadata.namespace"), FieldLabel::Supported);
        assert_eq!(field_label("", "events", "involvedObject.name"), FieldLabel::Supported);
        assert_eq!(field_label("example.com", "widgets", "spec.color"), FieldLabel::IfDeclared);
    }

    #[test]
    fn tables_are_sorted() {
        assert!(BUILT_IN_GROUPS.is_sorted());
        assert!(CLUSTER_SCOPED.is_sorted());
    }
}
