//! Finds out whether the instances of a client run forever, or end like a one-shot job.

use compact_str::CompactString;
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use super::time::SECOND;
use crate::k8s::pod_name;
use crate::ledger::InstanceHistory;
use crate::ledger::instance_histories::RequestKind;
use crate::requests::{Instance, InstanceKind};

/// An instance has ended only if it sends no requests for at least this time. A shorter time may be a pause between
/// two reads. In microseconds.
const SILENCE: i64 = 60 * SECOND;
/// An instance has ended only if its silence is at least this many times its longest pause between requests.
const PAUSES: i64 = 3;
/// The instances of a client likely end only if at least this many of them started and ended in the log. For clients
/// with few pods, see [`FEW`].
const MANY: usize = 3;
/// For a client with at most this many pods, the names of the pods show whether they can be one-shot jobs.
const FEW: usize = 2;
/// The maximum duration of a job whose end is not in the log, in microseconds.
const LONGEST: i64 = 3_600 * SECOND;

/// Whether the instances of a client's product run forever or end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Running {
    /// The log does not show that they end.
    #[default]
    On,
    /// They may have ended within the log, or they may run on and read only at their start.
    MayEnd,
    /// They start, run for a short time and end.
    LikelyEnds,
    /// All are pods of a `CronJob`.
    Ends,
}

/// One instance, with the time of its first and last request.
struct ObservedInstance<'l> {
    client: (u64, u64),
    instance: &'l Instance<CompactString>,
    from: i64,
    to: i64,
    /// The instance's history for each kind of request: LIST, WATCH, GET.
    histories: [Option<&'l InstanceHistory>; 3],
}

/// The names of instances that are nodes, by client.
pub(super) type Nodes = HashMap<u64, Vec<CompactString>, FxBuildHasher>;

/// Finds whether the instances of each client and product run forever or end. Also finds which instances are nodes.
/// `kinds` are the histories of LIST, WATCH and GET.
pub(super) fn running_by_product(
    kinds: [&[InstanceHistory]; 3],
) -> (HashMap<(u64, u64), Running, FxBuildHasher>, Nodes) {
    let mut observed: Vec<ObservedInstance<'_>> =
        Vec::with_capacity(kinds.iter().map(|histories| histories.len()).sum());
    for (kind, histories) in kinds.into_iter().enumerate() {
        for history in histories.iter().filter(|history| !history.entries.is_empty()) {
            let at = history.entries.iter().map(|entry| (entry.at(), entry.end()));
            let (from, to) = at.fold((i64::MAX, i64::MIN), |all, one| (all.0.min(one.0), all.1.max(one.1)));
            let mut own = [None; 3];
            own[kind] = Some(history);
            observed.push(ObservedInstance {
                client: (history.client, history.product),
                instance: &history.instance,
                from,
                to,
                histories: own,
            });
        }
    }
    let log = (observed.iter().map(|one| one.from).min(), observed.iter().map(|one| one.to).max());
    let (Some(from), Some(to)) = log else { return Default::default() };
    observed.sort_unstable_by_key(|one| (one.client, one.instance));
    observed.dedup_by(|later, one| {
        let is_same = (later.client, later.instance) == (one.client, one.instance);
        if is_same {
            (one.from, one.to) = (one.from.min(later.from), one.to.max(later.to));
            one.histories = std::array::from_fn(|kind| one.histories[kind].or(later.histories[kind]));
        }
        is_same
    });
    let mut nodes = Nodes::default();
    for one in observed.iter().filter(|one| one.instance.by == InstanceKind::Node) {
        nodes.entry(one.client.0).or_default().push(one.instance.name.clone());
    }
    let of_client = observed.chunk_by(|a, b| a.client == b.client);
    (of_client.map(|all| (all[0].client, running(all, (from, to)))).collect(), nodes)
}

