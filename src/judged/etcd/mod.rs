//! Finds the clients whose LISTs overlap slow reads in etcd's log.

mod slow_reads;

pub(crate) use slow_reads::{
    MatchedSlowReads, Nearness, RunningList, SLACK, SlowRead, SlowReads, match_to_lists,
};

use super::client_summary::ClientSummary;
use super::shape_key::ShapeKey;
use super::shape_summary::{ProductRow, ShapeSummary};
use crate::apiserver::ParsedTarget;
use crate::apiserver::options::{Narrows, Selector};
use crate::k8s::Scope;
use crate::ledger::etcd::SlowRange;
use crate::ledger::{Exemplar, Row};
use crate::patterns::ListInterval;
use crate::requests::namespace::{self, namespace_hash};

pub(super) fn match_slow_reads<'a>(
    clients: &mut [ClientSummary],
    ranges: impl Iterator<Item = &'a SlowRange>,
) -> MatchedSlowReads {
    let (matched, mut of_rows) = match_to_lists(ranges, running_lists(clients));
    let shapes = clients.iter_mut().flat_map(|client| client.shapes.values_mut());
    for (index, product_row) in shapes.flat_map(|shape_summary| &mut shape_summary.rows).enumerate() {
        product_row.slow_reads = of_rows.remove(&index).unwrap_or_default().into();
    }
    matched
}

/// Iterates over the LISTs that may have read a collection from etcd. They come from instances with a history, and
/// from the costliest requests of each row.
fn running_lists(clients: &[ClientSummary]) -> impl Iterator<Item = RunningList<'_>> {
    let rows = clients.iter().enumerate().flat_map(|(index, client)| {
        rows(client).map(move |(key, shape_summary, product_row)| (index, key, shape_summary, product_row))
    });
    // Enumerate before the filter, because the index counts all rows.
    let readers =
        rows.enumerate().filter(|(_, (_, key, shape_summary, _))| shape_summary.may_read_collection(key));
    readers.flat_map(|(row, (client, key, shape_summary, product_row))| {
        let resource = key.resource.as_deref().unwrap_or_default();
        let options = shape_summary.request_shape.as_ref().map(|shape| shape.options);
        let limit = options.map(|options| options.limit);
        let selects = options.is_some_and(|options| {
            [options.label_selector, options.field_selector].contains(&Selector::Some)
        });
        let in_namespace = key.scope.map(|scope| {
            scope == Scope::Namespace
                || options.is_some_and(|options| options.narrows == Narrows::ToNamespace)
                    && key.kube_version.at_least(27, 0)
        });
        let costliest = exemplars(&product_row.row).filter_map(listed);
        product_row.lists.iter().copied().chain(costliest).map(move |list| RunningList {
            client,
            row,
            resource,
            from: list.from,
            to: list.to,
            in_namespace,
            namespace: list.namespace,
            limit,
            selects,
        })
    })
}

fn rows(client: &ClientSummary) -> impl Iterator<Item = (&ShapeKey, &ShapeSummary, &ProductRow)> {
    let shapes = client.shapes.iter();
    shapes.flat_map(|(key, shape_summary)| {
        shape_summary.rows.iter().map(move |product_row| (&**key, shape_summary, product_row))
    })
}

fn listed(exemplar: &Exemplar) -> Option<ListInterval> {
    let from = exemplar.received?;
    let target = ParsedTarget::parse(exemplar.uri());
    Some(ListInterval {
        from,
        to: from.saturating_add_unsigned(exemplar.micros?),
        namespace: target.map_or(0, |target| {
            namespace_hash(&namespace::effective(
                namespace::namespace_in_path(&target.path),
                &target.options.field_selector,
            ))
        }),
    })
}

fn exemplars(row: &Row) -> impl Iterator<Item = &Exemplar> {
    let failed = row.failed.as_ref().map_or(&[] as &[Exemplar], |failed| failed.as_slice());
    row.exemplars.as_slice().iter().chain(failed)
}
