//! Mergeable numbers per client and shape. Integers only; every part merges in any order to the same result.

pub mod activity;
pub mod apf;
mod begun;
pub mod bounded_map;
pub mod client;
pub mod clients;
mod counter;
pub mod counts;
pub mod distinct;
pub mod etcd;
mod etcd_versions;
pub mod exemplar;
pub mod histogram;
pub mod index;
pub mod input;
pub mod live;
pub mod lives;
mod load;
pub mod namespaces;
mod packed;
mod presence;
pub mod row;
pub mod row_name;
pub mod seen;
mod sharded;
mod shared_clients;
mod shared_ledger;
mod shared_lives;
mod shared_row;
mod sorted;
pub mod targets;
pub mod timeline;
pub mod traces;
pub mod versions;
pub mod waiting;

pub use activity::{Activity, Gap};
pub use apf::Flows;
pub use begun::{Begun, ProductRows};
pub use bounded_map::{BoundedMap, SlotIndex};
pub use client::{Client, ClientKey, MAX_DISTINCT, MAX_PRODUCTS, MAX_SHAPES, Product};
pub use clients::{Clients, MAX_CLIENTS};
pub use counter::Counter;
pub use counts::{Deprecated, Items, Observed, Statuses};
pub use distinct::DistinctSet;
pub use etcd::{EtcdLines, EtcdLog};
pub use etcd_versions::EtcdVersions;
pub use exemplar::{Exemplar, Exemplars};
pub use histogram::Histogram;
pub use index::{Additions, Index, RequestResult};
pub use input::{InputCounts, KEPT_PLACES, SkipAt, SourceCounts, UnreadAt};
pub use lives::{Followed, Kept, Life};
pub use load::{Busiest, Load, Step};
pub use namespaces::{NamespacePart, NamespaceWeights, Namespaces};
pub use presence::{Change, Presence};
pub use row::Row;
pub use row_name::RowName;
pub use seen::{Dedup, Seen};
pub use shared_ledger::SharedLedger;
pub use shared_row::SharedRow;
pub use targets::Targets;
pub use timeline::Timeline;
pub use traces::Traces;
pub use versions::{Claim, ServerTimeline, Sign, TimelineVersion, VersionEvidence, VersionStarts};
pub use waiting::Waiting;

use shared_clients::SharedClients;
use shared_lives::SharedKept;

use crate::decode::klog::TraceFragment;
use crate::input::SourcePosition;
use crate::requests::{Request, stable_hash};

/// A commutative and associative sum.
pub trait Merge {
    /// Adds the other's numbers to this one's.
    fn merge(&mut self, other: Self);
}

/// Everything that a run has counted.
#[derive(Debug, Default)]
pub struct Ledger {
    /// What was read.
    pub input: InputCounts,
    /// What the log says of the server's version.
    pub versions: VersionEvidence,
    /// The clients.
    pub clients: Clients,
    /// The server's traces of slow requests.
    pub traces: Traces,
    /// What each instance read and watched.
    pub kept: Kept,
    /// How many different objects of each namespace requests name.
    pub namespaces: Namespaces,
}

impl Ledger {
    /// A hash of the row that a request belongs to.
    #[must_use]
    pub fn row_hash(request: &Request<'_>) -> u64 {
        stable_hash(&RowName::of(request))
    }

    /// Counts one line of a trace.
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
        self.kept.merge(other.kept);
        self.namespaces.merge(other.namespaces);
    }
}
