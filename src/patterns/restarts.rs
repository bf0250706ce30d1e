//! Restart loops and open watches: patterns of one process over all its collections.

use compact_str::CompactString;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::chain::TargetRead;
use super::informer::{ReadRole, RelistCause};
use super::pattern::{Restarts, ShapePatterns};
use super::time::{SECOND, most_in_an_hour};
use super::watching::Watch;
use crate::k8s::pod_name;
use crate::ledger::Merge;
use crate::ledger::instance_histories::ResponseClass;
use crate::requests::{Instance, InstanceKind};

/// Informers of one process that begin within this time belong to one start; but see [`TWICE`]. In microseconds.
const START: i64 = 60 * SECOND;
/// A second informer of the same collection begins a new start if it begins more than this after the first. In
/// microseconds.
const TWICE: i64 = 5 * SECOND;
/// In microseconds. A process with several informers restarted only if it had no open watch for at least this time
/// before the start. The pause of a client that only relists is shorter.
const DOWN: i64 = 3 * SECOND;
/// Like [`DOWN`], for a process with one informer, or a process with mostly lost watches: more than half of the
/// watches before the start ended at once. Such a process may be a client that only relists. Kubelets wait 10 s
/// before the second restart of a container, so this limit is below 10 s.
const DOWN_IN_DOUBT: i64 = 8 * SECOND;
/// A start must have at least this percentage of the informers in the largest start of the process.
const FULL_PERCENT: usize = 60;
/// [`Restarts::instances`] counts an instance with at least this many starts within an hour.
const OFTEN: u64 = 3;
/// In microseconds. A watch counts as open only after it ran for this time. A client often opens a new watch before the
/// server notices that the old connection is gone.
const SETTLED: i64 = 15 * SECOND;
/// If at least this many pods of a `ReplicaSet` start within an hour, new pods replace failed ones. A node drain
/// moves a pod only two or three times.
const REPLACED: u64 = 8;
/// A second condition for [`REPLACED`]. The number of pods that start within an hour is divided by the number that
/// run at the same time. The result must be at least this.
const REPLACED_EACH: u64 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct InformerBegin {
    at: i64,
    target: usize,
    shape: u32,
    /// True if the watch before this informer got status 410, or ended at once.
    lost: bool,
}

#[derive(Debug)]
struct StartGroup {
    from: i64,
    /// The time at which each informer began, by target.
    targets: HashMap<usize, i64, FxBuildHasher>,
    lost: usize,
}

/// The informers and watches of one instance, collected over its targets.
#[derive(Debug, Default)]
pub(super) struct Process {
    targets: usize,
    begins: Vec<InformerBegin>,
    watches: Vec<OpenWatch>,
}

/// A served watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OpenWatch {
    from: i64,
    /// When the watch ended. If the log has no end: the start of the next watch of the same target, or the end of the
    /// log.
    to: i64,
    has_end: bool,
    shape: u32,
}

/// When a pod ran, according to its informers. Also contains the request shape of its first LIST or WATCH.
#[derive(Debug, Clone, Copy)]
pub(super) struct PodRun {
    from: i64,
    to: i64,
    shape: u32,
}

impl Process {
    pub(super) fn add(&mut self, reads: &[TargetRead], roles: &[ReadRole], watches: &[Watch], log_end: i64) {
        let target = self.targets;
        self.targets += 1;
        let mut ends: Vec<(i64, ResponseClass)> =
            watches.iter().filter_map(|watch| Some((watch.end?, watch.response))).collect();
        ends.sort_unstable();
        // A client lists again after a refused watch. That is not a restart.
        let was_refused = |at: i64| {
            let before = ends.partition_point(|(end, _)| *end <= at);
            before.checked_sub(1).is_some_and(|last| ends[last].1 != ResponseClass::Served)
        };
        for (read, role) in reads.iter().zip(roles) {
            let lost = matches!(role, ReadRole::Relist(RelistCause::Expired));
            if matches!(role, ReadRole::InformerStart | ReadRole::Relist(_)) && !was_refused(read.at) {
                self.begins.push(InformerBegin { at: read.at, target, shape: read.shape, lost });
            }
        }
        let served = || watches.iter().filter(|watch| watch.response == ResponseClass::Served);
        let streamed = served().filter(|watch| watch.sends_initial_events);
        let begins =
            streamed.map(|watch| InformerBegin { at: watch.at, target, shape: watch.shape, lost: false });
        self.begins.extend(begins);
        self.watches.extend(served().map(|watch| OpenWatch {
            from: watch.at,
            to: watch.gone.unwrap_or(log_end),
            has_end: watch.end.is_some(),
            shape: watch.shape,
        }));
    }

