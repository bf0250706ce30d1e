//! The releases in the model, and sets of releases. Facts in a log show which set contains the server's release.
//!
//! Sources: <https://kubernetes.io/releases/version-skew-policy/>,
//! <https://kubernetes.io/docs/reference/using-api/deprecation-guide/>, the release notes of 1.19 to 1.36, and
//! `prerelease-lifecycle-gen` markers in k8s.io/api.

use std::fmt;

use crate::k8s::KubeVersion;

/// A range of releases for which the model is the same.
pub(super) struct Epoch {
    pub(super) first: KubeVersion,
    pub(super) last: KubeVersion,
}

const fn minor_range(first: u16, last: u16) -> Epoch {
    Epoch { first: KubeVersion { minor: first, patch: None }, last: KubeVersion { minor: last, patch: None } }
}

const fn patches(minor: u16, first: u16, last: Option<u16>) -> Epoch {
    Epoch { first: KubeVersion::new(minor, first), last: KubeVersion { minor, patch: last } }
}

/// All releases in the model, oldest first. A new release is a new row here, and the branches of the model that it
/// changes. A test checks that releases of one epoch give equal verdicts.
pub(super) const EPOCHS: [Epoch; 18] = [
    minor_range(19, 20),
    minor_range(21, 25),
    minor_range(26, 26),
    patches(27, 0, Some(12)),
    patches(27, 13, None),
    patches(28, 0, Some(8)),
    patches(28, 9, None),
    patches(29, 0, Some(3)),
    patches(29, 4, None),
    minor_range(30, 30),
    minor_range(31, 31),
    minor_range(32, 32),
    patches(33, 0, Some(2)),
    patches(33, 3, None),
    minor_range(34, 34),
    minor_range(35, 35),
    minor_range(36, 36),
    minor_range(37, 37),
];

impl KubeVersion {
    /// The oldest release that the model of the apiserver covers.
    pub const OLDEST: Self = Self { patch: Some(0), ..EPOCHS[0].first };
    /// The newest release that the model of the apiserver covers (its first beta, as of 2026-07).
    pub const NEWEST: Self = EPOCHS[EPOCHS.len() - 1].last;
}

/// Returns the epochs that overlap `set`, oldest first. Each epoch is limited to its part inside `set`.
pub(crate) fn epochs(set: &Releases) -> impl Iterator<Item = (KubeVersion, KubeVersion)> {
    EPOCHS.iter().filter_map(|epoch| {
        let first = KubeVersion { patch: epoch.first.patch.or(Some(0)), ..epoch.first };
        set.and(&Releases::between(first, epoch.last)).hull()
    })
}

/// Whether two releases give the same verdict on every request.
#[must_use]
pub(crate) fn have_equal_verdicts(a: KubeVersion, b: KubeVersion) -> bool {
    let epoch =
        |version: KubeVersion| EPOCHS.partition_point(|epoch| epoch.last < version).min(EPOCHS.len() - 1);
    epoch(a) == epoch(b)
}

/// A set of releases. The ranges are ascending, disjoint and not adjacent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Releases(Vec<(u32, u32)>);

/// Converts a release to a number that sorts in release order.
fn key(version: KubeVersion) -> u32 {
    u32::from(version.minor) << 16 | u32::from(version.patch.unwrap_or(u16::MAX))
}

#[allow(clippy::cast_possible_truncation, reason = "takes the two halves of the number")]
fn version(key: u32) -> KubeVersion {
    let patch = key as u16;
    KubeVersion { minor: (key >> 16) as u16, patch: (patch != u16::MAX).then_some(patch) }
}

impl Default for Releases {
    fn default() -> Self {
        Self::modeled()
    }
}

impl Releases {
    /// All releases, even those outside of the model.
    #[must_use]
    pub(crate) fn all() -> Self {
        Self(vec![(0, u32::MAX)])
    }

    /// The releases in the model.
    #[must_use]
    pub(crate) fn modeled() -> Self {
        Self::minors(KubeVersion::OLDEST.minor, KubeVersion::NEWEST.minor)
    }

