//! Sentences on what requests cost, with the basis of each number.

use serde_json::Value;

use super::plain::{bytes, count, counted, short_count};
use super::prose::Line;
use crate::report::Report;
pub(super) use crate::report::v1::is_estimate;
use crate::report::v1::{Amount, Client, Cost, Finding, Inventory, Work};

/// The maximum number of resources in each list: resources without a count in the inventory, and resources without
/// sizes. Also the maximum number of lines that suggest the correct name of a resource.
const NAMED: usize = 6;

pub(super) fn is_by_inventory(report: &Report) -> bool {
    report.ranking.basis == "inventory"
}

pub(super) fn order(report: &Report) -> &'static str {
    match report.ranking.unit {
        "objects" => "objects that the apiserver handled, and writes",
        _ => "request time, without watches",
    }
}

/// Whether clients are compared by objects, because the sizes of some objects are unknown.
pub(super) fn is_by_objects(report: &Report) -> bool {
    report.ranking.handled_unit == Some("objects")
}

/// Formats objects with their bytes: `100,000 objects (2.0 GB)`.
fn objects(amount: &Amount) -> String {
    let or_fewer = match amount.bound.as_str() {
        "at-most" => "at most ",
        "mean" | "estimate" => "≈ ",
        _ => "",
    };
    match (amount.objects, amount.bytes) {
        (None, _) => "objects that the inventory does not count".to_owned(),
        (Some(0), _) => "no object".to_owned(),
        (Some(number), None) => format!("{or_fewer}{}", counted(number, "object")),
        (Some(number), Some(size)) => format!("{or_fewer}{} ({})", counted(number, "object"), bytes(size)),
    }
}

/// Formats the known number of objects: `≈ 501k objects`.
pub(super) fn in_objects(amount: &Amount) -> Option<String> {
    let number = amount.objects.filter(|_| !is_unknown(amount))?;
    let mark = match amount.bound.as_str() {
        _ if amount.unknown_requests > 0 => "≥ ",
        "mean" | "estimate" => "≈ ",
        "at-most" => "≤ ",
        _ => "",
    };
    Some(format!("{mark}{} objects", short_count(number)))
}

/// Formats an amount briefly. Shows objects instead of bytes if a size is unknown or `wants_objects` is set. If the
/// amount of some requests is unknown, shows a lower bound.
pub(super) fn short(amount: Option<&Amount>, wants_objects: bool) -> String {
    let Some(amount) = amount else { return "–".to_owned() };
    let lead = |without: u64, number: u64| match amount.bound.as_str() {
        _ if without > 0 || number == u64::MAX => "≥",
        "mean" | "estimate" => "≈",
        _ => "",
    };
    match (amount.objects, amount.bytes.filter(|_| !wants_objects)) {
        (Some(0), _) if amount.unknown_requests == 0 => "0".to_owned(),
        (_, Some(size)) => format!("{}{}", lead(amount.unsized_requests, size), bytes(size)),
        (Some(number), None) => format!("{}{} obj.", lead(amount.unknown_requests, number), count(number)),
        (None, None) => "?".to_owned(),
    }
}

fn is_unknown(amount: &Amount) -> bool {
    amount.objects.is_none() && amount.bytes.is_none()
}

fn from_etcd(amount: Option<&Amount>, wants_objects: bool) -> String {
    match amount {
        Some(amount) if is_unknown(amount) => "not known how much is read from etcd".to_owned(),
        _ => format!("{} read from etcd", short(amount, wants_objects)),
    }
}

/// Formats how much data the clients received. The amount is usually an upper bound: `2.4 GB received at most`. If it
/// is a mean or an estimate: `≈2.4 GB received`.
fn received(amount: Option<&Amount>, wants_objects: bool) -> String {
    match amount {
        Some(amount) if is_unknown(amount) => "not known how much is received".to_owned(),
        Some(mean) if is_estimate(mean.bound.as_str()) => {
            format!("{} received", short(amount, wants_objects))
        }
        _ => format!("{} received at most", short(amount, wants_objects)),
    }
}