    /// Adds the restarts and open watches to `rows`. Returns the time during which the process ran; `None` if it has
    /// no informers.
    pub(super) fn add_to(
        mut self,
        instance: &Instance<CompactString>,
        rows: &mut ShapePatterns,
    ) -> Option<PodRun> {
        self.begins.sort_unstable();
        self.watches.sort_unstable();
        let most_open = self.most_open();
        for shape in distinct(self.watches.iter().map(|watch| watch.shape)) {
            rows.pattern(shape).restarts.merge(Restarts { most_open, ..Restarts::default() });
        }
        let first = *self.begins.first()?;
        let Starts { certain, unended, informers } = self.starts();
        let most_starts = most_in_an_hour(certain.into_iter());
        // An address may have several processes that started one after another.
        let unended = if instance.is_one_process() { unended } else { Vec::new() };
        let most_unended_starts = most_starts.max(most_in_an_hour(unended.into_iter()));
        let shapes = distinct(self.begins.iter().map(|begin| begin.shape));
        if most_starts >= OFTEN {
            rows.pattern(shapes[0]).restarts.instances += 1;
        }
        for shape in shapes {
            rows.pattern(shape).restarts.merge(Restarts {
                most_starts,
                informers,
                most_unended_starts,
                ..Restarts::default()
            });
        }
        let ends = self.watches.iter().map(|watch| watch.to);
        Some(PodRun { from: first.at, to: ends.max().unwrap_or(first.at), shape: first.shape })
    }

    fn most_open(&self) -> u64 {
        most_at_once(self.watches.iter().map(|watch| (watch.from + SETTLED, watch.to)))
    }

    fn starts(&self) -> Starts {
        let mut groups: Vec<StartGroup> = Vec::new();
        for begin in &self.begins {
            match groups.last_mut().filter(|group| begin.at - group.from <= START) {
                Some(group) if group.targets.get(&begin.target).is_none_or(|at| begin.at - at <= TWICE) => {
                    group.targets.insert(begin.target, begin.at);
                    group.lost += usize::from(begin.lost);
                }
                _ => groups.push(StartGroup {
                    from: begin.at,
                    targets: HashMap::from_iter([(begin.target, begin.at)]),
                    lost: usize::from(begin.lost),
                }),
            }
        }
        let fullest = groups.iter().map(|group| group.targets.len()).max().unwrap_or(0);
        let full = groups.iter().filter(|group| group.targets.len() * 100 >= fullest * FULL_PERCENT);
        let full = full.map(|group| {
            let in_doubt = fullest == 1 || group.lost * 2 > group.targets.len();
            (group.from, if in_doubt { DOWN_IN_DOUBT } else { DOWN })
        });
        Starts {
            certain: self.after_silence(full.clone(), |watch| watch.to),
            unended: self.after_silence(full, |watch| if watch.has_end { watch.to } else { watch.from }),
            informers: fullest as u64,
        }
    }

    /// Returns the starts before which no watch was open for a minimum pause. `timestamps` has the time of each start
    /// and its minimum pause, in ascending order. `end` returns when a watch counts as ended.
    fn after_silence(
        &self,
        timestamps: impl Iterator<Item = (i64, i64)>,
        end: impl Fn(&OpenWatch) -> i64,
    ) -> Vec<i64> {
        let mut watches = self.watches.iter().peekable();
        let mut last_end = i64::MIN;
        timestamps
            .filter(|(at, down)| {
                while let Some(watch) = watches.next_if(|watch| watch.from < *at) {
                    last_end = last_end.max(end(watch));
                }
                last_end.saturating_add(*down) <= *at
            })
            .map(|(at, _)| at)
            .collect()
    }
}

/// When a process started.
#[derive(Debug)]
struct Starts {
    /// Starts at which all earlier watches had ended.
    certain: Vec<i64>,
    /// Like `certain`, but a watch whose end is not in the log counts as ended at once.
    unended: Vec<i64>,
    /// The number of informers in the largest start.
    informers: u64,
}

fn distinct(shapes: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut shapes: Vec<u32> = shapes.collect();
    shapes.sort_unstable();
    shapes.dedup();
    shapes
}

/// The largest number of intervals that overlap.
fn most_at_once(intervals: impl Iterator<Item = (i64, i64)>) -> u64 {
    // An end sorts before a start at the same time.
    let edges = intervals.filter(|(from, to)| from < to).flat_map(|(from, to)| [(from, true), (to, false)]);
    let mut edges: Vec<(i64, bool)> = edges.collect();
    edges.sort_unstable();
    let (mut open, mut most) = (0_u64, 0);
    for (_, begins) in edges {
        open = if begins { open + 1 } else { open - 1 };
        most = most.max(open);
    }
    most
}

