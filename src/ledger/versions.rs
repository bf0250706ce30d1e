//! What a log says of the server's version: the user agents of the server's own loopback client and of the control
//! plane.

use std::collections::BTreeMap;

use super::Merge;
use crate::classify::{Statement, Witness};
use crate::k8s::KubeVersion;

/// How many different statements are kept. Honest logs hold a few.
const MAX_STATEMENTS: usize = 4_096;

/// Versions that were stated, and when: received of the first and of the last request, in microseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionEvidence {
    /// By witness, source (0 for all but the loopback client's) and version.
    stated: BTreeMap<(Witness, u32, KubeVersion), (i64, i64)>,
}

impl VersionEvidence {
    /// Notes a statement.
    pub fn state(&mut self, Statement { by, version }: Statement, source: u32, received: i64) {
        let source = if by == Witness::Loopback { source } else { 0 };
        self.note((by, source, version), (received, received));
    }

    fn note(&mut self, key: (Witness, u32, KubeVersion), (first, last): (i64, i64)) {
        if let Some(span) = self.stated.get_mut(&key) {
            *span = (span.0.min(first), span.1.max(last));
        } else {
            self.stated.insert(key, (first, last));
            // What goes is a function of the keys, never of arrival, and of the worst witness first.
            if self.stated.len() > MAX_STATEMENTS {
                self.stated.pop_last();
            }
        }
    }

    /// The best witness there is, and the versions over time that it states.
    #[must_use]
    pub fn timeline(&self) -> Option<(Witness, ServerTimeline)> {
        [Witness::Loopback, Witness::ControlPlane].into_iter().find_map(|by| {
            let mut by_source: BTreeMap<u32, BTreeMap<KubeVersion, (i64, i64)>> = BTreeMap::new();
            let mut all: BTreeMap<KubeVersion, (i64, i64)> = BTreeMap::new();
            for ((_, source, version), span) in self.stated.iter().filter(|((of, ..), _)| *of == by) {
                by_source.entry(*source).or_default().insert(*version, *span);
                let whole = all.entry(*version).or_insert(*span);
                *whole = (whole.0.min(span.0), whole.1.max(span.1));
            }
            (!all.is_empty()).then(|| (by, ServerTimeline::new(&all, &by_source)))
        })
    }

    /// The newest kubelet, which no apiserver may be older than.
    #[must_use]
    pub fn newest_kubelet(&self) -> Option<KubeVersion> {
        self.stated.keys().filter(|(by, ..)| *by == Witness::Kubelet).map(|(_, _, version)| *version).max()
    }
}

impl Merge for VersionEvidence {
    fn merge(&mut self, other: Self) {
        for (key, span) in other.stated {
            self.note(key, span);
        }
    }
}

/// Which version answered when. An index into [`ServerTimeline::versions`] is an era.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTimeline {
    /// All versions, in the order in which they were first seen.
    pub versions: Vec<KubeVersion>,
    /// Instants from which an era holds, for sources that say nothing of their own server.
    whole: Vec<(i64, u8)>,
    /// The same by source.
    by_source: BTreeMap<u32, Vec<(i64, u8)>>,
}

impl ServerTimeline {
    /// One version at all times.
    #[must_use]
    pub fn always(version: KubeVersion) -> Self {
        Self { versions: vec![version], whole: vec![(i64::MIN, 0)], by_source: BTreeMap::new() }
    }

    fn new(
        all: &BTreeMap<KubeVersion, (i64, i64)>,
        by_source: &BTreeMap<u32, BTreeMap<KubeVersion, (i64, i64)>>,
    ) -> Self {
        let mut order: Vec<(i64, KubeVersion)> =
            all.iter().map(|(version, span)| (span.0, *version)).collect();
        order.sort_unstable();
        // An era is a byte; a log with more versions is a hostile one.
        order.truncate(usize::from(u8::MAX));
        let versions: Vec<KubeVersion> = order.iter().map(|(_, version)| *version).collect();
        let starts = |stated: &BTreeMap<KubeVersion, (i64, i64)>| {
            let mut starts: Vec<(i64, u8)> = stated
                .iter()
                .filter_map(|(version, span)| {
                    let era = versions.iter().position(|known| known == version)?;
                    Some((span.0, u8::try_from(era).ok()?))
                })
                .collect();
            starts.sort_unstable();
            starts
        };
        Self {
            whole: starts(all),
            by_source: by_source.iter().map(|(source, stated)| (*source, starts(stated))).collect(),
            versions,
        }
    }

    /// The era of a request of a source at an instant: what the source's own server stated last; before its first
    /// statement, what any did; before all, the first era.
    #[must_use]
    pub fn era(&self, source: u32, received: Option<i64>) -> u8 {
        if self.versions.len() < 2 {
            return 0;
        }
        let last_of = |starts: &[(i64, u8)]| {
            let after = received.map_or(0, |at| starts.partition_point(|(start, _)| *start <= at));
            after.checked_sub(1).map(|last| starts[last].1)
        };
        let own = self.by_source.get(&source).and_then(|own| last_of(own));
        own.or_else(|| last_of(&self.whole)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: KubeVersion = KubeVersion::new(30, 1);
    const NEW: KubeVersion = KubeVersion::new(31, 0);

    #[test]
    fn an_upgrade_is_seen_by_each_server_at_its_own_time() {
        let mut evidence = VersionEvidence::default();
        for (source, version, at) in [(1, OLD, 10), (1, NEW, 100), (2, OLD, 5), (2, OLD, 150), (2, NEW, 200)]
        {
            evidence.state(Statement { by: Witness::Loopback, version }, source, at);
        }
        evidence.state(Statement { by: Witness::ControlPlane, version: KubeVersion::new(29, 0) }, 1, 1);
        let (by, timeline) = evidence.timeline().expect("evidence");
        assert_eq!((by, &*timeline.versions), (Witness::Loopback, [OLD, NEW].as_slice()));
        let version = |source, at| timeline.versions[usize::from(timeline.era(source, Some(at)))];
        assert_eq!(version(1, 0), OLD);
        assert_eq!(version(1, 99), OLD);
        assert_eq!(version(1, 100), NEW);
        assert_eq!(version(2, 199), OLD);
        assert_eq!(version(2, 200), NEW);
        assert_eq!(version(2, 4), OLD);
        assert_eq!(version(3, 120), NEW, "a source without a statement follows the first that was upgraded");
    }

    #[test]
    fn a_kubelet_is_a_floor_and_no_witness() {
        let mut evidence = VersionEvidence::default();
        evidence.state(Statement { by: Witness::Kubelet, version: OLD }, 0, 1);
        assert_eq!(evidence.timeline(), None);
        assert_eq!(evidence.newest_kubelet(), Some(OLD));
    }
}
