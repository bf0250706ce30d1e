//! Moves RequestReceived events of impersonated requests to the right client.
//!
//! The server writes a RequestReceived event before it reads the impersonation headers. Therefore this event names only the
//! authenticated user. Later events of the request name both users.
//!
//! Source: k8s.io/apiserver `pkg/server/config.go:DefaultBuildHandlerChain`, where audit precedes impersonation.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{ClientSummary, ProductRow, ShapeKey};

/// An impersonating user, and a request shape without its verdict.
type ShapeOfUser = (Box<str>, ShapeId);
type ShapeId = (u8, Option<Arc<str>>, Option<Arc<str>>, Arc<str>);

fn shape_id(key: &ShapeKey) -> ShapeId {
    let verb = key.verb.map_or(u8::MAX, |verb| verb as u8);
    (verb, key.resource.clone(), key.subresource.clone(), Arc::clone(&key.parameters))
}

/// The number of RequestReceived events that a row lacks: its requests minus its RequestReceived events.
fn missing(product_row: &ProductRow) -> u64 {
    product_row.row.requests(false).saturating_sub(product_row.row.received)
}

/// By how many the RequestReceived events of a row exceed its requests.
fn spare(product_row: &ProductRow) -> u64 {
    product_row.row.received.saturating_sub(product_row.row.requests(false))
}

/// Moves excess RequestReceived events from impersonating users to impersonated requests. Rows that become empty are removed.
pub(super) fn match_events(clients: &mut [ClientSummary]) {
    let mut impersonators: BTreeMap<Box<str>, Vec<usize>> = BTreeMap::new();
    for (at, client) in clients.iter().enumerate() {
        if let Some(name) = client.impersonated_by() {
            impersonators.entry(name.into()).or_default().push(at);
        }
    }
    if impersonators.is_empty() {
        return;
    }
    let mut spares: HashMap<ShapeOfUser, u64, FxBuildHasher> = HashMap::default();
    let own = |client: &ClientSummary| {
        let key = client.key.as_ref().filter(|key| key.impersonator.is_none())?;
        impersonators.contains_key(&key.identity).then(|| key.identity.clone())
    };
    for client in &*clients {
        let Some(name) = own(client) else { continue };
        for (key, shape_summary) in &client.shapes {
            let spare: u64 = shape_summary.rows.iter().map(spare).sum();
            *spares.entry((name.clone(), shape_id(key))).or_default() += spare;
        }
    }
    let mut taken = spares.clone();
    for (name, members) in &impersonators {
        let mut members = members.clone();
        members.sort_by(|a, b| clients[*a].key.cmp(&clients[*b].key));
        for at in members {
            for (key, shape_summary) in &mut clients[at].shapes {
                let Some(left) = spares.get_mut(&(name.clone(), shape_id(key))) else { continue };
                for product_row in &mut shape_summary.rows {
                    let moved = missing(product_row).min(*left);
                    product_row.row.received += moved;
                    product_row.row.events += moved;
                    *left -= moved;
                }
            }
        }
    }
    for (shape, taken) in &mut taken {
        *taken -= spares.get(shape).copied().unwrap_or(0);
    }
    for client in clients {
        let Some(name) = own(client) else { continue };
        for (key, shape_summary) in &mut client.shapes {
            let Some(taken) = taken.get_mut(&(name.clone(), shape_id(key))) else { continue };
            for product_row in &mut shape_summary.rows {
                let moved = spare(product_row).min(*taken);
                product_row.row.received -= moved;
                product_row.row.events -= moved;
                *taken -= moved;
            }
            shape_summary.rows.retain(|product_row| product_row.row.events > 0);
        }
        client.shapes.retain(|_, shape_summary| !shape_summary.rows.is_empty());
    }
}
