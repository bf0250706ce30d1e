//! Keyed hashes that identify events, to find duplicates. The audit ID alone is not unique: clients may choose it,
//! scrubbed logs repeat it, and the two servers of an aggregated request share it.

use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::DefaultHashBuilder;

use super::request::{CacheKeys, Request};
use super::stable::stable_hash;
use super::template::Template;
use crate::decode::etcd::SlowRequest;
use crate::decode::klog::AccessLine;
use crate::k8s::Event;
use crate::k8s::event::{ObjectRef, Text};

/// Two access lines of one request have start times that differ by at most this, in microseconds. The start time is
/// the time of the line minus its latency. In recorded logs, the start times differ by at most 27 ms.
const SAME_MOMENT: i64 = 100_000;

/// Computes hashes with random keys. If a client knew the keys, it could forge requests that kubetoll drops as
/// duplicates.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fingerprints(DefaultHashBuilder);

impl Fingerprints {
    /// The cache key of an event's caller: a hash of all fields that the identity is parsed from. Never 0.
    #[must_use]
    pub(super) fn client(&self, event: &Event<'_>) -> u64 {
        let mut hash = self.0.build_hasher();
        add(&mut hash, &event.user_agent);
        for user in [&event.user, &event.impersonated_user] {
            add(&mut hash, user.as_ref().map_or("", |user| &*user.username));
        }
        let addresses = event.source_ips.as_deref().unwrap_or_default();
        if addresses.contains(|c: char| c.is_ascii_whitespace()) {
            // A pretty-printed array is indented. Remove white space, so that duplicates in another format have the
            // same key.
            add(&mut hash, &addresses.split_ascii_whitespace().collect::<String>());
        } else {
            add(&mut hash, addresses);
        }
        // Duplicates have equal values in the following fields, unless one is damaged. A damaged duplicate gets
        // another hash, so it counts as a separate event.
        if let Some(extra) = event.user.as_ref().and_then(|user| user.extra.as_ref()) {
            add(&mut hash, &extra.pod_name);
            add(&mut hash, &extra.node_name);
        }
        hash.finish().max(1)
    }

