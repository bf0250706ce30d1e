//! Patterns over time in the JSON report.

use schemars::JsonSchema;
use serde::Serialize;

/// The patterns of the requests of a shape or finding over time. An absent pattern did not occur.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
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

/// Informers: LISTs followed by a WATCH of the same collection from the same instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Informers {
    /// The first LISTs of informers.
    pub starts: u64,
    /// The repeated LISTs of informers, by how the previous WATCH ended.
    pub relists: Relists,
    /// The largest number of repeated LISTs of one informer.
    pub(crate) most_relists: u64,
    /// The number of pages after the first one, summed over the first and the repeated LISTs of informers.
    pub(crate) further_pages: u64,
    /// Starts at which an instance sent the same LIST twice within a minute, both times without pagination.
    pub starts_twice: u64,
}

/// Why informers repeated their LIST.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Relists {
    /// The WATCH returned 410, or ended within a second.
    pub(crate) expired: u64,
    /// The WATCH was refused with a status other than 410.
    pub(crate) refused: u64,
    /// The WATCH ended after a second or more.
    pub ended: u64,
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

/// LISTs with several pages. They belong to the request shape of the second page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Chains {
    pub count: u64,
    /// The number of pages of these LISTs, including first pages.
    pub pages: u64,
    /// The largest number of pages of one LIST.
    pub longest_pages: u64,
    /// The longest time from the receive time of the first page to the end of the last page.
    pub(crate) longest_micros: u64,
    /// LISTs with a 410 response to a page, because its revision had expired.
    pub(crate) expired: u64,
    /// LISTs that began again within a minute after a 410.
    pub(crate) restarted: u64,
    /// Pages read at the newest revision, because the revision of the first page had expired.
    pub(crate) inconsistent_pages: u64,
    /// LISTs whose first page is not in the log.
    pub(crate) without_first_page: u64,
}

/// The lifetimes of watches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Watches {
    pub(crate) count: u64,
    /// Watches that ended.
    pub(crate) ended: u64,
    /// Served watches that ended within 65 s.
    pub(crate) short: u64,
    /// The largest number of these short watches from one instance for one collection.
    pub(crate) most_short: u64,
    /// Watches that ran at the same time as another watch of the same collection from the same pod or node.
    pub doubled: u64,
    /// The largest number of watches of one collection that one pod or node had open at the same time.
    pub most_at_once: u64,
    /// The number of pods or nodes that had several watches of one collection open at the same time.
    pub doubled_instances: u64,
    /// Watches with `sendInitialEvents` that were refused and followed by a LIST.
    pub(crate) fallbacks: u64,
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
