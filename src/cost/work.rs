//! The cost of one request: the work of etcd and the apiserver, and the objects that the client can receive.
//!
//! The verdict shows where a request is served from. The amounts follow from k8s.io/apiserver
//! `pkg/storage/etcd3/store.go:GetList` and `pkg/storage/cacher/cacher.go:GetList`. Without a limit, the server reads
//! one range with the whole prefix. With a limit and a selector, it reads pages of doubling size. The project
//! measured this on 1.25 to 1.36 with the server's counters of fetched objects. `tests/model/cost_measured.rs` compares the
//! costs of this file with these measurements.

use super::inventory::Inventory;
use crate::apiserver::options::{Limit, Narrows, Options, Page, PageSize, ResourceVersion, Single};
use crate::apiserver::resources::is_connection;
use crate::apiserver::seats::{StoredObjects, page, seats};
use crate::apiserver::{LimitVerdict, Reason, RequestShape, ServedFrom, Server, Target, Verdict};
use crate::k8s::{Scope, Verb};
use crate::ledger::NamespacePart;
use crate::named::named;
use crate::patterns::ListCost;

named! {
    /// How exact an object count is.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Bound {
        /// The exact number.
        #[default]
        Exact = "exact",
        /// An upper bound.
        AtMost = "at-most",
        /// A mean, assuming an even spread over namespaces or nodes.
        Mean = "mean",
        /// An estimate. Each namespace is weighted by the number of its objects that the log names.
        Estimate = "estimate",
    }
    /// The value in the public JSON contract.
    pub(crate) fn as_str;
}

/// A number of objects and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount {
    /// The number of objects; `None` if the inventory lacks the resource.
    pub objects: Option<u64>,
    /// The size of these objects in etcd, in bytes; `None` if the inventory lacks the resource or its size.
    pub bytes: Option<u64>,
    /// The precision of both numbers.
    pub bound: Bound,
}

impl Amount {
    const NONE: Self = Self { objects: Some(0), bytes: Some(0), bound: Bound::Exact };
    const UNKNOWN: Self = Self { objects: None, bytes: None, bound: Bound::Exact };

    /// Returns the amount with fewer objects: this one or `other`.
    fn within(self, other: Self) -> Self {
        if self.objects > other.objects && other.objects.is_some() {
            Self { bound: self.bound.max(other.bound), ..other }
        } else {
            self
        }
    }
}

/// The cost of one request. The derived order puts cheaper requests first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work {
    /// What etcd reads.
    pub etcd: Amount,
    /// What the apiserver decodes: the objects from etcd.
    pub decoded: Amount,
    /// What the apiserver scans to find the objects of the response.
    pub filtered: Amount,
    /// An upper bound for what the client receives.
    pub received: Amount,
    /// Seats of API Priority and Fairness.
    pub seats: Option<u64>,
}

impl Work {
    const NONE: Self = Self::all(Amount::NONE);

    /// Returns the cost of one LIST, for the report on herds. A herd is many instances that list a collection within
    /// seconds.
    #[must_use]
    pub(crate) fn list_cost(&self) -> ListCost {
        ListCost {
            etcd_objects: self.etcd.objects,
            etcd_bytes: self.etcd.bytes,
            received_objects: self.received.objects,
            received_bytes: self.received.bytes,
            received_is_mean: matches!(self.received.bound, Bound::Mean | Bound::Estimate),
        }
    }

    /// Returns the mean cost of one page if `lists` paginated LISTs with a selector have `pages` pages in total. One
    /// page can read the whole rest of the collection, but all pages of a LIST together read the collection about once.
    #[must_use]
    pub(crate) fn as_page(&self, lists: u64, pages: u64) -> Self {
        let share = |amount: Amount| {
            let part = |number: u64| {
                let part = (u128::from(number) * u128::from(lists)).div_ceil(u128::from(pages.max(1)));
                u64::try_from(part).unwrap_or(u64::MAX).min(number)
            };
            Amount {
                objects: amount.objects.map(part),
                bytes: amount.bytes.map(part),
                bound: amount.bound.max(Bound::Mean),
            }
        };
        let etcd = share(self.etcd);
        let received = self.received.within(etcd);
        Self { etcd, decoded: etcd, filtered: etcd, received, seats: self.seats }
    }

