//! RequestReceived events of impersonated requests.
//!
//! The server writes them before it looks at the impersonation headers: they name the user that authenticated, and not
//! the user that the request acts as. The events after that name both.
//!
//! Source: k8s.io/apiserver `pkg/server/config.go:DefaultBuildHandlerChain`, where audit comes before impersonation.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{ClientSummary, ProductRow, ShapeKey};

/// A user that impersonates others, and a request shape without the verdict.
type Asked = (Box<str>, ShapeId);
type ShapeId = (u8, Option<Arc<str>>, Option<Arc<str>>, Arc<str>);

fn shape_id(key: &ShapeKey) -> ShapeId {
    let verb = key.verb.map_or(u8::MAX, |verb| verb as u8);
    (verb, key.resource.clone(), key.subresource.clone(), Arc::clone(&key.parameters))
}

/// How many RequestReceived events a row has too few.
fn missing(one: &ProductRow) -> u64 {
    one.row.requests(false).saturating_sub(one.row.received)
}

/// How many it has too many.
fn spare(one: &ProductRow) -> u64 {
    one.row.received.saturating_sub(one.row.requests(false))
}

/// Gives each impersonated request its RequestReceived event. Rows that have no other event go.
pub(super) fn match_events(accounts: &mut [ClientSummary]) {
    let impersonators: BTreeMap<Box<str>, Vec<usize>> = {
        let mut by_name: BTreeMap<Box<str>, Vec<usize>> = BTreeMap::new();
        for (at, account) in accounts.iter().enumerate() {
            if let Some(name) = account.impersonated_by() {
                by_name.entry(name.into()).or_default().push(at);
            }
        }
        by_name
    };
    if impersonators.is_empty() {
        return;
    }
    let mut spares: HashMap<Asked, u64, FxBuildHasher> = HashMap::default();
    let own = |account: &ClientSummary| {
        let key = account.key.as_ref().filter(|key| key.impersonator.is_none())?;
        impersonators.contains_key(&key.identity).then(|| key.identity.clone())
    };
    for account in &*accounts {
        let Some(name) = own(account) else { continue };
        for (key, entry) in &account.entries {
            let spare: u64 = entry.rows.iter().map(spare).sum();
            *spares.entry((name.clone(), shape_id(key))).or_default() += spare;
        }
    }
    let mut taken = spares.clone();
    for (name, members) in &impersonators {
        let mut members = members.clone();
        members.sort_by(|a, b| accounts[*a].key.cmp(&accounts[*b].key));
        for at in members {
            for (key, entry) in &mut accounts[at].entries {
                let Some(left) = spares.get_mut(&(name.clone(), shape_id(key))) else { continue };
                for one in &mut entry.rows {
                    let moved = missing(one).min(*left);
                    one.row.received += moved;
                    one.row.events += moved;
                    *left -= moved;
                }
            }
        }
    }
    for (asked, taken) in &mut taken {
        *taken -= spares.get(asked).copied().unwrap_or(0);
    }
    for account in accounts {
        let Some(name) = own(account) else { continue };
        for (key, entry) in &mut account.entries {
            let Some(taken) = taken.get_mut(&(name.clone(), shape_id(key))) else { continue };
            for one in &mut entry.rows {
                let moved = spare(one).min(*taken);
                one.row.received -= moved;
                one.row.events -= moved;
                *taken -= moved;
            }
            entry.rows.retain(|one| one.row.events > 0);
        }
        account.entries.retain(|_, entry| !entry.rows.is_empty());
    }
}
