//! Confirms the version claims of access lines.

use super::request::Request;
use super::version_claim::{ClaimSource, VersionClaim};
use crate::apiserver::Target;
use crate::k8s::Verb;

/// The version claim of the request's client. In an access log, the user agent names a component without proof. The
/// claim is confirmed if the server served a request that only this component may send.
#[must_use]
pub(crate) fn confirmed_claim(request: &Request<'_>) -> Option<VersionClaim> {
    let claim = request.client.version_claim?;
    Some(match claim.claimed.filter(|claimed| may_only(*claimed, request)) {
        Some(by) => VersionClaim { by, claimed: None, ..claim },
        None => claim,
    })
}

/// Whether the server served this request, and only this component may send such a request. The request must be an
/// update or patch of one of these objects:
/// - kube-controller-manager, kube-scheduler: the component's own leader election lock
/// - kubelet: a node's lease, or a node's status
/// - kube-apiserver: the endpoints of the `kubernetes` Service
fn may_only(component: ClaimSource, request: &Request<'_>) -> bool {
    let shape = request.shape();
    let is_served = request.status.is_some_and(|status| (200..300).contains(&status));
    if !is_served || !matches!(shape.verb, Verb::Update | Verb::Patch) {
        return false;
    }
    let Target::Resource { group, resource, subresource, .. } = shape.target else { return false };
    let namespace = request.spec.namespace;
    let path = request.uri.split('?').next().unwrap_or_default();
    let leads = |name: &str| {
        namespace == "kube-system"
            && matches!((group, resource), ("coordination.k8s.io", "leases") | ("", "endpoints"))
            && path.ends_with(name)
    };
    match component {
        ClaimSource::ControllerManager => leads("/kube-controller-manager"),
        ClaimSource::Scheduler => leads("/kube-scheduler"),
        ClaimSource::Kubelet => {
            (namespace, group, resource) == ("kube-node-lease", "coordination.k8s.io", "leases")
                || (group, resource, subresource) == ("", "nodes", "status")
        }
        ClaimSource::ApiServer => {
            (namespace, group, resource) == ("default", "", "endpoints") && path.ends_with("/kubernetes")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::klog::AccessLine;
    use crate::input::SourcePosition;
    use crate::requests::Classifier;

    #[test]
    fn access_line_claims_are_confirmed_by_privileged_writes() {
        let confirmed = |verb: &str, uri: &str, product: &str, status| {
            let user_agent = format!("{product}/v1.30.4 (linux/amd64) kubernetes/a51b3b7");
            let line = AccessLine {
                verb: verb.into(),
                uri: uri.into(),
                user_agent: user_agent.as_str().into(),
                source: "10.0.0.7:5".into(),
                status: Some(status),
                ..AccessLine::default()
            };
            let place = SourcePosition { source: 0, offset: 0, line: 1 };
            let mut classifier = Classifier::default();
            let request = classifier.line(&line, None, place);
            confirmed_claim(&request).expect("a version claim").by
        };
        let leases = "/apis/coordination.k8s.io/v1/namespaces";
        let node = format!("{leases}/kube-node-lease/leases/n1?timeout=10s");
        let leader = format!("{leases}/kube-system/leases/kube-scheduler");
        assert_eq!(confirmed("PUT", &node, "kubelet", 200), ClaimSource::Kubelet);
        assert_eq!(confirmed("PUT", &node, "kubelet", 403), ClaimSource::Unconfirmed);
        assert_eq!(confirmed("PUT", &node, "kube-scheduler", 200), ClaimSource::Unconfirmed);
        assert_eq!(confirmed("PUT", &leader, "kube-scheduler", 200), ClaimSource::Scheduler);
        assert_eq!(confirmed("PUT", &leader, "kube-controller-manager", 200), ClaimSource::Unconfirmed);
        assert_eq!(confirmed("GET", "/api/v1/nodes/n1", "kubelet", 200), ClaimSource::Unconfirmed);
        assert_eq!(confirmed("PATCH", "/api/v1/nodes/n1/status", "kubelet", 200), ClaimSource::Kubelet);
    }
}
