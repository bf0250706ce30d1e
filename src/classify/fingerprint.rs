//! What tells an event from all others: its audit ID alone does not, as clients may choose it, scrubbed logs repeat
//! it, and the two servers of an aggregated request share it.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::event::Parts;
use crate::decode::klog::AccessLine;
use crate::k8s::Event;

/// Makes hashes, under a key that no client knows. The bytes that are hashed are kept to use their memory again.
#[derive(Debug)]
pub struct Fingerprints {
    key: u64,
    bytes: Vec<u8>,
}

impl Fingerprints {
    /// Hashes under a key.
    #[must_use]
    pub fn new(key: u64) -> Self {
        Self { key, bytes: Vec::new() }
    }

    /// An event's hash: two sinks of one server, or two copies of a log, give the same, however they are encoded.
    /// `parts` are of the event, whose object tells it where it has no target.
    pub fn event(&mut self, event: &Event<'_>, parts: &Parts<'_>) -> u64 {
        let name = |user: Option<&crate::k8s::event::User<'_>>| user.map(|user| user.username.to_string());
        let code = event.response_status.as_ref().and_then(|status| status.code).unwrap_or(0);
        self.bytes.clear();
        self.add(&event.audit_id);
        self.add(&event.stage_name);
        self.add(event.received());
        self.add(&event.stage_timestamp);
        self.add(&event.verb);
        self.add(&event.request_uri);
        self.add(&event.user_agent);
        self.add(event.user.as_ref().map_or("", |user| &user.username));
        self.add(&name(event.impersonated_user.as_ref()).unwrap_or_default());
        self.add(event.source_ips.map_or("", |raw| raw.get()));
        self.bytes.extend_from_slice(&code.to_le_bytes());
        if let Some(object) = parts.object() {
            for text in
                [&object.api_group, &object.resource, &object.subresource, &object.namespace, &object.name]
            {
                self.add(text);
            }
        }
        self.hash()
    }

    /// The hash of a line of an access log: of the request, where it has an ID, as servers up to 1.35 write two
    /// lines for one request, from two places in the chain of handlers. A watch's first line, without a status, is
    /// not its last.
    pub fn access(&mut self, line: &AccessLine<'_>, written: Option<i64>) -> u64 {
        self.bytes.clear();
        self.add(&line.audit_id);
        self.add(&line.verb);
        self.add(&line.uri);
        self.add(&line.source);
        // Of a request, all lines name the same client; of damaged ones each must be counted where it belongs.
        self.add(&line.user_agent);
        self.bytes.push(u8::from(line.hijacked));
        self.bytes.extend_from_slice(&line.status.unwrap_or(u16::from(line.no_code)).to_le_bytes());
        if line.audit_id.is_empty() {
            self.bytes.extend_from_slice(&line.latency_micros.unwrap_or(0).to_le_bytes());
            self.bytes.extend_from_slice(&written.unwrap_or(0).to_le_bytes());
        }
        self.hash()
    }

    /// Adds a text with its length, so that no two rows of texts are the same bytes.
    fn add(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.extend_from_slice(&text.len().to_le_bytes());
    }

    fn hash(&self) -> u64 {
        xxh3_64_with_seed(&self.bytes, self.key)
    }
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

    const EVENT: &str = r#"{"auditID":"a","stage":"ResponseComplete","verb":"get","requestURI":"/x","user":{"username":"u"},
        "sourceIPs":["10.0.0.1"],"userAgent":"k","responseStatus":{"code":200},
        "requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z","stageTimestamp":"2026-01-01T00:00:00.100000Z"}"#;

    fn hash(json: &str) -> u64 {
        let event = serde_json::from_str(json).expect("an event");
        Fingerprints::new(1).event(&event, &Parts::of(&event))
    }

    #[test]
    fn an_event_is_known_by_all_that_tells_it_from_others() {
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
        let of = |name| {
            EVENT.replace("/x", "").replacen('{', &format!(r#"{{"objectRef":{{"name":"{name}"}},"#), 1)
        };
        assert_ne!(hash(&of("a")), hash(&of("b")), "without a target its object tells it");
        let other_level = EVENT.replacen('{', r#"{"level":"RequestResponse","responseObject":{"x":1},"#, 1);
        assert_eq!(hash(EVENT), hash(&other_level), "another sink's level");
    }
}
