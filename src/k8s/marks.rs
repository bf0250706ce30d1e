//! Features of log records that only some releases of kube-apiserver write. They show which versions the server can
//! have.

/// A feature of a log record that only some releases write.
///
/// Source: k8s.io/apiserver `pkg/endpoints/request/webhook_duration.go` and `pkg/apis/audit/v1/types.go` for audit
/// events, `pkg/server/httplog/httplog.go` and `pkg/server/filters/priority-and-fairness.go` for access lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// The record has a latency annotation on a request that is not long-running.
    LatencyAnnotation,
    DecodeAnnotation,
    QueueAnnotation,
    AuthenticationAnnotation,
    ImpersonationAnnotation,
    AuthenticationMetadata,
    /// An access line in the format of 1.18 and older.
    OldAccessLine,
    /// An access line in a newer format, without an audit ID.
    AccessLineWithoutAuditId,
    AuditIdInLine,
    PriorityLevelInLine,
    SeatsInLine,
    AdditionalLatencyInLine,
    WatchListLatencyInLine,
}

impl Mark {
    /// All marks in bit order.
    pub(crate) const ALL: [Self; 13] = [
        Self::LatencyAnnotation,
        Self::DecodeAnnotation,
        Self::QueueAnnotation,
        Self::AuthenticationAnnotation,
        Self::ImpersonationAnnotation,
        Self::AuthenticationMetadata,
        Self::OldAccessLine,
        Self::AccessLineWithoutAuditId,
        Self::AuditIdInLine,
        Self::PriorityLevelInLine,
        Self::SeatsInLine,
        Self::AdditionalLatencyInLine,
        Self::WatchListLatencyInLine,
    ];
}

/// A set of marks, as a bit set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Marks(u16);

impl Marks {
    pub(crate) fn set(&mut self, mark: Mark) {
        self.0 |= 1 << mark as u16;
    }

    /// Adds a mark if `is_there` is true.
    #[must_use]
    pub(crate) fn with(mut self, mark: Mark, is_there: bool) -> Self {
        if is_there {
            self.set(mark);
        }
        self
    }

    #[must_use]
    pub(crate) fn has(self, mark: Mark) -> bool {
        self.0 & 1 << mark as u16 != 0
    }

    #[must_use]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Mark> {
        Mark::ALL.into_iter().filter(move |mark| self.has(*mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_has_its_own_bit() {
        for (at, mark) in Mark::ALL.into_iter().enumerate() {
            assert_eq!(mark as usize, at);
            assert!(Marks::default().with(mark, true).iter().eq([mark]));
        }
    }
}
