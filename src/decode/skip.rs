//! Why kubetoll skips a record, or an entry of one.

/// Why kubetoll skips a record or an entry. Reports count each reason separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// The entry contains only white space.
    Blank,
    /// The bytes are not UTF-8. Replacing invalid bytes did not make the text readable.
    NotUtf8,
    /// The text is not JSON.
    NotJson,
    /// The JSON ends too early, because the line is truncated.
    Truncated,
    /// A field of an event has the wrong type, or occurs twice.
    WrongType,
    /// The text is JSON, but not an audit event.
    NotAnEvent,
    /// The record is longer than the cap.
    TooLong,
    /// CloudWatch Logs cut the entry to 256 KB.
    CutByCloudwatch,
    /// The text is not YAML, or its aliases expand beyond the limit.
    NotYaml,
    /// The record has more nested envelopes than [`Layers::MAX`](super::Layers::MAX).
    TooDeep,
    /// The record is not in the input format that the user requires.
    OtherFormat,
}

impl SkipReason {
    /// Whether the skipped bytes may have contained an event. Blank lines, other JSON and excluded formats never
    /// contain an event.
    #[must_use]
    pub(crate) fn is_unread(self) -> bool {
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
