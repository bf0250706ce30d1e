//! Where the estimate of the server's version comes from.

/// Where the version used to judge requests comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VersionSource {
    Flag,
    LoopbackUserAgent,
    StartLine,
    ApiserverUserAgent,
    ControlPlaneUserAgent,
    KubeletUserAgent,
    /// User agents in an access log, without proof.
    UnconfirmedUserAgent,
    /// The newest release that fits the facts.
    NewestPossible,
    /// The newest release that kubetoll knows, because the log has no facts.
    NewestKnown,
}

impl VersionSource {
    /// The value in the public JSON contract.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::LoopbackUserAgent => "loopback-user-agent",
            Self::StartLine => "start-line",
            Self::ApiserverUserAgent => "apiserver-user-agent",
            Self::ControlPlaneUserAgent => "control-plane-user-agent",
            Self::KubeletUserAgent => "kubelet-user-agent",
            Self::UnconfirmedUserAgent => "unconfirmed-user-agent",
            Self::NewestPossible => "newest-possible",
            Self::NewestKnown => "newest-known",
        }
    }

    /// Whether the user sets the version, or the server states it.
    #[must_use]
    pub(crate) fn is_stated(self) -> bool {
        matches!(self, Self::Flag | Self::LoopbackUserAgent | Self::StartLine)
    }
}
