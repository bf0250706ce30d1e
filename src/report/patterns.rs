//! Converts patterns over time to the JSON report.

use super::v1;
use crate::k8s::timestamp;
use crate::ledger;
use crate::patterns::{AllFollowed, Chains, Herds, Informers, Pattern, Polling, Watching};
use crate::requests::InstanceKind;

/// The pattern; `None` if no instance was followed.
pub(super) fn pattern(pattern: &Pattern) -> Option<Box<v1::Pattern>> {
    let to_v1 = || v1::Pattern {
        instances: pattern.instances,
        informers: informers(&pattern.informers),
        polling: polling(&pattern.polling),
        herds: herds(&pattern.herds),
        chains: chains(&pattern.chains),
        watches: watches(&pattern.watching),
    };
    (pattern.instances > 0).then(|| Box::new(to_v1()))
}

fn informers(informers: &Informers) -> Option<v1::Informers> {
    (*informers != Informers::default()).then_some(v1::Informers {
        starts: informers.starts,
        relists: v1::Relists {
            expired: informers.relists_expired,
            refused: informers.relists_refused,
            ended: informers.relists_ended,
        },
        most_relists: informers.most_relists,
        further_pages: informers.further_pages,
        starts_twice: informers.twice,
    })
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

fn chains(chains: &Chains) -> Option<v1::Chains> {
    (chains.count > 0).then_some(v1::Chains {
        count: chains.count,
        pages: chains.pages,
        longest_pages: chains.longest,
        longest_micros: chains.longest_micros,
        expired: chains.expired,
        restarted: chains.restarted,
        inconsistent_pages: chains.inconsistent,
        without_first_page: chains.headless,
    })
}

fn watches(watching: &Watching) -> Option<v1::Watches> {
    (watching.watches > 0).then_some(v1::Watches {
        count: watching.watches,
        ended: watching.ended,
        short: watching.short,
        most_short: watching.most_short,
        doubled: watching.beside,
        most_at_once: watching.most_at_once,
        doubled_instances: watching.doubled_instances,
        fallbacks: watching.fallbacks,
    })
}

pub(super) fn followed(followed: &AllFollowed) -> v1::AllFollowed {
    v1::AllFollowed {
        lists: one_followed(&followed.lists),
        watches: one_followed(&followed.watches),
        objects: one_followed(&followed.objects),
    }
}

fn one_followed(followed: &ledger::Followed) -> v1::Followed {
    v1::Followed {
        instances: followed.instances,
        one_of: followed.one_of,
        requests: followed.requests,
        left_out: followed.left_out,
        earliest_of_each: followed.of_each,
    }
}
