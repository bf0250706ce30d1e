//! Compares the verdicts of several servers on the rows of a ledger.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::change::{ChangeKind, judge_elsewhere, reads_etcd};
use super::contract::{ClientChanges, GateChange, ServerState, ShapeChange, UpgradeHop, UpgradeTotals};
use crate::apiserver::features::GateState;
use crate::apiserver::releases::BUILT_IN;
use crate::apiserver::{Gate, LimitVerdict, ServedFrom, Server, Verdict, judge};
use crate::judged::{ClientName, shape_text};
use crate::k8s::{Scope, Verb};
use crate::ledger::{Clients, ProductRows, Row};
use crate::requests::RowKey;

/// What the requests of a ledger do on several servers.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) requests: u64,
    pub(crate) clients: u64,
    pub(crate) not_compared: u64,
    pub(crate) uncertain: u64,
    pub(crate) from: UpgradeTotals,
    pub(crate) hops: Vec<UpgradeHop>,
}

/// Compares the recorded servers with others. `recorded` has a server for each version index of the ledger. The other
/// servers are in the order of the hops.
#[must_use]
pub(crate) fn compare(
    clients: Clients,
    recorded: &[Server],
    others: &[Server],
    received_only: bool,
) -> Comparison {
    let mut comparison = Comparison {
        requests: 0,
        clients: 0,
        not_compared: 0,
        uncertain: 0,
        from: UpgradeTotals::default(),
        hops: hops(recorded, others),
    };
    let (separate, overflow) = clients.into_parts();
    let separate = separate.into_iter().map(|(key, client)| (Some(key), client));
    for (key, client) in separate.chain(overflow.map(|client| (None, client))) {
        let mut changes = vec![BTreeMap::new(); others.len()];
        let before = comparison.requests;
        let (products, folded) = client.products.into_parts();
        let products = products.into_iter().map(|(name, product)| (name.into_string(), product));
        let folded = folded.map(|product| (String::new(), product));
        for (name, product) in products.chain(folded) {
            let ProductRows { rows, overflow } = ProductRows::from_product(product, received_only);
            for (row_key, row) in rows {
                let requests = row.requests(received_only);
                comparison.requests += requests;
                if requests > 0 {
                    let compared = ComparedRow { row_key: &row_key, row: &row, requests, received_only };
                    compared.add(recorded, others, &name, &mut comparison, &mut changes);
                }
            }
            let overflowed = overflow.map_or(0, |row| row.requests(received_only));
            comparison.requests += overflowed;
            comparison.not_compared += overflowed;
        }
        comparison.clients += u64::from(comparison.requests > before);
        for (hop, changes) in comparison.hops.iter_mut().zip(changes) {
            if !changes.is_empty() {
                hop.clients.push(client_changes(&ClientName::new(key.as_ref()), changes));
            }
        }
    }
    for hop in &mut comparison.hops {
        hop.clients.sort_by_cached_key(|client| {
            let of = |kind: ChangeKind| {
                let own = client.changes.iter().filter(|change| change.change == kind.as_str());
                Reverse(own.map(|change| change.requests).sum::<u64>())
            };
            let broken = Reverse(of(ChangeKind::ApiRemoved).0 + of(ChangeKind::Refused).0);
            (
                broken,
                of(ChangeKind::ToEtcd),
                of(ChangeKind::LimitIgnored),
                Reverse(client.better),
                client.client.clone(),
            )
        });
    }
    comparison
}

/// The hops, still without their changes.
fn hops(recorded: &[Server], others: &[Server]) -> Vec<UpgradeHop> {
    let first = recorded.last().expect("a ledger has a version");
    let before = std::iter::once(first).chain(others);
    let hop = |(before, to): (&Server, &Server)| UpgradeHop {
        from_version: before.version.to_string(),
        to: ServerState {
            kube_version: to.version.to_string(),
            etcd_version: to.etcd.map(|version| version.to_string()),
            totals: UpgradeTotals::default(),
        },
        gates: gates(before, to),
        clients: Vec::new(),
    };
    before.zip(others).map(hop).collect()
}

fn gates(before: &Server, after: &Server) -> Vec<GateChange> {
    let gate = |gate: Gate| {
        let values = [before, after].map(|server| server.enabled(gate));
        (values[0] != values[1]).then(|| GateChange {
            gate: gate.name(),
            before: values[0],
            after: values[1],
            can_be_set: matches!(gate.state(after.version), GateState::Default(_)),
        })
    };
    Gate::ALL.into_iter().filter_map(gate).collect()
}

