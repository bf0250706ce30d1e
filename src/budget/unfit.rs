//! Whether a run shows what a budget needs.

use crate::profile::RunProfile;

/// Returns why a run cannot be measured, with the way out.
#[must_use]
pub(crate) fn unfit(run: &RunProfile) -> Option<&'static str> {
    if !run.has_patterns {
        return Some(
            "it was written with --no-patterns, so it does not show which LISTs belong to informers; write it without \
             --no-patterns",
        );
    }
    if run.minutes.is_none() {
        return Some("its log has no timestamps, so it has no rate per minute");
    }
    None
}
