//! An informer's life: LIST, WATCH, WATCH again when it ended, and LIST again only when the revision is lost.
//!
//! Source: k8s.io/client-go `tools/cache/reflector.go:ListAndWatch`. Other libraries do the same.

use compact_str::CompactString;

use super::chain::Read;
use super::watching::{SOON, Watch};
use super::{Rows, SECOND, most_in_an_hour};
use crate::ledger::Merge;
use crate::ledger::lives::Came;
use crate::requests::Instance;

/// A watch that ended sooner, in microseconds, with a LIST after it, most likely ended with an error in its stream, of
/// which the audit log says nothing: a revision that was too old is answered with 200 and an event of type ERROR.
const AT_ONCE: i64 = SECOND;
/// LISTs of one instance within this time are of one start, in microseconds.
pub const START: i64 = 60 * SECOND;

/// LISTs of one instance that are so close are of one start, in microseconds: two libraries that begin together.
const TOGETHER: i64 = 10 * SECOND;
/// How far clocks of several servers may be apart, in microseconds.
const SKEW: i64 = SECOND;
/// A watch that begins so soon after another ended goes on with it, in microseconds.
const RENEWED: i64 = 2 * SECOND;
/// Reads that are looked at for the one that a watch takes up.
const LOOKED_AT: usize = 64;

/// What became of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// No WATCH followed.
    Alone,
    /// An informer began with it.
    Start,
    /// An informer began anew with it, and why.
    Relist(Cause),
    /// Whether a WATCH followed is not known, as the instance's watches were not followed so far.
    Unknown,
}

/// Why an informer began anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Its watch was answered 410, or ended at once.
    Expired,
    /// Its watch was refused with another status.
    Refused,
    /// Its watch ended after a while, and was not begun again.
    Ended,
}

/// What became of each read of one target. A watch, refused or not, takes up the earliest read before it that none has
/// taken up; where there is none, or a watch ended just before and no read came since, it goes on with the one that ended.
/// `known_until` is when the last watch began that was followed, if not all were.
#[must_use]
pub fn fates(reads: &[Read], watches: &[Watch], known_until: Option<i64>) -> Vec<Fate> {
    let mut fates = vec![Fate::Alone; reads.len()];
    // Watches that ended and that nothing went on with, in the order of their ends.
    let mut loose: Vec<(i64, Cause)> = Vec::new();
    // What was refused to a client that tried to do without a LIST had not begun.
    let begun = watches.iter().filter(|watch| watch.came == Came::Served || !watch.asks_initial_events);
    let mut ends: Vec<(i64, Cause)> = begun.filter_map(|watch| Some((watch.end?, cause(watch)))).collect();
    ends.sort_unstable_by_key(|(end, _)| *end);
    let (mut ended, mut from) = (0, 0);
    for watch in watches {
        while ends.get(ended).is_some_and(|(end, _)| *end < watch.at) {
            loose.push(ends[ended]);
            ended += 1;
        }
        // A read that no watch took up soon after it never is taken up.
        while from < reads.len() && (reads[from].end + SOON < watch.at || fates[from] != Fate::Alone) {
            from += 1;
        }
        let renewed = loose.last().map(|(end, _)| *end).filter(|end| watch.at - end <= RENEWED);
        let since = reads.partition_point(|read| read.at < renewed.unwrap_or(i64::MIN));
        let until = |latest: i64| {
            let is_free = |index: &usize| {
                let read = &reads[*index];
                fates[*index] == Fate::Alone && read.came == Came::Served && read.end <= latest
            };
            let candidates = (from.max(since)..reads.len()).take(LOOKED_AT);
            candidates.take_while(|index| reads[*index].at <= latest).find(is_free)
        };
        // A server whose clock is behind writes a WATCH before its LIST.
        let taken = until(watch.at).or_else(|| if renewed.is_none() { until(watch.at + SKEW) } else { None });
        match taken {
            // Where a client that tries to do without a LIST is refused, a LIST is yet to come.
            Some(_) if watch.came != Came::Served && watch.asks_initial_events => {}
            Some(index) => {
                let before = loose.partition_point(|(end, _)| *end <= reads[index].at + SKEW);
                let before = before.checked_sub(1).map(|at| loose.remove(at).1);
                fates[index] = before.map_or(Fate::Start, Fate::Relist);
            }
            None => {
                loose.pop();
            }
        }
    }
    if let Some(until) = known_until {
        let later = reads.iter().zip(&mut fates).filter(|(read, _)| read.end + SOON > until);
        later.filter(|(_, fate)| **fate == Fate::Alone).for_each(|(_, fate)| *fate = Fate::Unknown);
    }
    fates
}

fn cause(watch: &Watch) -> Cause {
    match watch.came {
        Came::Expired => Cause::Expired,
        Came::Refused | Came::Invalid => Cause::Refused,
        Came::Served if watch.end.is_some_and(|end| end - watch.at < AT_ONCE) => Cause::Expired,
        Came::Served => Cause::Ended,
    }
}

/// Informers of a row of LISTs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Informers {
    /// LISTs with which an informer began.
    pub starts: u64,
    /// LISTs with which one began anew, as the revision had expired.
    pub relists_expired: u64,
    /// The same, as its watch was refused.
    pub relists_refused: u64,
    /// The same, as its watch had ended.
    pub relists_ended: u64,
    /// The most times that one informer began anew.
    pub most_relists: u64,
    /// The most times within an hour that one informer of a pod or node began anew, as its revision had expired or its
    /// watch was refused.
    pub most_in_an_hour: u64,
    /// Pages after the first of LISTs with which informers began, or began anew.
    pub further_pages: u64,
    /// LISTs that an instance made twice within a minute at its start, both whole.
    pub twice: u64,
}

