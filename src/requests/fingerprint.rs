//! What tells an event from all others: its audit ID alone does not, as clients may choose it, scrubbed logs repeat
//! it, and the two servers of an aggregated request share it.

use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::DefaultHashBuilder;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::event::Request;
use super::template::Template;
use crate::decode::etcd::SlowRequest;
use crate::decode::klog::AccessLine;
use crate::k8s::Event;
use crate::k8s::event::{Caller, ObjectRef};

/// How far apart the two lines of one request may put its begin, in microseconds: 27 ms at most in the recorded logs.
const SAME_MOMENT: i64 = 100_000;

/// Makes hashes under keys that no client knows: of one that knew them, it could choose what is taken for a copy.
#[derive(Debug, Clone, Default)]
pub struct Fingerprints(DefaultHashBuilder);

/// What a request's client and its spec are known by; never 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Keys {
    pub client: u64,
    pub spec: u64,
}

impl Fingerprints {
    /// What an event's caller is known by: a hash of all that it is found out from. Never 0.
    #[must_use]
    pub(super) fn client(&self, caller: &Caller<'_>) -> u64 {
        let mut hash = self.0.build_hasher();
        add(&mut hash, &caller.user_agent);
        for user in [&caller.user, &caller.impersonated_user] {
            add(&mut hash, user.as_ref().map_or("", |user| &*user.username));
        }
        let addresses = caller.source_ips.map_or("", |raw| raw.0);
        if addresses.contains(|c: char| c.is_ascii_whitespace()) {
            // However the array is indented.
            add(&mut hash, &addresses.split_ascii_whitespace().collect::<String>());
        } else {
            add(&mut hash, addresses);
        }
        // What is read beside this differs in damaged copies only, of which then each counts.
        if let Some(extra) = caller.user.as_ref().and_then(|user| user.extra.as_ref()) {
            add(&mut hash, &extra.pod_name.0);
            add(&mut hash, &extra.node_name.0);
        }
        hash.finish().max(1)
    }

    /// What an event's spec is known by, likewise. `object` tells it where the event has no target.
    #[must_use]
    pub(super) fn spec(&self, event: &Event<'_>, object: Option<&ObjectRef<'_>>) -> u64 {
        let mut hash = self.0.build_hasher();
        add(&mut hash, &event.verb);
        add(&mut hash, &event.request_uri);
        if let Some(object) = object {
            let names =
                [&object.api_group, &object.resource, &object.subresource, &object.namespace, &object.name];
            for name in names {
                add(&mut hash, name);
            }
        }
        hash.finish().max(1)
    }

    /// What is asked by targets of a template is known by, likewise.
    #[must_use]
    pub(super) fn template(&self, verb: &str, template: &Template<'_>) -> u64 {
        let mut hash = self.0.build_hasher();
        add(&mut hash, verb);
        for piece in template.pieces {
            add(&mut hash, piece);
        }
        template.query.add_to(&mut hash);
        hash.finish().max(1)
    }

    /// Both of a line of an access log.
    #[must_use]
    pub(super) fn line_keys(&self, line: &AccessLine<'_>) -> Keys {
        let mut hash = self.0.build_hasher();
        add(&mut hash, &line.user_agent);
        add(&mut hash, &line.source);
        hash.write_u8(b'l');
        let client = hash.finish();
        let mut hash = self.0.build_hasher();
        add(&mut hash, &line.verb);
        add(&mut hash, &line.uri);
        hash.write_u8(b'l');
        Keys { client: client.max(1), spec: hash.finish().max(1) }
    }

    /// What the events of a request have in common.
    fn request(&self, event: &Event<'_>, request: &Request<'_>) -> u64 {
        let mut hash = self.0.build_hasher();
        hash.write_u64(request.keys.client);
        hash.write_u64(request.keys.spec);
        add(&mut hash, &event.audit_id);
        add(&mut hash, event.received());
        hash.finish()
    }

    /// An event's hash: two sinks of one server, or two copies of a log, give the same, however they are encoded.
    /// `request` is the event's.
    #[must_use]
    pub fn event(&self, event: &Event<'_>, request: &Request<'_>) -> u64 {
        let of_request = self.request(event, request);
        self.of_stage(of_request, |hash| add_end(hash, event))
    }

