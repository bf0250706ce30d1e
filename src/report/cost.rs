//! Converts costs and the inventory to the JSON report.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::v1;
use crate::cost::{self, CostBasis, CostByMinute, Inventory, MinuteCost, Prices, Unit};
use crate::judged::JudgedClients;
use crate::k8s::timestamp;
use crate::ledger::Merge;

/// The cost of one client or of all clients; empty without an inventory.
#[derive(Debug, Default)]
pub(super) struct Costs {
    pub(super) sum: Option<cost::Cost>,
    pub(super) minutes: CostByMinute,
}

impl Costs {
    pub(super) fn new(inventory: Option<&Inventory>) -> Self {
        Self { sum: inventory.map(|_| cost::Cost::default()), minutes: CostByMinute::default() }
    }

    pub(super) fn add(&mut self, other: &Self) {
        if let Some(sum) = other.sum {
            self.sum.get_or_insert_default().merge(sum);
        }
        if !other.minutes.is_empty() {
            self.minutes.merge(other.minutes.clone());
        }
    }

    pub(super) fn to_v1(&self, cost_context: CostContext<'_>) -> v1::Cost {
        let Some(sum) = &self.sum else {
            return from_basis(&CostBasis::Latency, cost_context);
        };
        let cost_minute = |(at, minute): (i64, &MinuteCost)| v1::CostMinute {
            at: timestamp::format_micros(at),
            etcd_objects: minute.etcd_objects,
            etcd_bytes: minute.etcd_bytes,
            filtered_objects: minute.filtered_objects,
            received_bytes: minute.received_bytes,
        };
        v1::Cost {
            peak: self.minutes.peak(cost_context.unit).map(cost_minute),
            minutes: self.minutes.with_reads().map(cost_minute).collect(),
            window_minutes: Some(self.minutes.width()),
            without_time: self.minutes.without_time,
            ..by_inventory(None, sum, cost_context)
        }
    }
}

/// The inventory, and the unit in which costs are compared.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CostContext<'a> {
    pub(super) inventory: Option<&'a Inventory>,
    pub(super) unit: Unit,
}

impl<'a> CostContext<'a> {
    pub(super) fn new(inventory: Option<&'a Inventory>, judged_clients: &JudgedClients) -> Self {
        let rows = judged_clients
            .clients
            .iter()
            .flat_map(|summary| summary.shapes.values())
            .flat_map(|shape| &shape.rows);
        let costs = rows.filter_map(|one| one.cost.as_deref());
        Self { inventory, unit: Unit::for_costs(costs, inventory.is_some_and(Inventory::has_sizes)) }
    }
}

fn by_inventory(one: Option<&cost::Work>, all: &cost::Cost, cost_context: CostContext<'_>) -> v1::Cost {
    v1::Cost {
        basis: "inventory",
        lower_bound: all.is_lower_bound(cost_context.inventory.is_some_and(Inventory::has_sizes)),
        handled: Some(all.handled(cost_context.unit)),
        per_request: one.map(|one| Box::new(work(one))),
        total: Some(Box::new(v1::Work {
            etcd: Some(sum(all.etcd)),
            decoded: Some(sum(all.decoded)),
            filtered: Some(sum(all.filtered)),
            received: Some(sum(all.received)),
            seats: Some(all.seats).filter(|_| all.max_seats > 0),
            max_seats: Some(all.max_seats).filter(|seats| *seats > 0),
        })),
        ..v1::Cost::default()
    }
}

