//! Why a record, or an entry of one, is lost.

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
    /// Cut by CloudWatch Logs, which keeps 256 KB of an entry.
    CutByCloudwatch,
    /// No YAML, or YAML whose aliases grow without bound.
    NotYaml,
    /// In more envelopes than any log is.
    TooDeep,
    /// Of another form than the one that the user named.
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

    /// Whether bytes are lost for this reason that may have held an event: not those of blank lines, of other JSON, and
    /// of formats that the user excludes.
    #[must_use]
    pub fn is_unread(self) -> bool {
        !matches!(self, Self::Blank | Self::NotAnEvent | Self::OtherFormat)
    }

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
            Self::CutByCloudwatch => "cut-by-cloudwatch",
            Self::NotYaml => "not-yaml",
            Self::TooDeep => "too-deep",
            Self::OtherFormat => "other-format",
        }
    }
}
