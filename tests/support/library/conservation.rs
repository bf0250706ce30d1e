//! Sums that must agree in every report: nothing is lost, nothing is counted twice.

use std::collections::BTreeMap;

use kubetoll::ledger::MAX_PRODUCTS;
use kubetoll::report::Report;
use kubetoll::report::v1::{
    Amount, Client, Cost, Counts, Input, Peak, Shape, SourceInput, Statuses, Totals, Work,
};

/// Checks that a report's sums agree.
///
/// # Panics
/// If they do not agree.
pub fn check(report: &Report) {
    let input = &report.input;
    let (skipped, foreign): (u64, u64) = (input.skipped.values().sum(), input.foreign.values().sum());
    assert_eq!(input.records, input.events + foreign + skipped, "every record is one of the three");
    check_sources(input);
    assert_eq!(input.events, input.events_by_stage.values().sum::<u64>(), "every event has a stage");
    let shapes = || report.clients.iter().flat_map(|client| &client.shapes);
    let events: u64 = shapes().map(|shape| shape.events).sum();
    let elsewhere =
        input.filtered + input.duplicates + input.joined + input.not_joined + input.events_without_request;
    assert_eq!(input.events, events + elsewhere, "every event is counted once, or it is said why not");
    let totals = &report.totals.counts;
    assert_eq!(input.requests, totals.requests);
    assert_eq!(
        totals.requests,
        shapes().map(|shape| shape.requests).sum::<u64>(),
        "totals are those of shapes"
    );
    assert!(input.open <= input.requests);
    check_counts(totals, "totals");
    assert_eq!(totals.by_verb, sum(report.clients.iter().map(|client| &client.counts.by_verb)));
    assert_eq!(totals.by_served_from, sum(report.clients.iter().map(|client| &client.counts.by_served_from)));
    for client in &report.clients {
        check_client(client);
    }
    check_peaks(&report.totals);
    let of_shapes: Vec<&Cost> = shapes().map(|shape| &*shape.cost).collect();
    let of_clients: Vec<&Cost> = report.clients.iter().map(|client| &client.cost).collect();
    if report.inventory.is_some() {
        for amount in [etcd, received] {
            let all = total(&[&report.totals.cost], amount);
            assert_eq!(all, total(&of_clients, amount), "what clients cost adds up");
            assert_eq!(all, total(&of_shapes, amount), "what shapes cost adds up");
        }
    }
    let clients = || report.clients.iter().map(|client| &client.counts);
    assert_eq!(totals.requests, clients().map(|counts| counts.requests).sum::<u64>());
    assert_eq!(totals.etcd_lists, clients().map(|counts| counts.etcd_lists).sum::<u64>());
    assert_eq!(totals.etcd_gets, clients().map(|counts| counts.etcd_gets).sum::<u64>());
    assert_eq!(totals.limit_ignored, clients().map(|counts| counts.limit_ignored).sum::<u64>());
}

fn etcd(work: &Work) -> Option<&Amount> {
    work.etcd.as_ref()
}

fn received(work: &Work) -> Option<&Amount> {
    work.received.as_ref()
}

/// Objects, bytes, and the number of requests for which these are unknown.
fn total(costs: &[&Cost], of: fn(&Work) -> Option<&Amount>) -> (u64, u64, u64) {
    let amounts = costs.iter().map(|cost| {
        assert_eq!(cost.basis, "inventory", "one basis for all");
        of(cost.total.as_ref().expect("with an inventory")).expect("with an inventory")
    });
    amounts.fold((0, 0, 0), |(objects, bytes, unknown), amount| {
        let number = |known: Option<u64>| known.unwrap_or(0);
        (objects + number(amount.objects), bytes + number(amount.bytes), unknown + amount.unknown_requests)
    })
}

/// The sums over the sources equal the totals.
fn check_sources(input: &Input) {
    let mut formats = 0;
    for source in &input.sources {
        let (skipped, foreign): (u64, u64) = (source.skipped.values().sum(), source.foreign.values().sum());
        assert_eq!(source.records, source.events + foreign + skipped, "{}", source.file);
        assert_eq!(
            source.events,
            source.formats.values().sum::<u64>(),
            "{}: every event has a form",
            source.file
        );
        formats += source.formats.values().sum::<u64>();
    }
    let of = |what: fn(&SourceInput) -> u64| input.sources.iter().map(what).sum::<u64>();
    assert_eq!(
        (of(|source| source.records), of(|source| source.events), of(|source| source.access_lines)),
        (input.records, input.events, input.access_lines)
    );
    assert_eq!(formats, input.formats.values().sum::<u64>());
    assert_eq!(sum(input.sources.iter().map(|source| &source.foreign)), input.foreign);
    assert_eq!(sum(input.sources.iter().map(|source| &source.skipped)), input.skipped);
}

