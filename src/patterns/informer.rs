//! An informer's life: LIST, WATCH, WATCH again when it ended, and LIST again only when the revision is lost.
//!
//! Source: k8s.io/client-go `tools/cache/reflector.go:ListAndWatch`. Other libraries do the same.

use super::chain::Read;
use super::watching::{SOON, Watch};
use super::{Rows, SECOND};
use crate::ledger::Merge;
use crate::ledger::lives::Came;

/// A watch that ended sooner, in microseconds, with a LIST after it, most likely ended with an error in its stream, of
/// which the audit log says nothing: a revision that was too old is answered with 200 and an event of type ERROR.
const AT_ONCE: i64 = SECOND;
/// LISTs of one instance within this time are of one start, in microseconds.
pub const START: i64 = 60 * SECOND;

/// What became of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// No WATCH followed.
    Alone,
    /// An informer began with it.
    Start,
    /// An informer began anew with it, and why.
    Relist(Cause),
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
/// taken up; where there is none it goes on with a watch that ended.
#[must_use]
pub fn fates(reads: &[Read], watches: &[Watch]) -> Vec<Fate> {
    let mut fates = vec![Fate::Alone; reads.len()];
    // Watches that ended and that nothing went on with, in the order of their ends.
    let mut loose: Vec<(i64, Cause)> = Vec::new();
    // What was refused to a client that tried to do without a LIST had not begun.
    let begun = watches.iter().filter(|watch| watch.came == Came::Served || !watch.asks_initial_events);
    let mut ends: Vec<(i64, Cause)> = begun.filter_map(|watch| Some((watch.end?, cause(watch)))).collect();
    ends.sort_unstable_by_key(|(end, _)| *end);
    let (mut ended, mut from) = (0, 0);
    for watch in watches {
        while ends.get(ended).is_some_and(|(end, _)| *end <= watch.at) {
            loose.push(ends[ended]);
            ended += 1;
        }
        // A read that no watch took up soon after it never is taken up.
        while reads.get(from).is_some_and(|read| read.end + SOON < watch.at) {
            from += 1;
        }
        let taken = (from..reads.len()).take_while(|index| reads[*index].at <= watch.at).find(|index| {
            fates[*index] == Fate::Alone
                && reads[*index].came == Came::Served
                && reads[*index].end <= watch.at
        });
        match taken {
            // Where a client that tries to do without a LIST is refused, a LIST is yet to come.
            Some(_) if watch.came != Came::Served && watch.asks_initial_events => {}
            Some(index) => {
                let before = loose.iter().rposition(|(end, _)| *end <= reads[index].at);
                fates[index] = before.map_or(Fate::Start, |at| Fate::Relist(loose.remove(at).1));
            }
            None => {
                loose.pop();
            }
        }
    }
    fates
}

fn cause(watch: &Watch) -> Cause {
    match watch.came {
        Came::Expired => Cause::Expired,
        Came::Refused | Came::Failed => Cause::Refused,
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
        self.twice += other.twice;
    }
}

/// Tells of the informers of one target.
pub(super) fn tell(reads: &[Read], watches: &[Watch], fates: &[Fate], rows: &mut Rows) {
    let mut relists = 0;
    for (read, fate) in reads.iter().zip(fates) {
        let own = &mut rows.of(read.shape).informers;
        match fate {
            Fate::Alone => continue,
            Fate::Start => own.starts += 1,
            Fate::Relist(Cause::Expired) => own.relists_expired += 1,
            Fate::Relist(Cause::Refused) => own.relists_refused += 1,
            Fate::Relist(Cause::Ended) => own.relists_ended += 1,
        }
        if matches!(fate, Fate::Relist(_)) {
            relists += 1;
            own.most_relists = own.most_relists.max(relists);
        }
    }
    if let Some(second) = second_of_start(reads, fates) {
        rows.of(second.shape).informers.twice += 1;
    }
    let is_refused = |watch: &&Watch| matches!(watch.came, Came::Refused | Came::Failed);
    for watch in watches.iter().filter(|watch| watch.asks_initial_events).filter(is_refused) {
        let is_after = |read: &Read| (watch.at..=watch.at + START).contains(&read.at);
        let at = reads.partition_point(|read| read.at < watch.at);
        if reads.get(at).is_some_and(is_after) {
            rows.of(watch.shape).watching.fallbacks += 1;
        }
    }
}

/// The second of two LISTs that an instance began with, if there were two within a minute and no third soon after:
/// more are polling.
fn second_of_start<'r>(reads: &'r [Read], fates: &[Fate]) -> Option<&'r Read> {
    let whole = |read: &Read| {
        read.is_list && read.came == Came::Served && read.next_shape.is_none() && !read.is_headless
    };
    let [first, second, rest @ ..] = reads else { return None };
    let is_start = |fate: &Fate| matches!(fate, Fate::Start | Fate::Alone);
    let both = whole(first) && whole(second) && second.at - first.at < START;
    let followed = fates.contains(&Fate::Start);
    let no_third = rest.first().is_none_or(|third| third.at - second.at >= START);
    (both && no_third && is_start(&fates[0]) && is_start(&fates[1]) && (followed || rest.is_empty()))
        .then_some(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(second: i64) -> Read {
        Read {
            at: second * SECOND,
            end: second * SECOND + SECOND / 10,
            shape: 1,
            came: Came::Served,
            pages: 1,
            next_shape: None,
            expired: false,
            inconsistent: 0,
            is_headless: false,
            is_list: true,
            revision: 0,
        }
    }

    fn watch(second: i64, lived: i64, came: Came) -> Watch {
        let at = second * SECOND + SECOND / 2;
        Watch { at, end: Some(at + lived * SECOND), shape: 2, came, asks_initial_events: false }
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
        assert_eq!(fates(&lists, &watches), expected);
    }

    #[test]
    fn a_streaming_list_that_is_refused_takes_up_no_list() {
        let refused = Watch { asks_initial_events: true, ..watch(0, 0, Came::Refused) };
        let found = fates(&[list(0), list(1)], &[refused, watch(1, 20, Came::Served)]);
        assert_eq!(found, [Fate::Start, Fate::Alone]);
    }
}