    /// Returns the cost if the server fails with 5xx. etcd may have read everything, and the client receives nothing.
    #[must_use]
    pub(crate) fn failed(&self) -> Self {
        let at_most = |amount: Amount| Amount { bound: amount.bound.max(Bound::AtMost), ..amount };
        if self.etcd.objects == Some(0) {
            return Self { seats: self.seats, ..Self::NONE };
        }
        let etcd = at_most(self.etcd);
        Self { etcd, decoded: etcd, filtered: etcd, received: Amount::NONE, seats: self.seats }
    }

    pub(crate) const UNKNOWN: Self = Self::all(Amount::UNKNOWN);

    const fn all(amount: Amount) -> Self {
        Self { etcd: amount, decoded: amount, filtered: amount, received: amount, seats: None }
    }
}

/// The data that costs are computed from.
#[derive(Debug, Clone, Copy)]
pub struct Prices<'a> {
    pub inventory: &'a Inventory,
    /// The number of nodes in the log. It is used if the inventory has no nodes.
    pub nodes_in_log: u64,
}

/// The number of nodes and its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCount {
    pub(crate) count: u64,
    /// Whether the number is from the inventory. Otherwise it is from the log.
    pub(crate) is_in_inventory: bool,
}

impl Prices<'_> {
    /// The number of nodes in the cluster.
    #[must_use]
    pub(crate) fn nodes(&self) -> Option<NodeCount> {
        let counted = self.inventory.entry("nodes").objects.filter(|count| *count > 0);
        let in_inventory = counted.map(|count| NodeCount { count, is_in_inventory: true });
        let in_log = Some(self.nodes_in_log).filter(|count| *count > 0);
        in_inventory.or(in_log.map(|count| NodeCount { count, is_in_inventory: false }))
    }

    /// The number of namespaces in the cluster.
    #[must_use]
    pub(crate) fn namespaces(&self) -> Option<u64> {
        self.inventory.entry("namespaces").objects.filter(|count| *count > 0)
    }

    /// Returns the cost of a request that the server serves. `resource` is the resource's name in reports.
    #[must_use]
    pub fn work(
        &self,
        server: &Server,
        shape: &RequestShape<&str>,
        verdict: Verdict,
        resource: &str,
    ) -> Work {
        self.work_in(server, shape, verdict, resource, None)
    }

    /// Like [`Prices::work`], but more precise if the request reads one namespace. `part` is the share of the
    /// resource's objects in the namespaces of such requests, estimated from the log.
    #[must_use]
    pub(crate) fn work_in(
        &self,
        server: &Server,
        shape: &RequestShape<&str>,
        verdict: Verdict,
        resource: &str,
        part: Option<NamespacePart>,
    ) -> Work {
        let pricing = Pricing {
            prices: self,
            server,
            verdict: &verdict,
            options: &shape.options,
            entry: self.inventory.stored(resource),
            bytes_per_object: self.inventory.entry(resource).bytes_per_object,
            part,
        };
        let from = verdict.likely_served_from();
        match from {
            ServedFrom::Rejected => return Work::NONE,
            ServedFrom::NotObservable => return Work::UNKNOWN,
            _ => {}
        }
        let seats = seats(server, shape, pricing.entry);
        let Target::Resource { group, resource, subresource, scope, .. } = shape.target else {
            return Work { seats, ..Work::NONE };
        };
        let from_etcd = from == ServedFrom::Etcd;
        let work = match shape.verb {
            _ if is_connection(group, resource, subresource) => {
                Work { received: Amount::NONE, ..pricing.one(true, Bound::Exact) }
            }
            Verb::Get if pricing.is_read() => pricing.one(from_etcd, Bound::Exact),
            Verb::List if pricing.is_read() => pricing.list(scope, from_etcd),
            Verb::Watch if pricing.is_read() => pricing.watch(scope, from_etcd),
            Verb::DeleteCollection if pricing.is_write() => {
                let inner = verdict.reason == Reason::DeleteCollectionFromEtcd;
                pricing.list(scope, inner)
            }
            _ => Work::NONE,
        };
        Work { seats, ..work }
    }
}

