//! Why kubetoll skips a record, or an entry of one.

use crate::named::named;

named! {
    /// Why kubetoll skips a record or an entry. Reports count each reason separately.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SkipReason {
        /// The entry contains only white space.
        Blank = "blank",
        /// The bytes are not UTF-8. Replacing invalid bytes did not make the text readable.
        NotUtf8 = "not-utf8",
        /// The text is not JSON.
        NotJson = "not-json",
        /// The JSON ends too early, because the line is truncated.
        Truncated = "truncated",
        /// A field of an event has the wrong type, or occurs twice.
        WrongType = "wrong-type",
        /// The text is JSON, but not an audit event.
        NotAnEvent = "not-an-audit-event",
        /// The record is longer than the cap.
        TooLong = "too-long",
        /// CloudWatch Logs cut the entry to 256 KB.
        CutByCloudwatch = "cut-by-cloudwatch",
        /// The text is not YAML, or its aliases expand beyond the limit.
        NotYaml = "not-yaml",
        /// The record has more nested envelopes than [`Layers::MAX`](super::Layers::MAX).
        TooDeep = "too-deep",
        /// The record is not in the input format that the user requires.
        OtherFormat = "other-format",
    }
    /// The name in reports.
    pub fn as_str;
}

impl SkipReason {
    /// Whether the skipped bytes may have contained an event. Blank lines, other JSON and excluded formats never
    /// contain an event.
    #[must_use]
    pub(crate) fn is_unread(self) -> bool {
        !matches!(self, Self::Blank | Self::NotAnEvent | Self::OtherFormat)
    }
}
