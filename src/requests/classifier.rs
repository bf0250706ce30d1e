//! Turns records into requests. Many records have the same client and target, so kubetoll caches both. The cache keys
//! are keyed hashes of the texts that are parsed. If client and target are cached, a request needs only two table
//! lookups.
//!
//! Tests compare it with a classifier that has empty caches.

use super::access;
use super::client_identity::ClientIdentity;
use super::event;
use super::fingerprint::Fingerprints;
use super::request::{CacheKeys, Request};
use super::spec_cache::SpecCache;
use super::template::Template;
use crate::cache::Cache;
use crate::decode::klog::AccessLine;
use crate::input::SourcePosition;
use crate::k8s::timestamp::RecentMinute;
use crate::k8s::{Event, Stage};

/// Builds requests from audit events and access lines.
#[derive(Debug, Default)]
pub struct Classifier {
    prints: Fingerprints,
    clients: Cache<ClientIdentity>,
    specs: SpecCache,
    /// The cache keys of clients, by caller ID. So a repeated caller is not hashed again.
    client_keys: Cache<u64>,
    minute: RecentMinute,
}

impl Classifier {
    /// Creates a classifier with empty caches. It computes its hashes with `prints`.
    #[must_use]
    pub(crate) fn new(prints: Fingerprints) -> Self {
        Self { prints, ..Self::default() }
    }

    /// Builds the request of an event. `stage` is the event's stage.
    pub fn event<'e>(&'e mut self, event: &'e Event<'_>, stage: Stage, place: SourcePosition) -> Request<'e> {
        let mut keys = CacheKeys { client: self.client_key(event), spec: self.prints.spec(event, None) };
        let client = match self.clients.slot(keys.client) {
            Some(slot) => self.clients.at(slot),
            None => self
                .clients
                .get(keys.client, ClientIdentity::size(event), |client| client.set_from_event(event)),
        };
        let spec = if let Some(hit) = self.specs.template_hit(keys.spec) {
            self.specs.at(hit, &event.request_uri)
        } else {
            let template = Template::parse(&event.request_uri);
            // Only a valid target has a template, and then the object reference is not needed.
            let object = if template.is_some() { None } else { event::object_without_target(event) };
            if object.is_some() {
                keys.spec = self.prints.spec(event, object.as_ref());
            }
            self.specs.event_spec(&self.prints, keys.spec, event, object.as_ref(), template.as_ref())
        };
        let times = event::RequestTimes::from_event(event, stage, &mut self.minute);
        event::request(event, client, spec, keys, stage, times, place)
    }

    /// The cache key of the event's client.
    fn client_key(&mut self, event: &Event<'_>) -> u64 {
        let Self { prints, client_keys, .. } = self;
        let Some(id) = event.caller_id else { return prints.client(event) };
        *client_keys.get(id.hash(), 0, |key| *key = prints.client(event))
    }

    /// Builds the request of an access line. `ended` is the time of the line, in microseconds since 1970.
    pub fn line<'e>(
        &'e mut self,
        line: &'e AccessLine<'_>,
        ended: Option<i64>,
        place: SourcePosition,
    ) -> Request<'e> {
        let keys = self.prints.line_keys(line);
        let texts = line.user_agent.len() + line.source.len();
        let client = self.clients.get(keys.client, texts, |client| client.set_from_access_line(line));
        let spec = self.specs.access_line_spec(keys.spec, line);
        access::request(line, client, spec, keys, ended, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLACE: SourcePosition = SourcePosition { source: 0, offset: 0, line: 1 };

    fn json(user: u8, agent: &str, uri: &str, verb: &str, second: u32) -> String {
        format!(
            r#"{{"auditID":"a","stage":"ResponseComplete","verb":"{verb}","requestURI":"{uri}","userAgent":"{agent}",
            "user":{{"username":"u{user}","extra":{{"authentication.kubernetes.io/pod-name":["p{}"]}}}},
            "sourceIPs":["10.0.0.{}"],"responseStatus":{{"code":200}},
            "requestReceivedTimestamp":"2026-01-01T00:{:02}:{:02}.000001Z","stageTimestamp":"2026-01-01T01:00:00.000000Z"}}"#,
            user % 3,
            user % 5,
            second / 60 % 60,
            second % 60,
        )
    }

    #[test]
    fn lone_question_mark_counts_as_a_query() {
        let watch = |uri: &str| json(1, "curl", uri, "watch", 0);
        let jsons = ["/api/v1/pods", "/api/v1/pods?", "/api/v1/pods?x", "/api/v1/pods"].map(watch);
        for jsons in [jsons.to_vec(), jsons.into_iter().rev().collect()] {
            let mut classifier = Classifier::default();
            for json in jsons {
                let event: Event<'_> = serde_json::from_str(&json).expect("an event");
                let mut naive = Classifier::default();
                let own = classifier.event(&event, Stage::ResponseComplete, PLACE);
                let fresh = naive.event(&event, Stage::ResponseComplete, PLACE);
                assert_eq!(own.shape(), fresh.shape(), "{}", own.uri);
            }
        }
    }

    proptest! {
        #[test]
        fn cached_requests_equal_freshly_parsed_ones(
            records in prop::collection::vec(
                (
                    0_u8..40,
                    prop_oneof![Just("kubelet/v1.30.0 (linux/amd64) kubernetes/1"), Just("curl"), Just("")],
                    prop_oneof![
                        (0_u16..300).prop_map(|n| format!("/api/v1/namespaces/n{n}/pods?limit=5")),
                        concat!(
                            "/(api/v1|apis/apps/v1)(/watch|/proxy)?(/namespaces/[a-c%])?/(pods|namespaces|status)(/[a-c]{1,2})?",
                            "(/(log|status|finalize|proxy))?(/|//x|/y/z)?",
                            "(\\?(limit=5|watch=1|fieldSelector=metadata[.](name|namespace)%3D[ab]|labelSelector=[ab]|limits=1)?",
                            "(&(resourceVersion|timeoutSeconds|timeout|continue|%63ontinue)=[0-9]{0,2}s?)?",
                            "(&continue=(x|eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NTA[1-9]LCJzdGFydCI6ImEifQ))?",
                            "(&resourceVersion=[0-9]{1,2})?)?",
                        ),
                        Just(String::new()),
                        Just("/api/%zz".to_owned()),
                        Just(format!("/apis/{}?fieldSelector=a%3Db", "x".repeat(3_000))),
                    ],
                    prop_oneof![Just("list"), Just("get"), Just("watch")],
                    0_u32..3_600,
                ),
                1..400,
            ),
        ) {
            let prints = Fingerprints::default();
            let mut classifier = Classifier::new(prints.clone());
            for (user, agent, uri, verb, second) in records {
                let json = json(user, agent, &uri, verb, second);
                let event: Event<'_> = serde_json::from_str(&json).expect("an event");
                let mut naive = Classifier::new(prints.clone());
                let fresh = naive.event(&event, Stage::ResponseComplete, PLACE);
                let own = classifier.event(&event, Stage::ResponseComplete, PLACE);
                prop_assert_eq!(format!("{own:?}"), format!("{fresh:?}"));
                prop_assert_eq!(prints.event(&event, &own), prints.event(&event, &fresh));
            }
        }
    }
}
