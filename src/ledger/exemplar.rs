//! The costliest requests of a row, as evidence. The cost of a request is its duration here. A total order chooses
//! the requests: cost, receive time, audit ID, URI, status, position. Position comes last, so that the choice does
//! not depend on how a log is split into files.

use std::cmp::{Ordering, Reverse};

use super::Merge;
use crate::input::SourcePosition;
use crate::k8s::secrets::masked_target;
use crate::k8s::text::prefix;
use crate::requests::Request;

/// The maximum number of exemplars for each row.
const MAX_EXEMPLARS: usize = 2;
/// Length limit of a URI, in bytes.
const MAX_URI: usize = 400;
/// The maximum number of bytes of a URI that are searched for secrets. It is larger than [`MAX_URI`]: in a URI that
/// is cut too early, the search may not recognize a secret.
const MAX_MASKED: usize = 16 * MAX_URI;
/// Length limit of an audit ID, in bytes. The apiserver creates IDs of 36 bytes.
const MAX_AUDIT_ID: usize = 64;

/// One request as evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exemplar {
    /// Duration in microseconds. `None` for a request without an end. Also `None` for a long-running request, because
    /// its duration is not a cost.
    pub(crate) micros: Option<u64>,
    /// The position of the request's event in the log.
    pub(crate) place: SourcePosition,
    texts: Texts,
    /// Receive time, in microseconds since 1970.
    pub(crate) received: Option<i64>,
    pub(crate) status: Option<u16>,
}

impl Exemplar {
    /// Creates an exemplar of a request. Ignores the duration of a long-running request, because it is not a cost.
    #[must_use]
    pub(crate) fn from_request(request: &Request<'_>) -> Self {
        let micros = if request.spec.long_running { None } else { request.micros };
        let Request { place, received, status, .. } = *request;
        Self { micros, place, texts: Texts::new(request.audit_id, request.uri), received, status }
    }

    /// The audit ID, cut to [`MAX_AUDIT_ID`].
    #[must_use]
    pub fn audit_id(&self) -> &str {
        self.texts.audit_id()
    }

    /// The URI as recorded. It may contain a continue token. A URI of more than [`MAX_URI`] bytes is masked and cut.
    #[must_use]
    pub(crate) fn uri(&self) -> &str {
        self.texts.uri()
    }

    /// The URI without secrets; see [`shown_uri`].
    #[must_use]
    pub(crate) fn shown_uri(&self) -> Box<str> {
        if self.texts.is_shown { self.uri().into() } else { shown_uri(self.uri()) }
    }

    fn rank(&self) -> Rank {
        rank(self.micros, self.received)
    }

    /// The total order. Duplicates of a request differ only in the fields after the URI.
    fn order(&self) -> (Rank, &str, &str, Option<u16>, SourcePosition) {
        (self.rank(), self.audit_id(), self.uri(), self.status, self.place)
    }

    fn is_copy(&self, other: &Self) -> bool {
        (self.rank(), self.audit_id(), self.uri()) == (other.rank(), other.audit_id(), other.uri())
    }
}

/// Duration (longest first), then receive time (earliest first).
type Rank = (Reverse<Option<u64>>, i64);

fn rank(micros: Option<u64>, received: Option<i64>) -> Rank {
    (Reverse(micros), received.unwrap_or(i64::MAX))
}

/// The costliest requests of a row, in descending order of cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exemplars {
    costliest: Vec<Exemplar>,
    /// The rank of the last exemplar, once the list is full. It is a separate field, so that most requests are rejected
    /// without reading a text.
    cutoff: Option<Rank>,
}