pub(super) fn from_basis(basis: &CostBasis, cost_context: CostContext<'_>) -> v1::Cost {
    let received = |objects: u64, bound: &str, unknown_requests: u64| {
        let amount = v1::Amount {
            objects: Some(objects),
            bytes: None,
            bound: bound.to_owned(),
            unknown_requests,
            // Without an inventory, the report shows no sizes. So it does not count the requests with an unknown
            // size.
            unsized_requests: 0,
        };
        Some(Box::new(v1::Work { received: Some(amount), ..v1::Work::default() }))
    };
    match basis {
        CostBasis::Inventory { one, all } => by_inventory(Some(one), all, cost_context),
        CostBasis::TraceCounts { items, requests } => {
            let unknown = requests.saturating_sub(items.requests);
            v1::Cost {
                basis: "trace-counts",
                lower_bound: unknown > 0,
                per_request: received(items.max, "exact", 0),
                total: received(items.sum, "exact", unknown),
                ..v1::Cost::default()
            }
        }
        CostBasis::PageLimits { one, all } => v1::Cost {
            basis: "page-limits",
            per_request: received(*one, "at-most", 0),
            total: received(*all, "at-most", 0),
            ..v1::Cost::default()
        },
        CostBasis::Latency => v1::Cost { basis: "latency", ..v1::Cost::default() },
    }
}

fn work(work: &cost::Work) -> v1::Work {
    let amount = |amount: cost::Amount| {
        Some(v1::Amount {
            objects: amount.objects,
            bytes: amount.bytes,
            bound: amount.bound.as_str().to_owned(),
            unknown_requests: u64::from(amount.objects.is_none()),
            unsized_requests: u64::from(amount.bytes.is_none()),
        })
    };
    v1::Work {
        etcd: amount(work.etcd),
        decoded: amount(work.decoded),
        filtered: amount(work.filtered),
        received: amount(work.received),
        seats: work.seats,
        max_seats: work.seats,
    }
}

fn sum(sum: cost::Sum) -> v1::Amount {
    let known = |number: u64, without: u64| Some(number).filter(|number| *number > 0 || without == 0);
    v1::Amount {
        objects: known(sum.objects, sum.without_objects),
        bytes: known(sum.bytes, sum.without_bytes),
        bound: sum.bound.as_str().to_owned(),
        unknown_requests: sum.without_objects,
        unsized_requests: sum.without_bytes,
    }
}

/// Returns the inventory section. It includes the resources that clients read but that the inventory lacks.
pub(super) fn inventory(inventory: &Inventory, judged_clients: &JudgedClients) -> v1::Inventory {
    let prices = Prices { inventory, nodes_in_log: judged_clients.nodes };
    let mut lacks: BTreeMap<&str, (bool, u64)> = BTreeMap::new();
    let shapes = judged_clients.clients.iter().flat_map(|summary| &summary.shapes);
    for (key, shape) in shapes {
        let Some(resource) = &key.resource else { continue };
        for cost in shape.rows.iter().filter_map(|one| one.cost.as_deref()) {
            let sums = [cost.etcd, cost.filtered, cost.received];
            let without_objects = sums.iter().map(|sum| sum.without_objects).max().unwrap_or(0);
            let without = sums.iter().map(|sum| sum.without_bytes).max().unwrap_or(0).max(without_objects);
            if without > 0 && !resource.starts_with('(') {
                let lack = lacks.entry(resource).or_default();
                lack.0 |= inventory.entry(resource).objects.is_none();
                lack.1 += without;
            }
        }
    }
    let lack = |(resource, (objects, requests)): (&str, (bool, u64))| v1::Lack {
        resource: resource.to_owned(),
        lacks: if objects { "objects" } else { "bytes" }.to_owned(),
        requests,
        near: inventory.near(resource).filter(|near| *near != resource).map(str::to_owned),
    };
    let mut lacks: Vec<v1::Lack> = lacks.into_iter().map(lack).collect();
    lacks.sort_by_key(|lack| (lack.lacks == "bytes", Reverse(lack.requests)));
    let nodes = prices.nodes();
    v1::Inventory {
        files: inventory
            .files
            .iter()
            .map(|file| v1::InventoryFile {
                file: file.name.clone(),
                format: file.format.as_str().to_owned(),
                resources: file.resources,
                notes: file.notes.clone(),
            })
            .collect(),
        resources: inventory.len() as u64,
        has_sizes: inventory.has_sizes(),
        nodes: nodes.map(|nodes| nodes.count),
        nodes_from: nodes.map(|nodes| if nodes.is_in_inventory { "inventory" } else { "log" }.to_owned()),
        namespaces: prices.namespaces(),
        lacks,
    }
}
