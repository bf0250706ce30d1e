//! Names of objects, users, groups and resources.

use super::{Anonymizer, public};
use crate::k8s::identity::service_account;
use crate::k8s::pod_name;

impl Anonymizer {
    /// A name of an object or a namespace. What Kubernetes appends to a pod's name stays of the same form: kubetoll finds
    /// workloads by it.
    pub(super) fn name(&self, name: &str) -> String {
        if name.is_empty() || public::is_name(name) {
            return name.to_owned();
        }
        if name.starts_with("system:") {
            return self.user(name);
        }
        let base = pod_name::workload(name);
        let (base, end) = name.split_at(base.len());
        let base = if public::is_name(base) {
            base.to_owned()
        } else if let Some((before, inner, behind)) =
            public::around_star(base).filter(|(_, inner, _)| !inner.is_empty())
        {
            format!("{before}{}{behind}", self.word(inner))
        } else {
            self.word(base)
        };
        base + &self.ending(end)
    }

    /// What Kubernetes appends. Ordinals and times are kept.
    fn ending(&self, ending: &str) -> String {
        let one = |part: &str| {
            let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
            if is_number { part.to_owned() } else { self.generated(part) }
        };
        ending.split('-').map(one).collect::<Vec<String>>().join("-")
    }

    /// A user or a group.
    pub(super) fn user(&self, name: &str) -> String {
        if name.is_empty() || public::is_system(name) {
            return name.to_owned();
        }
        if let Some((namespace, own)) = service_account(name) {
            return format!("system:serviceaccount:{}:{}", self.name(namespace), self.name(own));
        }
        if let Some(node) = name.strip_prefix("system:node:").filter(|node| !node.is_empty()) {
            return format!("system:node:{}", self.name(node));
        }
        if let Some(namespace) = name.strip_prefix("system:serviceaccounts:") {
            return format!("system:serviceaccounts:{}", self.name(namespace));
        }
        if let Some(rest) = name.strip_prefix("system:") {
            return format!("system:{}", self.word(rest));
        }
        self.name(name)
    }

    /// An API group.
    pub(super) fn group(&self, group: &str) -> String {
        if public::is_group(group) || self.configured.contains(group) {
            group.to_owned()
        } else {
            format!("{}.example.com", self.word(group))
        }
    }

    /// A resource of a group.
    pub(super) fn resource(&self, group: &str, resource: &str) -> String {
        let is_public = public::is_group(group) && public::is_resource(resource);
        let name = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
        if resource.is_empty() || is_public || self.configured.contains(&name) {
            resource.to_owned()
        } else {
            self.word(&name)
        }
    }

    pub(super) fn subresource(&self, subresource: &str) -> String {
        if subresource.is_empty() || public::is_subresource(subresource) {
            subresource.to_owned()
        } else {
            self.word(subresource)
        }
    }

    /// A version of an API.
    pub(super) fn version(&self, version: &str) -> String {
        if version.is_empty() || public::is_version(version) {
            version.to_owned()
        } else {
            self.word(version)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Key;
    use super::*;
    use crate::k8s::{Identity, Kind};

    fn anonymizer() -> Anonymizer {
        Anonymizer::new(Key::of_text("a"), &["things.example.org".to_owned()])
    }

    #[test]
    fn names_keep_what_workloads_are_found_by() {
        let anonymizer = anonymizer();
        for (pod, others) in [
            ("web-6d4cf56db6-x2x8q", &["web"][..]),
            ("db-12", &["db"]),
            ("nightly-28412345-b8xqz", &["nightly"]),
            ("node-agent-zk7wp", &["node-agent"]),
            ("single", &[]),
        ] {
            let other = anonymizer.name(pod);
            assert_eq!(pod_name::runs_on(&other), pod_name::runs_on(pod), "{pod} {other}");
            assert_eq!(pod_name::is_of_cron_job(&other), pod_name::is_of_cron_job(pod), "{pod} {other}");
            assert_eq!(pod_name::may_be_of_job(&other), pod_name::may_be_of_job(pod), "{pod} {other}");
            assert_eq!(pod_name::workload(&other), anonymizer.name(pod_name::workload(pod)), "{pod} {other}");
            for name in others {
                assert!(!other.contains(name), "{pod} {other}");
            }
        }
    }

    #[test]
    fn users_keep_their_kind_and_share_the_names_of_their_objects() {
        let anonymizer = anonymizer();
        for user in [
            "alice",
            "alice@example.com",
            "system:acme",
            "system:serviceaccount:shop:cart",
            "system:serviceaccount:shop",
            "system:node:n-1.example.com",
            "system:node:",
            "system:apiserver",
            "system:serviceaccount:kube-system:replicaset-controller",
            "",
        ] {
            let other = anonymizer.user(user);
            assert_eq!(Identity::resolve(&other).kind, Identity::resolve(user).kind, "{user} {other}");
            for name in ["alice", "acme", "shop", "cart", "n-1"] {
                assert!(!other.contains(name), "{user} {other}");
            }
        }
        let other = anonymizer.user("system:serviceaccount:shop:cart");
        assert_eq!(
            other,
            format!("system:serviceaccount:{}:{}", anonymizer.name("shop"), anonymizer.name("cart"))
        );
        assert_eq!(Identity::resolve("system:kube-scheduler").kind, Kind::ControlPlane);
    }

    #[test]
    fn configured_resources_are_kept_and_other_custom_ones_are_not() {
        let anonymizer = anonymizer();
        assert_eq!(anonymizer.resource("example.org", "things"), "things");
        assert_eq!(anonymizer.group("example.org"), "example.org");
        assert_ne!(anonymizer.resource("example.net", "things"), "things");
        assert_ne!(anonymizer.resource("", "things"), "things");
        assert_eq!(anonymizer.resource("apps", "deployments"), "deployments");
    }
}