    /// All patches of the minor versions from `first` to `last`.
    #[must_use]
    pub(crate) fn minors(first: u16, last: u16) -> Self {
        let (first, last) = (KubeVersion::new(first, 0), KubeVersion { minor: last, patch: None });
        Self::between(first, last)
    }

    /// All releases from 1.`minor` on.
    #[must_use]
    pub(crate) fn since(minor: u16) -> Self {
        Self::minors(minor, u16::MAX)
    }

    /// All releases before 1.`minor`.
    #[must_use]
    pub(crate) fn before(minor: u16) -> Self {
        minor.checked_sub(1).map_or_else(|| Self(Vec::new()), |last| Self::minors(0, last))
    }

    /// The releases from `first` to `last`. If `first` has no patch level, it is the newest patch of its minor version.
    #[must_use]
    pub(crate) fn between(first: KubeVersion, last: KubeVersion) -> Self {
        let (first, last) = (key(first), key(last));
        Self(if first <= last { vec![(first, last)] } else { Vec::new() })
    }

    /// One release; without a patch level, all patches of its minor version.
    #[must_use]
    pub(crate) fn exactly(stated: KubeVersion) -> Self {
        match stated.patch {
            Some(_) => Self::between(stated, stated),
            None => Self::minors(stated.minor, stated.minor),
        }
    }

    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn contains(&self, wanted: KubeVersion) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&key(wanted)))
    }

    /// The intersection.
    #[must_use]
    pub(crate) fn and(&self, other: &Self) -> Self {
        let mut both = Vec::new();
        for (first, last) in &self.0 {
            for (other_first, other_last) in &other.0 {
                let (first, last) = (first.max(other_first), last.min(other_last));
                if first <= last {
                    both.push((*first, *last));
                }
            }
        }
        Self(both)
    }

    /// The union.
    #[must_use]
    pub(crate) fn or(&self, other: &Self) -> Self {
        self.others().and(&other.others()).others()
    }

    /// The complement.
    #[must_use]
    pub(crate) fn others(&self) -> Self {
        let (mut others, mut next) = (Vec::new(), Some(0));
        for (first, last) in &self.0 {
            if let Some(start) = next.filter(|start| start < first) {
                others.push((start, first - 1));
            }
            next = last.checked_add(1);
        }
        others.extend(next.map(|start| (start, u32::MAX)));
        Self(others)
    }

    /// The oldest and the newest release of the set.
    #[must_use]
    pub fn hull(&self) -> Option<(KubeVersion, KubeVersion)> {
        Some((version(self.0.first()?.0), version(self.0.last()?.1)))
    }

    /// Returns the number of releases in the set, including patch levels that do not exist. Use it only to compare
    /// sets.
    #[must_use]
    pub(crate) fn span(&self) -> u64 {
        self.0.iter().map(|(first, last)| u64::from(last - first) + 1).sum()
    }

    /// Whether all releases are of one minor version.
    #[must_use]
    pub(crate) fn is_one_minor(&self) -> bool {
        self.hull().is_some_and(|(first, last)| first.minor == last.minor)
    }

    /// The ranges in ascending order.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (KubeVersion, KubeVersion)> {
        self.0.iter().map(|(first, last)| (version(*first), version(*last)))
    }
}

/// Shortens a range for people: removes the `.0` of `first` if `last` has no patch level. For example, `1.30.0 to
/// 1.31` becomes `1.30 to 1.31`.
#[must_use]
pub(crate) fn short(first: KubeVersion, last: KubeVersion) -> (KubeVersion, KubeVersion) {
    let is_all_patches = last.patch.is_none() && first.patch == Some(0);
    (if is_all_patches { KubeVersion { patch: None, ..first } } else { first }, last)
}

