//! What one request makes etcd and the apiserver do, and what its client can have received.
//!
//! Source: the verdict for where it is answered from; k8s.io/apiserver `pkg/storage/etcd3/store.go:GetList` (one
//! range of the whole prefix without a limit, pages of which the size doubles with one) and
//! `pkg/storage/cacher/cacher.go:GetList`. Measured on 1.25 to 1.36 by the server's own counters of fetched objects
//! (`tests/cost.rs` holds this file to them).

use super::inventory::Inventory;
use crate::apiserver::options::{Limit, Narrows, Options, Page, PageSize, ResourceVersion, Single};
use crate::apiserver::resources::is_connection;
use crate::apiserver::seats::{StoredObjects, page, seats};
use crate::apiserver::{LimitVerdict, Reason, RequestShape, ServedFrom, Server, Target, Verdict};
use crate::k8s::{Scope, Verb};
use crate::ledger::NamespacePart;
use crate::patterns::Asks;

/// How a number of objects is meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// It is this many.
    #[default]
    Exact,
    /// It is this many or fewer.
    AtMost,
    /// It is this many where all namespaces, or all nodes, have as many objects as each other.
    Mean,
    /// It is about this many, by how many objects of each namespace the log names.
    Estimate,
}

impl Bound {
    /// The value in the public JSON contract.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::AtMost => "at-most",
            Self::Mean => "mean",
            Self::Estimate => "estimate",
        }
    }
}

/// Objects and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount {
    /// Objects; `None` where the inventory lacks the resource.
    pub objects: Option<u64>,
    /// Their bytes as they are stored; `None` where the inventory lacks the resource or its size.
    pub bytes: Option<u64>,
    /// How the number is meant.
    pub bound: Bound,
}

impl Amount {
    const NONE: Self = Self { objects: Some(0), bytes: Some(0), bound: Bound::Exact };
    const UNKNOWN: Self = Self { objects: None, bytes: None, bound: Bound::Exact };

    /// No more than the other.
    fn within(self, other: Self) -> Self {
        if self.objects > other.objects && other.objects.is_some() {
            Self { bound: self.bound.max(other.bound), ..other }
        } else {
            self
        }
    }
}

/// What one request costs. The greater is the costlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work {
    /// What etcd reads.
    pub etcd: Amount,
    /// What the apiserver decodes: what comes from etcd.
    pub decoded: Amount,
    /// What the apiserver goes through to find the answer.
    pub filtered: Amount,
    /// What the client can have received at most.
    pub received: Amount,
    /// Seats of API Priority and Fairness.
    pub seats: Option<u64>,
}

impl Work {
    const NONE: Self = Self::all(Amount::NONE);

    /// What a LIST of a herd asks for.
    #[must_use]
    pub fn asks(&self) -> Asks {
        Asks {
            etcd_objects: self.etcd.objects,
            etcd_bytes: self.etcd.bytes,
            received_objects: self.received.objects,
            received_bytes: self.received.bytes,
            received_is_mean: matches!(self.received.bound, Bound::Mean | Bound::Estimate),
        }
    }

