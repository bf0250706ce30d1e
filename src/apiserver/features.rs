//! The feature gates that decide where a read is served from, by version.
//!
//! Source: k8s.io/apiserver `pkg/features/kube_features.go` at every tag from v0.19.0 to v0.37.0-beta.0;
//! KEP-365, KEP-2340, KEP-4988, KEP-3157.

use std::collections::BTreeMap;

use crate::k8s::KubeVersion;
use crate::named::named;

named! {
    /// A feature gate that the model uses.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Gate {
        /// KEP-365: `limit` and `continue`.
        ApiListChunking = "APIListChunking",
        /// KEP-2340: the watch cache serves a LIST without resourceVersion.
        ConsistentListFromCache = "ConsistentListFromCache",
        /// KEP-4988: a snapshot of the watch cache serves a LIST at an exact revision.
        ListFromCacheSnapshot = "ListFromCacheSnapshot",
        /// KEP-3157: a WATCH with `sendInitialEvents` begins with the existing objects.
        WatchList = "WatchList",
        /// API Priority and Fairness estimates the seats of a LIST from the size of its objects. The gate affects only
        /// the seats.
        SizeBasedListCostEstimate = "SizeBasedListCostEstimate",
        /// A WATCH without resourceVersion opens a watch in etcd. In three ranges of patches, the server always does
        /// this, without a gate.
        WatchFromStorageWithoutResourceVersion = "WatchFromStorageWithoutResourceVersion",
    }
    /// Returns the name in `--feature-gates` of kube-apiserver.
    pub(crate) fn name;
    pub(crate) const ALL;
}

/// The state of a gate in one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GateState {
    /// The gate can be set. The value is its default.
    Default(bool),
    /// The gate exists but cannot be set. The value is fixed.
    Locked(bool),
    /// The gate does not exist. The server behaves as if the gate had this value.
    Absent(bool),
}

impl Gate {
    /// Finds a gate by its name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gate| gate.name() == name)
    }

    /// Returns the state of the gate in `version`.
    #[must_use]
    pub(crate) fn state(self, version: KubeVersion) -> GateState {
        use GateState::{Absent, Default, Locked};
        match self {
            Self::ApiListChunking => match version.minor {
                ..=28 => Default(true),
                29..=32 => Locked(true),
                33.. => Absent(true),
            },
            Self::ConsistentListFromCache => match version.minor {
                ..=27 => Absent(false),
                28..=30 => Default(false),
                31..=33 => Default(true),
                34..=36 => Locked(true),
                37.. => Absent(true),
            },
            Self::ListFromCacheSnapshot => match version.minor {
                ..=32 => Absent(false),
                33 => Default(false),
                34.. => Default(true),
            },
            Self::WatchList => match version.minor {
                ..=26 => Absent(false),
                27..=31 | 33 => Default(false),
                32 | 34.. => Default(true),
            },
            Self::SizeBasedListCostEstimate => match version.minor {
                ..=33 => Absent(false),
                34.. => Default(true),
            },
            Self::WatchFromStorageWithoutResourceVersion => match version.minor {
                ..=26 => Absent(false),
                // kubernetes/kubernetes#115096 made the server send such a WATCH to etcd. #123935 added the gate for
                // this behavior.
                27 if !version.at_least(27, 13) => Absent(true),
                28 if !version.at_least(28, 9) => Absent(true),
                29 if !version.at_least(29, 4) => Absent(true),
                27..=32 => Default(false),
                33..=35 => Locked(false),
                36.. => Absent(false),
            },
        }
    }
}

impl Gate {
    /// Returns the stage of the gate in `version`. `None` if the gate is GA, deprecated or absent. A locked gate also
    /// returns `None`: in the model, each locked gate is GA or deprecated.
    fn stage(self, version: KubeVersion) -> Option<GateStage> {
        if !matches!(self.state(version), GateState::Default(_)) {
            return None;
        }
        let last_alpha = match self {
            Self::ConsistentListFromCache => 30,
            Self::ListFromCacheSnapshot => 33,
            Self::WatchList => 31,
            Self::ApiListChunking
            | Self::SizeBasedListCostEstimate
            | Self::WatchFromStorageWithoutResourceVersion => 0,
        };
        Some(if version.minor <= last_alpha { GateStage::Alpha } else { GateStage::Beta })
    }
}

named! {
    /// A stage of gates. One name in `--feature-gates` sets all gates of a stage.
    ///
    /// Source: k8s.io/component-base `featuregate/feature_gate.go:setUnsetAlphaGates`, `setUnsetBetaGates`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub(crate) enum GateStage {
        /// Alpha gates, set with `AllAlpha`.
        Alpha = "AllAlpha",
        /// Beta gates, set with `AllBeta`.
        Beta = "AllBeta",
    }
    /// Returns the name in `--feature-gates` that sets all gates of the stage.
    pub(crate) fn name;
    pub(crate) const ALL;
}

/// Returns the names of all gates and stages that the model knows.
pub(crate) fn known_names() -> impl Iterator<Item = &'static str> {
    GateStage::ALL.into_iter().map(GateStage::name).chain(Gate::ALL.into_iter().map(Gate::name))
}

/// The gates and stages that the user set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeatureGates {
    gates: BTreeMap<Gate, bool>,
    stages: BTreeMap<GateStage, bool>,
}

impl FeatureGates {
    /// Sets a gate; the last value wins.
    pub fn set(&mut self, gate: Gate, value: bool) {
        self.gates.insert(gate, value);
    }

    /// Sets a gate or a stage by its name; the last value wins. Returns whether the name is known.
    pub(crate) fn set_by_name(&mut self, name: &str, value: bool) -> bool {
        if let Some(gate) = Gate::by_name(name) {
            self.set(gate, value);
            return true;
        }
        let stage = GateStage::ALL.into_iter().find(|stage| stage.name() == name);
        stage.is_some_and(|stage| {
            self.stages.insert(stage, value);
            true
        })
    }

