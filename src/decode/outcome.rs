//! What a record turned out to be.

use super::envelope::Envelope;
use super::etcd::EtcdLine;
use super::klog::{AccessLine, TraceFragment};
use super::skip::SkipReason;
use crate::k8s::{Event, KubeVersion};

/// What one entry of a record is. Each entry of each record is exactly one of these.
#[derive(Debug, Clone, Copy)]
pub enum Outcome<'a> {
    /// An audit event, and its JSON, unless it was read from another form.
    Event(&'a Event<'a>, Option<&'a str>),
    /// A request in the apiserver's own log.
    Access {
        /// The request.
        line: &'a AccessLine<'a>,
        /// The line without its envelopes.
        text: &'a str,
        /// When the line was written, in microseconds since 1970, as well as it can be known.
        logged_at: Option<i64>,
    },
    /// A line of a trace in the apiserver's own log.
    Trace(&'a TraceFragment<'a>),
    /// What an apiserver writes into its own log when it starts.
    Start {
        /// The version that it states, if it does.
        version: Option<KubeVersion>,
        /// When the line was written, in microseconds since 1970, as well as it can be known.
        logged_at: Option<i64>,
    },
    /// A line of etcd's log. All but those that state its version only a
    /// [`Decoder::for_etcd`](super::Decoder::for_etcd) looks for.
    Etcd {
        /// The line.
        line: &'a EtcdLine<'a>,
        /// When it was written, in microseconds since 1970, as well as it can be known.
        logged_at: Option<i64>,
        /// Its clock names no zone, and no envelope shows it: it is taken for UTC.
        is_zoneless: bool,
    },
    /// Whole, but of another log, or the rest of a record that was counted already.
    Foreign(Foreign),
    /// Lost: why, and where in the record.
    Skip(SkipReason, Extent),
}

/// Where in a record a text is that could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// Offset of its first byte from the start of the record.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Kinds of entries that are no audit events and no damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Foreign {
    /// A line of a Kubernetes component's own log.
    Klog,
    /// Text of another program.
    Text,
    /// JSON of another program.
    Json,
    /// Azure: another category of the diagnostic settings.
    OtherCategory,
    /// Google Cloud: an audit log entry of another service.
    OtherService,
    /// An envelope's own message.
    Control,
    /// An envelope that holds nothing.
    Empty,
    /// A line of a trace in the apiserver's own log.
    Trace,
    /// What an apiserver writes into its own log when it starts.
    Start,
    /// A line in which etcd states its version.
    EtcdStart,
    /// A part of a line that was counted with its last part, or a line that goes on with the one before.
    Part,
}

impl Foreign {
    /// The kind's name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Klog => "klog-line",
            Self::Text => "text",
            Self::Json => "json",
            Self::OtherCategory => "other-category",
            Self::OtherService => "other-service",
            Self::Control => "control-message",
            Self::Empty => "empty-envelope",
            Self::Trace => "trace-line",
            Self::Start => "start-line",
            Self::EtcdStart => "etcd-start-line",
            Self::Part => "part-of-a-line",
        }
    }
}

/// The envelopes around an entry, the outermost first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layers(u64);

impl Layers {
    /// How many envelopes may be in each other. More are no log that anyone writes.
    pub const MAX: usize = 7;

    /// These layers and one inside of them; beyond [`Layers::MAX`] the same.
    #[must_use]
    pub fn with(self, inner: Envelope) -> Self {
        if self.len() < Self::MAX { Self(self.0 | (inner as u64 + 1) << (8 * self.len())) } else { self }
    }

    /// How many they are.
    #[must_use]
    pub fn len(self) -> usize {
        8 - self.0.leading_zeros() as usize / 8
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The layers, the outermost first.
    pub fn iter(self) -> impl Iterator<Item = Envelope> {
        self.0
            .to_le_bytes()
            .into_iter()
            .take_while(|byte| *byte > 0)
            .map(|byte| Envelope::ALL[usize::from(byte) - 1])
    }

    /// The two outermost and the innermost: of what may be in each other in any number, a bounded number of kinds.
    #[must_use]
    pub fn shortened(self) -> Self {
        if self.len() <= 3 {
            return self;
        }
        let last = self.iter().last();
        self.iter().take(2).chain(last).fold(Self::default(), Self::with)
    }

    /// Whether one of them is that envelope.
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
    fn layers_are_named_from_the_outside() {
        let layers = Layers::default().with(Envelope::Audit).with(Envelope::Cri);
        assert_eq!(layers.to_string(), "audit/cri");
        assert_eq!((layers.len(), Layers::default().len()), (2, 0));
        assert!(layers.contains(Envelope::Cri) && !layers.contains(Envelope::Docker));
        let deep = (0..20).fold(Layers::default(), |layers, _| layers.with(Envelope::Trace));
        assert_eq!((deep.len(), deep.shortened().len()), (Layers::MAX, 3));
    }
}