impl fmt::Display for Releases {
    /// Formats the set: `1.30 to 1.32 and 1.34.7+`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.len();
        for (at, (first, last)) in self.ranges().enumerate() {
            match at {
                0 => {}
                _ if at + 1 == count => f.write_str(" and ")?,
                _ => f.write_str(", ")?,
            }
            let (first, last) = short(first, last);
            match (first == last, first.minor == 0, last.minor == u16::MAX) {
                (true, ..) => write!(f, "{first}")?,
                (_, true, true) => f.write_str("any version")?,
                (_, true, false) => write!(f, "{last} and older")?,
                (_, false, true) => write!(f, "{first} and newer")?,
                _ if first.minor == last.minor && last.patch.is_none() => write!(f, "{first}+")?,
                _ => write!(f, "{first} to {last}")?,
            }
        }
        Ok(())
    }
}

/// Returns the releases that the server can have, given the version of a kubelet or kube-proxy. These components are
/// never newer than the server. They are at most three minor versions older (two for versions before 1.25).
#[must_use]
pub(crate) fn for_node_component(stated: KubeVersion) -> Releases {
    let most = if stated.minor < 25 { 2 } else { 3 };
    Releases::minors(stated.minor, stated.minor.saturating_add(most))
}

/// Returns the releases that the server can have, given the version of kube-controller-manager or kube-scheduler. These
/// components have the same minor version as the server, or the one before.
#[must_use]
pub(crate) fn for_control_plane(stated: KubeVersion) -> Releases {
    Releases::minors(stated.minor, stated.minor.saturating_add(1))
}

/// Returns the releases that the server can have, given the version of another apiserver of the cluster. The two
/// apiservers differ by at most one minor version.
#[must_use]
pub(crate) fn for_other_server(stated: KubeVersion) -> Releases {
    Releases::minors(stated.minor.saturating_sub(1), stated.minor.saturating_add(1))
}

/// The releases that write latency annotations for requests that are not long-running: 1.24 and later. Some patches
/// have a broken audit filter and write none (kubernetes/kubernetes#135684).
#[must_use]
pub(crate) fn with_latency_annotations() -> Releases {
    let broken =
        |minor, last| Releases::between(KubeVersion::new(minor, 0), KubeVersion::new(minor, last)).others();
    Releases::since(24).and(&broken(34, 6)).and(&broken(35, 3))
}

/// A built-in API that only some releases serve: a resource in one version of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BuiltInApi {
    pub(crate) group: &'static str,
    /// The version of the group.
    pub(crate) version: &'static str,
    /// The resource. Empty if the entry is for the whole version of the group.
    pub(crate) resource: &'static str,
    /// The first minor version that serves the API; 0 if a version before 1.19 already served it.
    since: u16,
    /// The first minor version that no longer serves the API.
    until: Option<u16>,
}

const fn added(group: &'static str, version: &'static str, resource: &'static str, since: u16) -> BuiltInApi {
    BuiltInApi { group, version, resource, since, until: None }
}

const fn removed(
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    until: u16,
) -> BuiltInApi {
    between(group, version, resource, 0, until)
}

const fn between(
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    since: u16,
    until: u16,
) -> BuiltInApi {
    BuiltInApi { group, version, resource, since, until: Some(until) }
}

const ADMISSION: &str = "admissionregistration.k8s.io";
const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";
const NETWORKING: &str = "networking.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const RESOURCE: &str = "resource.k8s.io";
const STORAGE: &str = "storage.k8s.io";

