//! The reasons of verdicts: stable codes, each with a sentence for people.

mod texts;

use texts::TEXTS;

/// The reason of a verdict. Its code never changes; its sentence may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    ListAnyFromCache,
    ListAnyIgnoresLimit,
    ListNotOlderFromCache,
    ListNotOlderLimitFromCache,
    ListNotOlderLimitFromEtcd,
    ListConsistentFromCache,
    ListConsistentFromEtcd,
    ListConsistentGateOff,
    ListConsistentEtcdTooOld,
    ListConsistentLimitAlpha,
    ListConsistentPageRegression,
    ListAnyConsistentAlpha,
    ListExactFromEtcd,
    ListLimitMeansExactFromEtcd,
    ListExactSnapshot,
    ListLimitMeansExactSnapshot,
    ListExactSingleKey,
    ListContinueFromEtcd,
    ListContinueSnapshot,
    ListContinueSnapshotIgnoresLimit,
    ListContinueOldEtcd,
    ListContinueInconsistentFromCache,
    UncachedResource,
    GetFromEtcd,
    GetFromCache,
    ConnectReadsObject,
    WatchFromCache,
    WatchListFromCache,
    WatchListRevisionCheck,
    WatchListEtcdTooOld,
    WatchFromEtcd,
    WatchFromEtcdByGate,
    Write,
    DeleteCollectionFromCache,
    DeleteCollectionFromEtcd,
    DeleteCollectionPrecondition,
    NonResource,
    NeverStored,
    AggregatedGroup,
    NoRequestUri,
    UnreadableUri,
    InvalidLimit,
    InvalidTimeoutSeconds,
    InvalidTimeout,
    InvalidLabelSelector,
    InvalidFieldSelector,
    UnsupportedFieldSelector,
    UndeclaredFieldSelector,
    NameConflict,
    MatchWithoutResourceVersion,
    MatchWithContinue,
    UnknownMatch,
    ExactZero,
    SendInitialEventsOnList,
    SendInitialEventsNeedsMatch,
    SendInitialEventsGateOff,
    MatchOnWatch,
    InvalidContinue,
    ContinueWithResourceVersion,
    InvalidResourceVersion,
    HeadNotAllowed,
    MethodNotAllowed,
    NoSuchPath,
    UnresolvablePath,
    AnsweredUnauthorized,
    AnsweredForbidden,
    AnsweredTooManyRequests,
    AnsweredRejected,
    AnsweredNoSuchResource,
    AnsweredExpired,
}

impl Reason {
    /// All reasons in declaration order.
    pub fn all() -> impl Iterator<Item = Self> {
        TEXTS.iter().map(|(reason, _, _)| *reason)
    }

    /// The stable code, such as `list-any-ignores-limit`.
    #[must_use]
    pub fn code(self) -> &'static str {
        TEXTS[self as usize].1
    }

    /// The explanation for people.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        TEXTS[self as usize].2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_in_the_order_of_the_variants() {
        for (index, reason) in Reason::all().enumerate() {
            assert_eq!(reason as usize, index, "{reason:?}");
            assert!(reason.sentence().ends_with('.'), "{reason:?}");
        }
    }

    #[test]
    fn codes_are_unique_and_kebab_case() {
        let codes: std::collections::BTreeSet<_> = Reason::all().map(Reason::code).collect();
        assert_eq!(codes.len(), TEXTS.len());
        assert!(codes.iter().all(|code| code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
    }
}