struct Pricing<'a> {
    prices: &'a Prices<'a>,
    server: &'a Server,
    verdict: &'a Verdict,
    options: &'a Options,
    entry: Option<StoredObjects>,
    bytes_per_object: Option<u64>,
    part: Option<NamespacePart>,
}

impl Pricing<'_> {
    fn is_read(&self) -> bool {
        matches!(
            self.verdict.likely_served_from(),
            ServedFrom::WatchCache | ServedFrom::WatchCacheAfterRevisionCheck | ServedFrom::Etcd
        )
    }

    fn is_write(&self) -> bool {
        self.verdict.served_from == ServedFrom::Write
    }

    fn amount(&self, objects: Option<u64>, bound: Bound) -> Amount {
        let bytes = match objects {
            Some(0) => Some(0),
            _ => objects.zip(self.bytes_per_object).map(|(objects, size)| objects.saturating_mul(size)),
        };
        Amount { objects, bytes, bound }
    }

    /// The cost of a read of one object.
    fn one(&self, from_etcd: bool, bound: Bound) -> Work {
        let one = self.amount(Some(1), bound);
        let etcd = if from_etcd { one } else { Amount::NONE };
        Work { etcd, decoded: etcd, filtered: one, received: one, seats: None }
    }

    /// Returns the amount of all objects in the path's scope: the cluster or one namespace.
    fn all_in_scope(&self, scope: Scope) -> Amount {
        let objects = self.entry.map(|stored| stored.objects);
        let in_namespace = is_in_namespace(self.server, self.options, scope);
        let namespaces = self.prices.namespaces();
        match (in_namespace, namespaces) {
            (false, _) => self.amount(objects, Bound::Exact),
            (true, _) if let Some(part) = self.part => {
                self.amount(objects.map(|all| part.objects(all, namespaces)), Bound::Estimate)
            }
            (true, None) => self.amount(objects, Bound::AtMost),
            (true, Some(namespaces)) => self.amount(objects.map(|all| all.div_ceil(namespaces)), Bound::Mean),
        }
    }

    /// Returns the mean number of pods on one node, if the request selects the pods of a node.
    fn node_pods(&self) -> Option<Amount> {
        let nodes = self.prices.nodes().filter(|_| self.options.narrows == Narrows::ToNode)?;
        let objects = self.entry.map(|stored| stored.objects.div_ceil(nodes.count));
        // The log may not show all nodes. Then the real mean is lower, so this is an upper bound.
        Some(self.amount(objects, if nodes.is_in_inventory { Bound::Mean } else { Bound::AtMost }))
    }

    /// Limits the amount to the size of a page, if the server honors the limit.
    fn paged(&self, amount: Amount) -> Amount {
        if self.verdict.limit != LimitVerdict::Honored {
            return amount;
        }
        let size = match self.options.limit {
            Limit::Page(PageSize::Exactly(size) | PageSize::UpTo(size)) => u64::from(size),
            _ => return Amount { bound: amount.bound.max(Bound::AtMost), ..amount },
        };
        let is_exactly = matches!(self.options.limit, Limit::Page(PageSize::Exactly(_)));
        let (objects, bound) = match amount.objects {
            Some(objects) if objects <= size => (objects, amount.bound),
            // The collection is larger than a page, so the server returns a full page.
            Some(_) if is_exactly && amount.bound == Bound::Exact => (size, Bound::Exact),
            _ => (size, Bound::AtMost),
        };
        self.amount(Some(objects), bound)
    }

    fn list(&self, scope: Scope, from_etcd: bool) -> Work {
        if is_single(self.server, self.options) {
            return self.one(from_etcd, Bound::AtMost);
        }
        let mut all = self.all_in_scope(scope);
        if self.options.single == Single::KeyIfClusterScoped {
            all.bound = all.bound.max(Bound::AtMost);
        }
        // A later page reads only the rest of the collection, so the whole collection is an upper bound.
        let is_further = self.options.page != Page::First;
        let rest = Amount { bound: if is_further { all.bound.max(Bound::AtMost) } else { all.bound }, ..all };
        let selects = self.options.selects();
        let (etcd, filtered) = if from_etcd {
            // With a selector, the server reads page after page until enough objects match.
            let may_read_on = Amount { bound: rest.bound.max(Bound::AtMost), ..rest };
            let is_page = self.verdict.limit == LimitVerdict::Honored;
            let read = if selects && is_page { may_read_on } else { self.paged(rest) };
            (read, read)
        } else {
            (Amount::NONE, self.through_cache(rest))
        };
        let selected = match self.node_pods() {
            Some(node_pods) if scope != Scope::Namespace => node_pods,
            _ if selects => Amount { bound: rest.bound.max(Bound::AtMost), ..rest },
            _ => rest,
        };
        let received = self.paged(selected).within(filtered);
        Work { etcd, decoded: etcd, filtered, received, seats: None }
    }

    /// Returns the objects that the watch cache scans. If a request selects the pods of one node, the cache finds
    /// them through an index and scans only them. Snapshots have no index. Without an index, servers since 1.31 scan
    /// the requested namespace or cluster, and older servers scan all objects. A limit does not shorten the scan.
    fn through_cache(&self, rest: Amount) -> Amount {
        if let Some(node_pods) = self.node_pods().filter(|_| !is_snapshot(*self.verdict)) {
            return node_pods;
        }
        if self.server.version.at_least(31, 0) {
            return rest;
        }
        self.amount(self.entry.map(|stored| stored.objects), Bound::Exact)
    }

    /// Returns the cost of the initial objects of a watch. The cost of later events is unknown.
    fn watch(&self, scope: Scope, from_etcd: bool) -> Work {
        if !begins_with_objects(self.options) {
            return Work::NONE;
        }
        let unlimited = Options { limit: Limit::Absent, ..*self.options };
        let verdict = Verdict { limit: LimitVerdict::Absent, ..*self.verdict };
        Pricing { options: &unlimited, verdict: &verdict, ..*self }.list(scope, from_etcd)
    }
}

