//! Selects the requests of a case from the log, for `extract`.

use std::collections::BTreeSet;

use compact_str::CompactString;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::cases::Case;
use crate::apiserver::{ConfiguredNames, RequestShape, Server};
use crate::judged::ShapeKey;
use crate::ledger::RowHash;
use crate::requests::{Request, stable_hash};
use crate::rules::HitRef;
use crate::rules::facts::RowFacts;

/// The maximum number of cached rows. A full cache is cleared.
const MAX_CACHED: usize = 1 << 16;

/// The request shapes of a case, by client and product.
#[derive(Debug, Default)]
pub struct CaseRequests {
    /// Each key has the hashes of a client and a product.
    shapes: HashMap<(u64, u64), BTreeSet<ShapeKey>, FxBuildHasher>,
    /// Whether some rows are overflow rows. The clients, products or shapes of such rows are unknown.
    pub(crate) is_folded: bool,
}

impl CaseRequests {
    pub(super) fn from_hits(case: &Case, hits: &[HitRef<'_, '_>]) -> Self {
        let mut requests = Self::default();
        let groups = case.findings.iter().filter_map(|at| hits[*at].group);
        groups.flat_map(|group| &group.rows).for_each(|facts| requests.add(facts));
        requests
    }

    fn add(&mut self, facts: &RowFacts<'_>) {
        let Some(client) = &facts.client.key else {
            self.is_folded = true;
            return;
        };
        self.is_folded |= facts.key.verb.is_none() || facts.product == "(other products)";
        let shapes = self.shapes.entry((stable_hash(client), stable_hash(facts.product))).or_default();
        if !shapes.contains(facts.key) {
            shapes.insert(facts.key.clone());
        }
    }

    /// Whether the case has no requests, because it is about the log itself.
    pub(crate) fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }
}

/// Decides whether a request belongs to one of the cases.
#[derive(Debug)]
pub(crate) struct CaseFilter {
    cases: Vec<CaseRequests>,
    /// The server configuration for each value of `Request::version_index`.
    servers: Vec<Server>,
    names: ConfiguredNames,
    received_only: bool,
}

/// Each worker's cache of whether the requests of a row pass the filter.
#[derive(Debug, Default)]
pub(crate) struct CaseCache(HashMap<RowHash, bool, FxBuildHasher>);

impl CaseFilter {
    /// Creates a filter. `servers` has a server configuration for each value of `Request::version_index`.
    pub(crate) fn new(cases: Vec<CaseRequests>, servers: Vec<Server>, received_only: bool) -> Self {
        let names = servers.first().map(ConfiguredNames::new).unwrap_or_default();
        Self { cases, servers, names, received_only }
    }

    pub(crate) fn pass(&self, request: &Request<'_>, cache: &mut CaseCache) -> bool {
        let cache = &mut cache.0;
        let row = RowHash::new(request);
        if let Some(passes) = cache.get(&row) {
            return *passes;
        }
        let client = (request.client.client_hash, request.client.product_hash);
        let shapes: Vec<&BTreeSet<ShapeKey>> =
            self.cases.iter().filter_map(|case| case.shapes.get(&client)).collect();
        let has = |shape: &RequestShape<CompactString>| {
            let server = &self.servers[usize::from(request.version_index)];
            let key = ShapeKey::from_request(server, shape, request.status_class, self.received_only);
            shapes.iter().any(|shapes| shapes.contains(&key))
        };
        let shape = request.spec.shape;
        // Also look up the shape without names. Beyond the limit of shapes, the ledger counts requests without the
        // names of their resources.
        let passes =
            !shapes.is_empty() && (has(shape) || has(&shape.without_names(self.names.config_of(shape))));
        if cache.len() == MAX_CACHED {
            cache.clear();
        }
        cache.insert(row, passes);
        passes
    }
}
