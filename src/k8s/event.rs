//! An audit event, borrowed from the line that holds it.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU64;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A string that borrows from the line unless it holds an escape, and that is empty for `null`.
///
/// `Option<Cow<str>>` never borrows with serde's derive, and a plain `&str` can't hold an unescaped copy; the
/// apiserver writes `&` as `\u0026`, so nearly every `requestURI` holds an escape.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text)))
            }
            fn visit_unit<E>(self) -> Result<Text<'de>, E> {
                Ok(Text::default())
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// The first string of an array, as `user.extra` holds its values.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct First<'a>(pub Text<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for First<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FirstVisitor;
        impl<'de> Visitor<'de> for FirstVisitor {
            type Value = First<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of strings")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<First<'de>, A::Error> {
                let first = values.next_element::<Text<'de>>()?.unwrap_or_default();
                while values.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }
            // Some exporters unpack arrays of one.
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<First<'de>, E> {
                Ok(First(Text(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<First<'de>, E> {
                Ok(First(text.to_owned().into()))
            }
            fn visit_unit<E>(self) -> Result<First<'de>, E> {
                Ok(First::default())
            }
        }
        deserializer.deserialize_any(FirstVisitor)
    }
}

/// A JSON value as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a>(pub &'a str);

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Self(raw.get()))
    }
}

/// When in a request's life an event was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The request arrived.
    RequestReceived,
    /// A long-running request began to answer (twice per watch in some releases since 1.30).
    ResponseStarted,
    /// The request ended.
    ResponseComplete,
    /// The request ended in a panic of the server.
    Panic,
}

/// An audit event, reduced to what a verdict and a report need.
///
/// Source: k8s.io/apiserver `pkg/apis/audit/v1/types.go:Event`.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event<'a> {
    /// `Event`, or empty where an exporter dropped it.
    #[serde(borrow, default)]
    pub kind: Text<'a>,
    /// `audit.k8s.io/v1`, or empty where an exporter dropped it.
    #[serde(borrow, default)]
    pub api_version: Text<'a>,
    /// The request's ID; may be chosen by the client, so not surely unique.
    #[serde(borrow, default, rename = "auditID")]
    pub audit_id: Text<'a>,
    /// One of the four stages; see [`Event::stage`].
    #[serde(borrow, default, rename = "stage")]
    pub stage_name: Text<'a>,
    /// The request line's target: encoded path and raw query.
    #[serde(borrow, default, rename = "requestURI")]
    pub request_uri: Text<'a>,
    /// The verb that the server resolved.
    #[serde(borrow, default)]
    pub verb: Text<'a>,
    /// Who asked.
    #[serde(borrow, default)]
    pub user: Option<User<'a>>,
    /// Who the request acts as, if the client impersonates.
    #[serde(borrow, default)]
    pub impersonated_user: Option<User<'a>>,
    /// The client's `User-Agent`.
    #[serde(borrow, default)]
    pub user_agent: Text<'a>,
    /// The object or collection; read only where there is no `requestURI`.
    #[serde(borrow, default)]
    pub object_ref: Option<Raw<'a>>,
    /// The object or collection, where an event is made of another form than the API's JSON.
    #[serde(skip)]
    pub object: Option<Box<ObjectRef<'a>>>,
    /// Where the request came from: the client, proxies, and the connection's other end last.
    #[serde(borrow, default, rename = "sourceIPs")]
    pub source_ips: Option<Raw<'a>>,
    /// When the request was received, in events of `v1alpha1` (1.7).
    #[serde(borrow, default, rename = "timestamp")]
    pub timestamp_v1alpha1: Option<Raw<'a>>,
    /// There where OpenShift's collector has taken `level` for the severity.
    #[serde(default, rename = "k8s_audit_level")]
    pub k8s_audit_level: Option<IgnoredAny>,
    /// The answer, absent at RequestReceived.
    #[serde(default)]
    pub response_status: Option<ResponseStatus>,
    /// RFC 3339 with microseconds.
    #[serde(borrow, default)]
    pub request_received_timestamp: Text<'a>,
    /// RFC 3339 with microseconds.
    #[serde(borrow, default)]
    pub stage_timestamp: Text<'a>,
    /// The server's own measurements, among others.
    #[serde(borrow, default)]
    pub annotations: Option<Annotations<'a>>,
    /// How it is written: nothing that it says.
    #[serde(skip)]
    pub as_written: AsWritten<'a>,
}

/// How an event is written, if whoever read it can tell: of what is written alike the same is known.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct AsWritten<'a> {
    /// The text that tells of its client, if that was met before.
    pub client: Option<ClientText>,
    /// What stands between the stage and the answer, all that it says of what is asked and by whom, if it is written to
    /// the letter as the log backend does.
    pub asked: Option<&'a str>,
}

/// The text that tells of a client, as a number: the same in two events only if `user`, `impersonatedUser`, `sourceIPs`
/// and `userAgent` are written the same in both. In two that are written the same it may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientText(NonZeroU64);