    /// The cache key of an event's verb and `requestURI`; never 0. For an event without a valid `requestURI`, the key
    /// also covers `object`.
    #[must_use]
    pub(super) fn spec(&self, event: &Event<'_>, object: Option<&ObjectRef<Text<'_>>>) -> u64 {
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

    /// The cache key of a template with this verb; never 0. All targets with the template share the key.
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

    /// The cache keys of an access line: one for its client, and one for its target.
    #[must_use]
    pub(super) fn line_keys(&self, line: &AccessLine<'_>) -> CacheKeys {
        let mut hash = self.0.build_hasher();
        add(&mut hash, &line.user_agent);
        add(&mut hash, &line.source);
        hash.write_u8(b'l');
        let client = hash.finish();
        let mut hash = self.0.build_hasher();
        add(&mut hash, &line.verb);
        add(&mut hash, &line.uri);
        hash.write_u8(b'l');
        CacheKeys { client: client.max(1), spec: hash.finish().max(1) }
    }

    /// A hash that all events of a request share.
    fn request(&self, event: &Event<'_>, request: &Request<'_>) -> u64 {
        let mut hash = self.0.build_hasher();
        hash.write_u64(request.keys.client);
        hash.write_u64(request.keys.spec);
        add(&mut hash, &event.audit_id);
        add(&mut hash, event.received());
        hash.finish()
    }

    /// The hash of an event. Duplicates have equal hashes, even if they come from two audit sinks or two files, in
    /// any encoding. `request` is the request of the event.
    #[must_use]
    pub(crate) fn event(&self, event: &Event<'_>, request: &Request<'_>) -> u64 {
        let request_hash = self.request(event, request);
        self.stage_hash(request_hash, |hash| add_end(hash, event))
    }

    /// The hashes of an event and of the RequestReceived event of the same request. `logged_at` is the timestamp of the
    /// RequestReceived event.
    #[must_use]
    pub(crate) fn event_and_request_received(
        &self,
        event: &Event<'_>,
        request: &Request<'_>,
        logged_at: &[u8],
    ) -> [u64; 2] {
        let request_hash = self.request(event, request);
        [
            self.stage_hash(request_hash, |hash| add_end(hash, event)),
            self.stage_hash(request_hash, |hash| add_stage(hash, "RequestReceived", logged_at)),
        ]
    }

    /// The hash of the ResponseStarted events of a long-running request. It depends on the status but not on the
    /// time, so repeated events have equal hashes.
    #[must_use]
    pub(crate) fn start(&self, event: &Event<'_>, request: &Request<'_>) -> u64 {
        self.stage_hash(self.request(event, request), |hash| hash.write_u16(request.status.unwrap_or(0)))
    }

    /// Combines the hash of a request with the fields of one event, which `add` adds.
    fn stage_hash(
        &self,
        request_hash: u64,
        add: impl FnOnce(&mut <DefaultHashBuilder as BuildHasher>::Hasher),
    ) -> u64 {
        let mut hash = self.0.build_hasher();
        hash.write_u64(request_hash);
        add(&mut hash);
        hash.finish()
    }

    /// The hash of a slow request in etcd's log. The duration in nanoseconds makes it unique.
    #[must_use]
    pub(crate) fn etcd(&self, slow: &SlowRequest<'_>, logged_at: Option<i64>) -> u64 {
        let mut hash = self.0.build_hasher();
        add(&mut hash, &slow.took);
        add(&mut hash, &slow.request);
        add(&mut hash, &slow.response);
        // A damaged duplicate may contain another error, so the error is part of the hash. Otherwise the error that
        // the report shows would depend on the input order.
        add(&mut hash, slow.error.as_deref().unwrap_or_default());
        hash.write_i64(logged_at.unwrap_or(0));
        hash.finish()
    }

    /// The hash of an access line. Some servers before 1.36 write two lines for a request, from two places in the
    /// handler chain. Both lines have the same hash, unless the request is a WATCH. The first line of a WATCH has no
    /// status, and the hash covers the status. Lines without an audit ID never come in pairs, so their hash also
    /// covers latency and time.
    #[must_use]
    pub(crate) fn access(&self, line: &AccessLine<'_>, logged_at: Option<i64>) -> u64 {
        let mut hash = self.0.build_hasher();
        add(&mut hash, &line.audit_id);
        add(&mut hash, &line.verb);
        add(&mut hash, &line.uri);
        add(&mut hash, &line.source);
        // All lines of a request have the same user agent. A damaged line may have another one, and then counts for
        // that client.
        add(&mut hash, &line.user_agent);
        hash.write_u8(u8::from(line.is_hijacked));
        hash.write_u16(line.status.unwrap_or(u16::from(line.has_status_zero)));
        if line.audit_id.is_empty() {
            hash.write_u64(line.latency_micros.unwrap_or(0));
            hash.write_i64(logged_at.unwrap_or(0));
            // Lines that differ only in their data about API Priority and Fairness must have different hashes.
            // Otherwise the input order would decide which line counts.
            line.apf.hash(&mut hash);
        }
        hash.finish()
    }

    /// Returns the keys under which the deduplicator finds the other access line of a request. The start times of the
    /// two lines differ slightly, so one key is not enough. Time is divided into intervals of `SAME_MOMENT`. One key
    /// is for the interval in which the request began. The others are for the interval before it and the interval
    /// after it. Each key comes with the start of its interval, in microseconds since 1970. `request` is the hash
    /// that both lines share.
    #[must_use]
    pub(crate) fn moments(&self, request: u64, began: Option<i64>) -> [(u64, i64); 3] {
        let moment = began.map_or(0, |began| began.div_euclid(SAME_MOMENT));
        [0, -1, 1].map(|step| {
            let moment = moment + step;
            (self.0.hash_one((request, moment)), moment * SAME_MOMENT)
        })
    }
}

/// Whether two start times are in the same interval of `SAME_MOMENT`, or in adjacent intervals. Access lines with one
/// audit ID and such start times belong to one request.
#[must_use]
pub(crate) fn is_same_moment(one: Option<i64>, other: Option<i64>) -> bool {
    let moment = |began: Option<i64>| began.map_or(0, |began| began.div_euclid(SAME_MOMENT));
    moment(one).abs_diff(moment(other)) <= 1
}

/// Adds the fields of an event's stage and response to a hash.
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

/// Adds the stage and its timestamp to a hash. They differ between the events of a request.
fn add_stage(hash: &mut impl Hasher, stage: &str, logged_at: &[u8]) {
    hash.write(logged_at);
    hash.write(stage.as_bytes());
    hash.write_usize(logged_at.len() << 8 | stage.len());
}

/// Adds a text and its length to a hash. Without the length, two different sequences of texts could add the same
/// bytes.
fn add(hash: &mut impl Hasher, text: &str) {
    hash.write(text.as_bytes());
    hash.write_usize(text.len());
}

/// A hash of audit ID and path, to find a request in another log of the same servers. The query is not part of the
/// hash, because not every log records it.
#[must_use]
pub(crate) fn request_hash(audit_id: &str, uri: &str) -> u64 {
    let path = crate::k8s::go_url::split_once(uri, b'?').map_or(uri, |(path, _)| path);
    stable_hash(&(audit_id, path))
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
    fn event_hash_covers_every_field_that_identifies_an_event() {
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
    fn derived_request_received_hash_equals_the_hash_of_that_event() {
        let prints = Fingerprints::default();
        let (stage, place) = (Stage::ResponseComplete, SourcePosition { source: 0, offset: 0, line: 1 });
        let received = EVENT
            .replace("ResponseComplete", "RequestReceived")
            .replace(r#""responseStatus":{"code":200},"#, "")
            .replace("00.100000Z", "00.000002Z");
        let [complete, received]: [Event<'_>; 2] =
            [EVENT, &received].map(|json| serde_json::from_str(json).expect("an event"));
        let mut classifier = Classifier::new(prints.clone());
        let request = classifier.event(&complete, stage, place);
        let both = prints.event_and_request_received(&complete, &request, b"2026-01-01T00:00:00.000002Z");
        assert_eq!(both[0], prints.event(&complete, &request));
        let request = classifier.event(&received, Stage::RequestReceived, place);
        assert_eq!(both[1], prints.event(&received, &request));
    }
}
