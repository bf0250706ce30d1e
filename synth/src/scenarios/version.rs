//! The release of the cluster, and version-dependent parts of requests.

/// A release of Kubernetes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Version {
    pub minor: u16,
    pub patch: u16,
}

impl Version {
    /// The releases for the scenarios: the last patch of each minor version when this was written.
    pub const TRIED: [Self; 7] = [
        Self { minor: 25, patch: 16 },
        Self { minor: 28, patch: 15 },
        Self { minor: 30, patch: 14 },
        Self { minor: 31, patch: 14 },
        Self { minor: 33, patch: 6 },
        Self { minor: 34, patch: 2 },
        Self { minor: 36, patch: 2 },
    ];

    /// Reads `1.30.14`, `v1.30.14` or `1.30`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix('v').unwrap_or(text).splitn(3, '.');
        if parts.next()? != "1" {
            return None;
        }
        let minor = parts.next()?.parse().ok()?;
        let known = Self::TRIED.iter().find(|tried| tried.minor == minor);
        let patch = match parts.next() {
            Some(patch) => patch.parse().ok()?,
            None => known.map_or(0, |tried| tried.patch),
        };
        Some(Self { minor, patch })
    }

    /// The release one minor version earlier.
    #[must_use]
    pub fn previous(self) -> Self {
        Self { minor: self.minor - 1, patch: 9 }
    }

    /// As `--kube-version` takes it.
    pub fn number(self) -> String {
        format!("1.{}.{}", self.minor, self.patch)
    }

    /// The second half of a user agent of Kubernetes' own programs.
    pub fn release(self) -> String {
        let commit =
            0x9ce_5e4f_u64.wrapping_mul(u64::from(self.minor) * 31 + u64::from(self.patch)) & 0xfff_ffff;
        format!("v1.{}.{} (linux/amd64) kubernetes/{commit:07x}", self.minor, self.patch)
    }

    /// Programs of this release begin informers with a stream: client-go's gate `WatchListClient` is on from 1.35 on.
    pub fn streams(self) -> bool {
        self.minor >= 35
    }

    /// The server of this release streams: its gate `WatchList` is on in 1.32 and from 1.34 on.
    pub fn serves_streams(self) -> bool {
        self.minor == 32 || self.minor >= 34
    }

    /// A LIST without resourceVersion is read from etcd.
    pub fn lists_from_etcd(self) -> bool {
        self.minor <= 30
    }
}
