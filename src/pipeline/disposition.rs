//! The disposition of an event: counted, filtered out or dropped as a duplicate.

use super::settings::Settings;
use crate::ledger::{Counter, InputCounts, RowHash};
use crate::requests::{Grouping, Request};

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
