//! From a pod's name to its workload's.

/// The alphabet of generated names: no vowels, and nothing that is easily mistaken.
///
/// Source: k8s.io/apimachinery `pkg/util/rand/rand.go:alphanums`.
fn is_generated(text: &str) -> bool {
    text.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte))
}

/// The name of the workload that a pod belongs to, as far as the pod's name tells: without the two generated
/// endings that a Deployment makes, the one of a `DaemonSet` or a Job, or the number of a `StatefulSet`.
///
/// Source: k8s.io/apiserver `pkg/storage/names/generate.go` (five generated characters), kubernetes
/// `pkg/controller/controller_utils.go:ComputeHash` (up to ten), `pkg/controller/statefulset/stateful_set_utils.go`.
#[must_use]
pub fn workload(pod: &str) -> &str {
    let Some((rest, last)) = pod.rsplit_once('-') else { return pod };
    if !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()) && last.len() <= 4 {
        return rest;
    }
    if last.len() != 5 || !is_generated(last) {
        return pod;
    }
    match rest.rsplit_once('-') {
        // A CronJob's Jobs are named by the minute.
        Some(_) if is_of_cron_job(rest) => rest,
        Some((owner, hash)) if (6..=10).contains(&hash.len()) && is_generated(hash) => owner,
        _ => rest,
    }
}

/// The name of the `ReplicaSet` that made a pod, if the pod's name looks like one of a `ReplicaSet` of a Deployment.
#[must_use]
pub fn replica_set(pod: &str) -> Option<&str> {
    let (set, last) = pod.rsplit_once('-')?;
    let (_, hash) = set.rsplit_once('-')?;
    let is_hash = (6..=10).contains(&hash.len()) && is_generated(hash);
    // A CronJob's Jobs are named by the minute: all digits.
    let is_minute = hash.bytes().all(|byte| byte.is_ascii_digit());
    (last.len() == 5 && is_generated(last) && is_hash && !is_minute).then_some(set)
}

/// Whether a workload is a Job of a `CronJob`, as far as its name tells: it ends with the scheduled time.
///
/// Source: kubernetes `pkg/controller/cronjob/utils.go:getTimeHashInMinutes`; before 1.21 the time was in seconds.
#[must_use]
pub fn is_of_cron_job(workload: &str) -> bool {
    let time = workload.rsplit_once('-').map_or("", |(_, time)| time);
    matches!(time.len(), 8 | 10) && time.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_a_replica_sets_pods_name_one() {
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
    fn generated_endings_are_left_out() {
        for (pod, owner) in [
            ("web-6d4cf56db6-x2x8q", "web"),
            ("node-agent-zk7wp", "node-agent"),
            ("db-0", "db"),
            ("db-12", "db"),
            ("nightly-28412345-b8xqz", "nightly-28412345"),
            ("nightly-28445678-b8xqz", "nightly-28445678"),
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
    fn cron_jobs_are_known_by_the_scheduled_time() {
        for (workload, expected) in [
            ("nightly-28412345", true),
            ("nightly-1704740700", true),
            ("nightly", false),
            ("nightly-2841234", false),
            ("nightly-2841234x", false),
            ("", false),
        ] {
            assert_eq!(is_of_cron_job(workload), expected, "{workload}");
        }
    }
}
