//! Why kubetoll skips a record, or an entry of one.

/// The reasons. Reports count each separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// Nothing but white space.
    Blank,
    /// Bytes that are not UTF-8. Replacing them did not make the text readable.
    NotUtf8,
    /// Not JSON.
    NotJson,
    /// JSON that ends too early: a truncated line.
    Truncated,
    /// A field of an event has the wrong type, or occurs twice.
    WrongType,
    /// JSON, but not an audit event.
    NotAnEvent,
    /// Longer than the cap.
    TooLong,
    /// CloudWatch Logs cut the entry to 256 KB.
    CutByCloudwatch,
    /// Not YAML, or YAML whose aliases expand without bound.
    NotYaml,
    /// More nested envelopes than [`Layers::MAX`](super::Layers::MAX).
    TooDeep,
    /// Not in the input format that the user requires.
    OtherFormat,
}

impl SkipReason {
    /// All reasons, in the order of their declaration.
    pub const ALL: [Self; 11] = [
        Self::Blank,
        Self::NotUtf8,
        Self::NotJson,
        Self::Truncated,
        Self::WrongType,
        Self::NotAnEvent,
        Self::TooLong,
        Self::CutByCloudwatch,
        Self::NotYaml,
        Self::TooDeep,
        Self::OtherFormat,
    ];

    /// Whether the skipped bytes may have held an event. Blank lines, other JSON and excluded formats did not.
    #[must_use]
    pub fn is_unread(self) -> bool {
        !matches!(self, Self::Blank | Self::NotAnEvent | Self::OtherFormat)
    }

    /// The name in reports.
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
            Self::CutByCloudwatch => "cut-by-cloudwatch",
            Self::NotYaml => "not-yaml",
            Self::TooDeep => "too-deep",
            Self::OtherFormat => "other-format",
        }
    }
}