/// Whether a LIST or WATCH reads only one key, because it selects one object by name.
pub(super) fn is_single(server: &Server, options: &Options) -> bool {
    match options.single {
        Single::Key => true,
        Single::KeyBySelectedNamespace => server.version.at_least(27, 0),
        Single::No | Single::KeyIfClusterScoped => false,
    }
}

/// Whether a request reads the objects of one namespace.
pub(super) fn is_in_namespace(server: &Server, options: &Options, scope: Scope) -> bool {
    let since_1_27 = server.version.at_least(27, 0);
    scope == Scope::Namespace || (options.narrows == Narrows::ToNamespace && since_1_27)
}

/// Whether a snapshot of the watch cache serves the request. Snapshots have no indexes.
pub(super) fn is_snapshot(verdict: Verdict) -> bool {
    matches!(
        verdict.reason,
        Reason::ListExactSnapshot
            | Reason::ListLimitMeansExactSnapshot
            | Reason::ListContinueSnapshot
            | Reason::ListContinueSnapshotIgnoresLimit
    )
}

/// Whether a WATCH begins with the existing objects.
pub(super) fn begins_with_objects(options: &Options) -> bool {
    let from_now = !matches!(
        options.resource_version,
        ResourceVersion::Unset | ResourceVersion::Zero | ResourceVersion::ZeroAlias
    );
    let sends_initial_events = options.send_initial_events == Some(true);
    !((from_now && !sends_initial_events) || options.send_initial_events == Some(false))
}

/// Whether the server reads several pages from etcd, until enough objects match the selector.
#[must_use]
pub fn reads_several_pages(options: &Options, verdict: &Verdict) -> bool {
    let is_page = verdict.limit == LimitVerdict::Honored && options.limit.is_page();
    is_page && options.selects() && verdict.likely_served_from() == ServedFrom::Etcd
}

/// Returns the maximum number of objects in a response, from the limit alone. `None` unless the server honors a limit.
#[must_use]
pub fn page_limit(options: &Options, verdict: &Verdict) -> Option<u64> {
    let is_page = verdict.limit == LimitVerdict::Honored && options.limit.is_page();
    Some(page(options, u64::MAX)).filter(|size| is_page && *size < u64::MAX)
}
