//! The counts by client, shared by all workers. There is only one copy of each row, and all workers count into it.
//!
//! Tests compare them with [`Clients`], which stores all clients in one table.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};

use super::bounded_map::{Weight, cutoff_for};
use super::clients::{MAX_ROWS, row_cutoff};
use super::sharded::Sharded;
use super::{Clients, EventsBeforeEnd, MAX_CLIENTS, Merge, RowHash, SharedRow};
use crate::apiserver::ConfiguredNames;
use crate::requests::Request;

/// All clients, in shards chosen by the hash of the client. The first shard also stores the overflow of all shards.
#[derive(Debug)]
pub(crate) struct SharedClients {
    shards: Sharded<Clients>,
    /// The number of clients in all shards now.
    held: AtomicUsize,
    /// The maximum number of clients.
    bound: usize,
    /// The number of rows of the clients in all shards now.
    rows: AtomicUsize,
    max_rows: usize,
    names: Arc<ConfiguredNames>,
}

impl Default for SharedClients {
    fn default() -> Self {
        Self::new(MAX_CLIENTS)
    }
}

impl SharedClients {
    /// Keeps at most `bound` clients.
    #[must_use]
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            shards: Sharded::new(|| Clients::new(bound)),
            held: AtomicUsize::new(0),
            bound,
            rows: AtomicUsize::new(0),
            max_rows: MAX_ROWS,
            names: Arc::default(),
        }
    }

    /// See [`SharedLedger::new`](super::SharedLedger::new).
    #[must_use]
    pub(crate) fn with_names(self, names: Arc<ConfiguredNames>) -> Self {
        let shards = Sharded::new(|| Clients::new(self.bound).with_names(Arc::clone(&names)));
        Self { shards, names, ..self }
    }

    #[cfg(test)]
    pub(crate) fn with_max_rows(self, max_rows: usize) -> Self {
        Self { max_rows, ..self }
    }

    /// See [`Clients::observe_in`].
    pub(super) fn observe_in(&self, request: &Request<'_>, row_hash: RowHash) -> Option<SharedRow> {
        self.with_shard(request, |clients| clients.observe_in(request, row_hash))
    }

    /// See [`Clients::begin`].
    pub(super) fn begin(
        &self,
        request: &Request<'_>,
        row_hash: RowHash,
        count: impl FnOnce(&mut EventsBeforeEnd),
    ) -> Option<SharedRow<EventsBeforeEnd>> {
        self.with_shard(request, |clients| clients.begin(request, row_hash, count))
    }

    /// See [`Clients::note_namespace`].
    pub(super) fn note_namespace(&self, request: &Request<'_>, namespace: &str) {
        self.with_shard(request, |clients| clients.note_namespace(request, namespace));
    }

    /// See [`Clients::observe_duplicate`].
    pub(crate) fn observe_duplicate(&self, request: &Request<'_>) {
        self.with_shard(request, |clients| clients.observe_duplicate(request));
    }

    /// Removes and returns all clients.
    #[must_use]
    pub(crate) fn take(&self) -> Clients {
        let mut all = Clients::new(self.bound).with_max_rows(self.max_rows);
        for mut shard in self.shards.lock_all() {
            let empty = Clients::new(self.bound).with_names(Arc::clone(&self.names));
            all.merge(std::mem::replace(&mut *shard, empty));
        }
        self.held.store(0, Ordering::Relaxed);
        self.rows.store(0, Ordering::Relaxed);
        all
    }

    fn with_shard<T>(&self, request: &Request<'_>, count: impl FnOnce(&mut Clients) -> T) -> T {
        let mut shard = self.shards.lock_for(request.client.client_hash);
        if shard.is_evicted(request) {
            drop(shard);
            shard = self.shards.lock_nth(0);
        }
        let before = shard.by_key.len();
        let counted = count(&mut shard);
        // The shard may have evicted clients, so that their number is smaller than before. Then the difference wraps
        // on purpose, and the addition below wraps back.
        let change = shard.by_key.len().wrapping_sub(before);
        let added = std::mem::take(&mut shard.added);
        let limit = self.max_rows + self.max_rows / 4;
        if added != 0 && self.rows.fetch_add(added, Ordering::Relaxed) + added >= limit {
            drop(shard);
            self.evict_rows(limit);
            if self.held.load(Ordering::Relaxed) >= 2 * self.bound {
                self.evict();
            }
            return counted;
        }
        if change != 0
            && self.held.fetch_add(change, Ordering::Relaxed).wrapping_add(change) >= 2 * self.bound
        {
            drop(shard);
            self.evict();
        }
        counted
    }

    /// If there are at least `limit` rows, evicts clients until at most `max_rows` rows are left.
    fn evict_rows(&self, limit: usize) {
        let mut shards = self.shards.lock_all();
        let count = |shards: &[MutexGuard<'_, Clients>]| -> Vec<(Weight, usize)> {
            shards.iter().flat_map(|shard| shard.rows()).collect()
        };
        let mut rows = count(&shards);
        // Another worker may have evicted clients in the meantime.
        if rows.iter().map(|(_, rows)| rows).sum::<usize>() >= limit
            && let Some(cutoff) = row_cutoff(rows.clone(), self.max_rows)
        {
            Self::evict_above(&mut shards, cutoff);
            rows = count(&shards);
        }
        self.rows.store(rows.iter().map(|(_, rows)| rows).sum(), Ordering::Relaxed);
        self.held.store(shards.iter().map(|shard| shard.by_key.len()).sum(), Ordering::Relaxed);
    }

    /// Evicts the clients above a cutoff from all shards.
    fn evict_above(shards: &mut [MutexGuard<'_, Clients>], cutoff: Weight) {
        let [first, others @ ..] = shards else { return };
        first.by_key.evict_above(cutoff);
        for shard in others {
            shard.by_key.evict_above(cutoff);
            shard.by_key.move_overflow_to(&mut first.by_key);
        }
    }

    /// Evicts the same clients as one table of all clients would evict.
    fn evict(&self) {
        let mut shards = self.shards.lock_all();
        let weights: Vec<_> = shards.iter().flat_map(|shard| shard.by_key.weights()).collect();
        // Another worker may have evicted clients in the meantime.
        if weights.len() >= 2 * self.bound {
            let cutoff = cutoff_for(weights, self.bound);
            Self::evict_above(&mut shards, cutoff);
        }
        self.held.store(shards.iter().map(|shard| shard.by_key.len()).sum(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Client, ClientProduct, Counter, SharedLedger};
    use super::*;
    use crate::input::SourcePosition;
    use crate::k8s::{Event, Stage};
    use crate::requests::{Classifier, Fingerprints};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Calls `by` with a request of a ServiceAccount. The number `user` chooses the ServiceAccount, which is in the
    /// namespace of that number. The number `namespace` chooses the namespace in which the request reads an object.
    fn request(
        classifier: &mut Classifier,
        (user, namespace, stage): (u8, u8, Stage),
        by: impl FnOnce(&Request<'_>),
    ) {
        let json = format!(
            r#"{{"auditID":"a","stage":"{stage:?}","verb":"get","requestURI":"/api/v1/namespaces/n{namespace}/configmaps{}/c",
            "responseStatus":{{"code":200}},
            "user":{{"username":"system:serviceaccount:n{}:s{user}","extra":{{
            "authentication.kubernetes.io/pod-name":["p{}"]}}}},"userAgent":"{}/1"}}"#,
            namespace % 4,
            user,
            user % 9,
            user % 3
        );
        let event: Event<'_> = serde_json::from_str(&json).expect("an event");
        by(&classifier.event(&event, stage, SourcePosition { source: 0, offset: 0, line: 1 }));
    }

    fn stage() -> impl Strategy<Value = Stage> {
        prop::sample::select(vec![Stage::Panic, Stage::RequestReceived])
    }

    /// The number of rows, plus the number of [`EventsBeforeEnd`] that have exemplars. Both are summed over all kept
    /// clients.
    fn evidence(clients: Clients) -> usize {
        let products =
            clients.into_parts().0.into_iter().flat_map(|(_, client)| client.products.into_parts().0);
        let count = |(_, product): (_, ClientProduct)| {
            let begun = product.begun.into_parts().0.into_iter().map(|(_, begun)| begun.into_inner());
            product.rows.into_parts().0.len() + begun.filter(EventsBeforeEnd::has_evidence).count()
        };
        products.map(count).sum()
    }

    #[test]
    fn request_received_events_count_toward_the_row_limit() {
        let alike = |user, stage| (0..4).map(move |namespace| (user, namespace, stage));
        let each = |stage| (0..60).flat_map(move |user| alike(user, stage));
        let received = each(Stage::RequestReceived);
        let logs: [Vec<_>; 3] = [
            received.clone().collect(),
            received.clone().chain(each(Stage::Panic)).collect(),
            each(Stage::Panic).chain(received).collect(),
        ];
        for log in logs {
            let (mut alone, shared) = (Clients::new(80).with_max_rows(100), SharedLedger::default());
            let clients = SharedClients::new(80).with_max_rows(100);
            let shared = SharedLedger { clients, ..shared };
            let (mut classifier, mut counter) = (Classifier::default(), Counter::new(&shared));
            for one in log {
                request(&mut classifier, one, |request| {
                    alone.observe(request);
                    counter.observe(request);
                });
            }
            assert!(shared.clients.rows.load(Ordering::Relaxed) < 125, "nor was there more on the way");
            assert_eq!([evidence(alone), evidence(shared.clients.take())], [100, 100]);
        }
    }

    /// Values by name. The name `None` is the overflow.
    type Named<T> = BTreeMap<Option<Box<str>>, T>;

    /// Returns two values for each client. The first contains the numbers of ended requests and of RequestReceived
    /// events, by product. The second contains the numbers of namespaces and pods.
    fn requests(clients: Clients) -> Named<(Named<[u64; 2]>, [u64; 2])> {
        let counts = |client: Client| {
            let named = [&client.namespaces, &client.pods].map(|names| names.count().0);
            let (products, overflow) = client.products.into_parts();
            let ended = |product: ClientProduct| {
                let (rows, begun) = (product.rows.into_parts().0, product.begun.into_parts().0);
                [
                    rows.into_iter().map(|(_, row)| row.into_inner().ended).sum(),
                    begun.into_iter().map(|(_, begun)| begun.into_inner().received()).sum(),
                ]
            };
            let products = products.into_iter().map(|(name, product)| (Some(name), product));
            let products = products.chain(overflow.map(|overflow| (None, overflow)));
            (products.map(|(name, product)| (name, ended(product))).collect(), named)
        };
        let (clients, overflow) = clients.into_parts();
        let clients = clients.into_iter().map(|(key, client)| (Some(key.identity), counts(client)));
        clients.chain(overflow.map(|overflow| (None, counts(overflow)))).collect()
    }

    proptest! {
        #[test]
        fn shared_clients_match_single_threaded_clients(
            sent in prop_oneof![
                prop::collection::vec((0_u8..6, 0_u8..6, stage()), 0..30),
                prop::collection::vec((0_u8..60, 0_u8..60, stage()), 0..300),
            ],
            bound in prop_oneof![1_usize..5, 1_usize..80],
            rows in prop_oneof![Just(MAX_ROWS), 1_usize..100],
            cut in 0_usize..300,
        ) {
            // All threads must compute the same hashes.
            let prints = Fingerprints::default();
            let mut alone = Clients::new(bound).with_max_rows(rows);
            let mut classifier = Classifier::new(prints.clone());
            for one in &sent {
                request(&mut classifier, *one, |request| {
                    alone.observe(request);
                });
            }
            let clients = SharedClients::new(bound).with_max_rows(rows);
            let shared = &SharedLedger { clients, ..SharedLedger::default() };
            let (left, right) = sent.split_at(cut.min(sent.len()));
            std::thread::scope(|scope| {
                for part in [left, right] {
                    let mut classifier = Classifier::new(prints.clone());
                    let mut counter = Counter::new(shared);
                    scope.spawn(move || {
                        for one in part {
                            request(&mut classifier, *one, |request| {
                                counter.observe(request);
                            });
                        }
                    });
                }
            });
            let held = shared.clients.held.load(Ordering::Relaxed);
            prop_assert_eq!(held, shared.clients.shards.lock_all().iter().map(|shard| shard.by_key.len()).sum::<usize>());
            prop_assert!(held < 2 * bound, "{} of {}", held, bound);
            prop_assert_eq!(requests(shared.clients.take()), requests(alone));
            prop_assert_eq!(requests(shared.clients.take()), BTreeMap::new());
        }
    }
}
