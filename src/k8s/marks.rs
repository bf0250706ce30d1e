//! What only some releases of kube-apiserver write into their logs.

/// One thing that only some releases write.
///
/// Source: k8s.io/apiserver `pkg/endpoints/request/webhook_duration.go` and `pkg/apis/audit/v1/types.go` for audit
/// events, `pkg/server/httplog/httplog.go` and `pkg/server/filters/priority-and-fairness.go` for access lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// Of a request that is not long-running.
    LatencyAnnotation,
    DecodeAnnotation,
    QueueAnnotation,
    AuthenticationAnnotation,
    ImpersonationAnnotation,
    AuthenticationMetadata,
    /// An access line in the form of 1.18 or before.
    OldAccessLine,
    /// An access line in a later form, without an audit ID.
    AccessLineWithoutAuditId,
    AuditIdInLine,
    PriorityLevelInLine,
    SeatsInLine,
    AdditionalLatencyInLine,
    WatchListLatencyInLine,
}

impl Mark {
    /// All of them, in the order of their bits.
    pub const ALL: [Self; 13] = [
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

/// The marks of one record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks(u16);

impl Marks {
    /// Adds a mark.
    pub fn set(&mut self, mark: Mark) {
        self.0 |= 1 << mark as u16;
    }

    /// These marks, and one more if it is there.
    #[must_use]
    pub fn with(mut self, mark: Mark, is_there: bool) -> Self {
        if is_there {
            self.set(mark);
        }
        self
    }

    /// Whether a mark is there.
    #[must_use]
    pub fn has(self, mark: Mark) -> bool {
        self.0 & 1 << mark as u16 != 0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The marks.
    pub fn iter(self) -> impl Iterator<Item = Mark> {
        Mark::ALL.into_iter().filter(move |mark| self.has(*mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_has_a_bit_of_its_own() {
        for (at, mark) in Mark::ALL.into_iter().enumerate() {
            assert_eq!(mark as usize, at);
            assert!(Marks::default().with(mark, true).iter().eq([mark]));
        }
    }
}
