//! What a run sends in each phase, as a budget limits it.

use std::collections::{BTreeMap, BTreeSet};

use super::file::Budget;
use super::phase::Phase;
use crate::diff::NameFolding;
use crate::diff::noise::is_above_limit;
use crate::profile::{ClientProfile, RunProfile, ShapeProfile};

/// The most that bursts widen what counts as chance: √10, so about three times the Poisson error. A test with one burst
/// would otherwise never be above a limit.
const MOST_DISPERSION: f64 = 10.0;

/// A run, with its clients under the names that a budget uses.
#[derive(Debug)]
pub(crate) struct MeasuredRun {
    pub(crate) clients: BTreeMap<String, ClientProfile>,
    /// Whether the log shows each open watch, and not only watches that ended.
    pub(crate) shows_open_watches: bool,
}

/// Counts of one request shape of one client in one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PhaseCounts {
    pub(super) start: u64,
    pub(super) steady: u64,
    pub(super) watches: u64,
    pub(super) starts: u64,
    pub(super) minutes: f64,
    pub(super) dispersion: f64,
}

impl PhaseCounts {
    /// `is_steady` says whether requests that the client sends only at its start belong to the steady state. The run
    /// may be too short to show more of them.
    pub(super) fn new(client: &ClientProfile, shape: &ShapeProfile, is_steady: bool) -> Self {
        let once = if is_steady { 0 } else { shape.once };
        Self {
            start: if client.was_running { 0 } else { shape.informer_starts + once },
            steady: shape.steady + shape.once - once,
            watches: if client.was_running || shape.is_partial { 0 } else { shape.watches },
            starts: client.starts.max(1),
            minutes: client.minutes,
            dispersion: shape.dispersion.min(MOST_DISPERSION),
        }
    }

    /// The number that a limit is compared with. Counts for each start are rounded up.
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub(super) fn number(&self, phase: Phase) -> f64 {
        match phase {
            Phase::Start => self.start.div_ceil(self.starts) as f64,
            Phase::Minute if self.minutes > 0.0 => self.steady as f64 / self.minutes,
            Phase::Minute => 0.0,
            Phase::Watches => self.watches.div_ceil(self.starts) as f64,
        }
    }

    /// Whether the counts are above a limit. A rate must be above it by more than chance.
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub(super) fn exceeds(&self, phase: Phase, limit: f64) -> bool {
        match phase {
            Phase::Minute => is_above_limit(self.steady as f64, limit * self.minutes, self.dispersion),
            Phase::Start | Phase::Watches => self.number(phase) > limit,
        }
    }

    /// Whether the counts are below a limit. A rate must be below it by more than chance, because a short run proves
    /// little.
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub(super) fn is_below(&self, phase: Phase, limit: f64) -> bool {
        match phase {
            Phase::Minute => is_above_limit(limit * self.minutes, self.steady as f64, self.dispersion),
            Phase::Start | Phase::Watches => self.number(phase) < limit,
        }
    }
}

/// The clients of each entry of a budget, together.
pub(super) fn by_entry(
    budget: &Budget,
    clients: &BTreeMap<String, ClientProfile>,
) -> BTreeMap<usize, ClientProfile> {
    let folding = NameFolding::default();
    let mut of_entries: BTreeMap<usize, ClientProfile> = BTreeMap::new();
    for (name, client) in clients {
        if let Some(entry) = budget.entry_of(name, &folding) {
            of_entries.entry(entry).or_default().add_other(client);
        }
    }
    of_entries
}

/// What a run uses of an entry of `requests`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UsedRequest {
    /// By [`Phase`].
    pub(crate) numbers: [f64; 3],
    pub(crate) sources: Vec<String>,
}

/// What a run uses of a budget: for each client, for each entry of its requests. `None` without requests.
#[must_use]
pub(crate) fn used(budget: &Budget, run: &RunProfile) -> Vec<Vec<Option<UsedRequest>>> {
    let of_entries = by_entry(budget, &run.clients);
    let clients = budget.clients.iter().enumerate().map(|(index, entry)| {
        let requests = entry.requests.iter().map(|request| {
            let client = of_entries.get(&index)?;
            let shape = client.shapes.get(&request.request)?;
            let counts = PhaseCounts::new(client, shape, request.is_steady());
            let sources = sources(shape).into_iter().map(str::to_owned).collect();
            Some(UsedRequest { numbers: Phase::ALL.map(|phase| counts.number(phase)), sources })
        });
        requests.collect()
    });
    clients.collect()
}

/// The sources of a shape's requests: the source of most, and each source of more requests than chance.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(super) fn sources(shape: &ShapeProfile) -> BTreeSet<&str> {
    let main = shape.main_source();
    let others = shape.accepted().filter(|(_, requests)| is_above_limit(*requests as f64, 0.0, 1.0));
    others.map(|(source, _)| source).chain(Some(main).filter(|main| !main.is_empty())).collect()
}
