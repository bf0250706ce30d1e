//! Where the estimate of the server's version comes from.

use crate::named::named;

named! {
    /// Where the version used to judge requests comes from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum VersionSource {
        Flag = "flag",
        LoopbackUserAgent = "loopback-user-agent",
        StartLine = "start-line",
        ApiserverUserAgent = "apiserver-user-agent",
        ControlPlaneUserAgent = "control-plane-user-agent",
        KubeletUserAgent = "kubelet-user-agent",
        /// User agents in an access log, without proof.
        UnconfirmedUserAgent = "unconfirmed-user-agent",
        /// The newest release that fits the facts.
        NewestPossible = "newest-possible",
        /// The newest release that kubetoll knows, because the log has no facts.
        NewestKnown = "newest-known",
    }
    /// The value in the public JSON contract.
    pub(crate) fn as_str;
}

impl VersionSource {
    /// Whether the user sets the version, or the server states it.
    #[must_use]
    pub(crate) fn is_stated(self) -> bool {
        matches!(self, Self::Flag | Self::LoopbackUserAgent | Self::StartLine)
    }
}
