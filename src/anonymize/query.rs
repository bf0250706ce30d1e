//! Anonymizes queries. Keys that the server knows, and misspelled list options, stay; all other keys become
//! pseudonyms. Words of the API stay as values, and so do numbers and durations if the key takes them. Selectors keep
//! their structure. All other values become pseudonyms.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::Anonymizer;
use super::public::words;
use crate::k8s::list_options::{is_known_key, similar_list_option};
use crate::k8s::{ContinueToken, go_duration, go_url};

/// Keys that the API defines for subresources such as `log` and `exec`, and for patches (`force`). [`is_known_key`]
/// covers the list options.
static OTHER_KEYS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    words(
        "command, container, follow, force, insecureSkipTLSVerifyBackend, limitBytes, path, ports,
        previous, sinceSeconds, sinceTime, stderr, stdin, stdout, stream, tailLines, timestamps, tty",
    )
});

/// Values that the API defines.
static VALUES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    words(
        "0, 1, All, Background, Exact, False, Foreground, Ignore, NotOlderThan, Metadata, None, Object,
        Orphan, Strict, Warn, false, true",
    )
});

/// Keys with a numeric value.
static NUMERIC: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    words(
        "gracePeriodSeconds, limit, limitBytes, resourceVersion, sinceSeconds, tailLines, timeout,
        timeoutSeconds",
    )
});

impl Anonymizer {
    /// Anonymizes the query of a request for a resource.
    pub(super) fn query(&self, query: &str, group: &str, resource: &str) -> String {
        let one = |(key, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| {
            let value = match &*key {
                "labelSelector" => self.label_selector(&value),
                "fieldSelector" => self.field_selector(&value, group, resource),
                "continue" => self.token(&value),
                key => self.value(key, &value),
            };
            // A misspelled key is kept, because a rule reports it.
            let is_kept =
                is_known_key(&key) || OTHER_KEYS.contains(&*key) || similar_list_option(&key).is_some();
            let key = if is_kept { key.into_owned() } else { self.word(&key) };
            format!("{}={}", encoded(&key), encoded(&value))
        };
        go_url::query_pairs(query).map(one).collect::<Vec<String>>().join("&")
    }

    /// Keeps words of the API, and the number or duration of a key that takes one. Replaces any other value.
    fn value(&self, key: &str, value: &str) -> String {
        let meant = similar_list_option(key).unwrap_or(key);
        let is_number = NUMERIC.contains(meant)
            && value.len() <= 20
            && value.strip_prefix(['-', '+']).unwrap_or(value).bytes().all(|byte| byte.is_ascii_digit());
        let is_duration =
            meant == "timeout" && value.len() <= 20 && go_duration::parse_nanoseconds(value).is_some();
        if is_number || is_duration || value.is_empty() || VALUES.contains(value) {
            value.to_owned()
        } else {
            self.word(value)
        }
    }

    /// Anonymizes a `continue` token, which contains an object's name.
    fn token(&self, token: &str) -> String {
        if token.is_empty() {
            return String::new();
        }
        let revision = match ContinueToken::decode(token) {
            ContinueToken::AtRevision(revision) => revision,
            ContinueToken::Inconsistent => -1,
            ContinueToken::Invalid => return self.word(token),
        };
        let start = self.word(token);
        URL_SAFE_NO_PAD.encode(format!(r#"{{"v":"meta.k8s.io/v1","rv":{revision},"start":"{start}\u0000"}}"#))
    }
}

/// Percent-encodes a key or a value.
fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            byte => write!(out, "%{byte:02X}").expect("a String takes all"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::Key;
    use super::*;
    use crate::k8s::selector::label_selector_is_valid;

    #[test]
    fn numbers_are_kept_only_under_numeric_keys() {
        let anonymizer = Anonymizer::new(Key::from_text("a"), &[]);
        for query in [
            "limit=500",
            "resourceVersion=123456789",
            "timeoutSeconds=473",
            "gracePeriodSeconds=30",
            "tailLines=100",
            "timeout=30s",
            "limt=500",
            "resourceversion=123456789",
        ] {
            assert_eq!(anonymizer.query(query, "", "pods"), query);
        }
        for query in [
            "phone=4915112345678",
            "container=4915112345678",
            "ports=49151",
            "fieldManager=49151s",
            "pretty=49151",
            "labelSelector=a%3E49151",
            "labelSelector=a+%3C+49151",
        ] {
            assert!(!anonymizer.query(query, "", "pods").contains("49151"), "{query}");
        }
        let selector = anonymizer.label_selector("a > 49151");
        assert!(label_selector_is_valid(&selector) && selector.contains(" > "), "{selector}");
    }
}