/// Sums the costs of clients. Used for the clients that the table omits.
pub(super) fn sum(clients: &[&Client]) -> Cost {
    let of = |part: fn(&Work) -> &Option<Amount>| {
        let amounts = clients.iter().filter_map(|client| part(client.cost.total.as_deref()?).as_ref());
        let all = amounts.cloned().reduce(|a, b| Amount {
            objects: add(a.objects, b.objects),
            bytes: add(a.bytes, b.bytes),
            bound: if is_estimate(&a.bound) { a.bound } else { b.bound },
            unknown_requests: a.unknown_requests + b.unknown_requests,
            unsized_requests: a.unsized_requests + b.unsized_requests,
        })?;
        // Requests that read nothing have 0 bytes. If the sizes for the other requests are unknown, the sum is
        // unknown, too, and not 0.
        let bytes = all.bytes.filter(|bytes| *bytes > 0 || all.unsized_requests == 0);
        Some(Amount { bytes, ..all })
    };
    let total = Work { etcd: of(|work| &work.etcd), received: of(|work| &work.received), ..Work::default() };
    Cost { total: Some(Box::new(total)), ..Cost::default() }
}

fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (known, None) | (None, known) => known,
    }
}

pub(super) fn finding_cost(finding: &Finding) -> Option<Line> {
    let requests = finding.stats.get("requests")?.as_u64()?;
    let sentence = known_cost(finding.cost.as_ref()?, requests)?;
    let is_one_of_many = finding.stats.get("shapes").and_then(Value::as_u64).is_some_and(|shapes| shapes > 1);
    let sentence =
        if is_one_of_many { sentence.replacen("a request:", "the costliest request:", 1) } else { sentence };
    Some(Line::default().text(sentence))
}

/// Describes the known cost of requests. `None` if only latency is known, because another line shows it.
pub(super) fn known_cost(cost: &Cost, requests: u64) -> Option<String> {
    let received = |work: Option<&Work>| work?.received.as_ref()?.objects;
    let (one, all) = (received(cost.per_request.as_deref()), received(cost.total.as_deref()));
    match cost.basis {
        // The inventory has nothing to add for a write or a refused request.
        "inventory" if cost.per_request.as_deref().is_some_and(reads_nothing) => None,
        "inventory" => Some(sentence(cost, requests)),
        "trace-counts" => Some(format!(
            "up to {} in one response (as traces of slow requests count them)",
            counted(one?, "object")
        )),
        "page-limits" => Some(format!(
            "at most {} a page, {} in all pages (by the requested limits)",
            counted(one?, "object"),
            count(all?)
        )),
        _ => None,
    }
}

fn reads_nothing(work: &Work) -> bool {
    let amounts = [&work.etcd, &work.filtered, &work.received];
    amounts.iter().all(|amount| amount.as_ref().is_some_and(|amount| amount.objects == Some(0)))
}

fn sentence(cost: &Cost, requests: u64) -> String {
    let one = cost.per_request.as_deref().map(per_request).unwrap_or_default();
    let all =
        cost.total.as_deref().filter(|_| requests > 1).map(|all| total(all, requests)).unwrap_or_default();
    let bound = if cost.lower_bound { ", a lower bound: it lacks a resource or its size" } else { "" };
    format!("{one}{all} (by the inventory{bound})")
}

fn per_request(work: &Work) -> String {
    let etcd = work.etcd.as_ref().map(|etcd| match etcd.objects {
        Some(0) => "nothing read from etcd".to_owned(),
        _ => format!("{} read from etcd and decoded", objects(etcd)),
    });
    let filtered =
        work.filtered.as_ref().filter(|_| work.etcd.as_ref().is_some_and(|etcd| etcd.objects == Some(0)));
    let filtered = filtered.map(|amount| format!("{} gone through in the watch cache", objects(amount)));
    let received = work.received.as_ref().map(|amount| format!("{} received", objects(amount)));
    let seats = work.seats.map(|seats| counted(seats, "seat"));
    let parts: Vec<String> = [etcd, filtered, received, seats].into_iter().flatten().collect();
    format!("a request: {}", parts.join(", "))
}