impl ClientText {
    /// One that no event had before.
    #[must_use]
    pub fn another() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        Self(NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN))
    }

    /// The number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0.get()
    }
}

/// A user of an event.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub struct User<'a> {
    /// The authenticated name.
    #[serde(borrow, default)]
    pub username: Text<'a>,
    /// What the authenticator knows beside it.
    #[serde(borrow, default)]
    pub extra: Option<Extra<'a>>,
}

/// The entries of `user.extra` that tell instances of one ServiceAccount apart (tokens bound to a pod).
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Extra<'a> {
    /// The pod that the token is bound to.
    #[serde(borrow, default, rename = "authentication.kubernetes.io/pod-name")]
    pub pod_name: First<'a>,
    /// That pod's node.
    #[serde(borrow, default, rename = "authentication.kubernetes.io/node-name")]
    pub node_name: First<'a>,
}

/// The answer's status.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ResponseStatus {
    /// HTTP status code; 0 and absent stand for unknown.
    #[serde(default)]
    pub code: Option<i32>,
}

/// Annotations with which the server says how long the parts of a slow request took (Go durations).
///
/// Source: k8s.io/apiserver `pkg/endpoints/filters/audit.go:writeLatencyToAnnotation`.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Annotations<'a> {
    /// The whole request; present only above 500 ms.
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/total")]
    pub total: Text<'a>,
    /// All calls to etcd; absent if there was none.
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/etcd")]
    pub etcd: Text<'a>,
    /// Decoding of objects that etcd returned to a LIST (1.30+).
    #[serde(borrow, default, rename = "apiserver.latency.k8s.io/decode-response-object")]
    pub decode_response_object: Text<'a>,
    /// `true` for a request of an API version that is deprecated.
    ///
    /// Source: k8s.io/apiserver `pkg/endpoints/metrics/metrics.go:deprecatedAnnotationKey`.
    #[serde(borrow, default, rename = "k8s.io/deprecated")]
    pub deprecated: Text<'a>,
    /// `true` for an event that the server cut.
    ///
    /// Source: k8s.io/apiserver `plugin/pkg/audit/truncate/truncate.go:annotationKey`.
    #[serde(borrow, default, rename = "audit.k8s.io/truncated")]
    pub truncated: Text<'a>,
    /// The release that removes it, such as `1.25`.
    #[serde(borrow, default, rename = "k8s.io/removed-release")]
    pub removed_release: Text<'a>,
}

/// What an event without a `requestURI` still says about its request.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef<'a> {
    /// Resource, such as `pods`.
    #[serde(borrow, default)]
    pub resource: Text<'a>,
    /// Namespace, if any.
    #[serde(borrow, default)]
    pub namespace: Text<'a>,
    /// Object's name, if any.
    #[serde(borrow, default)]
    pub name: Text<'a>,
    /// API group.
    #[serde(borrow, default)]
    pub api_group: Text<'a>,
    /// Subresource, if any.
    #[serde(borrow, default)]
    pub subresource: Text<'a>,
}

impl Event<'_> {
    /// The stage, or `None` if it is none of the four.
    #[must_use]
    pub fn stage(&self) -> Option<Stage> {
        Some(match &*self.stage_name {
            "RequestReceived" => Stage::RequestReceived,
            "ResponseStarted" => Stage::ResponseStarted,
            "ResponseComplete" => Stage::ResponseComplete,
            "Panic" => Stage::Panic,
            _ => return None,
        })
    }

    /// When the request was received, as it is written; empty if the event does not say.
    #[must_use]
    pub fn received(&self) -> &str {
        let old = || self.timestamp_v1alpha1.map_or("", |raw| raw.0.trim_matches('"'));
        if self.request_received_timestamp.is_empty() { old() } else { &self.request_received_timestamp }
    }

    /// The HTTP status of the answer, if the event has one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        let code = self.response_status.as_ref()?.code?;
        u16::try_from(code).ok().filter(|code| (100..600).contains(code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borrows_unless_there_is_an_escape() {
        let line = r#"{"requestURI":"/a?b\u0026c","verb":"list","userAgent":null,"user":{"username":"u","extra":{
            "authentication.kubernetes.io/pod-name":["p","q"],"x":[1]}},"responseStatus":{"code":200},
            "annotations":{"apiserver.latency.k8s.io/etcd":"1ms"},"objectRef":{"resource":"pods"}}"#;
        let event: Event<'_> = serde_json::from_str(line).expect("an event");
        assert_eq!(&*event.request_uri, "/a?b&c");
        assert!(matches!(event.verb.0, Cow::Borrowed("list")));
        assert_eq!(&*event.user_agent, "");
        assert_eq!(event.status(), Some(200));
        assert_eq!(&*event.annotations.expect("annotations").etcd, "1ms");
        let user = event.user.expect("a user");
        assert_eq!(&*user.extra.expect("extra").pod_name.0, "p");
    }

    #[test]
    fn a_number_where_a_string_belongs_is_an_error() {
        assert!(serde_json::from_str::<Event<'_>>(r#"{"verb":1}"#).is_err());
    }
}
