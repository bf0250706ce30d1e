//! Entries of a log that are intact but are not audit events.

use crate::named::named;

named! {
    /// Kinds of undamaged entries that are not audit events.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Foreign {
        /// A line of a Kubernetes component's own log.
        Klog = "klog-line",
        /// Text of another program.
        Text = "text",
        /// JSON of another program.
        Json = "json",
        /// Azure: an entry of a category without audit events, such as `kube-scheduler`.
        OtherCategory = "other-category",
        /// Google Cloud: an audit log entry of another service.
        OtherService = "other-service",
        /// A message that the envelope's program adds, such as `CONTROL_MESSAGE` of CloudWatch Logs or `-- Boot … --`
        /// of `journalctl`.
        Control = "control-message",
        /// An envelope without content.
        Empty = "empty-envelope",
        /// A line of a request trace in the apiserver's own log.
        Trace = "trace-line",
        /// A line that an apiserver writes to its own log when it starts.
        Start = "start-line",
        /// A line in which etcd states its version.
        EtcdStart = "etcd-start-line",
        /// Any part of a line except the last one. The last part counts as the whole line. Also a line that continues
        /// the line before it, such as a goroutine's stack.
        Part = "part-of-a-line",
    }
    /// The name in reports.
    pub fn as_str;
}
