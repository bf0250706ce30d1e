//! Why a line is not an event.

/// The reasons, each counted by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// Nothing but white space.
    Blank,
    /// Bytes that are no UTF-8, even with those replaced no event.
    NotUtf8,
    /// No JSON.
    NotJson,
    /// JSON that ends in the middle: a torn line.
    Truncated,
    /// A field of an event has another type than it must have, or stands there twice.
    WrongType,
    /// JSON, but no audit event.
    NotAnEvent,
    /// Longer than the cap.
    TooLong,
}

impl SkipReason {
    /// All reasons, in the order of their declaration.
    pub const ALL: [Self; 7] = [
        Self::Blank,
        Self::NotUtf8,
        Self::NotJson,
        Self::Truncated,
        Self::WrongType,
        Self::NotAnEvent,
        Self::TooLong,
    ];

    /// The reason's name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blank => "blank",
            Self::NotUtf8 => "not-utf8",
            Self::NotJson => "not-json",
            Self::Truncated => "truncated",
            Self::WrongType => "wrong-type",
            Self::NotAnEvent => "not-an-audit-event",
            Self::TooLong => "too-long",
        }
    }
}
