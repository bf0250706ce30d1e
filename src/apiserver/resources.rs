//! Built-in groups and resources: cluster-scoped ones, supported field selectors, and resources that are not stored.

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

/// Cluster-scoped built-in resources of all versions from 1.19.
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

/// The resource name of overflow rows. Such a row counts requests for several resources, because there were too many
/// to keep each one.
pub(crate) const OTHER: &str = "(other resources)";
/// Like [`OTHER`], but for resources that the configuration lists as uncached. Such a row keeps the verdicts of
/// resources without a watch cache. Reports show this name as [`OTHER`].
pub(crate) const OTHER_UNCACHED: &str = "(other uncached resources)";
/// The API group of [`OTHER`] in rows whose resources belong to an aggregated API server.
pub(crate) const AGGREGATED_GROUP: &str = "(aggregated groups)";
/// The API group of [`OTHER`] in rows whose resources are neither built in nor of an aggregated API server.
pub(crate) const OTHER_GROUP: &str = "(other groups)";

/// Whether this is the resource name of an overflow row, [`OTHER`] or [`OTHER_UNCACHED`].
#[must_use]
pub(crate) fn is_overflow(resource: &str) -> bool {
    matches!(resource, OTHER | OTHER_UNCACHED)
}

/// Whether the model treats this resource in a special way, so that verdicts depend on its name. The server's
/// configuration does not matter here.
#[must_use]
pub(crate) fn is_named_by_model(group: &str, resource: &str, subresource: &str) -> bool {
    (matches!(group, "" | "events.k8s.io") && resource == "events")
        || matches!(group, "metrics.k8s.io" | "custom.metrics.k8s.io" | "external.metrics.k8s.io")
        || is_never_stored(group, resource, subresource)
        || is_connection(group, resource, subresource)
}

/// Whether kube-apiserver serves the group itself. Other groups belong to custom resources or aggregated API servers.
#[must_use]
pub(crate) fn is_built_in_group(group: &str) -> bool {
    BUILT_IN_GROUPS.contains(&group)
}

/// Whether a built-in resource is cluster-scoped; `None` for a resource that is not built in.
#[must_use]
pub(crate) fn is_cluster_scoped(group: &str, resource: &str) -> Option<bool> {
    is_built_in_group(group).then(|| CLUSTER_SCOPED.contains(&resource))
}

/// Whether the name `resource` or `resource.group` refers to this resource. A name without a group is in the core
/// group.
#[must_use]
pub(crate) fn is_named(named: &str, group: &str, resource: &str) -> bool {
    match named.split_once('.') {
        Some((named_resource, named_group)) => named_resource == resource && named_group == group,
        None => named == resource && group.is_empty(),
    }
}

/// Whether a field selector can use a field label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldLabel {
    /// The server supports it.
    Supported,
    /// The server returns 400.
    Unsupported,
    /// A custom resource can declare the label (`selectableFields`). Otherwise the server returns 400.
    IfDeclared,
}

/// Whether the field selector of a resource can use a field label.
///
/// Source: the `AddFieldLabelConversionFunc` calls of kubernetes `pkg/apis/*/v1/conversion.go`; for other resources
/// k8s.io/apimachinery `pkg/runtime/scheme.go:DefaultMetaV1FieldSelectorConversion`; for custom resources KEP-4358.
#[must_use]
pub(crate) fn field_label(group: &str, resource: &str, label: &str) -> FieldLabel {
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

/// Whether the server computes a resource instead of storing it: reviews, tokens, and component statuses. A GET or LIST
/// of component statuses runs health probes.
#[must_use]
pub(crate) fn is_never_stored(group: &str, resource: &str, subresource: &str) -> bool {
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

/// Whether a subresource connects the client to a kubelet, pod or service. The server first reads that object from
/// etcd, independent of the query.
///
/// Source: kubernetes `pkg/registry/core/pod/strategy.go:getPod` and the `ResourceLocation` functions of
/// `pkg/registry/core/{node,service}`. All use empty `GetOptions`.
#[must_use]
pub(crate) fn is_connection(group: &str, resource: &str, subresource: &str) -> bool {
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
    fn field_label_support_depends_on_the_resource() {
        assert_eq!(field_label("", "pods", "spec.nodeName"), FieldLabel::Supported);
        assert_eq!(field_label("", "pods", "bogus.field"), FieldLabel::Unsupported);
        assert_eq!(field_label("", "configmaps", "metadata.namespace"), FieldLabel::Supported);
        assert_eq!(field_label("", "events", "involvedObject.name"), FieldLabel::Supported);
        assert_eq!(field_label("example.com", "widgets", "spec.color"), FieldLabel::IfDeclared);
    }

    #[test]
    fn resource_tables_are_sorted() {
        assert!(BUILT_IN_GROUPS.is_sorted());
        assert!(CLUSTER_SCOPED.is_sorted());
    }
}
