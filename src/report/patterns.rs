//! Converts patterns over time to the JSON report.

use super::v1;
use crate::k8s::timestamp;
use crate::ledger;
use crate::patterns::{AllFollowed, Herds, Informers, Pattern, Polling};
use crate::requests::InstanceKind;

/// The pattern; `None` if no instance was followed.
pub(super) fn pattern(pattern: &Pattern) -> Option<Box<v1::Pattern>> {
    let to_v1 = || v1::Pattern {
        instances: pattern.instances,
        informers: Some(pattern.informers).filter(|informers| *informers != Informers::default()),
        polling: polling(&pattern.polling),
        herds: herds(&pattern.herds),
        chains: Some(pattern.chains).filter(|chains| chains.count > 0),
        watches: Some(pattern.watching).filter(|watches| watches.count > 0),
    };
    (pattern.instances > 0).then(|| Box::new(to_v1()))
}

fn polling(polling: &Polling) -> Option<v1::Polling> {
    let busiest = polling.busiest.iter().map(|poller| v1::Poller {
        instance: v1::Instance {
            by: match poller.instance.by {
                InstanceKind::Pod => "pod",
                InstanceKind::Node => "node",
                InstanceKind::Address => "address",
            }
            .to_owned(),
            name: poller.instance.name.to_string(),
        },
        reads: poller.reads,
        median_micros: poller.median,
        spread_micros: poller.spread,
    });
    (polling.alone > 0).then(|| v1::Polling {
        alone: polling.alone,
        reads: polling.reads,
        pollers: polling.pollers,
        median_micros: polling.intervals.percentile(50).unwrap_or(0),
        busiest: busiest.collect(),
    })
}

fn herds(herds: &Herds) -> Option<v1::Herds> {
    let greatest = herds.greatest.iter().map(|herd| v1::Herd {
        from: timestamp::format_micros(herd.from),
        to: timestamp::format_micros(herd.to),
        instances: herd.instances,
        requests: herd.requests,
        etcd_objects: herd.cost.etcd_objects,
        etcd_bytes: herd.cost.etcd_bytes,
        received_objects: herd.cost.received_objects,
        received_bytes: herd.cost.received_bytes,
        received_is_mean: herd.cost.received_is_mean,
    });
    (herds.count > 0).then(|| v1::Herds {
        count: herds.count,
        requests: herds.requests,
        greatest: greatest.collect(),
    })
}

pub(super) fn followed(followed: &AllFollowed) -> v1::AllFollowed {
    let one = |followed: &ledger::Followed| v1::Followed {
        instances: followed.instances,
        one_of: followed.one_of,
        requests: followed.requests,
        left_out: followed.left_out,
        earliest_of_each: followed.of_each,
    };
    v1::AllFollowed {
        lists: one(&followed.lists),
        watches: one(&followed.watches),
        objects: one(&followed.objects),
    }
}
