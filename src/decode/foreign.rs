//! Entries of a log that are intact but are not audit events.

/// Kinds of undamaged entries that are not audit events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Foreign {
    /// A line of a Kubernetes component's own log.
    Klog,
    /// Text of another program.
    Text,
    /// JSON of another program.
    Json,
    /// Azure: an entry of a category without audit events, such as `kube-scheduler`.
    OtherCategory,
    /// Google Cloud: an audit log entry of another service.
    OtherService,
    /// A message that the envelope's program adds, such as `CONTROL_MESSAGE` of CloudWatch Logs or `-- Boot … --` of
    /// `journalctl`.
    Control,
    /// An envelope without content.
    Empty,
    /// A line of a request trace in the apiserver's own log.
    Trace,
    /// A line that an apiserver writes to its own log when it starts.
    Start,
    /// A line in which etcd states its version.
    EtcdStart,
    /// Any part of a line except the last one. The last part counts as the whole line. Also a line that continues the
    /// line before it, such as a goroutine's stack.
    Part,
}

impl Foreign {
    /// The name in reports.
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