fn total(work: &Work, requests: u64) -> String {
    format!(
        "; all {}: {}, {}",
        count(requests),
        from_etcd(work.etcd.as_ref(), false),
        received(work.received.as_ref(), false)
    )
}

/// Describes how much all requests read from etcd, how much the clients received, and when the reads from etcd
/// peaked. Returns `None` without an inventory.
pub(super) fn totals(report: &Report) -> Option<String> {
    let cost = &report.totals.cost;
    let work = cost.total.as_deref().filter(|_| is_by_inventory(report))?;
    let by_objects = is_by_objects(report);
    let peak = cost.peak.as_ref().map_or(String::new(), |peak| {
        let at = peak.at.split('.').next().unwrap_or(&peak.at).replace('T', " ");
        let window = match cost.window_minutes {
            Some(minutes) if minutes > 1 => counted(minutes, "minute"),
            _ => "minute".to_owned(),
        };
        let read = if by_objects { counted(peak.etcd_objects, "object") } else { bytes(peak.etcd_bytes) };
        format!("; {read} of it in the {window} from {at} UTC")
    });
    let untimed = match cost.without_time {
        0 => String::new(),
        without => format!(" ({} without a time)", counted(without, "such request")),
    };
    let bound = if cost.lower_bound { ", lower bounds" } else { "" };
    Some(format!(
        "{}{peak}{untimed}; {} (by the inventory{bound})",
        from_etcd(work.etcd.as_ref(), by_objects),
        received(work.received.as_ref(), by_objects)
    ))
}

/// Describes the inventory in lines: its files, its basis, and the resources that it lacks.
pub(super) fn inventory(inventory: &Inventory) -> Vec<String> {
    let mut lines = Vec::new();
    for file in &inventory.files {
        lines.push(format!("{}: {}, {}", file.file, file.format, counted(file.resources, "resource")));
        lines.extend(file.notes.iter().cloned());
    }
    let nodes = match (inventory.nodes, inventory.nodes_from.as_deref()) {
        (Some(nodes), Some("inventory")) => counted(nodes, "node"),
        (Some(nodes), _) => format!("{} (from the log; the inventory has none)", counted(nodes, "node")),
        (None, _) => "the number of nodes is not known".to_owned(),
    };
    let namespaces = match inventory.namespaces {
        Some(namespaces) => counted(namespaces, "namespace"),
        None => "namespaces not counted (a list in one may be of everything)".to_owned(),
    };
    lines.push(format!("{nodes}, {namespaces}"));
    if !inventory.has_sizes {
        let is_of_server = inventory.files.iter().any(|file| file.format == "metrics");
        let since = if is_of_server { " (servers write them from 1.34)" } else { "" };
        lines.push(format!("the inventory has no sizes{since}, so the report shows objects but no bytes"));
    }
    lines.extend(lacks(inventory));
    lines
}

pub(super) fn lacks(inventory: &Inventory) -> Vec<String> {
    let mut lines = Vec::new();
    for (what, title) in [("objects", "the inventory lacks"), ("bytes", "the inventory lacks the sizes of")] {
        if what == "bytes" && !inventory.has_sizes {
            continue;
        }
        let lacking: Vec<&str> = inventory
            .lacks
            .iter()
            .filter(|lack| lack.lacks == what)
            .map(|lack| lack.resource.as_str())
            .collect();
        let more = match lacking.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {} more", count(more as u64)),
        };
        if !lacking.is_empty() {
            let named = lacking[..lacking.len().min(NAMED)].join(", ");
            lines.push(format!(
                "{title} {named}{more}: the costs of clients that read them are lower bounds (≥)"
            ));
        }
    }
    for lack in inventory.lacks.iter().filter(|lack| lack.near.is_some()).take(NAMED) {
        let near = lack.near.as_deref().unwrap_or_default();
        lines.push(format!("the inventory has '{near}'; write {}", lack.resource));
    }
    lines
}