impl Informers {
    /// LISTs with which an informer began anew.
    #[must_use]
    pub fn relists(&self) -> u64 {
        self.relists_expired + self.relists_refused + self.relists_ended
    }
}

impl Merge for Informers {
    fn merge(&mut self, other: Self) {
        self.starts += other.starts;
        self.relists_expired += other.relists_expired;
        self.relists_refused += other.relists_refused;
        self.relists_ended += other.relists_ended;
        self.most_relists = self.most_relists.max(other.most_relists);
        self.most_in_an_hour = self.most_in_an_hour.max(other.most_in_an_hour);
        self.further_pages += other.further_pages;
        self.twice += other.twice;
    }
}

/// Tells of the informers of one target.
pub(super) fn tell(
    instance: &Instance<CompactString>,
    reads: &[Read],
    watches: &[Watch],
    fates: &[Fate],
    rows: &mut Rows,
) {
    let mut relists = 0;
    let mut lost: Vec<&Read> = Vec::new();
    for (read, fate) in reads.iter().zip(fates) {
        if matches!(fate, Fate::Alone | Fate::Unknown) {
            continue;
        }
        if let Some(next) = read.next_ask.filter(|_| read.pages > 1) {
            rows.of(next).informers.further_pages += read.pages - 1;
        }
        let own = &mut rows.of(read.ask).informers;
        match fate {
            Fate::Alone | Fate::Unknown => {}
            Fate::Start => own.starts += 1,
            Fate::Relist(Cause::Expired) => own.relists_expired += 1,
            Fate::Relist(Cause::Refused) => own.relists_refused += 1,
            Fate::Relist(Cause::Ended) => own.relists_ended += 1,
        }
        if let Fate::Relist(cause) = fate {
            relists += 1;
            own.most_relists = own.most_relists.max(relists);
            if *cause != Cause::Ended {
                lost.push(read);
            }
        }
    }
    if let Some(last) = lost.last().filter(|_| instance.is_one_process()) {
        let most = most_in_an_hour(lost.iter().map(|read| read.at));
        rows.of(last.ask).informers.merge(Informers { most_in_an_hour: most, ..Informers::default() });
    }
    for second in seconds_of_starts(reads, fates) {
        rows.of(second.ask).informers.twice += 1;
    }
    for watch in watches.iter().filter(|watch| watch.asks_initial_events && watch.came == Came::Invalid) {
        let at = reads.partition_point(|read| read.at < watch.at);
        let is_after = |read: &Read| read.at <= watch.at + START && read.came == Came::Served;
        if reads.get(at).is_some_and(is_after) {
            rows.of(watch.ask).watching.fallbacks += 1;
        }
    }
}

/// The second of each two whole LISTs that an instance made close together at a start, where a WATCH took up one of them
/// and no third came soon: more are polling.
fn seconds_of_starts<'r>(reads: &'r [Read], fates: &[Fate]) -> impl Iterator<Item = &'r Read> {
    let whole = |read: &Read| {
        read.is_list && read.came == Came::Served && read.next_ask.is_none() && !read.is_headless
    };
    let begins = |fate: Fate| matches!(fate, Fate::Start | Fate::Relist(Cause::Ended));
    let is_pair = move |first: usize| {
        let [one, two] = [&reads[first], &reads[first + 1]];
        let far = |other: Option<&Read>| other.is_none_or(|other| (other.at - one.at).abs() >= START);
        let both = [fates[first], fates[first + 1]];
        whole(one)
            && whole(two)
            && two.at - one.at < TOGETHER
            && both.into_iter().any(begins)
            && both.into_iter().all(|fate| begins(fate) || fate == Fate::Alone)
            && far(reads.get(first + 2))
            && far(first.checked_sub(1).and_then(|before| reads.get(before)))
    };
    let pairs: Vec<usize> = (0..reads.len().saturating_sub(1)).filter(|first| is_pair(*first)).collect();
    pairs.into_iter().map(|first| &reads[first + 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(second: i64) -> Read {
        Read {
            at: second * SECOND,
            end: second * SECOND + SECOND / 10,
            ask: 1,
            came: Came::Served,
            pages: 1,
            next_ask: None,
            expired: false,
            inconsistent: 0,
            is_headless: false,
            is_list: true,
            asks_page: false,
            revision: 0,
        }
    }

    fn watch(second: i64, lived: i64, came: Came) -> Watch {
        let at = second * SECOND + SECOND / 2;
        Watch::made_up(at, Some(at + lived * SECOND), came)
    }

    #[test]
    fn a_list_before_a_watch_that_is_refused_was_no_poll() {
        let lists = [list(0), list(30), list(60)];
        let watches = [
            watch(0, 0, Came::Expired),
            watch(30, 0, Came::Refused),
            // Tried again without a LIST.
            watch(35, 20, Came::Served),
            watch(60, 20, Came::Served),
        ];
        let expected = [Fate::Start, Fate::Relist(Cause::Expired), Fate::Relist(Cause::Ended)];
        assert_eq!(fates(&lists, &watches, None), expected);
    }

    #[test]
    fn a_streaming_list_that_is_refused_takes_up_no_list() {
        let refused = Watch { asks_initial_events: true, ..watch(0, 0, Came::Refused) };
        let found = fates(&[list(0), list(1)], &[refused, watch(1, 20, Came::Served)], None);
        assert_eq!(found, [Fate::Start, Fate::Alone]);
    }
}
