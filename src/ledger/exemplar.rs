//! The costliest requests of a row, as evidence: picked by a total order, never by arrival.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::Merge;
use crate::classify::Request;
use crate::input::Place;
use crate::k8s::continue_token::{TOKEN_START, redacted};
use crate::k8s::go_url;
use crate::k8s::list_options::{is_known_key, meant_key};
use crate::k8s::text::prefix;

/// How many requests are kept per row.
const KEPT: usize = 2;
/// The longest URI that is kept, in bytes.
const MAX_URI: usize = 400;
/// The longest audit ID that is kept, in bytes; the apiserver's own are 36.
const MAX_AUDIT_ID: usize = 64;

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exemplar {
    /// How long it took, in microseconds; `None` for one that has no end, or whose length is no cost (a watch).
    pub micros: Option<u64>,
    /// Where its event stands.
    pub place: Place,
    /// Its audit ID.
    pub audit_id: Box<str>,
    /// Its target, with what a continue token holds left out.
    pub uri: Box<str>,
    /// When it was received, in microseconds since 1970.
    pub received: Option<i64>,
    /// The answer's status.
    pub status: Option<u16>,
}

impl Exemplar {
    fn rank(&self) -> Rank {
        (Reverse(self.micros), self.place)
    }
}

type Rank = (Reverse<Option<u64>>, Place);

/// The few costliest requests of a row, costliest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exemplars {
    kept: Vec<Exemplar>,
    /// The rank of the last one, once no more fit: at hand where the texts are not.
    bar: Option<Rank>,
}

impl Exemplars {
    /// Whether a request of this cost at this place may be kept. Asked first, as texts are copied only then.
    #[must_use]
    pub fn wants(&self, micros: Option<u64>, place: Place) -> bool {
        // An envelope may hold several requests at one place.
        self.bar.is_none_or(|bar| (Reverse(micros), place) <= bar)
    }

    /// Keeps a request if it belongs to the costliest. A long-running one's duration is no cost.
    pub fn show(&mut self, request: &Request<'_>) {
        let micros = if request.long_running { None } else { request.micros };
        let place = request.place;
        if self.wants(micros, place) {
            self.offer(Exemplar {
                micros,
                place,
                audit_id: kept_audit_id(request.audit_id),
                uri: kept_uri(request.uri),
                received: request.received,
                status: request.status,
            });
        }
    }

    /// Keeps a request if it belongs to the costliest; of several copies of one, that in the first place.
    pub fn offer(&mut self, exemplar: Exemplar) {
        let is_copy = |own: &Exemplar| {
            own.micros == exemplar.micros && own.audit_id == exemplar.audit_id && own.uri == exemplar.uri
        };
        if let Some(at) = self.kept.iter().position(is_copy) {
            if self.kept[at].place <= exemplar.place {
                return;
            }
            self.kept.remove(at);
        }
        let order = |one: &Exemplar| (one.rank(), one.audit_id.clone(), one.uri.clone());
        let wanted = order(&exemplar);
        let at = self.kept.partition_point(|own| order(own) < wanted);
        if at < KEPT {
            self.kept.reserve_exact(KEPT + 1 - self.kept.len());
            self.kept.insert(at, exemplar);
            self.kept.truncate(KEPT);
            self.bar = self.kept.get(KEPT - 1).map(Exemplar::rank);
        }
    }

    /// The requests, costliest first.
    #[must_use]
    pub fn as_slice(&self) -> &[Exemplar] {
        &self.kept
    }
}

impl Merge for Exemplars {
    fn merge(&mut self, other: Self) {
        for exemplar in other.kept {
            self.offer(exemplar);
        }
    }
}

/// An audit ID as it is kept.
#[must_use]
pub fn kept_audit_id(audit_id: &str) -> Box<str> {
    prefix(audit_id, MAX_AUDIT_ID).into()
}

/// A request target as it is kept: cut to a bound, and without the values of parameters that hold, or were meant
/// to hold, a continue token, which names the object at which a page starts.
#[must_use]
pub fn kept_uri(uri: &str) -> Box<str> {
    // Most have no such parameter, however it may be misspelt, and no token.
    let kept = if uri.contains("ont") || uri.contains("cot") || uri.contains(TOKEN_START) {
        without_tokens(uri)
    } else {
        Cow::Borrowed(uri)
    };
    if kept.len() > MAX_URI { format!("{}…", prefix(&kept, MAX_URI)).into() } else { kept.into() }
}

