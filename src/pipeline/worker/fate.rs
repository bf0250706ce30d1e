//! What becomes of an event once it is classified.

use super::{Settings, Shared};
use crate::ledger::{Counter, InputCounts, RowName};
use crate::requests::{Grouping, Request};

/// What becomes of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Counted,
    Filtered,
    Copy { is_wanted: bool },
}

impl Shared<'_> {
    pub(super) fn fate(&self, request: &Request<'_>, is_new: bool) -> Fate {
        let is_wanted = !self.is_filtered || self.settings.filter.pass(request);
        match (is_new, is_wanted) {
            (true, true) => Fate::Counted,
            (true, false) => Fate::Filtered,
            (false, is_wanted) => Fate::Copy { is_wanted },
        }
    }
}

pub(super) fn note(fate: Fate, input: &mut InputCounts) {
    match fate {
        Fate::Counted => {}
        Fate::Filtered => input.filtered += 1,
        Fate::Copy { .. } => input.duplicates += 1,
    }
}

pub(super) fn observe(
    settings: &Settings,
    counter: &mut Counter<'_>,
    grouping: &mut Option<Grouping>,
    request: &Request<'_>,
    fate: Fate,
) {
    match fate {
        Fate::Counted if let Some(grouping) = grouping => {
            counter.observe(&grouping.of(request));
        }
        _ if grouping.is_some() => {}
        Fate::Counted => {
            let row = counter.observe(request);
            if settings.patterns {
                counter.follow(request, row);
            }
        }
        Fate::Filtered if settings.patterns && settings.filter.concerns(request) => {
            counter.follow(request, RowName::of(request));
        }
        Fate::Copy { is_wanted: true } => counter.observe_copy(request),
        Fate::Filtered | Fate::Copy { .. } => {}
    }
}
