//! A line of the apiserver's own log.

use super::access::AccessLine;
use super::header::{ClockContext, KlogTime};
use super::trace::TraceFragment;
use crate::k8s::KubeVersion;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KlogLine<'a> {
    /// When the line was written.
    pub clock: Clock,
    pub kind: KlogKind<'a>,
}

/// The timestamp of a line. Some headers lack the year or the time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// klog's header: no year and no zone.
    Klog(KlogTime),
    /// capnslog's header: a year, but no zone.
    Dated(i32, KlogTime),
    /// Microseconds since 1970.
    Absolute(i64),
    /// The line has no header.
    None,
}

impl Clock {
    /// Completes the timestamp with the context. Returns microseconds since 1970.
    #[must_use]
    pub fn resolve(self, context: &ClockContext) -> Option<i64> {
        match self {
            Self::Klog(time) => time.resolve(context),
            Self::Dated(year, time) => time.resolve(&ClockContext { year: Some(year), ..*context }),
            Self::Absolute(micros) => Some(micros),
            Self::None => context.wrapper,
        }
    }
}

/// The content of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KlogKind<'a> {
    Access(AccessLine<'a>),
    /// A line of a trace.
    Trace(TraceFragment<'a>),
    /// A continuation of the line before: a value over several lines, a goroutine's stack, or a trace step without a
    /// number (before 1.7).
    Continuation,
    /// A line that an apiserver writes when it starts, with the version if the line states it.
    Start(Option<KubeVersion>),
    /// Any other line.
    Other,
}

impl KlogKind<'_> {
    /// Parses a message that an apiserver writes when it starts. Other components write the same version line.
    ///
    /// Source: kubernetes `cmd/kube-apiserver/app/server.go:Run`, `cmd/kube-apiserver/app/options`,
    /// `pkg/controlplane/instance.go` and k8s.io/apiserver `pkg/admission/plugins.go`.
    pub(super) fn from_start(text: &str) -> Option<Self> {
        if let Some(version) = text.strip_prefix("Version: v") {
            return version.trim_end().parse().ok().map(|version| Self::Start(Some(version)));
        }
        let is_apiservers = text.starts_with("external host was not specified, using ")
            || text.starts_with("Using reconciler: ")
            || text.starts_with("FLAG: --etcd-servers=")
            || (text.starts_with("Loaded ") && text.contains(" admission controller(s) "));
        is_apiservers.then_some(Self::Start(None))
    }
}
