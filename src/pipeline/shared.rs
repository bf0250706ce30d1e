//! State that all workers of a pass share. It decides the disposition of an event: counted, filtered out or dropped as
//! a duplicate.

use super::pending_access_line::{self, PendingAccessLine};
use super::settings::Settings;
use crate::input::Source;
use crate::k8s::{Event, Stage};
use crate::ledger::{
    Counter, Dedup, Deduplicator, InputCounts, PendingGroups, RowHash, ServerTimeline, SharedLedger,
};
use crate::requests::{Fingerprints, Grouping, Request};

/// State that all workers of a pass share.
#[derive(Debug)]
pub struct Shared<'a> {
    pub(super) settings: &'a Settings,
    /// True if a filter is set.
    is_filtered: bool,
    pub(super) timeline: &'a ServerTimeline,
    pub(super) sources: &'a [Source],
    pub(super) deduplicator: Deduplicator,
    pub(super) prints: Fingerprints,
    /// Access lines that wait for other lines of their request.
    pub(super) pending_groups: PendingGroups<PendingAccessLine>,
    /// Requests of audit logs.
    pub(super) audit: SharedLedger,
    /// Requests of access logs.
    pub(super) access: SharedLedger,
}

impl<'a> Shared<'a> {
    #[must_use]
    pub fn new(settings: &'a Settings, timeline: &'a ServerTimeline, sources: &'a [Source]) -> Self {
        let (deduplicator, prints) = (Deduplicator::new(settings.dedup), Fingerprints::default());
        let pending_groups = PendingGroups::new(pending_access_line::room(settings.threads));
        let is_filtered = !settings.filter.is_empty();
        let (audit, access) = (SharedLedger::new(&timeline.names), SharedLedger::new(&timeline.names));
        Self { settings, is_filtered, timeline, sources, deduplicator, prints, pending_groups, audit, access }
    }

    /// Records the ResponseStarted event of a counted long-running request. If it is the second such event of the
    /// request, sets [`Request::begins_again`]. The timestamps of both events differ, so neither is a duplicate of
    /// the other.
    pub(super) fn note_start(&self, event: &Event<'_>, request: &mut Request<'_>, disposition: Disposition) {
        if request.stage == Stage::ResponseStarted
            && request.spec.long_running
            && disposition == Disposition::Counted
        {
            let start = (self.prints.start(event, request), request.received.unwrap_or(0));
            request.begins_again = !self.deduplicator.insert(start);
        }
    }

    /// Returns true for each event that is new, and false for each duplicate. All events have the receive time `at`.
    /// `prints` computes the hashes of the events.
    pub(super) fn are_new<const N: usize>(&self, at: i64, prints: impl FnOnce() -> [u64; N]) -> [bool; N] {
        if self.settings.dedup == Dedup::Off {
            [true; N]
        } else {
            self.deduplicator.insert_each(prints(), at)
        }
    }

    pub(super) fn disposition(&self, request: &Request<'_>, is_new: bool) -> Disposition {
        let is_wanted = !self.is_filtered || self.settings.filter.pass(request);
        match (is_new, is_wanted) {
            (true, true) => Disposition::Counted,
            (true, false) => Disposition::Filtered,
            (false, is_wanted) => Disposition::Duplicate { is_wanted },
        }
    }
}

/// The disposition of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disposition {
    Counted,
    Filtered,
    Duplicate { is_wanted: bool },
}

pub(super) fn note(disposition: Disposition, input: &mut InputCounts) {
    match disposition {
        Disposition::Counted => {}
        Disposition::Filtered => input.filtered += 1,
        Disposition::Duplicate { .. } => input.duplicates += 1,
    }
}

pub(super) fn observe(
    settings: &Settings,
    counter: &mut Counter<'_>,
    grouping: &mut Option<Grouping>,
    request: &Request<'_>,
    disposition: Disposition,
) {
    match disposition {
        Disposition::Counted if let Some(grouping) = grouping => {
            counter.observe(&grouping.regroup(request));
        }
        _ if grouping.is_some() => {}
        Disposition::Counted => {
            let row = counter.observe(request);
            if settings.patterns {
                counter.follow(request, row);
            }
        }
        Disposition::Filtered if settings.patterns && settings.filter.concerns(request) => {
            counter.follow(request, RowHash::new(request));
        }
        Disposition::Duplicate { is_wanted: true } => counter.observe_duplicate(request),
        Disposition::Filtered | Disposition::Duplicate { .. } => {}
    }
}
