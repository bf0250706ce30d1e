//! Counts by client and request shape that can be merged. All counts are integers, so every merge order gives the same
//! result.

pub mod activity;
pub mod apf;
mod before_end;
pub mod bounded_map;
pub mod client;
pub mod clients;
mod counter;
pub mod counts;
pub mod deduplicator;
pub mod distinct;
pub mod etcd;
mod etcd_versions;
pub mod exemplar;
pub mod histogram;
pub mod index;
pub mod input;
pub mod instance_histories;
mod merge;
pub mod namespaces;
pub mod open_long_running;
mod packed;
pub mod pending_groups;
mod presence;
mod product_rows;
mod request_rates;
pub mod row;
pub mod row_hash;
mod sharded;
mod shared_clients;
mod shared_histories;
mod shared_ledger;
mod shared_row;
mod sorted;
pub mod targets;
pub mod timeline;
pub mod traces;
pub mod versions;

pub use activity::{Activity, Gap};
pub use apf::Flows;
pub use before_end::EventsBeforeEnd;
pub use bounded_map::{BoundedMap, SlotIndex};
pub use client::{Client, ClientKey, ClientProduct, MAX_DISTINCT, MAX_PRODUCTS, MAX_SHAPES};
pub use clients::{Clients, MAX_CLIENTS};
pub use counter::Counter;
pub use counts::{Deprecated, Items, Observed, Statuses};
pub use deduplicator::{Dedup, Deduplicator};
pub use distinct::DistinctSet;
pub use etcd::{EtcdLines, EtcdLog};
pub use etcd_versions::EtcdVersions;
pub use exemplar::{Exemplar, Exemplars};
pub use histogram::Histogram;
pub use index::{Additions, Index, RequestResult};
pub use input::{InputCounts, MAX_POSITIONS, SkipAt, SourceCounts, UnreadAt};
pub use instance_histories::{Followed, HistoriesByKind, InstanceHistory};
pub use merge::Merge;
pub use namespaces::{NamespacePart, NamespaceWeights, Namespaces};
pub use pending_groups::PendingGroups;
pub use presence::{Change, Presence};
pub use product_rows::ProductRows;
pub use request_rates::{Busiest, RequestRates, Step};
pub use row::Row;
pub use row_hash::RowHash;
pub use shared_ledger::SharedLedger;
pub use shared_row::SharedRow;
pub use targets::Targets;
pub use timeline::Timeline;
pub use traces::Traces;
pub use versions::{Claim, ServerTimeline, Sign, TimelineVersion, VersionEvidence, VersionStarts};

use crate::decode::klog::TraceFragment;
use crate::input::SourcePosition;
use crate::requests::{Request, stable_hash};

/// All counts of a run.
#[derive(Debug, Default)]
pub struct Ledger {
    pub input: InputCounts,
    /// Evidence of the server's version.
    pub versions: VersionEvidence,
    pub clients: Clients,
    /// The apiserver's traces of slow requests.
    pub traces: Traces,
    /// The requests of each client instance, for patterns over time.
    pub histories: HistoriesByKind,
    /// Number of distinct objects that requests name, by namespace.
    pub namespaces: Namespaces,
}

impl Ledger {
    #[must_use]
    pub fn row_hash(request: &Request<'_>) -> u64 {
        stable_hash(&RowHash::new(request))
    }

    pub fn observe_trace(&mut self, place: SourcePosition, fragment: &TraceFragment<'_>) {
        self.traces.observe(place, fragment);
    }
}

impl Merge for Ledger {
    fn merge(&mut self, other: Self) {
        self.input.merge(other.input);
        self.versions.merge(other.versions);
        self.traces.merge(other.traces);
        self.clients.merge(other.clients);
        self.histories.merge(other.histories);
        self.namespaces.merge(other.namespaces);
    }
}