    /// The same, and that of the event that the server wrote at the arrival of the event's request. `written` is when
    /// that was written.
    #[must_use]
    pub fn event_and_arrival(&self, event: &Event<'_>, request: &Request<'_>, written: &[u8]) -> [u64; 2] {
        let of_request = self.request(event, request);
        [
            self.of_stage(of_request, |hash| add_end(hash, event)),
            self.of_stage(of_request, |hash| add_stage(hash, "RequestReceived", written)),
        ]
    }

    /// The hash of a long-running request's start, with the answer that it is counted by, whenever and however often the
    /// server says so.
    #[must_use]
    pub fn start(&self, event: &Event<'_>, request: &Request<'_>) -> u64 {
        self.of_stage(self.request(event, request), |hash| hash.write_u16(request.status.unwrap_or(0)))
    }

    /// The hash of one event of a request.
    fn of_stage(
        &self,
        of_request: u64,
        add: impl FnOnce(&mut <DefaultHashBuilder as BuildHasher>::Hasher),
    ) -> u64 {
        let mut hash = self.0.build_hasher();
        hash.write_u64(of_request);
        add(&mut hash);
        hash.finish()
    }

    /// The hash of a slow request in etcd's log: no two have the same time, to the nanosecond that they took.
    #[must_use]
    pub fn etcd(&self, slow: &SlowRequest<'_>, written: Option<i64>) -> u64 {
        let mut hash = self.0.build_hasher();
        add(&mut hash, &slow.took);
        add(&mut hash, &slow.request);
        add(&mut hash, &slow.response);
        // Of a damaged copy it may be another, and which one is shown must not hang on the order.
        add(&mut hash, slow.error.as_deref().unwrap_or_default());
        hash.write_i64(written.unwrap_or(0));
        hash.finish()
    }

    /// The hash of what the lines of one request in an access log share, as some servers before 1.36 write two, from
    /// two places in the chain of handlers. A watch's first line, without a status, is not its last. A request without
    /// an ID has one line.
    #[must_use]
    pub fn access(&self, line: &AccessLine<'_>, written: Option<i64>) -> u64 {
        let mut hash = self.0.build_hasher();
        add(&mut hash, &line.audit_id);
        add(&mut hash, &line.verb);
        add(&mut hash, &line.uri);
        add(&mut hash, &line.source);
        // Of a request, all lines name the same client; of damaged ones each must be counted where it belongs.
        add(&mut hash, &line.user_agent);
        hash.write_u8(u8::from(line.is_hijacked));
        hash.write_u16(line.status.unwrap_or(u16::from(line.has_status_zero)));
        if line.audit_id.is_empty() {
            hash.write_u64(line.latency_micros.unwrap_or(0));
            hash.write_i64(written.unwrap_or(0));
            // Which of two counts must not hang on their order.
            line.apf.hash(&mut hash);
        }
        hash.finish()
    }

    /// Hashes of an access line that has an ID, each with its time: that of the moment when the request began, and those of
    /// the moments before and after. `request` is the hash that all lines of the request share.
    #[must_use]
    pub fn moments(&self, request: u64, began: Option<i64>) -> [(u64, i64); 3] {
        let moment = began.map_or(0, |began| began.div_euclid(SAME_MOMENT));
        [0, -1, 1].map(|step| {
            let moment = moment + step;
            (self.0.hash_one((request, moment)), moment * SAME_MOMENT)
        })
    }
}

/// Whether two requests began together, so that their access lines, which share an ID, are of one request.
#[must_use]
pub fn is_same_moment(one: Option<i64>, other: Option<i64>) -> bool {
    let moment = |began: Option<i64>| began.map_or(0, |began| began.div_euclid(SAME_MOMENT));
    moment(one).abs_diff(moment(other)) <= 1
}

/// Adds what an event says of its own stage and of the answer.
fn add_end(hash: &mut impl Hasher, event: &Event<'_>) {
    add_stage(hash, &event.stage_name, event.stage_timestamp.as_bytes());
    if let Some(annotations) = &event.annotations {
        add(hash, &annotations.total);
        add(hash, &annotations.etcd);
        add(hash, &annotations.decode_response_object);
    }
    let status = event.response_status.as_ref().and_then(|status| status.code);
    if let Some(status) = status.filter(|code| *code != 0) {
        hash.write_i32(status);
    }
}