impl Exemplars {
    /// Returns false only if the request is certainly not one of the costliest. This cheap test avoids copies of
    /// texts.
    #[must_use]
    pub(crate) fn wants(&self, micros: Option<u64>, received: Option<i64>, audit_id: &str) -> bool {
        let Some(cutoff) = self.cutoff else { return true };
        match rank(micros, received).cmp(&cutoff) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => {
                self.costliest.last().is_none_or(|last| prefix(audit_id, MAX_AUDIT_ID) <= last.audit_id())
            }
        }
    }

    /// Adds a request if it is one of the costliest.
    pub(crate) fn show(&mut self, request: &Request<'_>) {
        let micros = if request.spec.long_running { None } else { request.micros };
        if self.wants(micros, request.received, request.audit_id) {
            self.offer(Exemplar::from_request(request));
        }
    }

    /// Adds an exemplar if it is one of the costliest. If several exemplars are duplicates of one request, the first
    /// one in the total order stays.
    pub(crate) fn offer(&mut self, exemplar: Exemplar) {
        if let Some(at) = self.costliest.iter().position(|own| own.is_copy(&exemplar)) {
            if self.costliest[at].order() <= exemplar.order() {
                return;
            }
            self.costliest.remove(at);
        }
        let at = self.costliest.partition_point(|own| own.order() < exemplar.order());
        if at < MAX_EXEMPLARS {
            self.costliest.truncate(MAX_EXEMPLARS - 1);
            self.costliest.reserve_exact(1);
            self.costliest.insert(at, exemplar);
            self.cutoff = self.costliest.get(MAX_EXEMPLARS - 1).map(Exemplar::rank);
        }
    }

    /// The exemplars in descending order of cost.
    #[must_use]
    pub(crate) fn as_slice(&self) -> &[Exemplar] {
        &self.costliest
    }
}

impl Merge for Exemplars {
    fn merge(&mut self, other: Self) {
        for exemplar in other.costliest {
            self.offer(exemplar);
        }
    }
}

/// An audit ID and a URI. Most exemplars are replaced by costlier requests before a report shows them. So, to save
/// work, the secrets in a URI are masked only when the URI is shown. A long URI is masked before it is cut, because a
/// cut could hide the start of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Texts {
    /// The audit ID, then the URI.
    both: Box<str>,
    uri_at: u8,
    /// True if secrets in the URI are masked already.
    is_shown: bool,
}

impl Texts {
    fn new(audit_id: &str, uri: &str) -> Self {
        let audit_id = prefix(audit_id, MAX_AUDIT_ID);
        let shown = (uri.len() > MAX_URI).then(|| shown_uri(uri));
        let uri = shown.as_deref().unwrap_or(uri);
        let mut both = String::with_capacity(audit_id.len() + uri.len());
        both.push_str(audit_id);
        both.push_str(uri);
        let uri_at = u8::try_from(audit_id.len()).expect("an audit ID is cut to less");
        Self { both: both.into(), uri_at, is_shown: shown.is_some() }
    }

    fn audit_id(&self) -> &str {
        &self.both[..usize::from(self.uri_at)]
    }

    fn uri(&self) -> &str {
        &self.both[usize::from(self.uri_at)..]
    }
}

