//! What requests show when they are put in order: its part of the contract.

use schemars::JsonSchema;
use serde::Serialize;

/// What the requests of a shape, or of a finding, show when they are put in order. What is absent did not occur.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pattern {
    /// Instances (pods, else nodes, else addresses) that made the requests; of a finding, the most of one shape.
    pub instances: u64,
    /// LISTs that a WATCH of the same followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub informers: Option<Informers>,
    /// LISTs and GETs that no WATCH of the same followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polling: Option<Polling>,
    /// The same LIST by many instances within seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub herds: Option<Herds>,
    /// LISTs of which a further page was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chains: Option<Chains>,
    /// Lives of watches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watches: Option<Watches>,
}

/// Informers: LISTs that a WATCH of the same collection by the same instance followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Informers {
    /// LISTs with which one began.
    pub starts: u64,
    /// LISTs with which one began anew, by what had become of its WATCH.
    pub relists: Relists,
    /// The most times that one began anew.
    pub most_relists: u64,
    /// Pages after the first of such LISTs.
    pub further_pages: u64,
    /// Starts of instances that made the same whole LIST twice within a minute.
    pub starts_twice: u64,
}

/// Why informers began anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Relists {
    /// The WATCH was answered 410 or ended within a second.
    pub expired: u64,
    /// The WATCH was refused with another status.
    pub refused: u64,
    /// The WATCH had lived for a second or more.
    pub ended: u64,
}

/// Reads that no WATCH followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Polling {
    /// Those that were served and that no WATCH of the same followed.
    pub alone: u64,
    /// Of these, those that one instance made three times or more of one collection or object.
    pub reads: u64,
    /// Instances, each for each collection or object that it polls.
    pub pollers: u64,
    /// Half of the intervals between reads of one poller are no longer.
    pub median_micros: u64,
    /// The pollers with the most reads.
    pub busiest: Vec<Poller>,
}

/// One instance that reads the same again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Poller {
    /// Which one.
    pub instance: Instance,
    /// How often.
    pub reads: u64,
    /// Half of its intervals are no longer.
    pub median_micros: u64,
    /// How far the middle half of its intervals is spread: 0 for a clock.
    pub spread_micros: u64,
}

/// One instance of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Instance {
    /// `pod`, `node` or `address`.
    pub by: String,
    /// Its name; empty where the log has none.
    pub name: String,
}

/// Many instances at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Herds {
    /// How many herds.
    pub count: u64,
    /// Their LISTs.
    pub requests: u64,
    /// The greatest 32, those with the most instances first.
    pub greatest: Vec<Herd>,
}

/// One herd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Herd {
    /// Its first LIST.
    pub from: String,
    /// Its last LIST.
    pub to: String,
    /// Instances.
    pub instances: u64,
    /// Their LISTs.
    pub requests: u64,
    /// Objects that etcd reads for all of them, by the inventory; null where that is not known.
    pub etcd_objects: Option<u64>,
    /// The bytes of these.
    pub etcd_bytes: Option<u64>,
    /// Objects that all of them can have received at most, or about so many (`receivedIsMean`); null where that is not known.
    pub received_objects: Option<u64>,
    /// The bytes of these.
    pub received_bytes: Option<u64>,
    /// What they can have received is the mean of a node or a namespace.
    pub received_is_mean: bool,
}

/// LISTs of which a further page was asked for. They are told of at the shape of their second page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Chains {
    /// How many.
    pub count: u64,
    /// Their pages, first ones too.
    pub pages: u64,
    /// Pages of the longest.
    pub longest_pages: u64,
    /// The longest time from the first page's arrival to the last one's end.
    pub longest_micros: u64,
    /// Those of which a page was answered 410, as its revision had expired.
    pub expired: u64,
    /// Those that were begun again within a minute after a 410.
    pub restarted: u64,
    /// Pages that were read at the newest revision, as the first page's had expired.
    pub inconsistent_pages: u64,
    /// Those of which the first page is not in the log.
    pub without_first_page: u64,
}

/// Lives of watches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Watches {
    /// How many.
    pub count: u64,
    /// Those that ended.
    pub ended: u64,
    /// Those that were served and ended within 65 s.
    pub short: u64,
    /// The most such watches of one collection by one instance.
    pub most_short: u64,
    /// Those that ran beside another of the same collection by the same pod or node.
    pub doubled: u64,
    /// The most of them at once.
    pub most_at_once: u64,
    /// Pods or nodes that had more than one at once.
    pub doubled_instances: u64,
    /// Those with `sendInitialEvents` that were refused, with a LIST after them.
    pub fallbacks: u64,
}

/// What patterns over time are made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AllFollowed {
    /// Of LISTs.
    pub lists: Followed,
    /// Of watches.
    pub watches: Followed,
    /// Of GETs of single objects.
    pub objects: Followed,
}

/// What of one kind was followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Followed {
    /// Instances of products of clients that were followed.
    pub instances: u64,
    /// Of so many instances one was followed, chosen by a hash of its name; 1 for all.
    pub one_of: u64,
    /// Requests that were followed.
    pub requests: u64,
    /// Requests that were not.
    pub left_out: u64,
    /// Where an instance had more requests than could be kept: of each the earliest so many were followed.
    pub earliest_of_each: Option<u64>,
}
