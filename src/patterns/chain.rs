//! Pages that belong together: a LIST with a limit and the continuations that name its revision.

use super::{Rows, SECOND};
use crate::ledger::Merge;
use crate::ledger::instance_histories::{HistoryEntry, RequestKind, ResponseClass};

/// How many unfinished chains of one collection are looked through for the one that a page goes on with.
const OPEN: usize = 16;
/// A page that is asked for later than this after the one before it, in microseconds, is of another chain: a server
/// keeps a revision for five minutes or a little more.
const TOGETHER: i64 = 600 * SECOND;
/// A chain that expired is begun again if the next LIST comes within this time, in microseconds.
const RESTART: i64 = 60 * SECOND;

/// One read: a GET, or a LIST with all its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub struct Read {
    /// Its first request was received, in microseconds since 1970.
    pub at: i64,
    /// Its last page ended.
    pub end: i64,
    /// The shape of its first request.
    pub ask: u32,
    /// What came of its last page.
    pub response: ResponseClass,
    /// How many pages were asked for; 1 for a LIST without pages.
    pub pages: u64,
    /// The shape of its second page.
    pub next_ask: Option<u32>,
    /// A page was answered 410: its revision had expired.
    pub expired: bool,
    /// Pages that were read at the newest revision, as the chain's own had expired.
    pub inconsistent: u64,
    /// Its first page is not in the log.
    pub is_headless: bool,
    /// It is of a collection, not of one object.
    pub is_list: bool,
    /// It asks for a page.
    pub asks_page: bool,
    pub(super) revision: u32,
}

/// The reads of one target, whose records stand in the order of time.
#[must_use]
pub fn reads(entries: &[HistoryEntry]) -> Vec<Read> {
    let is_read =
        |entry: &&HistoryEntry| !matches!(entry.kind(), RequestKind::WatchBegan | RequestKind::WatchEnded);
    let mut reads: Vec<Read> = Vec::with_capacity(entries.iter().filter(is_read).count());
    for entry in entries {
        let is_first = match entry.kind() {
            RequestKind::Get | RequestKind::List => true,
            RequestKind::NextPage | RequestKind::InconsistentPage => false,
            RequestKind::WatchBegan | RequestKind::WatchEnded => continue,
        };
        let open = if is_first { None } else { goes_on(&mut reads, entry) };
        if let Some(read) = open {
            read.pages += 1;
            read.end = read.end.max(entry.end());
            read.response = entry.response();
            read.expired |= entry.response() == ResponseClass::Expired;
            read.next_ask = read.next_ask.or(Some(entry.ask));
            read.inconsistent += u64::from(entry.kind() == RequestKind::InconsistentPage);
            // The page after an inconsistent one names a revision that no page before it did.
            read.revision = if entry.kind() == RequestKind::NextPage { entry.link } else { 0 };
        } else {
            reads.push(Read {
                at: entry.at(),
                end: entry.end(),
                ask: entry.ask,
                response: entry.response(),
                pages: 1,
                next_ask: (!is_first).then_some(entry.ask),
                expired: !is_first && entry.response() == ResponseClass::Expired,
                inconsistent: u64::from(entry.kind() == RequestKind::InconsistentPage),
                is_headless: !is_first,
                is_list: entry.kind() != RequestKind::Get,
                asks_page: !is_first || entry.asks_page(),
                revision: if is_first { 0 } else { entry.link },
            });
        }
    }
    reads
}

/// The read that a page goes on with: the newest of its revision, or the newest of which no revision is known yet.
fn goes_on<'r>(reads: &'r mut [Read], page: &HistoryEntry) -> Option<&'r mut Read> {
    let newest = reads.len().saturating_sub(OPEN);
    let recent = &reads[newest..];
    let may = |read: &Read| read.asks_page && page.at() - read.end <= TOGETHER;
    let is_same = |read: &Read| match page.kind() {
        RequestKind::InconsistentPage => read.next_ask.is_some(),
        _ => read.revision == page.link,
    };
    let same = recent.iter().rposition(|read| may(read) && is_same(read));
    let unknown = || {
        recent
            .iter()
            .rposition(|read| may(read) && read.revision == 0 && read.response == ResponseClass::Served)
    };
    let at = same.or_else(unknown)?;
    reads.get_mut(newest + at)
}

/// Chains of pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Chains {
    /// LISTs of which a second page was asked for.
    pub count: u64,
    /// Their pages, first ones too.
    pub pages: u64,
    /// Pages of the longest.
    pub longest: u64,
    /// The longest time from the first page's arrival to the last one's end, in microseconds.
    pub longest_micros: u64,
    /// Chains of which a page was answered 410, as the revision had expired.
    pub expired: u64,
    /// Of these, those that were begun again within a minute.
    pub restarted: u64,
    /// Pages that were read at the newest revision, as the chain's own had expired.
    pub inconsistent: u64,
    /// Chains of which the first page is not in the log.
    pub headless: u64,
}

impl Merge for Chains {
    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.pages += other.pages;
        self.longest = self.longest.max(other.longest);
        self.longest_micros = self.longest_micros.max(other.longest_micros);
        self.expired += other.expired;
        self.restarted += other.restarted;
        self.inconsistent += other.inconsistent;
        self.headless += other.headless;
    }
}

/// Tells of the chains among reads of one target. They are told of with the row of their second page, which is the one
/// that needs a snapshot or etcd.
pub(super) fn tell(reads: &[Read], rows: &mut Rows) {
    for (index, read) in reads.iter().enumerate() {
        let Some(shape) = read.next_ask else { continue };
        let restarted = read.response == ResponseClass::Expired
            && reads.get(index + 1).is_some_and(|next| next.at - read.end <= RESTART);
        rows.of(shape).chains.merge(Chains {
            count: 1,
            pages: read.pages,
            longest: read.pages,
            longest_micros: u64::try_from(read.end - read.at).unwrap_or(0),
            expired: u64::from(read.expired),
            restarted: u64::from(restarted),
            inconsistent: read.inconsistent,
            headless: u64::from(read.is_headless),
        });
    }
}
