//! Informers. An informer sends a LIST and then a WATCH. When the WATCH ends, it sends a new WATCH. It sends a new
//! LIST (relist) only if its revision is lost.
//!
//! Source: k8s.io/client-go `tools/cache/reflector.go:ListAndWatch`. Other libraries do the same.

use compact_str::CompactString;

use super::chain::TargetRead;
use super::pattern::{MostInAnHour, ShapePatterns};
use super::time::{SECOND, START, most_in_an_hour};
use super::watching::{SOON, Watch};
use crate::ledger::Merge;
use crate::ledger::instance_histories::ResponseClass;
use crate::requests::Instance;

/// In microseconds. If a watch ends sooner than this and a LIST follows, the revision of the watch had probably
/// expired. The server then returns status 200 and an event of type ERROR, which the audit log does not show.
const AT_ONCE: i64 = SECOND;
/// Two LISTs of one instance within this time are a double start. For example, two libraries in the instance send the
/// same LIST. In microseconds.
const DOUBLE_START: i64 = 10 * SECOND;
/// The maximum difference between the clocks of several servers, in microseconds.
const SKEW: i64 = SECOND;
/// A watch that begins within this time after the end of another watch continues the other watch. In microseconds.
const RENEWED: i64 = 2 * SECOND;
/// To find the read that a watch follows, kubetoll searches at most this many reads.
const SEARCHED: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadRole {
    /// No WATCH follows this read.
    Standalone,
    InformerStart,
    /// An informer lists again with this read, for this cause.
    Relist(RelistCause),
    /// Unknown, because the history of the instance's watches ends before this read, or soon after it.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelistCause {
    /// The informer's watch got status 410, or ended at once.
    Expired,
    /// The server refused the informer's watch with another status.
    Refused,
    /// The informer's watch ended normally, and no new watch continued it.
    Ended,
}

/// Finds the role of each read of one target.
///
/// A watch, refused or not, follows an earlier read: the earliest one that no other watch follows. In two cases, the
/// watch continues an ended watch instead:
/// - No such read exists.
/// - A watch ended just before, and no read came between the two watches.
///
/// `watches_until` is the start of the last watch in the history, if the history omits later watches.
pub(crate) fn roles(reads: &[TargetRead], watches: &[Watch], watches_until: Option<i64>) -> Vec<ReadRole> {
    let mut roles = vec![ReadRole::Standalone; reads.len()];
    // Ended watches that no later watch has continued yet, ordered by end.
    let mut loose: Vec<(i64, RelistCause)> = Vec::new();
    // A refused watch with sendInitialEvents does not count as a watch of an informer: the client has no LIST yet.
    let begun =
        watches.iter().filter(|watch| watch.response == ResponseClass::Served || !watch.sends_initial_events);
    let mut ends: Vec<(i64, RelistCause)> =
        begun.filter_map(|watch| Some((watch.end?, cause(watch)))).collect();
    ends.sort_unstable_by_key(|(end, _)| *end);
    let (mut ended, mut from) = (0, 0);
    for watch in watches {
        while ends.get(ended).is_some_and(|(end, _)| *end < watch.at) {
            loose.push(ends[ended]);
            ended += 1;
        }
        // A read stays standalone if no watch follows it within [`SOON`].
        while from < reads.len() && (reads[from].end + SOON < watch.at || roles[from] != ReadRole::Standalone)
        {
            from += 1;
        }
        let renewed = loose.last().map(|(end, _)| *end).filter(|end| watch.at - end <= RENEWED);
        let since = reads.partition_point(|read| read.at < renewed.unwrap_or(i64::MIN));
        let until = |latest: i64| {
            let is_free = |index: &usize| {
                let read = &reads[*index];
                roles[*index] == ReadRole::Standalone
                    && read.response == ResponseClass::Served
                    && read.end <= latest
            };
            let candidates = (from.max(since)..reads.len()).take(SEARCHED);
            candidates.take_while(|index| reads[*index].at <= latest).find(is_free)
        };
        // If the clock of one server is behind, a WATCH can have an earlier time than its LIST.
        let taken = until(watch.at).or_else(|| if renewed.is_none() { until(watch.at + SKEW) } else { None });
        match taken {
            // The server refused sendInitialEvents. So the watch does not follow this read: the client sends its LIST
            // later.
            Some(_) if watch.response != ResponseClass::Served && watch.sends_initial_events => {}
            Some(index) => {
                let before = loose.partition_point(|(end, _)| *end <= reads[index].at + SKEW);
                let before = before.checked_sub(1).map(|at| loose.remove(at).1);
                roles[index] = before.map_or(ReadRole::InformerStart, ReadRole::Relist);
            }
            None => {
                loose.pop();
            }
        }
    }
    if let Some(until) = watches_until {
        let later = reads.iter().zip(&mut roles).filter(|(read, _)| read.end + SOON > until);
        later
            .filter(|(_, role)| **role == ReadRole::Standalone)
            .for_each(|(_, role)| *role = ReadRole::Unknown);
    }
    roles
}

fn cause(watch: &Watch) -> RelistCause {
    match watch.response {
        ResponseClass::Expired => RelistCause::Expired,
        ResponseClass::Refused | ResponseClass::Invalid => RelistCause::Refused,
        ResponseClass::Served if watch.end.is_some_and(|end| end - watch.at < AT_ONCE) => {
            RelistCause::Expired
        }
        ResponseClass::Served => RelistCause::Ended,
    }
}

