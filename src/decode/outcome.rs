//! The results of decoding a record.

use super::envelope::Envelope;
use super::etcd::EtcdLine;
use super::foreign::Foreign;
use super::klog::{AccessLine, TraceFragment};
use super::skip::SkipReason;
use crate::k8s::{Event, KubeVersion};

/// One entry of a record. A record has one or more entries.
#[derive(Debug, Clone, Copy)]
pub enum Outcome<'a> {
    /// An audit event, with its JSON. The JSON is `None` if the log does not contain the event in the audit API's
    /// format.
    Event(&'a Event<'a>, Option<&'a str>),
    /// A request from the apiserver's access log.
    Access {
        line: &'a AccessLine<'a>,
        /// The line without its envelopes.
        text: &'a str,
        /// When the line was written, in microseconds since 1970. A missing year or zone comes from the envelope, the
        /// command line or the file's modification time.
        logged_at: Option<i64>,
    },
    /// A line of a request trace in the apiserver's own log.
    Trace(&'a TraceFragment<'a>),
    /// A line that an apiserver writes to its own log when it starts.
    Start {
        /// The version in the line, if there is one.
        version: Option<KubeVersion>,
        /// When the line was written, in microseconds since 1970. A missing year or zone comes from the envelope, the
        /// command line or the file's modification time.
        logged_at: Option<i64>,
    },
    /// A line of etcd's log. A decoder from [`Decoder::for_etcd`](super::Decoder::for_etcd) reports each such line.
    /// Other decoders report only lines that state etcd's version.
    Etcd {
        line: &'a EtcdLine<'a>,
        /// When the line was written, in microseconds since 1970. A missing zone comes from the envelope or counts as
        /// UTC.
        logged_at: Option<i64>,
        /// True if neither the line nor an envelope states a time zone. The time then counts as UTC.
        is_zoneless: bool,
    },
    /// An undamaged entry that is not an audit event, or a part of a line. [`Foreign`] names the kind.
    Foreign(Foreign),
    /// A skipped text, with the reason and the position in the record.
    Skip(SkipReason, Extent),
}

/// The position of a skipped text in its record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// Offset of the first byte from the start of the record.
    pub(crate) offset: u64,
    /// Length in bytes.
    pub(crate) bytes: u64,
}

/// The envelopes around an entry, from the outermost to the innermost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layers(u64);

impl Layers {
    /// The maximum nesting of envelopes. Real logs have fewer levels.
    pub const MAX: usize = 7;

    /// Adds an inner envelope. If there are already [`Layers::MAX`] envelopes, nothing changes.
    #[must_use]
    pub fn with(self, inner: Envelope) -> Self {
        if self.len() < Self::MAX { Self(self.0 | (inner as u64 + 1) << (8 * self.len())) } else { self }
    }

    #[must_use]
    pub(crate) fn len(self) -> usize {
        8 - self.0.leading_zeros() as usize / 8
    }

    #[must_use]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The envelopes, from the outermost to the innermost.
    pub(crate) fn iter(self) -> impl Iterator<Item = Envelope> {
        self.0
            .to_le_bytes()
            .into_iter()
            .take_while(|byte| *byte > 0)
            .map(|byte| Envelope::ALL[usize::from(byte) - 1])
    }

    /// Keeps the two outermost envelopes and the innermost. Hostile input can nest envelopes in any order; this
    /// bounds the number of combinations that a report counts.
    #[must_use]
    pub(crate) fn shortened(self) -> Self {
        if self.len() <= 3 {
            return self;
        }
        let last = self.iter().last();
        self.iter().take(2).chain(last).fold(Self::default(), Self::with)
    }

    #[must_use]
    pub fn contains(self, envelope: Envelope) -> bool {
        self.iter().any(|layer| layer == envelope)
    }
}

impl std::fmt::Display for Layers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, layer) in self.iter().enumerate() {
            if index > 0 {
                f.write_str("/")?;
            }
            f.write_str(layer.as_str())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_display_the_outermost_first() {
        let layers = Layers::default().with(Envelope::Audit).with(Envelope::Cri);
        assert_eq!(layers.to_string(), "audit/cri");
        assert_eq!((layers.len(), Layers::default().len()), (2, 0));
        assert!(layers.contains(Envelope::Cri) && !layers.contains(Envelope::Docker));
        let deep = (0..20).fold(Layers::default(), |layers, _| layers.with(Envelope::Trace));
        assert_eq!((deep.len(), deep.shortened().len()), (Layers::MAX, 3));
    }
}