/// Masks the secrets in a URI, and cuts it to [`MAX_URI`].
#[must_use]
pub fn shown_uri(uri: &str) -> Box<str> {
    let shown = masked_target(prefix(uri, MAX_MASKED));
    if shown.len() > MAX_URI { format!("{}…", prefix(&shown, MAX_URI)).into() } else { shown.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Sample = (Option<u64>, Option<i64>, u8);

    fn exemplar((micros, received, id): Sample, (source, offset): (u32, u64)) -> Exemplar {
        let place = SourcePosition { source, offset, line: offset };
        Exemplar { micros, place, texts: Texts::new(&id.to_string(), "/"), received, status: None }
    }

    fn sample() -> impl Strategy<Value = Sample> {
        (prop::option::of(0_u64..3), prop::option::of(0_i64..3), 0_u8..5)
    }

    fn place() -> impl Strategy<Value = (u32, u64)> {
        (0_u32..3, 0_u64..50)
    }

    proptest! {
        #[test]
        fn costliest_then_oldest_requests_are_kept(
            mut requests in prop::collection::btree_map(sample(), place(), 0..30)
                .prop_map(|map| map.into_iter().collect::<Vec<_>>())
                .prop_shuffle(),
        ) {
            let mut kept = Exemplars::default();
            for (request, place) in &requests {
                let offered = exemplar(*request, *place);
                let mut after = kept.clone();
                after.offer(offered.clone());
                let is_wanted = kept.wants(offered.micros, offered.received, offered.audit_id());
                prop_assert!(after == kept || is_wanted);
                kept.offer(offered);
            }
            requests.sort_by_key(|((micros, received, id), _)| {
                (Reverse(*micros), received.is_none(), *received, *id)
            });
            let want: Vec<_> = requests.into_iter().take(MAX_EXEMPLARS).map(|(one, place)| exemplar(one, place)).collect();
            prop_assert_eq!(kept.as_slice(), &want);
        }

        #[test]
        fn long_uri_is_stored_masked_and_cut(
            pairs in prop::collection::vec(
                (
                    prop_oneof![
                        "[?]?[a-zC]{0,2}(continue|conitnue|cntinue|CONTINUE|c%6Fntinue|limit|timeout)[a-z]{0,2}",
                        "(labelSelector|resourceVersion|watch|pretty|x)",
                    ],
                    prop_oneof!["=(eyJ2IjoibWV0YS5r|%65yJ2IjoibWV0YS5r|500|a%3Db|%zz)?", Just(String::new())],
                ),
                0..4,
            ),
        ) {
            let pairs: Vec<String> = pairs.into_iter().map(|(key, value)| key + &value).collect();
            for length in [0, 380, 390, 400, 2_000] {
                let uri = format!("/ü{}?{}", "x".repeat(length), pairs.join("&"));
                let texts = Texts::new("a", &uri);
                let kept = Exemplar { texts, ..exemplar((None, None, 0), (0, 0)) };
                prop_assert!(kept.uri().len() <= MAX_URI + "…".len());
                prop_assert_eq!(kept.shown_uri(), shown_uri(&uri), "as if nothing had been kept");
            }
        }

        #[test]
        fn first_of_duplicates_is_kept_in_any_order(
            requests in prop::collection::vec((sample(), place()), 1..30),
            rotate in 0_usize..30,
        ) {
            let keep = |requests: &[(Sample, (u32, u64))]| {
                let mut kept = Exemplars::default();
                for (one, place) in requests {
                    kept.offer(exemplar(*one, *place));
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
            ("/api/v1/pods?conitnue=eyJ2Ijoi", "/api/v1/pods?conitnue=…"),
            ("/api/v1/pods?CONTINUE=eyJ2Ijoi", "/api/v1/pods?CONTINUE=…"),
            ("/api/v1/pods?c%6Fntinue=eyJ2Ijoi", "/api/v1/pods?c%6Fntinue=…"),
            ("/api/v1/pods?x=%65yJ2IjoibWV0YS5r", "/api/v1/pods?x=…"),
            ("/api/v1/pods?", "/api/v1/pods?"),
            ("/api/v1/pods?a=b&&c=d&", "/api/v1/pods?a=b&&c=d&"),
            ("/api/v1/pods?a;continue=eyJ2IjoibWV0YS5r", "/api/v1/pods?a;continue=…"),
            ("/api/v1/pods%3Fcontinue=eyJ2IjoibWV0YS5r", "/api/v1/pods%3Fcontinue=…"),
            ("/api/v1/pods?continue=", "/api/v1/pods?continue="),
            ("/api/v1/pods", "/api/v1/pods"),
        ] {
            assert_eq!(&*shown_uri(uri), kept);
        }
        assert!(shown_uri(&"ü".repeat(1_000)).len() <= MAX_URI + 3);
    }
}
