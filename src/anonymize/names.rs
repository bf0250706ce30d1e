//! Pseudonyms for names of objects, users, groups and resources.

use super::{Anonymizer, public};
use crate::k8s::identity::service_account;
use crate::k8s::pod_name;

impl Anonymizer {
    /// Returns a pseudonym for a namespace, a node, a user, a group, or an object other than a pod.
    pub(super) fn name(&self, name: &str) -> String {
        if name.is_empty() || public::is_name(name) {
            return name.to_owned();
        }
        if name.starts_with("system:") {
            return self.user(name);
        }
        match public::around_star(name).filter(|(_, inner, _)| !inner.is_empty()) {
            Some((before, inner, behind)) => format!("{before}{}{behind}", self.word(inner)),
            None => self.word(name),
        }
    }

    /// Returns a pseudonym for a pod. Generated suffixes keep their format, because kubetoll uses them to find the
    /// workload.
    pub(super) fn pod(&self, pod: &str) -> String {
        let workload = pod_name::workload(pod);
        let mut out = self.name(workload);
        let mut end = workload.len();
        for part in pod[end..].split('-').skip(1) {
            let before = &pod[..end];
            out.push('-');
            out.push_str(&if pod_name::is_ordinal(part) {
                self.ordinal(before, part)
            } else {
                self.generated(before, part)
            });
            end += 1 + part.len();
        }
        out
    }

    /// Returns a pseudonym for the name of an object of this resource.
    pub(super) fn object(&self, group: &str, resource: &str, name: &str) -> String {
        if group.is_empty() && resource == "pods" { self.pod(name) } else { self.name(name) }
    }

    /// Returns a pseudonym for a user or a group.
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

    /// Returns a pseudonym for an API group.
    pub(super) fn group(&self, group: &str) -> String {
        if public::is_group(group) || self.configured.contains(group) {
            group.to_owned()
        } else {
            format!("{}.example.com", self.word(group))
        }
    }

    /// Returns a pseudonym for a resource of an API group. Keeps `namespaces` in each group, because the server reads
    /// that segment of any path as the prefix of a namespace (`RequestInfoFactory.NewRequestInfo`).
    pub(super) fn resource(&self, group: &str, resource: &str) -> String {
        let is_public = public::is_group(group) && public::is_resource(resource);
        let name = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
        if matches!(resource, "" | "namespaces") || is_public || self.configured.contains(&name) {
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

    /// Returns a pseudonym for an API version.
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
        Anonymizer::new(Key::from_text("a"), &["things.example.org".to_owned()])
    }

    #[test]
    fn pod_pseudonyms_keep_the_kind_of_workload() {
        let anonymizer = anonymizer();
        for (pod, others) in [
            ("web-6d4cf56db6-x2x8q", &["web"][..]),
            ("db-12", &["db"]),
            ("nightly-28412345-b8xqz", &["nightly"]),
            ("node-agent-zk7wp", &["node-agent"]),
            ("single", &[]),
        ] {
            let other = anonymizer.pod(pod);
            assert_eq!(pod_name::is_replaced(&other), pod_name::is_replaced(pod), "{pod} {other}");
            assert_eq!(pod_name::is_cron_job_pod(&other), pod_name::is_cron_job_pod(pod), "{pod} {other}");
            assert_eq!(pod_name::may_be_job_pod(&other), pod_name::may_be_job_pod(pod), "{pod} {other}");
            assert_eq!(pod_name::workload(&other), anonymizer.name(pod_name::workload(pod)), "{pod} {other}");
            for name in others {
                assert!(!other.contains(name), "{pod} {other}");
            }
        }
    }

    #[test]
    fn names_of_other_objects_keep_no_suffix() {
        let anonymizer = anonymizer();
        let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase());
        for name in ["employee-1234", "ip-10-0-12-34", "team-6d4cf56db6-x2x8q", "web-zk7wp"] {
            assert!(is_word(&anonymizer.name(name)) && is_word(&anonymizer.user(name)), "{name}");
            let node = anonymizer.user(&format!("system:node:{name}"));
            assert_eq!(node, format!("system:node:{}", anonymizer.name(name)));
        }
        for target in
            ["/api/v1/nodes/ip-10-0-12-34", "/api/v1/pods?fieldSelector=spec.nodeName%3Dip-10-0-12-34"]
        {
            assert!(!anonymizer.target(target).contains("-34"), "{target}");
        }
        let pod = anonymizer.pod("db-7");
        let targets = [
            "/api/v1/namespaces/shop/pods/db-7",
            "/api/v1/namespaces/shop/pods/db-7/log",
            "/api/v1/pods?fieldSelector=metadata.name%3Ddb-7",
        ];
        assert!(targets.iter().all(|target| anonymizer.target(target).contains(&pod)), "{pod}");
        let selected = "/apis/apps/v1/statefulsets?fieldSelector=metadata.name%3Ddb-7";
        assert!(anonymizer.target(selected).ends_with(&anonymizer.name("db-7")), "{pod}");
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