/// Built-in APIs that were added or removed from 1.19 to 1.36. The list omits API versions that were off by default.
pub(crate) const BUILT_IN: &[BuiltInApi] = &[
    added("node.k8s.io", "v1", "", 20),
    added("batch", "v1", "cronjobs", 21),
    added("discovery.k8s.io", "v1", "", 21),
    added("policy", "v1", "", 21),
    added("autoscaling", "v2", "", 23),
    added(STORAGE, "v1", "csistoragecapacities", 24),
    added("authentication.k8s.io", "v1", "selfsubjectreviews", 28),
    added(FLOW_CONTROL, "v1", "", 29),
    added(ADMISSION, "v1", "validatingadmissionpolicies", 30),
    added(ADMISSION, "v1", "validatingadmissionpolicybindings", 30),
    added(NETWORKING, "v1", "ipaddresses", 33),
    added(NETWORKING, "v1", "servicecidrs", 33),
    added(RESOURCE, "v1", "", 34),
    added(STORAGE, "v1", "volumeattributesclasses", 34),
    added(ADMISSION, "v1", "mutatingadmissionpolicies", 36),
    added(ADMISSION, "v1", "mutatingadmissionpolicybindings", 36),
    between(FLOW_CONTROL, "v1beta1", "", 20, 26),
    between(FLOW_CONTROL, "v1beta2", "", 23, 29),
    between(FLOW_CONTROL, "v1beta3", "", 26, 32),
    between(STORAGE, "v1beta1", "csistoragecapacities", 21, 27),
    removed("autoscaling", "v2beta2", "", 26),
    removed("autoscaling", "v2beta1", "", 25),
    removed("batch", "v1beta1", "", 25),
    removed("discovery.k8s.io", "v1beta1", "", 25),
    removed("events.k8s.io", "v1beta1", "", 25),
    removed("node.k8s.io", "v1beta1", "", 25),
    removed("policy", "v1beta1", "", 25),
    removed(ADMISSION, "v1beta1", "mutatingwebhookconfigurations", 22),
    removed(ADMISSION, "v1beta1", "validatingwebhookconfigurations", 22),
    removed("apiextensions.k8s.io", "v1beta1", "", 22),
    removed("apiregistration.k8s.io", "v1beta1", "", 22),
    removed("authentication.k8s.io", "v1beta1", "tokenreviews", 22),
    removed("authorization.k8s.io", "v1beta1", "", 22),
    removed("certificates.k8s.io", "v1beta1", "certificatesigningrequests", 22),
    removed("coordination.k8s.io", "v1beta1", "leases", 22),
    removed("extensions", "v1beta1", "", 22),
    removed(NETWORKING, "v1beta1", "ingresses", 22),
    removed(NETWORKING, "v1beta1", "ingressclasses", 22),
    removed(RBAC, "v1beta1", "", 22),
    removed("scheduling.k8s.io", "v1beta1", "priorityclasses", 22),
    removed(STORAGE, "v1beta1", "csidrivers", 22),
    removed(STORAGE, "v1beta1", "csinodes", 22),
    removed(STORAGE, "v1beta1", "storageclasses", 22),
    removed(STORAGE, "v1beta1", "volumeattachments", 22),
];

impl BuiltInApi {
    /// Finds the index in [`BUILT_IN`] for a path below `/apis/`. `resource` is empty if the path ends with the version.
    #[must_use]
    pub(crate) fn find(group: &str, version: &str, resource: &str) -> Option<u8> {
        let is_it = |api: &Self| {
            api.group == group
                && api.version == version
                && (api.resource.is_empty() || api.resource == resource)
        };
        BUILT_IN.iter().position(is_it).and_then(|at| u8::try_from(at).ok())
    }

    /// Whether a release removed the API with this index in [`BUILT_IN`].
    #[must_use]
    pub(crate) fn is_removed(at: u8) -> bool {
        BUILT_IN.get(usize::from(at)).is_some_and(|api| api.until.is_some())
    }

    /// The first minor version that no longer serves the API.
    #[must_use]
    pub(crate) fn removed_in(&self) -> Option<u16> {
        self.until
    }

    /// Returns the releases that serve the API.
    #[must_use]
    pub(crate) fn served_by(&self) -> Releases {
        Releases::minors(self.since, self.until.map_or(u16::MAX, |until| until - 1))
    }

    /// Returns the releases that return 404 for the API.
    #[must_use]
    pub(crate) fn absent_in(&self) -> Releases {
        self.served_by().others()
    }
}