fn running(all: &[ObservedInstance<'_>], log: (i64, i64)) -> Running {
    let is_pod = |one: &ObservedInstance<'_>| one.instance.by == InstanceKind::Pod;
    let pods = || all.iter().filter(|one| is_pod(one)).map(|one| one.instance.name.as_str());
    if all.iter().all(is_pod) && pods().all(pod_name::is_cron_job_pod) {
        return Running::Ends;
    }
    if all.iter().any(|one| one.instance.by == InstanceKind::Node) || pods().any(pod_name::is_replaced) {
        return Running::On;
    }
    let ended: Vec<&ObservedInstance<'_>> = all.iter().filter(|one| one.has_ended(log.1)).collect();
    // Instances that ran at the start of the log may have run for a long time before. So they do not count here.
    let started = ended.iter().filter(|one| one.has_started(log.0)).count();
    let first_end = ended.iter().map(|one| one.to).min();
    let last_start = ended.iter().map(|one| one.from).max();
    // Distinguishes jobs from instances that started together, read once and may still run. Jobs run one after another: the
    // last job starts at least [`SILENCE`] after the first one ended.
    let is_one_by_one = first_end.zip(last_start).is_some_and(|(end, start)| start - end >= SILENCE);
    let most_ended = started * 2 >= all.len() && ended.len() * 3 >= all.len() * 2;
    if started >= MANY && most_ended && is_one_by_one {
        return Running::LikelyEnds;
    }
    let are_few_pods = all.len() <= FEW && all.iter().all(is_pod) && pods().all(pod_name::may_be_job_pod);
    if started == all.len() {
        return if are_few_pods { Running::LikelyEnds } else { Running::MayEnd };
    }
    let is_short =
        |one: &ObservedInstance<'_>| one.to - one.from < LONGEST && !one.histories().any(has_open_watch);
    if are_few_pods && all.iter().all(is_short) { Running::MayEnd } else { Running::On }
}

impl ObservedInstance<'_> {
    /// Whether the instance ended before the end of the log. Then the time since its last request is much longer than
    /// its pauses.
    fn has_ended(&self, log_end: i64) -> bool {
        let silence = log_end - self.to;
        silence >= SILENCE
            && !self.histories().any(|history| history.until().is_some() || has_open_watch(history))
            && silence >= self.longest_pause().saturating_mul(PAUSES)
    }

    /// Whether the instance started after the start of the log.
    fn has_started(&self, log_start: i64) -> bool {
        let silence = self.from - log_start;
        silence >= SILENCE && silence >= self.longest_pause().saturating_mul(PAUSES)
    }

    fn longest_pause(&self) -> i64 {
        let mut times: Vec<(i64, i64)> = self
            .histories()
            .flat_map(|history| &history.entries)
            .map(|entry| (entry.at(), entry.end()))
            .collect();
        times.sort_unstable();
        let (mut pause, mut until) = (0, self.from);
        for (from, to) in times {
            pause = pause.max(from - until);
            until = until.max(to);
        }
        pause
    }

    fn histories(&self) -> impl Iterator<Item = &InstanceHistory> {
        self.histories.iter().flatten().copied()
    }
}

