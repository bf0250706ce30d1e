//! Counts the distinct objects that requests name, by namespace and resource. An inventory counts objects only for
//! the whole cluster. These numbers show which namespaces are large.
//!
//! All data are sets. So neither the order of the requests nor their split among workers affects the result.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::merge::merge_fields;
use super::{BoundedMap, Merge, Targets};
use crate::apiserver::{RequestShape, Target};
use crate::k8s::{Scope, Stage, Verb};
use crate::requests::{Request, stable_hash};

/// The maximum number of pairs of resource and namespace.
const MAX_PAIRS: usize = 16_384;
/// The maximum number of collections with a known namespace.
const MAX_COLLECTIONS: usize = 65_536;
/// The maximum number of names for each pair. Above it, a sample of the names is kept.
const MAX_NAMES: usize = 64;
/// Requests for Leases do not count. Leases are locks and node heartbeats, so their number does not show how large a
/// namespace is.
const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");

/// The hashes of a resource and a namespace.
type Pair = (u64, u32);

#[derive(Debug, Default)]
pub(crate) struct Namespaces {
    objects: BoundedMap<Pair, Names, MAX_PAIRS>,
    /// The namespace of each collection that clients list or watch. The key is the upper half of the target's hash,
    /// as in [`Targets`].
    collections: BoundedMap<u32, Namespace, MAX_COLLECTIONS>,
}

impl Namespaces {
    /// Records the namespace of a request. Call it when the request ends, or when a long-running request begins.
    pub(crate) fn note(&mut self, request: &Request<'_>) {
        let (spec, shape) = (&request.spec, request.shape());
        let Target::Resource { group, resource, scope, .. } = shape.target else { return };
        let target = Targets::key(spec.target_hash);
        let is_noted = match request.stage {
            Stage::RequestReceived => false,
            Stage::ResponseStarted => spec.long_running,
            Stage::ResponseComplete | Stage::Panic => true,
        };
        if spec.namespace_hash == 0 || !is_noted {
            return;
        }
        if scope == Scope::Object {
            let pair = (resource_hash(group, resource), spec.namespace_hash);
            self.objects.entry(&pair, 0, || pair).insert(target);
        } else if matches!(shape.verb, Verb::List | Verb::Watch | Verb::DeleteCollection) {
            let namespace = Namespace(spec.namespace_hash);
            self.collections.entry(&target, 0, || target).merge(namespace);
        }
    }

    #[must_use]
    pub(crate) fn into_weights(self) -> NamespaceWeights {
        let mut weights = NamespaceWeights::default();
        let leases = resource_hash(LEASES.0, LEASES.1);
        for ((resource, namespace), names) in self.objects.into_parts().0 {
            weights.by_resource.entry(resource).or_default().add(namespace, names.distinct());
            if resource != leases {
                weights.of_all.add(namespace, names.distinct());
            }
        }
        let collections = self.collections.into_parts().0.into_iter();
        weights.collections = collections.map(|(target, namespace)| (target, namespace.0)).collect();
        weights
    }
}

merge_fields!(Namespaces: objects, collections);

fn resource_hash(group: &str, resource: &str) -> u64 {
    stable_hash(&(group, resource))
}

/// A hash of a namespace. A target has two namespaces only after a hash collision. Then the smaller hash counts.
#[derive(Debug, Clone, Copy)]
struct Namespace(u32);

impl Default for Namespace {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

impl Merge for Namespace {
    fn merge(&mut self, other: Self) {
        self.0 = self.0.min(other.0);
    }
}

/// The hashes of distinct names. Above [`MAX_NAMES`], only hashes that begin with enough zeros are kept (adaptive
/// sampling, as in [`Targets`]).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Names {
    hashes: SmallVec<[u32; 2]>,
    sampled: u32,
}

impl Names {
    fn insert(&mut self, hash: u32) {
        if hash.leading_zeros() < self.sampled {
            return;
        }
        let Err(at) = self.hashes.binary_search(&hash) else { return };
        self.hashes.insert(at, hash);
        while self.hashes.len() > MAX_NAMES {
            self.sampled += 1;
            self.hashes.retain(|hash| hash.leading_zeros() >= self.sampled);
        }
    }

    fn distinct(&self) -> u64 {
        (self.hashes.len() as u64) << self.sampled
    }
}

impl Merge for Names {
    fn merge(&mut self, other: Self) {
        if other.sampled > self.sampled {
            self.sampled = other.sampled;
            self.hashes.retain(|hash| hash.leading_zeros() >= other.sampled);
        }
        other.hashes.into_iter().for_each(|hash| self.insert(hash));
    }
}

/// The number of distinct objects that the log names, by resource and namespace.
#[derive(Debug, Default)]
pub struct NamespaceWeights {
    by_resource: HashMap<u64, Weights, FxBuildHasher>,
    /// The number of distinct objects of all resources together, except Leases, by namespace.
    of_all: Weights,
    collections: HashMap<u32, u32, FxBuildHasher>,
}

