//! How certain the version of a server is.

use crate::apiserver::Releases;

/// How certain the server's version is. The rules of the report depend on this certainty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Doubt {
    /// True if the user sets the version, the log states it, or all possible releases give the same verdicts.
    pub(crate) is_settled: bool,
    /// True if a source file contains requests of several servers.
    pub(crate) is_mixed: bool,
    pub(crate) possible: Releases,
    /// The possible releases for each version index. A version index refers to an entry of
    /// `ServerTimeline::versions`.
    pub(crate) by_version_index: Vec<Releases>,
    /// For each range of possible releases, a text with the totals that these releases would give. An example is
    /// `1.30: 1,595 LISTs from etcd`. Empty if the totals of all ranges are equal.
    pub(crate) totals: Vec<String>,
    /// The difference between the largest and the smallest number of LISTs from etcd among the possible releases.
    pub(crate) etcd_lists_apart: u64,
}

impl Doubt {
    /// The possible releases for a version index, that is, for an entry of `ServerTimeline::versions`.
    #[must_use]
    pub(crate) fn possible_in(&self, version_index: u8) -> &Releases {
        self.by_version_index.get(usize::from(version_index)).unwrap_or(&self.possible)
    }
}
