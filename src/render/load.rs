//! Formats loads and their shares.

use super::cost;
use super::plain::{duration, per_cent, short_count};
use crate::report::v1::Load;

/// Formats a client's share of all load: `25.1 %`, or `≈25.1 %` for an estimate. A share is never shown as zero: each
/// request costs something, even if the log rounds its duration to zero.
pub(super) fn share(load: &Load) -> String {
    let Some(share) = load.share.map(|share| share.max(f64::MIN_POSITIVE)) else { return "–".to_owned() };
    let mark = if cost::is_estimate(load.bound) { "≈" } else { "" };
    format!("{mark}{}", per_cent(share))
}

pub(super) fn amount(load: &Load) -> String {
    let mark = if cost::is_estimate(load.bound) { "≈" } else { "" };
    match load.unit {
        "objects" => format!("{mark}{} obj.", short_count(load.amount)),
        _ => format!("{mark}{}", duration(load.amount)),
    }
}
