//! Paginated LISTs. The first request has a limit. The continue tokens of the later pages contain the revision of the
//! LIST.

use super::pattern::{Chains, ShapePatterns};
use super::time::SECOND;
use crate::ledger::Merge;
use crate::ledger::instance_histories::{HistoryEntry, RequestKind, ResponseClass};

/// To find the read that a page continues, kubetoll searches at most this many of the last reads of the collection.
const SEARCHED: usize = 16;
/// The maximum time between two pages of a LIST, in microseconds. A server keeps a revision for little more than five
/// minutes.
const MAX_PAGE_PAUSE: i64 = 600 * SECOND;
/// A LIST that begins within this time after an expired LIST restarts the expired LIST. In microseconds.
const RESTART: i64 = 60 * SECOND;

/// One read: a GET, or a LIST with all its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub(crate) struct TargetRead {
    /// When the server received the first request of this read, in microseconds since 1970.
    pub(crate) at: i64,
    /// When the last page ended, in microseconds since 1970.
    pub(crate) end: i64,
    /// A hash of the request shape of the first request.
    pub(crate) shape: u32,
    /// The response to the last page.
    pub(crate) response: ResponseClass,
    /// The number of pages; 1 without pagination.
    pub(crate) pages: u64,
    /// A hash of the request shape of the second page.
    pub(crate) next_shape: Option<u32>,
    /// True if a page got status 410, because its revision had expired.
    pub(crate) expired: bool,
    /// The number of pages at the newest revision. The server sends them if the LIST's own revision has expired.
    pub(crate) inconsistent: u64,
    /// True if the first page is not in the log.
    pub(crate) is_headless: bool,
    /// True if the read is a LIST of a collection, not a GET of one object.
    pub(crate) is_list: bool,
    /// True if the first request has a limit.
    pub(crate) has_limit: bool,
    pub(super) revision: u32,
}

/// Groups the entries of one target into reads. The entries must be in time order.
pub(crate) fn reads(entries: &[HistoryEntry]) -> Vec<TargetRead> {
    let is_read =
        |entry: &&HistoryEntry| !matches!(entry.kind(), RequestKind::WatchBegan | RequestKind::WatchEnded);
    let mut reads: Vec<TargetRead> = Vec::with_capacity(entries.iter().filter(is_read).count());
    for entry in entries {
        let is_first = match entry.kind() {
            RequestKind::Get | RequestKind::List => true,
            RequestKind::NextPage | RequestKind::InconsistentPage => false,
            RequestKind::WatchBegan | RequestKind::WatchEnded => continue,
        };
        let open = if is_first { None } else { continued_read(&mut reads, entry) };
        if let Some(read) = open {
            read.pages += 1;
            read.end = read.end.max(entry.end());
            read.response = entry.response();
            read.expired |= entry.response() == ResponseClass::Expired;
            read.next_shape = read.next_shape.or(Some(entry.shape));
            read.inconsistent += u64::from(entry.kind() == RequestKind::InconsistentPage);
            // After an inconsistent page, the next page has a new revision, which is not known yet.
            read.revision = if entry.kind() == RequestKind::NextPage { entry.link } else { 0 };
        } else {
            reads.push(TargetRead {
                at: entry.at(),
                end: entry.end(),
                shape: entry.shape,
                response: entry.response(),
                pages: 1,
                next_shape: (!is_first).then_some(entry.shape),
                expired: !is_first && entry.response() == ResponseClass::Expired,
                inconsistent: u64::from(entry.kind() == RequestKind::InconsistentPage),
                is_headless: !is_first,
                is_list: entry.kind() != RequestKind::Get,
                has_limit: !is_first || entry.has_limit(),
                revision: if is_first { 0 } else { entry.link },
            });
        }
    }
    reads
}

/// Finds the read that a page continues. This is the newest read with the revision of the page. If there is none, it
/// is the newest read with an unknown revision.
fn continued_read<'r>(reads: &'r mut [TargetRead], page: &HistoryEntry) -> Option<&'r mut TargetRead> {
    let newest = reads.len().saturating_sub(SEARCHED);
    let recent = &reads[newest..];
    let may = |read: &TargetRead| read.has_limit && page.at() - read.end <= MAX_PAGE_PAUSE;
    let is_same = |read: &TargetRead| match page.kind() {
        RequestKind::InconsistentPage => read.next_shape.is_some(),
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

/// Adds the paginated LISTs of one target. Each LIST counts in the row of its second page. The reason is that the
/// server needs a snapshot or etcd for that page.
pub(super) fn add(reads: &[TargetRead], rows: &mut ShapePatterns) {
    for (index, read) in reads.iter().enumerate() {
        let Some(shape) = read.next_shape else { continue };
        let restarted = read.response == ResponseClass::Expired
            && reads.get(index + 1).is_some_and(|next| next.at - read.end <= RESTART);
        rows.pattern(shape).chains.merge(Chains {
            count: 1,
            pages: read.pages,
            longest_pages: read.pages,
            longest_micros: u64::try_from(read.end - read.at).unwrap_or(0),
            expired: u64::from(read.expired),
            restarted: u64::from(restarted),
            inconsistent_pages: read.inconsistent,
            without_first_page: u64::from(read.is_headless),
        });
    }
}