/// Adds what tells apart the events of a request.
fn add_stage(hash: &mut impl Hasher, stage: &str, written: &[u8]) {
    hash.write(written);
    hash.write(stage.as_bytes());
    hash.write_usize(written.len() << 8 | stage.len());
}

/// Adds a text with its length, so that no two rows of texts are the same bytes.
fn add(hash: &mut impl Hasher, text: &str) {
    hash.write(text.as_bytes());
    hash.write_usize(text.len());
}

/// The hash by which a request is found in another log of the same servers: of its audit ID and its path. The query
/// is not recorded everywhere.
#[must_use]
pub fn request_hash(audit_id: &str, uri: &str) -> u64 {
    let path = crate::k8s::go_url::split_once(uri, b'?').map_or(uri, |(path, _)| path);
    xxh3_64_with_seed(path.as_bytes(), xxh3_64_with_seed(audit_id.as_bytes(), 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::SourcePosition;
    use crate::k8s::Stage;
    use crate::requests::Classifier;

    const EVENT: &str = r#"{"auditID":"a","stage":"ResponseComplete","verb":"get","requestURI":"/x","user":{"username":"u"},
        "sourceIPs":["10.0.0.1"],"userAgent":"k","responseStatus":{"code":200},
        "requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z","stageTimestamp":"2026-01-01T00:00:00.100000Z"}"#;

    #[test]
    fn an_event_is_known_by_all_that_tells_it_from_others() {
        let prints = Fingerprints::default();
        let hash = |json: &str| {
            let event: Event<'_> = serde_json::from_str(json).expect("an event");
            let (stage, place) =
                (event.stage().expect("a stage"), SourcePosition { source: 0, offset: 0, line: 1 });
            let mut classifier = Classifier::new(prints.clone());
            prints.event(&event, &classifier.event(&event, stage, place))
        };
        for (from, to) in [
            ("\"a\"", "\"b\""),
            ("ResponseComplete", "ResponseStarted"),
            ("\"get\"", "\"list\""),
            ("/x", "/y"),
            ("\"u\"", "\"v\""),
            ("10.0.0.1", "10.0.0.2"),
            ("\"k\"", "\"l\""),
            ("200", "404"),
            ("00.000000Z", "00.000001Z"),
            ("00.100000Z", "00.100001Z"),
        ] {
            assert_ne!(hash(EVENT), hash(&EVENT.replace(from, to)), "{from}");
        }
        let object = |name: &str| {
            EVENT.replace("\"requestURI\":\"/x\"", &format!("\"objectRef\":{{\"name\":\"{name}\"}}"))
        };
        assert_ne!(hash(&object("x")), hash(&object("y")), "without a target");
        let other_level = EVENT.replacen('{', r#"{"level":"RequestResponse","responseObject":{"x":1},"#, 1);
        assert_eq!(hash(EVENT), hash(&other_level), "another sink's level");
    }

    #[test]
    fn an_arrival_is_known_by_what_its_own_event_is_known_by() {
        let prints = Fingerprints::default();
        let (stage, place) = (Stage::ResponseComplete, SourcePosition { source: 0, offset: 0, line: 1 });
        let arrival = EVENT
            .replace("ResponseComplete", "RequestReceived")
            .replace(r#""responseStatus":{"code":200},"#, "")
            .replace("00.100000Z", "00.000002Z");
        let [answer, arrival]: [Event<'_>; 2] =
            [EVENT, &arrival].map(|json| serde_json::from_str(json).expect("an event"));
        let mut classifier = Classifier::new(prints.clone());
        let request = classifier.event(&answer, stage, place);
        let both = prints.event_and_arrival(&answer, &request, b"2026-01-01T00:00:00.000002Z");
        assert_eq!(both[0], prints.event(&answer, &request));
        let request = classifier.event(&arrival, Stage::RequestReceived, place);
        assert_eq!(both[1], prints.event(&arrival, &request));
    }
}
