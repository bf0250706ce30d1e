//! The context of a text: its envelopes, its timestamps and its position in the record.

use crate::decode::envelope::{Envelope, Property, syslog};
use crate::decode::klog::KlogTime;
use crate::decode::outcome::{Extent, Layers, Outcome};
use crate::decode::skip::SkipReason;

/// Receives each outcome of a record, with the envelopes around it.
pub(crate) type OutcomeSink<'o> = &'o mut dyn FnMut(Outcome<'_>, Layers);

/// The size limit of a CloudWatch Logs entry, in bytes: 256 KB minus 26 bytes that CloudWatch adds. CloudWatch cuts
/// longer entries. So an incomplete entry with at least this many bytes was cut by CloudWatch.
///
/// Source: Amazon CloudWatch Logs quotas, "Event size".
const CLOUDWATCH_CUT: usize = 262_144 - 26;

/// Facts about a source that its bytes do not show.
#[derive(Debug, Clone, Copy, Default)]
pub struct SourceFacts {
    /// The year from the command line, for lines without a year.
    pub year: Option<i32>,
    /// When the file was last modified, in microseconds since 1970.
    pub modified: Option<i64>,
}

/// A text's context: its envelopes, its timestamps and its position in the record.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextContext<'t> {
    pub(crate) layers: Layers,
    /// True if an open envelope also carries lines of other programs. Such a line then counts as foreign, not as
    /// damage.
    pub(crate) is_shared: bool,
    /// The timestamp of the innermost envelope that has one.
    pub(crate) time: Option<&'t str>,
    /// The timestamp of a syslog header, without year and zone. Set only for etcd's log, because klog lines have their
    /// own timestamp.
    pub(crate) clock: Option<KlogTime>,
    pub(crate) facts: SourceFacts,
    /// The bytes of the whole record. Empty if the text was joined from several records.
    pub(crate) record: &'t [u8],
    /// The position of the outermost string that contains the text.
    pub(crate) string: Option<Extent>,
}

impl<'t> TextContext<'t> {
    pub(crate) fn new(record: &'t [u8], layers: Layers, facts: SourceFacts) -> Self {
        Self { layers, is_shared: false, time: None, clock: None, facts, record, string: None }
    }

    /// Returns the context of the text inside a string. For nested strings, it keeps the position of the outermost one.
    pub(crate) fn within_string(self, raw: &str) -> Self {
        Self { string: self.string.or_else(|| Some(self.extent(raw))), ..self }
    }

    /// Returns the context of a text that was joined from several records. Such a text has no position in one record.
    pub(crate) fn joined(self) -> Self {
        Self { record: &[], string: None, ..self }
    }

    /// The position of a text in the record.
    pub(crate) fn extent(&self, text: &str) -> Extent {
        if let Some(string) = self.string {
            return string;
        }
        let offset = text.as_ptr().addr().wrapping_sub(self.record.as_ptr().addr());
        // A text with replaced bytes is a copy, and not a part of the record. Its offset is unknown.
        let offset = if offset < self.record.len() { offset as u64 } else { 0 };
        Extent { offset, bytes: text.len() as u64 }
    }

    /// Reports `bytes` bytes of the current string as skipped, with the position of the string.
    pub(crate) fn skip_some(&self, reason: SkipReason, bytes: usize, out: OutcomeSink<'_>) {
        let extent = self.extent("");
        let bytes = extent.bytes.min(bytes as u64);
        out(Outcome::Skip(reason, Extent { bytes, ..extent }), self.layers);
    }

    /// Reports a text as skipped.
    pub(crate) fn skip(&self, reason: SkipReason, text: &str, out: OutcomeSink<'_>) {
        out(Outcome::Skip(reason, self.extent(text)), self.layers);
    }

    pub(crate) fn within(self, envelope: Envelope, time: Option<&'t str>) -> Self {
        let is_shared = self.is_shared || envelope.has(Property::Shared);
        Self { layers: self.layers.with(envelope), is_shared, time: time.or(self.time), ..self }
    }

    /// Takes the clock from a syslog header, if the line has one.
    pub(crate) fn dated_by(self, line: &str) -> Self {
        Self { clock: syslog::clock(line).or(self.clock), ..self }
    }
}

/// Chooses the skip reason for an incomplete object.
pub(super) fn cut_reason(text: &str, context: TextContext<'_>) -> SkipReason {
    if text.len() >= CLOUDWATCH_CUT
        && context.layers.iter().any(|envelope| envelope.has(Property::CloudWatch))
    {
        SkipReason::CutByCloudwatch
    } else {
        SkipReason::Truncated
    }
}