/// The text of a request shape, and how it changes. Shapes with equal texts are one shape in the report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ChangeKey {
    kind: ChangeKind,
    verb: Verb,
    resource: String,
    subresource: Option<String>,
    scope: Option<Scope>,
    parameters: String,
    api: Option<String>,
    before: ServedFrom,
    after: ServedFrom,
    status: Option<u16>,
    explanation: String,
}

type ChangesByShape = BTreeMap<ChangeKey, (u64, BTreeSet<String>)>;

fn client_changes(name: &ClientName, changes: ChangesByShape) -> ClientChanges {
    let mut products = BTreeSet::new();
    let mut client = ClientChanges {
        client: name.identity.clone(),
        name: name.short(),
        products: Vec::new(),
        worse: 0,
        better: 0,
        changes: Vec::new(),
    };
    let mut sorted: Vec<_> = changes.into_iter().collect();
    sorted.sort_by_key(|(key, (requests, _))| (key.kind, Reverse(*requests)));
    for (key, (requests, own)) in sorted {
        products.extend(own);
        *if key.kind.is_worse() { &mut client.worse } else { &mut client.better } += requests;
        client.changes.push(ShapeChange {
            change: key.kind.as_str(),
            is_worse: key.kind.is_worse(),
            requests,
            verb: key.verb.as_str(),
            resource: key.resource,
            subresource: key.subresource,
            scope: key.scope.map(Scope::as_str),
            parameters: key.parameters,
            api: key.api,
            before: key.before.as_str(),
            after: key.after.as_str(),
            status: key.status,
            explanation: key.explanation,
        });
    }
    client.products = products.into_iter().filter(|product| !product.is_empty()).collect();
    client
}

/// A row of the ledger.
struct ComparedRow<'a> {
    row_key: &'a RowKey,
    row: &'a Row,
    requests: u64,
    received_only: bool,
}

/// What a server does with the requests of a row.
struct OnServer {
    verdict: Verdict,
    /// Requests for APIs that the server no longer serves.
    removed: BTreeMap<RemovedApi, u64>,
}

/// An API that a release removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RemovedApi {
    /// By index into `releases::BUILT_IN`.
    BuiltIn(u8),
    /// An API that the table does not have. The recorded server names the minor version that removes it in the
    /// annotation `k8s.io/removed-release`.
    Annotated(u16),
}

impl RemovedApi {
    fn explanation(self) -> String {
        match self {
            Self::BuiltIn(at) => {
                let api = &BUILT_IN[usize::from(at)];
                format!("Kubernetes 1.{} removed {api}.", api.removed_in().unwrap_or_default())
            }
            Self::Annotated(minor) => {
                format!("The recorded server says that Kubernetes 1.{minor} removes this API version.")
            }
        }
    }

    fn name(self, resource: &str) -> String {
        match self {
            Self::BuiltIn(at) => BUILT_IN[usize::from(at)].to_string(),
            Self::Annotated(_) => format!("a deprecated version of {resource}"),
        }
    }
}

