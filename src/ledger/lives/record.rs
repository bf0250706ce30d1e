//! One request of an instance, in 24 bytes.

use crate::apiserver::options::Page;
use crate::classify::Request;
use crate::k8s::{Stage, Verb};
use crate::ledger::bounded::hash_of;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// A GET of one object.
    Get,
    /// A LIST's first or only page.
    List,
    /// A further page, at a revision.
    NextPage,
    /// A further page, at the newest revision, as the one before it had expired.
    InconsistentPage,
    /// A WATCH began to answer.
    WatchBegan,
    /// A WATCH ended.
    WatchEnded,
}

impl What {
    const ALL: [Self; 6] =
        [Self::Get, Self::List, Self::NextPage, Self::InconsistentPage, Self::WatchBegan, Self::WatchEnded];
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Came {
    /// It was served, as far as the log says.
    Served,
    /// 410: the revision has expired.
    Expired,
    /// Any other status from 400 to 499.
    Refused,
    /// A status from 500 on.
    Failed,
}

impl Came {
    const ALL: [Self; 4] = [Self::Served, Self::Expired, Self::Refused, Self::Failed];

    fn of(status: Option<u16>) -> Self {
        match status {
            Some(410) => Self::Expired,
            Some(500..) => Self::Failed,
            Some(400..) => Self::Refused,
            _ => Self::Served,
        }
    }
}

/// One request of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// Received, in microseconds since 1970, and in the lower 8 bits what was done and what came of it.
    when: i64,
    /// A hash of its path and selectors.
    pub target: u32,
    /// The hash of its shape: see [`shape_of`].
    pub shape: u32,
    /// Of a WATCH, a hash of its ID; of a further page, one of its revision.
    pub link: u32,
    /// How long it took or lived, in milliseconds.
    pub millis: u32,
}

const WHAT_BITS: u32 = 8;

impl Record {
    /// The record of a request; `None` for what no pattern is made of. `shape` is the hash of its row's shape.
    pub(super) fn of(request: &Request<'_>, shape: u64) -> Option<Self> {
        let received = request.received?;
        let what = match (request.asked.verb, request.stage) {
            (Verb::Get, Stage::ResponseComplete | Stage::Panic) => What::Get,
            (Verb::List, Stage::ResponseComplete | Stage::Panic) => match request.asked.options.page {
                Page::AtRevision => What::NextPage,
                Page::Inconsistent => What::InconsistentPage,
                Page::First | Page::Invalid => What::List,
            },
            (Verb::Watch, Stage::ResponseComplete | Stage::Panic) => What::WatchEnded,
            (Verb::Watch, Stage::ResponseStarted) if request.status != Some(401) => What::WatchBegan,
            _ => return None,
        };
        let link = match what {
            What::WatchBegan | What::WatchEnded => hash_of(request.audit_id),
            What::NextPage => request.revision().map_or(0, |revision| hash_of(&revision)),
            _ => 0,
        };
        let asks_initial_events = i64::from(request.asked.options.send_initial_events == Some(true));
        let low = what as i64 | (Came::of(request.status) as i64) << 3 | asks_initial_events << 5;
        Some(Self {
            when: received << WHAT_BITS | low,
            target: half(request.collection_hash()),
            shape: half(shape),
            link: half(link),
            millis: u32::try_from(request.micros.unwrap_or(0) / 1_000).unwrap_or(u32::MAX),
        })
    }

    /// A record for tests: of a target and a shape.
    #[cfg(test)]
    pub(crate) fn made_up(
        at: i64,
        what: What,
        came: Came,
        (target, shape): (u32, u32),
        link: u32,
        millis: u32,
    ) -> Self {
        Self { when: at << WHAT_BITS | what as i64 | (came as i64) << 3, target, shape, link, millis }
    }

    /// The same as a WATCH that asks for the present objects first.
    #[cfg(test)]
    pub(crate) fn asking_initial_events(self) -> Self {
        Self { when: self.when | 1 << 5, ..self }
    }

    /// When it was received, in microseconds since 1970.
    #[must_use]
    pub fn at(&self) -> i64 {
        self.when >> WHAT_BITS
    }

    /// When it ended, in microseconds since 1970. Of a WATCH that began, the same as [`Record::at`].
    #[must_use]
    pub fn end(&self) -> i64 {
        self.at() + i64::from(self.millis) * 1_000
    }

    fn bits(&self, from: u32, mask: usize) -> usize {
        usize::from(self.when.to_le_bytes()[0] >> from) & mask
    }

    /// What was done.
    #[must_use]
    pub fn what(&self) -> What {
        What::ALL[self.bits(0, 7)]
    }

    /// What came of it.
    #[must_use]
    pub fn came(&self) -> Came {
        Came::ALL[self.bits(3, 3)]
    }

    /// It is a WATCH that asks for the present objects first (`sendInitialEvents=true`).
    #[must_use]
    pub fn asks_initial_events(&self) -> bool {
        self.bits(5, 1) == 1
    }
}

/// The upper half of a hash, which is the better one.
fn half(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// The name of a row's shape in records.
#[must_use]
pub fn shape_of(hash: u64) -> u32 {
    half(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_what_it_was_made_of() {
        let when = 1_700_000_000_123_456_i64 << WHAT_BITS | What::WatchEnded as i64 | 1 << 3 | 1 << 5;
        let record = Record { when, target: 0, shape: 0, link: 0, millis: 2_000 };
        assert_eq!((record.at(), record.end()), (1_700_000_000_123_456, 1_700_000_002_123_456));
        assert_eq!((record.what(), record.came()), (What::WatchEnded, Came::Expired));
        assert!(record.asks_initial_events());
        assert_eq!(size_of::<Record>(), 24);
    }
}
