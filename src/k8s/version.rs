//! Versions of kube-apiserver and etcd, with patch level.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A Kubernetes release. Without a patch level, it is the newest patch of its minor version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KubeVersion {
    /// The minor version: 34 in 1.34.2.
    pub minor: u16,
    /// The patch level: 2 in 1.34.2.
    pub patch: Option<u16>,
}

impl KubeVersion {
    /// Returns the release `1.<minor>.<patch>`.
    #[must_use]
    pub const fn new(minor: u16, patch: u16) -> Self {
        Self { minor, patch: Some(patch) }
    }

    /// Whether this release is `1.<minor>.<patch>` or later.
    #[must_use]
    pub fn at_least(self, minor: u16, patch: u16) -> bool {
        self >= Self::new(minor, patch)
    }
}

impl Ord for KubeVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        let newest_if_absent = |patch: Option<u16>| patch.unwrap_or(u16::MAX);
        self.minor.cmp(&other.minor).then(newest_if_absent(self.patch).cmp(&newest_if_absent(other.patch)))
    }
}

impl PartialOrd for KubeVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for KubeVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

/// The text is not a version.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("'{text}' is not {what} version; write it as {example}")]
pub struct BadVersion {
    text: String,
    what: &'static str,
    example: &'static str,
}

impl FromStr for KubeVersion {
    type Err = BadVersion;

    /// Parses `1.34`, `1.34.2`, `v1.34.2`, and versions of vendors (`v1.29.4-eks-036c24b`, `v1.28.3+k3s1`, `1.27+`).
    fn from_str(text: &str) -> Result<Self, BadVersion> {
        match leading_numbers(text) {
            Some((1, minor, patch)) => Ok(Self { minor, patch }),
            _ => Err(BadVersion { text: text.to_owned(), what: "a Kubernetes", example: "1.34.2" }),
        }
    }
}

/// An etcd release. Without a patch level, it is the newest patch of its minor version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtcdVersion {
    major: u16,
    minor: u16,
    patch: Option<u16>,
}

impl EtcdVersion {
    /// Whether this etcd supports `RequestWatchProgress` reliably. The apiserver requires it to serve consistent reads
    /// from its watch cache.
    ///
    /// Source: k8s.io/apiserver `pkg/storage/feature/feature_support_checker.go`,
    /// `endpointSupportsRequestWatchProgress`: 3.4.31 and later patches, 3.5.13 and later.
    #[must_use]
    pub(crate) fn supports_request_watch_progress(self) -> bool {
        let patch = self.patch.unwrap_or(u16::MAX);
        match (self.major, self.minor) {
            (3, 4) => patch >= 31,
            (3, 5) => patch >= 13,
            (3, minor) => minor > 5,
            (major, _) => major > 3,
        }
    }
}

impl fmt::Display for EtcdVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

impl FromStr for EtcdVersion {
    type Err = BadVersion;

    fn from_str(text: &str) -> Result<Self, BadVersion> {
        leading_numbers(text)
            .map(|(major, minor, patch)| Self { major, minor, patch })
            .ok_or_else(|| BadVersion { text: text.to_owned(), what: "an etcd", example: "3.6.5" })
    }
}

/// Parses `[v]major.minor[.patch]`. After it, the text can end, or continue with `-` or `+` and any text.
fn leading_numbers(text: &str) -> Option<(u16, u16, Option<u16>)> {
    let mut rest = text.strip_prefix('v').unwrap_or(text).as_bytes();
    let major = number(&mut rest)?;
    rest = rest.strip_prefix(b".")?;
    let minor = number(&mut rest)?;
    let patch = match rest.strip_prefix(b".") {
        Some(after) => {
            rest = after;
            Some(number(&mut rest)?)
        }
        None => None,
    };
    matches!(rest.first(), None | Some(b'-' | b'+')).then_some((major, minor, patch))
}

/// Parses a number and removes it from the start of `rest`.
fn number(rest: &mut &[u8]) -> Option<u16> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, after) = rest.split_at(digits);
    *rest = after;
    let add = |sum: u16, digit: &u8| sum.checked_mul(10)?.checked_add(u16::from(digit - b'0'));
    if number.is_empty() { None } else { number.iter().try_fold(0, add) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstream_and_vendor_versions_are_parsed() {
        let read = |text: &str| text.parse::<KubeVersion>().map(|v| v.to_string());
        assert_eq!(read("1.34.2").as_deref(), Ok("1.34.2"));
        assert_eq!(read("v1.29.4-eks-036c24b").as_deref(), Ok("1.29.4"));
        assert_eq!(read("v1.28.3+k3s1").as_deref(), Ok("1.28.3"));
        assert_eq!(read("v1.37.0-beta.0").as_deref(), Ok("1.37.0"));
        assert_eq!(read("1.27+").as_deref(), Ok("1.27"));
        for bad in ["", "1", "2.1.0", "1.x", "1.2.3.4", "1..3", "v0.0.0", "latest"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_release_without_patch_is_the_newest_patch() {
        let minor_only: KubeVersion = "1.33".parse().expect("a version");
        assert!(minor_only.at_least(33, 3));
        assert!(minor_only < KubeVersion::new(34, 0));
    }

    #[test]
    fn progress_requests_need_3_4_31_or_3_5_13() {
        let supports =
            |text: &str| text.parse::<EtcdVersion>().expect("a version").supports_request_watch_progress();
        for new in ["3.4.31", "3.5.13", "3.6.0", "3.5", "4.0.0"] {
            assert!(supports(new), "{new}");
        }
        for old in ["3.3.27", "3.4.30", "3.4.23", "3.5.1", "3.5.12", "2.3.8"] {
            assert!(!supports(old), "{old}");
        }
    }
}