fn without_tokens(uri: &str) -> Cow<'_, str> {
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let mut kept = path.to_owned();
    for (index, pair) in query.split('&').enumerate() {
        if query.is_empty() || kept.len() > MAX_URI {
            break;
        }
        kept.push(if index == 0 { '?' } else { '&' });
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = go_url::unescape_query(key);
        let token = decoded.is_none_or(|key| {
            let key = key.trim_start_matches('?');
            (!is_known_key(key) && meant_key(key) == Some("continue"))
                || key.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("continue"))
        });
        if token && !value.is_empty() {
            kept.push_str(key);
            kept.push_str("=…");
        } else {
            kept.push_str(pair);
        }
    }
    Cow::Owned(redacted(&kept).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exemplar((micros, source, offset): (Option<u64>, u32, u64)) -> Exemplar {
        let place = Place { source, offset, line: offset };
        Exemplar {
            micros,
            place,
            audit_id: format!("{source}-{offset}").into(),
            uri: "/".into(),
            received: None,
            status: None,
        }
    }

    proptest! {
        #[test]
        fn the_costliest_are_kept_in_any_order(
            mut requests in prop::collection::btree_set((prop::option::of(0_u64..5), 0_u32..3, 0_u64..50), 0..30)
                .prop_map(|set| set.into_iter().collect::<Vec<_>>())
                .prop_shuffle(),
        ) {
            let mut kept = Exemplars::default();
            for request in &requests {
                let offered = exemplar(*request);
                let mut after = kept.clone();
                after.offer(offered.clone());
                prop_assert!(after == kept || kept.wants(offered.micros, offered.place));
                kept.offer(offered);
            }
            requests.sort_by_key(|(micros, source, offset)| (Reverse(*micros), *source, *offset));
            let want: Vec<_> = requests.into_iter().take(KEPT).map(exemplar).collect();
            prop_assert_eq!(kept.as_slice(), &want);
        }
    }

    proptest! {
        #[test]
        fn of_copies_the_first_is_kept_in_any_order(
            requests in prop::collection::vec((0_u64..4, 0_u32..3, 0_u64..9), 1..30),
            rotate in 0_usize..30,
        ) {
            // Copies of a request have its cost and its ID, and stand elsewhere.
            let request = |(id, source, offset): (u64, u32, u64)| {
                let place = Place { source, offset, line: offset };
                let audit_id = id.to_string().into();
                Exemplar { micros: Some(id / 2), place, audit_id, uri: "/".into(), received: None, status: None }
            };
            let keep = |requests: &[(u64, u32, u64)]| {
                let mut kept = Exemplars::default();
                for one in requests {
                    kept.offer(request(*one));
                }
                kept.as_slice().to_vec()
            };
            let mut other = requests.clone();
            other.rotate_left(rotate % requests.len());
            prop_assert_eq!(keep(&other), keep(&requests));
            other.reverse();
            prop_assert_eq!(keep(&other), keep(&requests));
        }
    }

    #[test]
    fn a_continue_token_is_never_kept() {
        for (uri, kept) in [
            ("/api/v1/pods?limit=5&continue=eyJ2Ijoi", "/api/v1/pods?limit=5&continue=…"),
            ("/api/v1/pods?%63ontinue=eyJ2Ijoi&a=b", "/api/v1/pods?%63ontinue=…&a=b"),
            ("/api/v1/pods?continueToken=eyJ2Ijoi", "/api/v1/pods?continueToken=…"),
            ("/api/v1/pods??continue=eyJ2Ijoi", "/api/v1/pods??continue=…"),
            ("/api/v1/pods?%zz=eyJ2IjoibWV0YS5r", "/api/v1/pods?%zz=…"),
            ("/api/v1/pods?cotinue=eyJ2Ijoi", "/api/v1/pods?cotinue=…"),
            ("/api/v1/pods?a;continue=eyJ2IjoibWV0YS5r", "/api/v1/pods?a;continue=…"),
            ("/api/v1/pods%3Fcontinue=eyJ2IjoibWV0YS5r", "/api/v1/pods%3Fcontinue=…"),
            ("/api/v1/pods?continue=", "/api/v1/pods?continue="),
            ("/api/v1/pods", "/api/v1/pods"),
        ] {
            assert_eq!(&*kept_uri(uri), kept);
        }
        assert!(kept_uri(&"ü".repeat(1_000)).len() <= MAX_URI + 3);
    }
}
