//! Runs all steps from sources to a ledger: reading, decoding, classifying and counting.

mod block_reader;
mod counting;
mod each;
mod pass;
mod pending_access_line;
mod settings;
mod shared;
mod version_evidence;
mod worker;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rayon::{BroadcastContext, ThreadPoolBuilder};

use crate::decode::detect;
use crate::input::{Block, Feed, Source, can_be_read_again};
use crate::k8s::KubeVersion;
use crate::ledger::{EtcdLog, Index, Ledger, Merge, ServerTimeline, SourceCounts};

pub(crate) use each::each;
pub use pass::{Counted, Pass};
pub use settings::Settings;
pub use shared::Shared;
pub(crate) use version_evidence::claims;
pub use worker::Worker;

/// Reads all sources and counts their requests.
///
/// The result does not depend on the number of workers, the size of blocks or the order of sources. There are two
/// exceptions, because memory is bounded: duplicates that are far apart ([`crate::ledger::Dedup`]), and a long-running request whose
/// start and end are far apart ([`crate::ledger::Row::open_long_running`]).
///
/// `progress` counts compressed bytes. If the current rayon pool has `settings.threads` threads, these threads are the
/// workers. Otherwise the function creates a pool. If the sources contain both an audit log and an access log or
/// traces, they are read again to join requests.
///
/// # Errors
/// If the operating system cannot start threads.
pub fn run(
    sources: &[Source],
    settings: &Settings,
    timeline: &ServerTimeline,
    progress: &Arc<AtomicU64>,
) -> anyhow::Result<Ledger> {
    let run = Run { sources, settings, timeline, progress };
    let mut counted = run.pass(&Pass::Count, |_| true)?;
    let traced: Vec<u64> = counted.ledger.traces.by_audit_id().filter_map(|trace| trace.request).collect();
    let input = &mut counted.ledger.input;
    let both = input.access_ids > 0 && input.all_events() > input.access_lines;
    if !both && (traced.is_empty() || input.all_events() == 0) {
        return Ok(counted.into_ledger());
    }
    if !can_be_read_again(sources) {
        if both {
            // Drop the access log: without a second pass, requests that are in both logs would count twice.
            input.not_joined = input.access_counted;
            counted.access = Ledger::default();
        }
        return Ok(counted.into_ledger());
    }
    run.joined(counted, both, traced)
}

/// Reads etcd's log. The result does not depend on the number of workers, the size of blocks or the order of sources.
///
/// # Errors
/// If the operating system cannot start threads.
pub(crate) fn etcd_log(
    sources: &[Source],
    settings: &Settings,
    progress: &Arc<AtomicU64>,
) -> anyhow::Result<EtcdLog> {
    let timeline = &ServerTimeline::always(KubeVersion::NEWEST);
    let counted = Run { sources, settings, timeline, progress }.pass(&Pass::Etcd, |_| true)?;
    Ok(EtcdLog { input: counted.ledger.input, lines: counted.etcd })
}

struct Run<'a> {
    sources: &'a [Source],
    settings: &'a Settings,
    timeline: &'a ServerTimeline,
    progress: &'a Arc<AtomicU64>,
}

impl Run<'_> {
    /// Reads the sources again, and adds the data of access lines and traces to the audit log's requests. `both` is
    /// true if the sources contain an audit log and an access log. `traced` contains the hashes of the requests that
    /// traces describe.
    fn joined(&self, counted: Counted, both: bool, traced: Vec<u64>) -> anyhow::Result<Ledger> {
        let Counted { mut ledger, mut access, mut additions, .. } = counted;
        let held = std::mem::take(&mut ledger.input.sources);
        let holds = |index: usize, what: fn(&SourceCounts) -> u64| {
            u32::try_from(index)
                .ok()
                .and_then(|index| held.get(&index))
                .is_some_and(|counts| what(counts) > 0)
        };
        let index = Index::new(both, traced.into_iter());
        self.pass(&Pass::Index(&index), |source| holds(source, |counts| counts.events))?;
        if both {
            let joined =
                self.pass(&Pass::Join(&index), |source| holds(source, |counts| counts.access_lines))?;
            ledger.input.joined = joined.ledger.input.joined;
            ledger.input.index_full = index.is_full();
            access = joined.access;
            additions.merge(joined.additions);
        }
        ledger.input.sources = held;
        for trace in ledger.traces.by_audit_id() {
            if let Some((row, items)) = trace.request.and_then(|request| index.row(request)).zip(trace.items)
            {
                additions.items(row, items);
            }
        }
        Ok(Counted { ledger, access, additions, ..Counted::default() }.into_ledger())
    }

    /// Reads the sources whose index passes `wanted`.
    fn pass(&self, pass: &Pass<'_>, wanted: impl Fn(usize) -> bool) -> anyhow::Result<Counted> {
        let format = self.settings.format.filter(|_| !matches!(pass, Pass::Etcd));
        let tell = detect::framing_of(format);
        let wanted = (0..self.sources.len()).filter(|index| wanted(*index)).collect();
        let (threads, max_record) = (self.settings.threads, self.settings.max_record);
        let feed = Feed::new(self.sources, wanted, threads, max_record, tell, Arc::clone(self.progress));
        let shared = Shared::new(self.settings, self.timeline, self.sources);
        let work = |thread: BroadcastContext<'_>| {
            let mut worker = Worker::new(&shared, pass);
            let mut block = Block::default();
            while feed.next_block(thread.index(), &mut block) {
                worker.read(&block);
            }
            worker
        };
        let is_pool = rayon::current_thread_index().is_some() && rayon::current_num_threads() == threads;
        let workers = if is_pool {
            rayon::broadcast(work)
        } else {
            ThreadPoolBuilder::new().num_threads(threads).build()?.broadcast(work)
        };
        Ok(Worker::sum(workers))
    }
}