    /// Returns the gates that the user set by their own names, not by a stage.
    pub(crate) fn gates(&self) -> impl Iterator<Item = (Gate, bool)> {
        self.gates.iter().map(|(gate, value)| (*gate, *value))
    }

    /// Returns the names and values of the stages and gates that the user set.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let stages = self.stages.iter().map(|(stage, value)| (stage.name(), *value));
        stages.chain(self.gates().map(|(gate, value)| (gate.name(), value)))
    }

    /// Returns the value that the user set for the stage that the gate has in `version`. It applies only if the user
    /// did not set the gate itself.
    fn stage_value(&self, gate: Gate, version: KubeVersion) -> Option<bool> {
        self.stages.get(&gate.stage(version)?).copied()
    }

    /// Whether the gate is on in `version`. If the gate cannot be set in that version, the user's value has no
    /// effect. The server would not start with that value.
    #[must_use]
    pub(crate) fn enabled(&self, gate: Gate, version: KubeVersion) -> bool {
        match gate.state(version) {
            GateState::Default(default) => {
                let set = self.gates.get(&gate).copied();
                set.or_else(|| self.stage_value(gate, version)).unwrap_or(default)
            }
            GateState::Locked(value) if can_be_emulated(gate, version) => {
                self.gates.get(&gate).copied().unwrap_or(value)
            }
            GateState::Locked(value) | GateState::Absent(value) => value,
        }
    }
}

/// Whether `--emulated-version` makes it possible to set a locked gate. That works if the gate could be set in at
/// least one of the three previous minor versions.
///
/// Source: KEP-4330, k8s.io/component-base `compatibility`, 1.31 and later. Upstream's tests of 1.34 and later turn
/// off `ConsistentListFromCache` in this way.
#[must_use]
pub(crate) fn can_be_emulated(gate: Gate, version: KubeVersion) -> bool {
    version.at_least(31, 0)
        && (version.minor - 3..version.minor)
            .any(|minor| matches!(gate.state(KubeVersion { minor, patch: None }), GateState::Default(_)))
}

#[cfg(test)]
mod tests {
    use super::Gate::{
        ConsistentListFromCache, ListFromCacheSnapshot, WatchFromStorageWithoutResourceVersion, WatchList,
    };
    use super::*;

    #[test]
    fn a_set_gate_overrides_its_default_where_it_exists() {
        let mut gates = FeatureGates::default();
        assert!(!gates.enabled(Gate::WatchList, KubeVersion::new(33, 4)));
        assert!(gates.enabled(Gate::WatchList, KubeVersion::new(32, 0)));
        gates.set(Gate::ConsistentListFromCache, false);
        assert!(!gates.enabled(Gate::ConsistentListFromCache, KubeVersion::new(31, 0)));
        assert!(!gates.enabled(Gate::ConsistentListFromCache, KubeVersion::new(36, 0)), "emulating 1.33");
        assert!(gates.enabled(Gate::ConsistentListFromCache, KubeVersion::new(37, 0)), "no longer there");
        gates.set(Gate::ConsistentListFromCache, true);
        assert!(!gates.enabled(Gate::ConsistentListFromCache, KubeVersion::new(27, 0)), "absent");
    }

    #[test]
    fn a_stage_sets_its_gates_unless_they_are_set() {
        let gates = |texts: &[(&str, bool)]| {
            let mut gates = FeatureGates::default();
            for (name, value) in texts {
                assert!(gates.set_by_name(name, *value), "{name}");
            }
            gates
        };
        for (set, gate, minor, enabled) in [
            ([("AllAlpha", true)].as_slice(), ConsistentListFromCache, 30, true),
            (&[("AllAlpha", true)], ConsistentListFromCache, 27, false),
            (&[("AllAlpha", false)], ConsistentListFromCache, 31, true),
            (&[("AllAlpha", true)], ListFromCacheSnapshot, 33, true),
            (&[("AllAlpha", false)], ListFromCacheSnapshot, 34, true),
            (&[("AllAlpha", true)], WatchList, 33, false),
            (&[("AllBeta", true)], WatchList, 33, true),
            (&[("AllBeta", true)], WatchList, 31, false),
            (&[("AllBeta", false)], WatchList, 34, false),
            (&[("WatchList", true), ("AllBeta", false)], WatchList, 34, true),
            (&[("AllBeta", false), ("WatchList", true)], WatchList, 34, true),
            (&[("AllAlpha", true), ("ConsistentListFromCache", false)], ConsistentListFromCache, 30, false),
            (&[("AllBeta", false)], ConsistentListFromCache, 33, false),
            (&[("AllBeta", false)], ConsistentListFromCache, 34, true),
            (&[("AllBeta", false)], Gate::ApiListChunking, 28, false),
            (&[("AllBeta", false)], Gate::ApiListChunking, 29, true),
            (&[("AllBeta", true)], WatchFromStorageWithoutResourceVersion, 32, true),
            (&[("AllBeta", true)], WatchFromStorageWithoutResourceVersion, 33, false),
        ] {
            let version = KubeVersion { minor, patch: None };
            assert_eq!(gates(set).enabled(gate, version), enabled, "{set:?} {gate:?} 1.{minor}");
        }
        assert!(!FeatureGates::default().set_by_name("allalpha", true));
        assert_eq!(gates(&[("AllBeta", false)]).iter().collect::<Vec<_>>(), [("AllBeta", false)]);
    }

    #[test]
    fn gate_names_parse_back() {
        for gate in Gate::ALL {
            assert_eq!(Gate::by_name(gate.name()), Some(gate));
        }
    }
}