impl ComparedRow<'_> {
    /// Adds the requests of the row to the totals of each server, and to the changes of each hop.
    fn add(
        &self,
        recorded: &[Server],
        others: &[Server],
        product: &str,
        comparison: &mut Comparison,
        changes: &mut [ChangesByShape],
    ) {
        let verb = self.row_key.shape.verb;
        let recorded = &recorded[usize::from(self.row_key.version_index)];
        let shape = self.row_key.shape.as_borrowed();
        let status = self.row_key.status_class.status().filter(|_| !self.received_only);
        let mut before = OnServer { verdict: judge(recorded, &shape, status), removed: BTreeMap::new() };
        if before.verdict.served_from == ServedFrom::NotObservable {
            comparison.not_compared += self.requests;
            return;
        }
        let mut is_uncertain = before.verdict.likely.is_some();
        self.count(&before, &mut comparison.from);
        for ((other, hop), changes) in others.iter().zip(&mut comparison.hops).zip(changes) {
            let after = OnServer {
                verdict: judge_elsewhere(recorded, other, &shape, status),
                removed: self.removed_apis(recorded, other, status),
            };
            is_uncertain |= after.verdict.likely.is_some();
            self.count(&after, &mut hop.to.totals);
            for (api, requests) in &after.removed {
                let newly = requests.saturating_sub(*before.removed.get(api).unwrap_or(&0));
                if newly > 0 {
                    self.note(ChangeKind::ApiRemoved, [&before, &after], Some(*api), newly, product, changes);
                }
            }
            let kept = self.requests - after.removed.values().sum::<u64>();
            if kept > 0 {
                // A request that failed has no objects, so its limit does not matter.
                let has_failed = status.is_some_and(|status| status >= 400);
                let changes_limit =
                    |kind: &ChangeKind| matches!(kind, ChangeKind::LimitIgnored | ChangeKind::LimitHonored);
                let kinds = ChangeKind::between(verb, before.verdict, after.verdict);
                for kind in kinds.filter(|kind| !(has_failed && changes_limit(kind))) {
                    self.note(kind, [&before, &after], None, kept, product, changes);
                }
            }
            before = after;
        }
        comparison.uncertain += if is_uncertain { self.requests } else { 0 };
    }

    /// Requests for APIs that `other` no longer serves, although the recorded server does.
    fn removed_apis(
        &self,
        recorded: &Server,
        other: &Server,
        status: Option<u16>,
    ) -> BTreeMap<RemovedApi, u64> {
        let mut left = self.requests;
        let mut removed = BTreeMap::new();
        if status == Some(404) {
            return removed;
        }
        let rare = self.row.rare();
        let mut annotated = rare.deprecated.as_ref().map_or(0, |deprecated| deprecated.requests);
        for (at, [began, ended]) in &rare.removed_apis {
            let served_by = BUILT_IN[usize::from(*at)].served_by();
            let requests = (*began.max(ended)).min(left);
            annotated = annotated.saturating_sub(requests);
            if requests > 0 && served_by.contains(recorded.version) && !served_by.contains(other.version) {
                removed.insert(RemovedApi::BuiltIn(*at), requests);
                left -= requests;
            }
        }
        let annotated = annotated.min(left);
        if let Some((1, minor)) = rare.deprecated.as_ref().and_then(|deprecated| deprecated.removed_in)
            && annotated > 0
            && u16::from(minor) <= other.version.minor
        {
            removed.insert(RemovedApi::Annotated(minor.into()), annotated);
        }
        removed
    }

    /// Adds the requests to the totals of a server.
    fn count(&self, on_server: &OnServer, totals: &mut UpgradeTotals) {
        let OnServer { verdict, removed } = on_server;
        let removed = removed.values().sum::<u64>();
        totals.removed_apis += removed;
        let requests = self.requests - removed;
        if verdict.rejected.is_some() {
            totals.refused += requests;
            return;
        }
        let verb = self.row_key.shape.verb;
        let source = match verb {
            _ if verdict.served_from == ServedFrom::Aggregated => None,
            Verb::List if reads_etcd(verb, *verdict) => Some(&mut totals.etcd_lists),
            Verb::Get if reads_etcd(verb, *verdict) => Some(&mut totals.etcd_gets),
            Verb::Watch if reads_etcd(verb, *verdict) => Some(&mut totals.etcd_watches),
            Verb::List | Verb::Get | Verb::Watch if is_from_cache(*verdict) => {
                Some(&mut totals.watch_cache_reads)
            }
            _ => None,
        };
        if let Some(source) = source {
            *source += requests;
        }
        match verdict.limit {
            LimitVerdict::Absent => {}
            LimitVerdict::Honored => totals.limit_honored += requests,
            LimitVerdict::Ignored => totals.limit_ignored += requests,
        }
    }

    fn note(
        &self,
        kind: ChangeKind,
        [before, after]: [&OnServer; 2],
        api: Option<RemovedApi>,
        requests: u64,
        product: &str,
        changes: &mut ChangesByShape,
    ) {
        let shape = &self.row_key.shape;
        let explanation = match api {
            Some(api) => api.explanation(),
            None => after.verdict.reason.sentence().to_owned(),
        };
        let key = ChangeKey {
            kind,
            verb: shape.verb,
            resource: shape_text::resource(&shape.target),
            subresource: shape_text::subresource(&shape.target),
            scope: shape_text::scope(&shape.target),
            parameters: shape_text::parameters(shape),
            api: api.map(|api| api.name(&shape_text::resource(&shape.target))),
            before: before.verdict.likely_served_from(),
            after: if api.is_some() { ServedFrom::Rejected } else { after.verdict.likely_served_from() },
            status: if api.is_some() { Some(404) } else { after.verdict.rejected },
            explanation,
        };
        let (count, products) = changes.entry(key).or_default();
        *count += requests;
        products.insert(product.to_owned());
    }
}

fn is_from_cache(verdict: Verdict) -> bool {
    matches!(verdict.likely_served_from(), ServedFrom::WatchCache | ServedFrom::WatchCacheAfterRevisionCheck)
}