fn check_client(client: &Client) {
    let name = &client.identity;
    let requests = client.counts.requests;
    check_counts(&client.counts, name);
    assert_eq!(requests, client.shapes.iter().map(|shape| shape.requests).sum::<u64>(), "{name}");
    let by_product: u64 = client.user_agents.iter().map(|agent| agent.requests).sum();
    assert_eq!(requests, by_product, "{name}: every request has a product");
    assert!(client.user_agents.len() <= MAX_PRODUCTS + 1, "{name}: the rest is folded into one product");
    client.shapes.iter().for_each(check_shape);
    check_timelines(client);
}

/// Each request is in a point of its resource, or has no time.
fn check_timelines(client: &Client) {
    let mut by_resource: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for shape in client.shapes.iter().filter(|shape| shape.requests > 0) {
        let sums = by_resource.entry(shape.resource.as_deref().unwrap_or("(other)")).or_default();
        let is_from_etcd = shape.likely.unwrap_or(shape.served_from) == "etcd";
        let is_read = is_from_etcd && ["list", "get"].contains(&shape.verb);
        sums.0 += shape.requests;
        sums.1 += if is_read { shape.requests } else { 0 };
    }
    let reads: u64 = by_resource.values().map(|(_, reads)| reads).sum();
    assert_eq!(reads, client.counts.etcd_lists + client.counts.etcd_gets, "{}", client.identity);
    assert_eq!(
        client.timelines.len(),
        by_resource.len(),
        "{}: a timeline for each resource",
        client.identity
    );
    for (timeline, (resource, (requests, reads))) in client.timelines.iter().zip(by_resource) {
        let name = format!("{} {resource}", client.identity);
        assert_eq!(timeline.resource, resource, "{}", client.identity);
        let points = &timeline.points.0;
        let timed: u64 = points.iter().map(|point| u64::from(point.requests)).sum();
        assert_eq!(timed + timeline.without_time, requests, "{name}");
        let timed_reads: u64 = points.iter().map(|point| u64::from(point.etcd_reads)).sum();
        assert!(timed_reads <= reads && reads <= timed_reads + timeline.without_time, "{name}");
        assert!(
            points.iter().all(|point| 0 < point.requests && point.etcd_reads <= point.requests),
            "{name}"
        );
        let width = u32::try_from(timeline.window_minutes).expect("a few minutes");
        assert!(points.iter().all(|point| point.minute.is_multiple_of(width)), "{name}");
        assert!(points.is_sorted_by(|before, after| before.minute < after.minute), "{name}");
    }
}

/// A peak is the sum of its clients; without a request it is null.
fn check_peaks(totals: &Totals) {
    let parts = |peak: &Peak| peak.clients.iter().map(|client| client.requests).sum::<u64>();
    for peak in [&totals.peak, &totals.etcd_peak].into_iter().flatten() {
        let all = parts(peak);
        assert!(all == peak.requests || (peak.clients.len() == 10 && all < peak.requests), "{peak:?}");
        assert!(peak.clients.iter().all(|client| client.requests > 0), "{peak:?}");
    }
    assert!(totals.peak.as_ref().is_none_or(|peak| peak.requests <= totals.counts.requests));
    let reads = totals.counts.etcd_lists + totals.counts.etcd_gets;
    assert!(totals.etcd_peak.as_ref().is_none_or(|peak| peak.requests <= reads));
}

fn check_shape(shape: &Shape) {
    let name = format!("{} {:?} {}", shape.verb, shape.resource, shape.parameters);
    assert!(shape.requests > 0, "{name}: a shape has a request");
    // A request may have its end as the only event. A RequestReceived event does not count as a request if the
    // shape has ends.
    assert!(shape.requests <= shape.events, "{name}");
    assert_eq!(shape.requests, all(&shape.statuses), "{name}");
    assert!(shape.latency.is_none_or(|latency| latency.count <= shape.requests), "{name}");
    assert!(shape.example.is_some(), "{name}: every shape has evidence");
    assert!(shape.likely.is_some() == (shape.served_from == "depends"), "{name}");
    assert!(shape.rejected.is_some() == (shape.served_from == "rejected"), "{name}");
}

fn check_counts(counts: &Counts, whose: &str) {
    assert_eq!(counts.requests, counts.by_verb.values().sum::<u64>(), "{whose}: every request has a verb");
    assert_eq!(counts.requests, counts.by_served_from.values().sum::<u64>(), "{whose}: and was served");
    assert_eq!(counts.requests, all(&counts.statuses), "{whose}: and has a status or none");
}

fn all(statuses: &Statuses) -> u64 {
    let Statuses { informational, success, redirect, client_error, server_error, none, .. } = statuses;
    informational + success + redirect + client_error + server_error + none
}

fn sum<'a>(maps: impl Iterator<Item = &'a BTreeMap<String, u64>>) -> BTreeMap<String, u64> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (key, count) in maps.flatten() {
        *sums.entry(key.clone()).or_default() += count;
    }
    sums
}