    /// What it costs as one of the pages of so many walks through a collection by a selector: each page may read all
    /// that is left, but all pages of a walk read the collection about once.
    #[must_use]
    pub fn as_page(&self, walks: u64, pages: u64) -> Self {
        let share = |amount: Amount| {
            let part = |number: u64| {
                let part = (u128::from(number) * u128::from(walks)).div_ceil(u128::from(pages.max(1)));
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

    /// What it costs if the server fails it (5xx): etcd may have read it all, and nothing is sent.
    #[must_use]
    pub fn failed(&self) -> Self {
        let at_most = |amount: Amount| Amount { bound: amount.bound.max(Bound::AtMost), ..amount };
        if self.etcd.objects == Some(0) {
            return Self { seats: self.seats, ..Self::NONE };
        }
        let etcd = at_most(self.etcd);
        Self { etcd, decoded: etcd, filtered: etcd, received: Amount::NONE, seats: self.seats }
    }

    /// Nothing is known of it.
    pub const UNKNOWN: Self = Self::all(Amount::UNKNOWN);

    const fn all(amount: Amount) -> Self {
        Self { etcd: amount, decoded: amount, filtered: amount, received: amount, seats: None }
    }
}

/// What requests are priced by.
#[derive(Debug, Clone, Copy)]
pub struct Prices<'a> {
    /// The inventory.
    pub inventory: &'a Inventory,
    /// Nodes that the log shows, where the inventory has none.
    pub nodes_in_log: u64,
}

/// A number, and whether it is the inventory's; else it is the log's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCount {
    /// The number.
    pub count: u64,
    /// The inventory holds it.
    pub is_in_inventory: bool,
}

impl Prices<'_> {
    /// The cluster's nodes.
    #[must_use]
    pub fn nodes(&self) -> Option<NodeCount> {
        let counted = self.inventory.entry("nodes").objects.filter(|count| *count > 0);
        let in_inventory = counted.map(|count| NodeCount { count, is_in_inventory: true });
        let in_log = Some(self.nodes_in_log).filter(|count| *count > 0);
        in_inventory.or(in_log.map(|count| NodeCount { count, is_in_inventory: false }))
    }

    /// The cluster's namespaces.
    #[must_use]
    pub fn namespaces(&self) -> Option<u64> {
        self.inventory.entry("namespaces").objects.filter(|count| *count > 0)
    }

    /// What a request costs, if it is served. `resource` is what the report names it.
    #[must_use]
    pub fn work(
        &self,
        server: &Server,
        asked: &RequestShape<&str>,
        verdict: &Verdict,
        resource: &str,
    ) -> Work {
        self.work_in(server, asked, verdict, resource, None)
    }

