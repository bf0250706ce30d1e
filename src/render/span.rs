//! Chooses the range of minutes to draw. The range may leave out a few requests, because the timestamp of one event
//! may be wrong by years. If the range contained that event, all other requests would be in a single column.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::report::Report;

/// The range may leave out at most one request in this many.
const OF: u64 = 1_000;
/// If the log has at least this many requests, the range may leave out one, even if [`OF`] allows none.
const ENOUGH: u64 = 50;
/// The range is cut only if that makes it shorter by at least this factor.
const WORTH: u64 = 10;

/// Returns the first and last minute to draw, in minutes since 1970, and whether the range leaves out some requests.
pub(super) fn drawn(report: &Report, (first, last): (u32, u32)) -> ((u32, u32), bool) {
    let mut counts: HashMap<u32, u64, FxBuildHasher> = HashMap::default();
    let timelines = report.clients.iter().flat_map(|client| &client.timelines);
    for point in timelines.flat_map(|timeline| &timeline.points.0) {
        if (first..=last).contains(&point.minute) {
            *counts.entry(point.minute).or_default() += u64::from(point.requests);
        }
    }
    let mut counts: Vec<(u32, u64)> = counts.into_iter().collect();
    counts.sort_unstable();
    let length = |(first, last): (u32, u32)| u64::from(last.saturating_sub(first)) + 1;
    match densest(&counts) {
        Some(most) if length(most).saturating_mul(WORTH) <= length((first, last)) => (most, true),
        _ => ((first, last), false),
    }
}

/// Returns the shortest range of minutes with nearly all requests. If several ranges are equally short, returns the
/// first.
fn densest(counts: &[(u32, u64)]) -> Option<(u32, u32)> {
    let all: u64 = counts.iter().map(|(_, count)| count).sum();
    let outside = (all / OF).max(u64::from(all >= ENOUGH));
    let mut shortest: Option<(u32, u32)> = None;
    let (mut start, mut held) = (0, 0);
    for &(last, count) in counts {
        held += count;
        while start < counts.len() && held - counts[start].1 >= all - outside {
            held -= counts[start].1;
            start += 1;
        }
        let span = (counts.get(start)?.0, last);
        if held >= all - outside && shortest.is_none_or(|(from, to)| span.1 - span.0 < to - from) {
            shortest = Some(span);
        }
    }
    shortest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densest_span_excludes_few_distant_requests() {
        assert_eq!(densest(&[(5, 30), (9, 40)]), Some((5, 9)));
        assert_eq!(densest(&[(5, 30), (9, 40), (4_000_000, 1)]), Some((5, 9)));
        assert_eq!(densest(&[(0, 1), (5, 30), (9, 40)]), Some((5, 9)));
        assert_eq!(densest(&[(0, 1), (5, 30), (9, 40), (4_000_000, 1)]), Some((0, 9)));
        assert_eq!(densest(&[(0, 1), (5, 1_000), (9, 1_000), (4_000_000, 1)]), Some((5, 9)));
        assert_eq!(densest(&[(0, 1), (900, 1)]), Some((0, 900)));
        assert_eq!(densest(&[]), None);
    }
}