impl fmt::Display for BuiltInApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.resource {
            "" => write!(f, "{}/{}", self.group, self.version),
            resource => write!(f, "{resource} in {}/{}", self.group, self.version),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn v(minor: u16, patch: u16) -> KubeVersion {
        KubeVersion::new(minor, patch)
    }

    #[test]
    fn sets_format_as_people_write_them() {
        let holes = Releases::since(24).and(&with_latency_annotations()).and(&Releases::modeled());
        for (releases, text) in [
            (Releases::minors(30, 33), "1.30 to 1.33"),
            (Releases::minors(31, 31), "1.31"),
            (Releases::exactly(v(30, 14)), "1.30.14"),
            (Releases::exactly(KubeVersion { minor: 27, patch: None }), "1.27"),
            (Releases::before(25), "1.24 and older"),
            (Releases::since(31), "1.31 and newer"),
            (Releases::all(), "any version"),
            (Releases::minors(27, 31).others().and(&Releases::modeled()), "1.19 to 1.26 and 1.32 to 1.37"),
            (holes, "1.24 to 1.33, 1.34.7+ and 1.35.4 to 1.37"),
        ] {
            assert_eq!(releases.to_string(), text);
        }
    }

    #[test]
    fn possible_releases_follow_the_version_skew_policy() {
        assert_eq!(for_node_component(v(30, 14)), Releases::minors(30, 33));
        assert_eq!(for_node_component(v(24, 1)), Releases::minors(24, 26));
        assert_eq!(for_control_plane(v(30, 14)), Releases::minors(30, 31));
        assert_eq!(for_other_server(v(30, 14)), Releases::minors(29, 31));
    }

    #[test]
    fn an_api_implies_the_releases_that_serve_it() {
        let api = |group, version, resource| {
            BuiltInApi::find(group, version, resource).map(|at| &BUILT_IN[usize::from(at)])
        };
        let flow = api(FLOW_CONTROL, "v1beta2", "flowschemas").expect("an API");
        assert_eq!(flow.served_by(), Releases::minors(23, 28));
        assert_eq!(flow.absent_in().and(&Releases::modeled()).to_string(), "1.19 to 1.22 and 1.29 to 1.37");
        assert_eq!(api("policy", "v1", "").map(BuiltInApi::served_by), Some(Releases::since(21)));
        assert_eq!(api("batch", "v1", "jobs"), None);
        assert_eq!(api("batch", "v1", ""), None, "other resources of the version are older");
        assert_eq!(api("example.com", "v1", "x"), None);
        assert_eq!(
            api(STORAGE, "v1beta1", "csinodes").expect("an API").to_string(),
            "csinodes in storage.k8s.io/v1beta1"
        );
    }

    #[test]
    fn each_built_in_api_is_found_by_its_names() {
        for (at, api) in BUILT_IN.iter().enumerate() {
            let index = BuiltInApi::find(api.group, api.version, api.resource).map(usize::from);
            assert_eq!(index, Some(at), "{api}");
        }
    }

    proptest! {
        #[test]
        fn set_operations_agree_with_membership(
            one in prop::collection::vec((20_u16..30, 0_u16..4, 0_u16..3), 0..3),
            other in prop::collection::vec((20_u16..30, 0_u16..4, 0_u16..3), 0..3),
            probe in (19_u16..34, 0_u16..6),
        ) {
            let set = |excluded: &[(u16, u16, u16)]| excluded.iter().fold(Releases::all(), |set, (minor, patch, more)| {
                let last = KubeVersion { minor: minor + more, patch: None };
                set.and(&Releases::between(v(*minor, *patch), last).others())
            });
            let (one, other, probe) = (set(&one), set(&other), v(probe.0, probe.1));
            let both = one.and(&other);
            prop_assert_eq!(both.contains(probe), one.contains(probe) && other.contains(probe));
            prop_assert_eq!(one.others().contains(probe), !one.contains(probe));
            prop_assert_eq!(one.others().others(), one);
            prop_assert_eq!(both.clone(), other.and(&set(&[])).and(&both));
        }
    }
}