/// Whether the history has a WATCH without an end.
fn has_open_watch(history: &InstanceHistory) -> bool {
    let links = |kind: RequestKind| history.entries.iter().filter(move |entry| entry.kind() == kind);
    let ended: HashSet<u32, FxBuildHasher> = links(RequestKind::WatchEnded).map(|entry| entry.link).collect();
    links(RequestKind::WatchBegan).any(|entry| !ended.contains(&entry.link))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::instance_histories::{HistoryEntry, ResponseClass};

    const LOG: i64 = 1_800;

    /// An instance with a LIST at each of these seconds.
    fn history(by: InstanceKind, name: &str, seconds: &[i64]) -> InstanceHistory {
        let entry = |second: &i64| {
            HistoryEntry::made_up(second * SECOND, RequestKind::List, ResponseClass::Served, (1, 1), 0, 10)
        };
        let entries: Vec<HistoryEntry> = seconds.iter().map(entry).collect();
        let all_requests = entries.len() as u64;
        InstanceHistory {
            client: 1,
            product: 1,
            instance: Instance { by, name: name.into() },
            entries,
            all_requests,
        }
    }

    fn running_of(histories: Vec<InstanceHistory>) -> Running {
        // The requests of another client define the log's start and end.
        let mut all = histories;
        all.push(InstanceHistory { client: 2, ..history(InstanceKind::Node, "n", &[0, LOG]) });
        running_by_product([&all, &[], &[]]).0[&(1, 1)]
    }

    fn alone(by: InstanceKind, name: &str, seconds: &[i64]) -> Running {
        running_of(vec![history(by, name, seconds)])
    }

    #[test]
    fn instances_that_run_one_after_another_are_jobs() {
        let jobs = ["backup-x7k2p", "backup-b8xqz", "backup-z9c4d"].iter().zip([200, 700, 1_200]);
        let jobs = jobs.map(|(name, at)| history(InstanceKind::Pod, name, &[at, at + 5, at + 30])).collect();
        assert_eq!(running_of(jobs), Running::LikelyEnds);
        let jobs = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].iter().zip([200, 700, 1_200]);
        let jobs = jobs.map(|(name, at)| history(InstanceKind::Address, name, &[at, at + 5])).collect();
        assert_eq!(running_of(jobs), Running::LikelyEnds);
    }

    #[test]
    fn a_cron_job_pod_always_ends() {
        assert_eq!(alone(InstanceKind::Pod, "nightly-28412345-b8xqz", &[0, LOG]), Running::Ends);
    }

    #[test]
    fn one_job_pod_that_ends_is_a_job() {
        assert_eq!(alone(InstanceKind::Pod, "backup-x7k2p", &[500, 510, 520]), Running::LikelyEnds);
        assert_eq!(alone(InstanceKind::Address, "10.0.0.1", &[500, 510]), Running::MayEnd);
    }

    #[test]
    fn instances_that_read_until_the_log_ends_or_are_replaced_run_on() {
        let until_the_end: Vec<i64> = (0..=LOG).step_by(30).collect();
        assert_eq!(alone(InstanceKind::Address, "10.0.0.1", &until_the_end), Running::On);
        assert_eq!(alone(InstanceKind::Address, "10.0.0.1", &[400, 800, 1_200]), Running::On);
        assert_eq!(alone(InstanceKind::Pod, "web-6d4cf56db6-x2x8q", &[500, 510]), Running::On);
        assert_eq!(alone(InstanceKind::Pod, "db-0", &[500, 510]), Running::On);
    }

    #[test]
    fn jobs_at_the_start_and_end_of_the_log_are_jobs() {
        let names = ["walk-x7k2p", "walk-b8xqz", "walk-z9c4d", "walk-f5g6h", "walk-k2m4n"];
        let walks = names.iter().zip([0, 400, 800, 1_200, 1_700]);
        let walks =
            walks.map(|(name, at)| history(InstanceKind::Pod, name, &[at, at + 40, at + 80])).collect();
        assert_eq!(running_of(walks), Running::LikelyEnds);
    }

    #[test]
    fn a_daemon_set_with_two_rollouts_runs_on() {
        let spans = [(0, 500), (505, 1_000), (1_005, LOG)];
        let names = ["x7k2p", "b8xqz", "z9c4d", "f5g6h", "k2m4n", "p4q5r", "s6t7v", "w8x9z", "c4d5f"];
        let pod = |(index, name): (usize, &&str)| {
            let (from, to) = spans[index / 3];
            let reads: Vec<i64> = (from..=to).step_by(20).collect();
            history(InstanceKind::Pod, &format!("agent-{name}"), &reads)
        };
        assert_eq!(running_of(names.iter().enumerate().map(pod).collect()), Running::On);
    }

    #[test]
    fn one_pod_with_a_job_name_may_end() {
        let until_the_end: Vec<i64> = (0..=LOG).step_by(30).collect();
        assert_eq!(alone(InstanceKind::Pod, "backup-x7k2p", &until_the_end), Running::MayEnd);
    }

    #[test]
    fn daemon_set_pods_that_read_only_at_start_may_end() {
        let names = ["agent-x7k2p", "agent-b8xqz", "agent-z9c4d", "agent-f5g6h"];
        let agents = names.map(|name| history(InstanceKind::Pod, name, &[500, 505])).to_vec();
        assert_eq!(running_of(agents), Running::MayEnd);
    }

    #[test]
    fn an_instance_with_an_open_watch_runs_on() {
        let mut watching = history(InstanceKind::Pod, "backup-x7k2p", &[500]);
        watching.entries.push(HistoryEntry::made_up(
            501 * SECOND,
            RequestKind::WatchBegan,
            ResponseClass::Served,
            (1, 1),
            7,
            0,
        ));
        watching.all_requests =
            watching.entries.iter().filter(|entry| entry.kind() != RequestKind::WatchBegan).count() as u64;
        assert_eq!(running_of(vec![watching]), Running::On);
    }
}
