//! Guesses the workload of a pod from the name of the pod.

/// Whether all characters are from the alphabet of generated names: no vowels, and no characters that look alike.
///
/// Source: k8s.io/apimachinery `pkg/util/rand/rand.go:alphanums`.
pub(crate) fn is_generated(text: &str) -> bool {
    text.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte))
}

/// Guesses the name of a pod's workload. It removes the generated suffixes of the pod's name:
/// - two for a Deployment or `CronJob`
/// - one for a `DaemonSet` or Job
/// - the ordinal for a `StatefulSet`
///
/// Source: k8s.io/apiserver `pkg/storage/names/generate.go` (five generated characters), kubernetes
/// `pkg/controller/controller_utils.go:ComputeHash` (up to ten), `pkg/controller/statefulset/stateful_set_utils.go`.
#[must_use]
pub(crate) fn workload(pod: &str) -> &str {
    let Some((rest, last)) = pod.rsplit_once('-') else { return pod };
    if is_ordinal(last) {
        return rest;
    }
    if !is_random(last) {
        return pod;
    }
    match rest.rsplit_once('-') {
        Some((owner, time)) if is_scheduled_time(time) => owner,
        Some((owner, hash)) if (6..=10).contains(&hash.len()) && is_generated(hash) => owner,
        // The pod of a Job with a generated name. Requiring a digit excludes words such as httpd.
        Some((owner, name)) if is_random(name) && name.bytes().any(|byte| byte.is_ascii_digit()) => owner,
        _ => rest,
    }
}

/// Whether the text can be the ordinal of a `StatefulSet` pod.
pub(crate) fn is_ordinal(text: &str) -> bool {
    (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the text can be the suffix that the server adds to `generateName`.
pub(crate) fn is_random(text: &str) -> bool {
    text.len() == 5 && is_generated(text)
}

/// Returns the name of a pod's `ReplicaSet`. The pod's name must look like that of a Deployment's pod, such as
/// `web-5d4f8c7b9-x2k4q`; otherwise returns `None`.
#[must_use]
pub(crate) fn replica_set(pod: &str) -> Option<&str> {
    let (set, last) = pod.rsplit_once('-')?;
    let (_, hash) = set.rsplit_once('-')?;
    let is_hash = (6..=10).contains(&hash.len()) && is_generated(hash);
    // A Job of a CronJob has the scheduled minute in its name. This minute contains only digits.
    let is_minute = hash.bytes().all(|byte| byte.is_ascii_digit());
    (last.len() == 5 && is_generated(last) && is_hash && !is_minute).then_some(set)
}

/// Whether the text can be the scheduled time (in minutes) in the name of a `CronJob`'s Job.
///
/// Source: kubernetes `pkg/controller/cronjob/utils.go:getTimeHashInMinutes`. Before 1.21 the time was in seconds.
fn is_scheduled_time(text: &str) -> bool {
    matches!(text.len(), 8 | 10) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the pod's name looks like that of a `CronJob`'s pod: it ends with a scheduled time and a generated suffix.
#[must_use]
pub(crate) fn is_cron_job_pod(pod: &str) -> bool {
    let Some((job, last)) = pod.rsplit_once('-') else { return false };
    is_random(last) && job.rsplit_once('-').is_some_and(|(_, time)| is_scheduled_time(time))
}

/// Whether the pod's name looks like that of a pod of a Deployment or `StatefulSet`. Their controllers replace pods
/// that end.
#[must_use]
pub(crate) fn is_replaced(pod: &str) -> bool {
    replica_set(pod).is_some() || pod.rsplit_once('-').is_some_and(|(_, last)| is_ordinal(last))
}

/// Whether the pod can belong to a Job. The names of `DaemonSet` pods look the same.
#[must_use]
pub(crate) fn may_be_job_pod(pod: &str) -> bool {
    !is_replaced(pod) && pod.rsplit_once('-').is_some_and(|(_, last)| is_random(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replica_set_is_found_only_in_deployment_pod_names() {
        assert_eq!(replica_set("web-6d4cf56db6-x2x8q"), Some("web-6d4cf56db6"));
        for pod in [
            "nightly-28412345-b8xqz",
            "nightly-28456789-b8xqz",
            "node-agent-zk7wp",
            "db-0",
            "single",
            "",
            "-",
        ] {
            assert_eq!(replica_set(pod), None, "{pod}");
        }
    }

    #[test]
    fn workload_removes_generated_suffixes() {
        for (pod, owner) in [
            ("web-6d4cf56db6-x2x8q", "web"),
            ("node-agent-zk7wp", "node-agent"),
            ("db-0", "db"),
            ("db-12", "db"),
            ("nightly-28412345-b8xqz", "nightly"),
            ("nightly-28445678-b8xqz", "nightly"),
            ("nightly-1704740700-b8xqz", "nightly"),
            ("backup-x7k2p-b8xqz", "backup"),
            ("my-httpd-b8xqz", "my-httpd"),
            ("single", "single"),
            ("coredns-abcde", "coredns-abcde"),
            ("kube-proxy-node-17-x", "kube-proxy-node-17-x"),
            ("", ""),
            ("-", "-"),
        ] {
            assert_eq!(workload(pod), owner, "{pod}");
        }
    }

    #[test]
    fn pod_names_show_jobs_and_replaced_pods() {
        for (pod, is_cron, is_replaced, may_be_job) in [
            ("nightly-28412345-b8xqz", true, false, true),
            ("nightly-1704740700-b8xqz", true, false, true),
            ("nightly-2841234-b8xqz", false, false, true),
            ("nightly-28412345", false, false, false),
            ("backup-x7k2p", false, false, true),
            ("web-6d4cf56db6-x2x8q", false, true, false),
            ("db-0", false, true, false),
            ("single", false, false, false),
            ("", false, false, false),
        ] {
            let results = (is_cron_job_pod(pod), super::is_replaced(pod), may_be_job_pod(pod));
            assert_eq!(results, (is_cron, is_replaced, may_be_job), "{pod}");
        }
    }
}