    /// As [`Prices::work`]. `part` is what the log shows of the namespaces that are asked for.
    #[must_use]
    pub fn work_in(
        &self,
        server: &Server,
        asked: &RequestShape<&str>,
        verdict: &Verdict,
        resource: &str,
        part: Option<NamespacePart>,
    ) -> Work {
        let pricing = Pricing {
            prices: self,
            server,
            verdict,
            options: &asked.options,
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
        let seats = seats(server, asked, pricing.entry);
        let Target::Resource { group, resource, subresource, scope, .. } = asked.target else {
            return Work { seats, ..Work::NONE };
        };
        let from_etcd = from == ServedFrom::Etcd;
        let work = match asked.verb {
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

    /// One object.
    fn one(&self, from_etcd: bool, bound: Bound) -> Work {
        let one = self.amount(Some(1), bound);
        let etcd = if from_etcd { one } else { Amount::NONE };
        Work { etcd, decoded: etcd, filtered: one, received: one, seats: None }
    }

    /// Everything that the path names: the collection, or that of a namespace.
    fn whole(&self, scope: Scope) -> Amount {
        let objects = self.entry.map(|stored| stored.objects);
        let in_namespace = is_in_namespace(self.server, self.options, scope);
        let namespaces = self.prices.namespaces();
        match (in_namespace, namespaces) {
            (false, _) => self.amount(objects, Bound::Exact),
            (true, _) if let Some(part) = self.part => {
                self.amount(objects.map(|all| part.of(all, namespaces)), Bound::Estimate)
            }
            (true, None) => self.amount(objects, Bound::AtMost),
            (true, Some(namespaces)) => self.amount(objects.map(|all| all.div_ceil(namespaces)), Bound::Mean),
        }
    }

    /// The pods of one node.
    fn of_node(&self) -> Option<Amount> {
        let nodes = self.prices.nodes().filter(|_| self.options.narrows == Narrows::ToNode)?;
        let objects = self.entry.map(|stored| stored.objects.div_ceil(nodes.count));
        // One that the log does not show may be missing: then a node has less.
        Some(self.amount(objects, if nodes.is_in_inventory { Bound::Mean } else { Bound::AtMost }))
    }

    /// At most a page of it, if the server honors the limit.
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
            // Of a collection that is larger than a page, a page is what is read.
            Some(_) if is_exactly && amount.bound == Bound::Exact => (size, Bound::Exact),
            _ => (size, Bound::AtMost),
        };
        self.amount(Some(objects), bound)
    }

    fn list(&self, scope: Scope, from_etcd: bool) -> Work {
        if is_single(self.server, self.options) {
            return self.one(from_etcd, Bound::AtMost);
        }
        let mut whole = self.whole(scope);
        if self.options.single == Single::KeyIfClusterScoped {
            whole.bound = whole.bound.max(Bound::AtMost);
        }
        // A page goes on behind the ones before it.
        let is_further = self.options.page != Page::First;
        let rest =
            Amount { bound: if is_further { whole.bound.max(Bound::AtMost) } else { whole.bound }, ..whole };
        let selects = self.options.selects();
        let (etcd, filtered) = if from_etcd {
            // With a selector, page after page is read until enough objects match.
            let may_read_on = Amount { bound: rest.bound.max(Bound::AtMost), ..rest };
            let is_page = self.verdict.limit == LimitVerdict::Honored;
            let read = if selects && is_page { may_read_on } else { self.paged(rest) };
            (read, read)
        } else {
            (Amount::NONE, self.through_cache(rest))
        };
        let found = match self.of_node() {
            Some(of_node) if scope != Scope::Namespace => of_node,
            _ if selects => Amount { bound: rest.bound.max(Bound::AtMost), ..rest },
            _ => rest,
        };
        let received = self.paged(found).within(filtered);
        Work { etcd, decoded: etcd, filtered, received, seats: None }
    }

    /// What the watch cache goes through: an index's objects, since 1.31 those of a namespace, else all. A limit does
    /// not shorten it.
    fn through_cache(&self, rest: Amount) -> Amount {
        if let Some(of_node) = self.of_node().filter(|_| !is_snapshot(*self.verdict)) {
            return of_node;
        }
        if self.server.version.at_least(31, 0) {
            return rest;
        }
        self.amount(self.entry.map(|stored| stored.objects), Bound::Exact)
    }

    /// What a watch begins with. What it is sent later is not known.
    fn watch(&self, scope: Scope, from_etcd: bool) -> Work {
        if !begins_with_objects(self.options) {
            return Work::NONE;
        }
        let unlimited = Options { limit: Limit::Absent, ..*self.options };
        let verdict = Verdict { limit: LimitVerdict::Absent, ..*self.verdict };
        Pricing { options: &unlimited, verdict: &verdict, ..*self }.list(scope, from_etcd)
    }
}

/// Whether a LIST or WATCH reads one key.
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

/// Whether the watch cache answers with a snapshot, which has no indexes.
pub(super) fn is_snapshot(verdict: Verdict) -> bool {
    matches!(
        verdict.reason,
        Reason::ListExactSnapshot
            | Reason::ListLimitMeansExactSnapshot
            | Reason::ListContinueSnapshot
            | Reason::ListContinueSnapshotIgnoresLimit
    )
}

/// Whether a WATCH begins with the objects that exist.
pub(super) fn begins_with_objects(options: &Options) -> bool {
    let from_now = !matches!(
        options.resource_version,
        ResourceVersion::Unset | ResourceVersion::Zero | ResourceVersion::ZeroAlias
    );
    let asks = options.send_initial_events == Some(true);
    !((from_now && !asks) || options.send_initial_events == Some(false))
}

/// Whether a request reads page after page from etcd until enough objects match its selector.
#[must_use]
pub fn reads_on(options: &Options, verdict: &Verdict) -> bool {
    let is_page = verdict.limit == LimitVerdict::Honored && options.limit.is_page();
    is_page && options.selects() && verdict.likely_served_from() == ServedFrom::Etcd
}

/// The most objects that a request can be answered with by its limit alone; `None` without one that is honored.
#[must_use]
pub fn page_limit(options: &Options, verdict: &Verdict) -> Option<u64> {
    let is_page = verdict.limit == LimitVerdict::Honored && options.limit.is_page();
    Some(page(options, u64::MAX)).filter(|size| is_page && *size < u64::MAX)
}
