//! Which requests a case is about, so that they are found in the log again.

use std::collections::BTreeSet;

use compact_str::CompactString;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::cases::Case;
use crate::apiserver::{ConfiguredNames, RequestShape, Server};
use crate::judged::ShapeKey;
use crate::ledger::RowHash;
use crate::requests::{Request, stable_hash};
use crate::rules::facts::RowFacts;
use crate::rules::hits::HitRef;

/// Rows whose match is remembered; then it begins anew.
const REMEMBERED: usize = 1 << 16;

/// The rows of a case: the shapes of each client and product.
#[derive(Debug, Default)]
pub struct CaseRequests {
    /// By the hashes of client and product.
    shapes: HashMap<(u64, u64), BTreeSet<ShapeKey>, FxBuildHasher>,
    /// Some rows stand for clients, products or shapes that are counted together.
    pub is_folded: bool,
}

impl CaseRequests {
    /// Those of a case that is made of hits.
    pub(super) fn of(case: &Case, hits: &[HitRef<'_, '_>]) -> Self {
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

    /// Whether it has no request: it is about the log itself.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }
}

/// Finds the requests of cases.
#[derive(Debug)]
pub struct CaseFilter {
    cases: Vec<CaseRequests>,
    /// The server of each version index.
    servers: Vec<Server>,
    names: ConfiguredNames,
    received_only: bool,
}

/// Rows whose match a worker knows.
#[derive(Debug, Default)]
pub struct CaseCache(HashMap<RowHash, bool, FxBuildHasher>);

impl CaseFilter {
    /// Finds the requests of these cases. `servers` holds one server for each version index.
    #[must_use]
    pub fn new(cases: Vec<CaseRequests>, servers: Vec<Server>, received_only: bool) -> Self {
        let names = servers.first().map(ConfiguredNames::new).unwrap_or_default();
        Self { cases, servers, names, received_only }
    }

    /// Whether an event belongs to a row of the cases.
    pub fn pass(&self, request: &Request<'_>, known: &mut CaseCache) -> bool {
        let known = &mut known.0;
        let row = RowHash::new(request);
        if let Some(known) = known.get(&row) {
            return *known;
        }
        let client = (request.client.client_hash, request.client.product_hash);
        let shapes: Vec<&BTreeSet<ShapeKey>> =
            self.cases.iter().filter_map(|case| case.shapes.get(&client)).collect();
        let has = |asked: &RequestShape<CompactString>| {
            let server = &self.servers[usize::from(request.version_index)];
            let key = ShapeKey::of_request(server, asked, request.status_class, self.received_only);
            shapes.iter().any(|shapes| shapes.contains(&key))
        };
        let asked = request.spec.asked;
        // Beyond the number of shapes that are told apart, resources are counted without their names.
        let passes =
            !shapes.is_empty() && (has(asked) || has(&asked.without_names(self.names.config_of(asked))));
        if known.len() == REMEMBERED {
            known.clear();
        }
        known.insert(row, passes);
        passes
    }
}