/// Adds the number of pods of a `ReplicaSet` that replaced each other. `ran` contains all instances of one product of
/// a client.
pub(super) fn add_replaced_pods<'i>(
    ran: impl Iterator<Item = (&'i Instance<CompactString>, PodRun)>,
    rows: &mut ShapePatterns,
) {
    let mut sets: HashMap<&str, Vec<PodRun>> = HashMap::default();
    for (instance, ran) in ran.filter(|(instance, _)| instance.by == InstanceKind::Pod) {
        if let Some(set) = pod_name::replica_set(&instance.name) {
            sets.entry(set).or_default().push(ran);
        }
    }
    for pods in sets.into_values() {
        let mut begins: Vec<i64> = pods.iter().map(|pod| pod.from).collect();
        begins.sort_unstable();
        let replaced_pods = most_in_an_hour(begins.into_iter());
        let at_once = most_at_once(pods.iter().map(|pod| (pod.from, pod.to)));
        if replaced_pods >= REPLACED.max(REPLACED_EACH * at_once) {
            let shape = pods.iter().map(|pod| pod.shape).min().unwrap_or(0);
            rows.pattern(shape).restarts.merge(Restarts { replaced_pods, ..Restarts::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that begins three informers at each of these seconds. Each of their watches lasts `duration`
    /// seconds.
    fn process(starts: &[i64], duration: i64) -> Process {
        let mut process = Process::default();
        for target in 0..3_i64 {
            let at = |second: &i64| second * SECOND + target * SECOND / 10;
            let watches: Vec<Watch> = starts
                .iter()
                .map(|second| {
                    Watch::made_up(at(second), Some(at(second) + duration * SECOND), ResponseClass::Served)
                })
                .collect();
            let begins = starts.iter().map(|second| InformerBegin {
                at: at(second) - SECOND / 20,
                target: usize::try_from(target).expect("small"),
                shape: 1,
                lost: false,
            });
            process.begins.extend(begins);
            process.add(&[], &[], &watches, 3_600 * SECOND);
        }
        process.begins.sort_unstable();
        process.watches.sort_unstable();
        process
    }

    fn starts(process: &Process) -> (usize, u64) {
        let Starts { certain, informers, .. } = process.starts();
        (certain.len(), informers)
    }

    #[test]
    fn watches_without_an_end_make_starts_uncertain() {
        let mut process = process(&[0, 70, 140, 210], 70);
        process.watches.iter_mut().for_each(|watch| watch.has_end = false);
        let Starts { certain, unended, .. } = process.starts();
        assert_eq!((certain.len(), unended.len()), (1, 4));
    }

    #[test]
    fn a_process_that_lists_after_a_pause_restarted() {
        assert_eq!(starts(&process(&[0, 40, 90, 160], 20)), (4, 3));
        assert_eq!(starts(&process(&[0, 20, 40, 60], 20)), (1, 3), "it lists again at once");
        assert_eq!(starts(&process(&[0, 40, 90, 160], 300)), (1, 3), "its watches are still open");
    }

    #[test]
    fn a_relist_of_one_informer_is_no_restart() {
        let mut process = process(&[0], 20);
        process.begins.extend([60, 120, 180].map(|at| InformerBegin {
            at: at * SECOND,
            target: 1,
            shape: 1,
            lost: false,
        }));
        assert_eq!(starts(&process), (1, 3));
    }

    #[test]
    fn open_watches_are_counted_over_all_targets() {
        let mut process = process(&[0], 20);
        assert_eq!(process.most_open(), 3);
        process.watches.push(OpenWatch { from: 100 * SECOND, to: 110 * SECOND, has_end: true, shape: 1 });
        assert_eq!(process.most_open(), 3, "too short to count");
    }

    fn pods(spans: &[(i64, i64)]) -> u64 {
        let name = |pod: usize| {
            let letters = b"bcdfghjklm";
            let tail: String = [pod / 10, pod % 10].map(|digit| char::from(letters[digit])).iter().collect();
            Instance { by: InstanceKind::Pod, name: format!("web-6d4cf56db6-xwz{tail}").into() }
        };
        let names: Vec<Instance<CompactString>> = (0..spans.len()).map(name).collect();
        let spans = spans.iter().map(|(from, to)| PodRun { from: *from, to: *to, shape: 1 });
        let mut rows = ShapePatterns::default();
        add_replaced_pods(names.iter().zip(spans), &mut rows);
        rows.pattern(1).restarts.replaced_pods
    }

    #[test]
    fn pods_one_after_another_replace_each_other() {
        let one_by_one: Vec<(i64, i64)> = (0..10).map(|pod| (pod * 10, pod * 10 + 9)).collect();
        assert_eq!(pods(&one_by_one), 10);
        assert_eq!(pods(&one_by_one[..7]), 0, "a few drains");
        let together: Vec<(i64, i64)> = (0..40).map(|pod| (pod, 100 + pod)).collect();
        assert_eq!(pods(&together), 0, "a rollout");
        let one_a_day: Vec<(i64, i64)> =
            (0..20).map(|day| (day * 86_400 * SECOND, (day + 1) * 86_400 * SECOND)).collect();
        assert_eq!(pods(&one_a_day), 0, "nodes that come and go");
    }
}