pub(super) fn add(
    instance: &Instance<CompactString>,
    reads: &[TargetRead],
    watches: &[Watch],
    roles: &[ReadRole],
    rows: &mut ShapePatterns,
) {
    let mut relists = 0;
    let mut lost: Vec<&TargetRead> = Vec::new();
    for (read, role) in reads.iter().zip(roles) {
        if matches!(role, ReadRole::Standalone | ReadRole::Unknown) {
            continue;
        }
        if let Some(next) = read.next_shape.filter(|_| read.pages > 1) {
            rows.pattern(next).informers.further_pages += read.pages - 1;
        }
        let own = &mut rows.pattern(read.shape).informers;
        match role {
            ReadRole::Standalone | ReadRole::Unknown => {}
            ReadRole::InformerStart => own.starts += 1,
            ReadRole::Relist(RelistCause::Expired) => own.relists.expired += 1,
            ReadRole::Relist(RelistCause::Refused) => own.relists.refused += 1,
            ReadRole::Relist(RelistCause::Ended) => own.relists.ended += 1,
        }
        if let ReadRole::Relist(cause) = role {
            relists += 1;
            own.most_relists = own.most_relists.max(relists);
            if *cause != RelistCause::Ended {
                lost.push(read);
            }
        }
    }
    if let Some(last) = lost.last().filter(|_| instance.is_one_process()) {
        let relists = most_in_an_hour(lost.iter().map(|read| read.at));
        let most = &mut rows.pattern(last.shape).most_in_an_hour;
        most.merge(MostInAnHour { relists, ..MostInAnHour::default() });
    }
    for second in seconds_of_starts(reads, roles) {
        rows.pattern(second.shape).informers.starts_twice += 1;
    }
    for watch in
        watches.iter().filter(|watch| watch.sends_initial_events && watch.response == ResponseClass::Invalid)
    {
        let at = reads.partition_point(|read| read.at < watch.at);
        let is_after =
            |read: &TargetRead| read.at <= watch.at + START && read.response == ResponseClass::Served;
        if reads.get(at).is_some_and(is_after) {
            rows.pattern(watch.shape).watching.fallbacks += 1;
        }
    }
}

/// Returns the second LIST of each double start. A double start consists of two complete LISTs close together, and a
/// WATCH that follows one of them. With a third LIST nearby, it is polling and not a double start.
fn seconds_of_starts<'r>(
    reads: &'r [TargetRead],
    roles: &[ReadRole],
) -> impl Iterator<Item = &'r TargetRead> {
    let is_complete = |read: &TargetRead| {
        read.is_list
            && read.response == ResponseClass::Served
            && read.next_shape.is_none()
            && !read.is_headless
    };
    let begins =
        |role: ReadRole| matches!(role, ReadRole::InformerStart | ReadRole::Relist(RelistCause::Ended));
    let is_pair = move |first: usize| {
        let [one, two] = [&reads[first], &reads[first + 1]];
        let far = |other: Option<&TargetRead>| other.is_none_or(|other| (other.at - one.at).abs() >= START);
        let both = [roles[first], roles[first + 1]];
        is_complete(one)
            && is_complete(two)
            && two.at - one.at < DOUBLE_START
            && both.into_iter().any(begins)
            && both.into_iter().all(|role| begins(role) || role == ReadRole::Standalone)
            && far(reads.get(first + 2))
            && far(first.checked_sub(1).and_then(|before| reads.get(before)))
    };
    let pairs: Vec<usize> = (0..reads.len().saturating_sub(1)).filter(|first| is_pair(*first)).collect();
    pairs.into_iter().map(|first| &reads[first + 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(second: i64) -> TargetRead {
        TargetRead {
            at: second * SECOND,
            end: second * SECOND + SECOND / 10,
            shape: 1,
            response: ResponseClass::Served,
            pages: 1,
            next_shape: None,
            expired: false,
            inconsistent: 0,
            is_headless: false,
            is_list: true,
            has_limit: false,
            revision: 0,
        }
    }

    fn watch(second: i64, duration: i64, response: ResponseClass) -> Watch {
        let at = second * SECOND + SECOND / 2;
        Watch::made_up(at, Some(at + duration * SECOND), response)
    }

    #[test]
    fn a_list_before_a_refused_watch_is_not_a_poll() {
        let lists = [list(0), list(30), list(60)];
        let watches = [
            watch(0, 0, ResponseClass::Expired),
            watch(30, 0, ResponseClass::Refused),
            // The client retries the refused watch without a new LIST.
            watch(35, 20, ResponseClass::Served),
            watch(60, 20, ResponseClass::Served),
        ];
        let expected = [
            ReadRole::InformerStart,
            ReadRole::Relist(RelistCause::Expired),
            ReadRole::Relist(RelistCause::Ended),
        ];
        assert_eq!(roles(&lists, &watches, None), expected);
    }

    #[test]
    fn a_refused_streaming_list_follows_no_list() {
        let refused = Watch { sends_initial_events: true, ..watch(0, 0, ResponseClass::Refused) };
        let actual = roles(&[list(0), list(1)], &[refused, watch(1, 20, ResponseClass::Served)], None);
        assert_eq!(actual, [ReadRole::InformerStart, ReadRole::Standalone]);
    }
}