#[derive(Debug, Default)]
struct Weights {
    by_namespace: HashMap<u32, u64, FxBuildHasher>,
    sum: u64,
}

impl Weights {
    fn add(&mut self, namespace: u32, objects: u64) {
        *self.by_namespace.entry(namespace).or_default() += objects;
        self.sum += objects;
    }
}

/// The share of a resource's objects in the namespaces that the requests of a row read. It is estimated from the
/// objects that the log names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NamespacePart {
    /// The sum, over all requests, of the known objects in the request's namespace. An object is known if the log
    /// contains its name.
    named: u64,
    requests: u64,
    /// The number of known objects in all namespaces together.
    all: u64,
    /// The number of namespaces with at least one known object.
    namespaces: u64,
}

impl NamespacePart {
    /// Estimates the mean number of objects in the namespace of a request. `objects` is the number of objects in the
    /// cluster, and `namespaces` the number of namespaces, if known. Each namespace counts as if the log named one
    /// more object in it. So the estimate is above 0 even for a namespace without named objects. If the log names few
    /// objects, the estimates of all namespaces are nearly equal.
    #[must_use]
    pub(crate) fn objects(self, objects: u64, namespaces: Option<u64>) -> u64 {
        let namespaces = namespaces.unwrap_or(0).max(self.namespaces);
        let part = u128::from(self.named) + u128::from(self.requests);
        let all = u128::from(self.requests) * (u128::from(self.all) + u128::from(namespaces));
        let estimate = (u128::from(objects) * part).div_ceil(all.max(1));
        u64::try_from(estimate).unwrap_or(u64::MAX).min(objects)
    }
}

impl NamespaceWeights {
    /// The share of objects in the namespaces that a row's requests read. `None` if the log names no objects, or if the
    /// namespaces of the requests are unknown.
    #[must_use]
    pub(crate) fn part<S: AsRef<str>>(
        &self,
        shape: &RequestShape<S>,
        targets: &Targets,
    ) -> Option<NamespacePart> {
        let Target::Resource { group, resource, .. } = &shape.target else { return None };
        let own = self.by_resource.get(&resource_hash(group.as_ref(), resource.as_ref()));
        let weights = own.unwrap_or(&self.of_all);
        if weights.sum == 0 {
            return None;
        }
        let (mut named, mut requests) = (0_u64, 0_u64);
        for (target, count) in targets.counted() {
            let Some(namespace) = self.collections.get(&target) else { continue };
            let count = u64::from(count).max(1);
            let objects = weights.by_namespace.get(namespace).copied().unwrap_or(0);
            named = named.saturating_add(objects.saturating_mul(count));
            requests += count;
        }
        let namespaces = weights.by_namespace.len() as u64;
        (requests > 0).then_some(NamespacePart { named, requests, all: weights.sum, namespaces })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(hashes: &[u32]) -> Names {
        let mut names = Names::default();
        for hash in hashes {
            names.insert(*hash);
        }
        names
    }

    proptest! {
        #[test]
        fn named_objects_are_independent_of_order_and_split(
            hashes in prop::collection::vec(any::<u32>(), 0..600),
            cut in 0_usize..600,
        ) {
            let (left, right) = hashes.split_at(cut.min(hashes.len()));
            let mut merged = names(right);
            merged.merge(names(left));
            prop_assert_eq!(&merged, &names(&hashes));
            let mut again = hashes.clone();
            again.extend(left);
            prop_assert_eq!(&merged, &names(&again), "a name twice is one name");
            let mut distinct = hashes.clone();
            distinct.sort_unstable();
            distinct.dedup();
            if distinct.len() <= MAX_NAMES {
                prop_assert_eq!(merged.distinct(), distinct.len() as u64);
            }
        }

        #[test]
        fn objects_of_all_namespaces_add_up_to_the_total(
            named in prop::collection::vec(0_u64..1_000, 1..50),
            more in 0_u64..50,
            objects in 0_u64..1_000_000,
        ) {
            let (all, namespaces) = (named.iter().sum(), named.len() as u64);
            let part = |named| NamespacePart { named, requests: 1, all, namespaces };
            let sum: u64 = named.iter().chain(std::iter::repeat_n(&0, usize::try_from(more).expect("few")))
                .map(|named| part(*named).objects(objects, Some(namespaces + more)))
                .sum();
            // Each estimate is rounded up.
            prop_assert!(sum >= objects && sum <= objects + namespaces + more, "{} of {}", sum, objects);
        }
    }

    #[test]
    fn namespace_with_more_named_objects_gets_a_larger_estimate() {
        let part = |named| NamespacePart { named, requests: 1, all: 90, namespaces: 2 };
        assert_eq!((part(80).objects(1_000, Some(10)), part(10).objects(1_000, Some(10))), (810, 110));
        assert_eq!(part(80).objects(1_000, None), 881);
        let twice = NamespacePart { named: 160, requests: 2, all: 90, namespaces: 2 };
        assert_eq!(twice.objects(1_000, Some(10)), 810);
    }
}
