//! Patterns over time in the JSON report.

use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use crate::patterns::{Chains, Informers, Watching as Watches};

/// The patterns of the requests of a shape or finding over time. An absent pattern did not occur.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pattern {
    /// The number of instances (pods, else nodes, else addresses) that sent the requests. For a finding, the number
    /// for the shape with the most instances.
    pub instances: u64,
    /// LISTs followed by a WATCH of the same collection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub informers: Option<Informers>,
    /// LISTs and GETs not followed by a WATCH of the same collection or object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polling: Option<Polling>,
    /// The same LIST from many instances within seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub herds: Option<Herds>,
    /// LISTs with several pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chains: Option<Chains>,
    /// The lifetimes of watches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watches: Option<Watches>,
}

/// Reads not followed by a WATCH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Polling {
    /// Served reads that are not followed by a WATCH of the same collection or object.
    pub(crate) alone: u64,
    /// The reads in `alone` by pollers: instances that read one collection or object three times or more.
    pub reads: u64,
    /// The number of pollers. An instance counts once for each collection or object that it polls.
    pub pollers: u64,
    /// The median of the intervals between two reads of the same poller.
    pub(crate) median_micros: u64,
    pub busiest: Vec<Poller>,
}

/// An instance that reads one collection or object repeatedly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Poller {
    pub(crate) instance: Instance,
    pub(crate) reads: u64,
    /// The median of the intervals between the poller's reads.
    pub median_micros: u64,
    /// The interquartile range of the intervals between the poller's reads: 0 for a fixed interval.
    pub spread_micros: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Instance {
    /// `pod`, `node` or `address`.
    pub(crate) by: String,
    /// The instance's name; empty if the log has none.
    pub(crate) name: String,
}

/// Herds: the same LIST from many instances within seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Herds {
    /// The number of herds.
    pub count: u64,
    /// The number of LISTs.
    pub(crate) requests: u64,
    /// The 32 herds with the most instances.
    pub greatest: Vec<Herd>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Herd {
    /// The receive time of the first LIST.
    pub(crate) from: String,
    /// The receive time of the last LIST.
    pub(crate) to: String,
    /// The number of instances.
    pub instances: u64,
    /// The number of LISTs.
    pub(crate) requests: u64,
    /// The objects that etcd reads for all these LISTs, by the inventory; null if unknown.
    pub(crate) etcd_objects: Option<u64>,
    /// The size in bytes of the objects that `etcdObjects` or `receivedObjects` counts.
    pub(crate) etcd_bytes: Option<u64>,
    /// An upper bound of the objects that all instances together receive; null if unknown. If `receivedIsMean` is
    /// true, an estimate.
    pub(crate) received_objects: Option<u64>,
    /// The size in bytes of the objects that `etcdObjects` or `receivedObjects` counts.
    pub(crate) received_bytes: Option<u64>,
    /// `receivedObjects` uses the mean over nodes or namespaces.
    pub(crate) received_is_mean: bool,
}

/// How many requests kubetoll followed to find patterns over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AllFollowed {
    pub lists: Followed,
    pub(crate) watches: Followed,
    /// GETs of single objects.
    pub(crate) objects: Followed,
}

/// How many instances and requests kubetoll followed, for one kind of requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Followed {
    /// The number of followed instances. An instance counts once for each product of each client.
    pub instances: u64,
    /// The sampling ratio: one in `oneOf` instances was followed, chosen by a hash of its name. 1 means all.
    pub one_of: u64,
    /// The number of followed requests.
    pub(crate) requests: u64,
    /// The number of requests that were not followed.
    pub left_out: u64,
    /// At most this many requests of each instance were followed: the earliest ones. Null if no instance had more
    /// requests.
    pub(crate) earliest_of_each: Option<u64>,
}
