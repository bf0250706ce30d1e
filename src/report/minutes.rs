//! Requests per minute by resource, and the busiest minute.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::sums::RequestsOverTime;
use super::v1;
use crate::judged::ShapeKey;
use crate::ledger::{Busiest, RequestRates, Timeline};

/// The resource of the overflow row for shapes.
const OTHER_RESOURCE: &str = "(other)";
/// The maximum number of clients that a peak names.
const NAMED: usize = 10;

/// The requests of one client over time, by resource.
#[derive(Debug, Default)]
pub(super) struct ResourceTimelines(BTreeMap<String, ResourceTimeline>);

#[derive(Debug, Default)]
struct ResourceTimeline {
    requests: u64,
    all: RequestsOverTime,
    etcd_reads: Timeline,
}

impl ResourceTimelines {
    pub(super) fn add(&mut self, key: &ShapeKey, requests: u64, times: RequestsOverTime) {
        let name = key.resource.as_deref().unwrap_or(OTHER_RESOURCE);
        if !self.0.contains_key(name) {
            self.0.insert(name.to_owned(), ResourceTimeline::default());
        }
        let Some(own) = self.0.get_mut(name) else { return };
        own.requests += requests;
        if key.reads_etcd() {
            own.etcd_reads.merge_from(&times.sum);
        }
        own.all.merge(times);
    }

    pub(super) fn add_to(&self, times: &mut RequestsOverTime) {
        self.0.values().for_each(|resource| times.add(&resource.all));
    }

    pub(super) fn into_timelines(self) -> Vec<v1::Timeline> {
        let resources = self.0.into_iter().filter(|(_, resource)| resource.requests > 0);
        resources.map(|(name, resource)| resource.into_timeline(name)).collect()
    }
}

impl ResourceTimeline {
    fn into_timeline(self, resource: String) -> v1::Timeline {
        let all = self.all.sum.windows();
        let mut reads = self.etcd_reads.windows().counts.into_iter().peekable();
        let width = i64::try_from(all.minutes).unwrap_or(i64::MAX).saturating_mul(60_000_000);
        let point = |&(start, requests): &(i64, u64)| {
            // Sum the windows of `reads` that lie in this window of `all`. They fill it exactly: they are at most as
            // wide, and all windows start at multiples of their width.
            let mut etcd_reads = 0;
            while let Some((_, count)) = reads.next_if(|(at, _)| *at < start.saturating_add(width)) {
                etcd_reads += count;
            }
            v1::Point {
                minute: u32::try_from(start / 60_000_000).unwrap_or(u32::MAX),
                requests: u32::try_from(requests).unwrap_or(u32::MAX),
                etcd_reads: u32::try_from(etcd_reads).unwrap_or(u32::MAX),
            }
        };
        v1::Timeline {
            resource,
            window_minutes: all.minutes,
            without_time: self.requests.saturating_sub(all.counts.iter().map(|(_, count)| count).sum()),
            points: v1::Points(all.counts.iter().map(point).collect()),
        }
    }
}

/// Finds the busiest minute. `count` returns the number that counts for a point: its requests, or its etcd reads.
pub(super) fn peak(clients: &[v1::Client], count: fn(&v1::Point) -> u32) -> Option<v1::Peak> {
    // Call `RequestRates::add` once for each window and not for each point, because each call changes two entries.
    // Most clients are active in the same windows, so this saves many calls.
    let mut windows: HashMap<(u32, u64), u64, FxBuildHasher> = HashMap::default();
    for timeline in clients.iter().flat_map(|client| &client.timelines) {
        for point in timeline.points.0.iter().filter(|point| count(point) > 0) {
            *windows.entry((point.minute, timeline.window_minutes)).or_default() += u64::from(count(point));
        }
    }
    let mut rates = RequestRates::default();
    for ((minute, width), requests) in windows {
        rates.add(u64::from(minute), width, requests);
    }
    let Busiest { minute, window_minutes, .. } = rates.busiest()?;
    let minute = u32::try_from(minute).unwrap_or(u32::MAX);
    let part = |client: &v1::Client| -> u64 {
        // Round only once: scale each number to the widest window, then divide only the sum of the numbers.
        let windows = client.timelines.iter().filter_map(|timeline| {
            let requests = u64::from(count(timeline.point_at(minute)?));
            (requests > 0).then(|| requests * (window_minutes / timeline.window_minutes))
        });
        (windows.sum::<u64>() + window_minutes / 2) / window_minutes
    };
    let mut parts: Vec<(u64, &v1::Client)> = clients.iter().map(|client| (part(client), client)).collect();
    parts.retain(|(requests, _)| *requests > 0);
    // The clients are in the report's order. The stable sort keeps this order for clients with equal numbers of
    // requests.
    parts.sort_by_key(|(requests, _)| Reverse(*requests));
    let requests = parts.iter().map(|(requests, _)| requests).sum();
    let clients = parts.into_iter().take(NAMED).map(|(requests, client)| v1::PeakClient {
        identity: client.identity.clone(),
        kind: client.kind.clone(),
        impersonated_by: client.impersonated_by.clone(),
        requests,
    });
    Some(v1::Peak { at: v1::minute(minute), window_minutes, requests, clients: clients.collect() })
        .filter(|peak| peak.requests > 0)
}
