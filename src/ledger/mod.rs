//! Counts by client and request shape. The counts of several workers can be merged. All counts are integers, so every
//! merge order gives the same result.

pub(crate) mod activity;
pub(crate) mod apf;
mod before_end;
pub(crate) mod bounded_map;
pub(crate) mod client;
pub(crate) mod clients;
mod counter;
pub(crate) mod counts;
pub(crate) mod deduplicator;
pub(crate) mod distinct;
pub(crate) mod etcd;
pub mod exemplar;
pub(crate) mod histogram;
pub(crate) mod index;
pub(crate) mod input;
pub(crate) mod instance_histories;
pub(crate) mod merge;
pub(crate) mod namespaces;
pub(crate) mod open_long_running;
mod packed;
pub(crate) mod pending_groups;
mod presence;
mod product_rows;
mod request_rates;
pub(crate) mod row;
mod sharded;
mod shared_clients;
mod shared_histories;
mod shared_ledger;
mod shared_row;
pub(crate) mod targets;
pub(crate) mod timeline;
pub(crate) mod traces;
pub(crate) mod versions;

pub(crate) use activity::Activity;
pub(crate) use apf::Flows;
pub(crate) use before_end::EventsBeforeEnd;
pub(crate) use bounded_map::{BoundedMap, SlotIndex};
pub use client::{Client, ClientKey, ClientProduct, MAX_PRODUCTS, MAX_SHAPES};
pub use clients::{Clients, MAX_CLIENTS};
pub(crate) use counter::Counter;
pub(crate) use counts::{Deprecated, EventFactCounts, Items, Observed, Statuses};
pub use deduplicator::{Dedup, Deduplicator};
pub(crate) use distinct::DistinctSet;
pub use distinct::MAX_DISTINCT;
pub use etcd::{EtcdLines, EtcdLog};
pub use exemplar::{Exemplar, Exemplars};
pub(crate) use histogram::Histogram;
pub(crate) use index::{Additions, Index, RequestResult};
pub use input::{InputCounts, MAX_POSITIONS, SkipAt, SourceCounts, UnreadAt};
pub(crate) use instance_histories::{Followed, HistoriesByKind, InstanceHistory};
pub use merge::Merge;
pub(crate) use namespaces::{NamespacePart, NamespaceWeights, Namespaces};
pub(crate) use pending_groups::PendingGroups;
pub(crate) use presence::{Change, Presence};
pub use product_rows::ProductRows;
pub(crate) use request_rates::{Busiest, RequestRates, Step};
pub(crate) use row::{Row, RowHash};
pub use sharded::contended_locks;
pub(crate) use shared_ledger::SharedLedger;
pub(crate) use shared_row::SharedRow;
pub(crate) use targets::Targets;
pub(crate) use timeline::Timeline;
pub(crate) use traces::Traces;
pub use versions::{
    Claim, EtcdVersions, ServerTimeline, Sign, TimelineVersion, VersionEvidence, VersionStarts,
};

use self::merge::merge_fields;
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
    pub(crate) traces: Traces,
    /// The requests of each client instance, for patterns over time.
    pub histories: HistoriesByKind,
    /// Number of distinct objects that requests name, by namespace.
    pub(crate) namespaces: Namespaces,
}

impl Ledger {
    #[must_use]
    pub(crate) fn row_hash(request: &Request<'_>) -> u64 {
        stable_hash(&RowHash::new(request))
    }

    pub fn observe_trace(&mut self, place: SourcePosition, fragment: &TraceFragment<'_>) {
        self.traces.observe(place, fragment);
    }
}

merge_fields!(Ledger: input, versions, traces, clients, histories, namespaces);
