//! The etcd versions in start lines. etcd writes a start line when it starts.

use std::collections::BTreeSet;

use super::Merge;
use crate::k8s::EtcdVersion;

/// The maximum number of pairs of version and source.
const MAX_VERSIONS: usize = 1_024;

/// The etcd versions in start lines, each with its source. The apiserver uses some features only if all etcd members
/// are new enough, so the lowest version counts. Above the maximum number, the lowest versions are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EtcdVersions(BTreeSet<(EtcdVersion, u32)>);

impl EtcdVersions {
    pub(crate) fn note(&mut self, version: EtcdVersion, source: u32) {
        self.0.insert((version, source));
        if self.0.len() > MAX_VERSIONS {
            self.0.pop_last();
        }
    }

    /// Iterates over the versions, lowest version first, each with its source.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (EtcdVersion, u32)> {
        self.0.iter().copied()
    }
}

impl Merge for EtcdVersions {
    fn merge(&mut self, other: Self) {
        other.0.into_iter().for_each(|(version, source)| self.note(version, source));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_versions_are_kept_in_any_order() {
        let version: EtcdVersion = "3.5.13".parse().expect("a version");
        let old: EtcdVersion = "3.4.0".parse().expect("a version");
        let mut versions = EtcdVersions::default();
        (0..2_000).for_each(|source| versions.note(version, source));
        let mut merged = EtcdVersions::default();
        merged.note(old, 7);
        let mut other = merged.clone();
        merged.merge(versions.clone());
        versions.merge(other.clone());
        other.merge(merged.clone());
        assert_eq!((&merged, &other), (&versions, &versions));
        assert_eq!((merged.iter().next(), merged.iter().count()), (Some((old, 7)), MAX_VERSIONS));
    }
}
