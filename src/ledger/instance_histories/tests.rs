//! Tests: the order of the requests does not affect which ones are kept.

use super::super::shared_histories::SharedInstanceHistories;
use super::*;
use crate::requests::InstanceKind;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SMALL: Bounds = Bounds { histories: 12, free: 4, budget: 24, entries: 40, halvings: 2 };

fn entry(at: i64) -> HistoryEntry {
    HistoryEntry::made_up(at, RequestKind::List, ResponseClass::Served, (1, 2), 0, 3)
}

fn each(events: &[(u8, i64)], mut add: impl FnMut(RowHash, u64, Instance<&str>, HistoryEntry)) {
    for (instance, at) in events {
        let name = instance.to_string();
        let instance = Instance { by: InstanceKind::Pod, name: &*name };
        let row = RowHash { client: 1, product: 2, row_key: 3 };
        add(row, stable_hash(&(row.client, row.product, instance)), instance, entry(*at));
    }
}

fn histories(events: &[(u8, i64)]) -> InstanceHistories {
    kept_within(InstanceHistories::within(SMALL, false), events)
}

fn kept_within(mut histories: InstanceHistories, events: &[(u8, i64)]) -> InstanceHistories {
    each(events, |row, key, instance, entry| {
        histories.add(row, key, || instance, entry);
        if histories.bounds.are_exceeded(histories.size()) {
            step_down(&mut [&mut histories]);
        }
    });
    histories
}

fn kept_by_workers(histories: &InstanceHistories, events: [&[(u8, i64)]; 2]) -> SharedInstanceHistories {
    let shared = SharedInstanceHistories::like(histories);
    std::thread::scope(|scope| {
        for part in events {
            let shared = &shared;
            scope.spawn(move || {
                let mut waiting = Vec::new();
                each(part, |row, key, instance, entry| {
                    shared.add(row, key, || instance, entry, &mut waiting);
                });
                shared.flush(&mut waiting);
            });
        }
    });
    shared
}

type Settled = (BTreeMap<String, (Vec<HistoryEntry>, u64)>, Followed);

fn settled(mut histories: InstanceHistories) -> Settled {
    let (histories, followed) = histories.settled();
    let one = |mut history: InstanceHistory| {
        history.entries.sort_unstable();
        (history.instance.name.to_string(), (history.entries, history.all_requests))
    };
    (histories.into_iter().map(one).collect(), followed)
}

/// A naive implementation: chooses the step from all requests at once.
fn naive(events: &[(u8, i64)]) -> Settled {
    let mut all: BTreeMap<String, Vec<HistoryEntry>> = BTreeMap::new();
    for (instance, at) in events {
        all.entry(instance.to_string()).or_default().push(entry(*at));
    }
    let zeros =
        |name: &str| stable_hash(&(1_u64, 2_u64, Instance { by: InstanceKind::Pod, name })).leading_zeros();
    let fits = |step: &u32| {
        let followed =
            || all.iter().filter(|(name, _)| zeros(name) >= SMALL.zeros(*step)).map(|(_, own)| own);
        let beyond = |own: &Vec<HistoryEntry>| own.len().min(SMALL.each(*step)).saturating_sub(SMALL.free);
        let entries = followed().map(|own| own.len().min(SMALL.each(*step))).sum::<usize>();
        followed().count() <= SMALL.histories
            && followed().map(beyond).sum::<usize>() <= SMALL.budget
            && entries <= SMALL.entries
    };
    let step = (0..=64).find(fits).expect("with no instance nothing is kept");
    let cap = SMALL.each(step);
    let (followed, lost): (BTreeMap<_, _>, BTreeMap<_, _>) =
        all.into_iter().partition(|(name, _)| zeros(name) >= SMALL.zeros(step));
    let all = followed;
    let left_out = lost.values().map(|own| own.len() as u64).sum();
    let mut followed = Followed { one_of: 1 << SMALL.zeros(step), left_out, ..Followed::default() };
    let mut naive = BTreeMap::new();
    for (name, mut own) in all {
        own.sort_unstable();
        let all_requests = own.len() as u64;
        own.truncate(cap);
        followed.instances += 1;
        followed.requests += own.len() as u64;
        followed.left_out += all_requests - own.len() as u64;
        if all_requests > own.len() as u64 {
            followed.of_each = Some(cap as u64);
        }
        naive.insert(name, (own, all_requests));
    }
    (naive, followed)
}

proptest! {
    #[test]
    fn history_entries_are_independent_of_order_and_split(
        events in prop::collection::vec((0_u8..30, 0_i64..1_000), 0..400),
        heavy in prop::collection::vec((0_u8..3, 0_i64..1_000), 0..200),
        cut in 0_usize..600,
    ) {
        let mut events = [events, heavy].concat();
        let whole = naive(&events);
        prop_assert_eq!(&settled(histories(&events)), &whole);
        let (left, right) = events.split_at(cut.min(events.len()));
        let mut merged = histories(right);
        merged.merge(histories(left));
        prop_assert_eq!(&settled(merged), &whole);
        let shared = kept_by_workers(&InstanceHistories::within(SMALL, false), [left, right]);
        prop_assert_eq!(&settled(shared.take()), &whole);
        prop_assert_eq!(settled(shared.take()), naive(&[]));
        events.sort_by_key(|(instance, at)| (*at, *instance));
        prop_assert_eq!(&settled(histories(&events)), &whole);
        let (_, followed) = whole;
        prop_assert_eq!(followed.requests + followed.left_out, events.len() as u64, "nothing is lost");
    }

    #[test]
    fn shared_watch_histories_match_single_threaded_ones(
        events in prop::collection::vec((0_u8..8, 0_i64..60), 0..400),
        cut in 0_usize..400,
    ) {
        // The entries of one WATCH become one entry, so the size may shrink.
        let watches = || InstanceHistories::within(SMALL, true);
        let (left, right) = events.split_at(cut.min(events.len()));
        let shared = kept_by_workers(&watches(), [left, right]);
        prop_assert!(shared.knows_its_size());
        prop_assert_eq!(settled(shared.take()), settled(kept_within(watches(), &events)));
    }
}
