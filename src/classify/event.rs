//! An audit event as a request.

use std::borrow::Cow;
use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use super::namespace::{self, namespace_hash};
use super::shape::Answer;
use super::witness::Statement;
use crate::apiserver::options::Options;
use crate::apiserver::{Asked, ParsedTarget, asked};
use crate::decode::klog::Apf;
use crate::input::Place;
use crate::k8s::event::{Annotations, ObjectRef};
use crate::k8s::request_info::Method;
use crate::k8s::text::prefix;
use crate::k8s::{
    AddressClass, ContinueToken, Event, Identity, Kind, Product, Stage, Verb, go_duration, timestamp,
};

/// The longest user name that is told apart, in bytes. A ServiceAccount's has at most 338.
const MAX_NAME: usize = 512;

/// Who asks.
#[derive(Debug, Clone, Copy)]
pub struct Client<'e> {
    /// What kind of client.
    pub kind: Kind,
    /// The identity that the request acts as; for a node that of all nodes.
    pub identity: &'e str,
    /// Who asked, where the request impersonates.
    pub impersonator: Option<&'e str>,
    /// The product of the user agent.
    pub product: Product<'e>,
    /// The user agent.
    pub user_agent: &'e str,
    /// Where it calls from, where that is what tells clients apart: there is no user.
    pub address: Option<AddressClass>,
}

/// The server's own measurement of a slow request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Microseconds in all.
    pub total: u64,
    /// Microseconds in calls to etcd, if there was one.
    pub etcd: Option<u64>,
    /// Objects were decoded that etcd returned to a list.
    pub decoded: bool,
}

/// A deprecated API version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deprecation {
    /// Major and minor of the release that removes it, if the server says it.
    pub removed_in: Option<(u8, u8)>,
}

/// One event of a request, ready to be counted.
#[derive(Debug)]
pub struct Request<'e> {
    /// Who asks.
    pub client: Client<'e>,
    /// The node that the client runs on, if the event says it.
    pub node: Option<&'e str>,
    /// The pod that the client runs in, if the event says it.
    pub pod: Option<&'e str>,
    /// The address that the connection comes from, with or without a port; empty if the record has none.
    pub source: &'e str,
    /// What is asked.
    pub asked: Asked<&'e str>,
    pub(super) parts: &'e Parts<'e>,
    /// What the answer tells. An arrival is counted with the requests that were served: most are, and it does
    /// not say.
    pub answer: Answer,
    /// Index into the run's timeline of versions.
    pub era: u8,
    /// When in the request's life the event was written.
    pub stage: Stage,
    /// Whether the server counts it as long-running: its duration is a lifetime, no cost.
    pub long_running: bool,
    /// The answer's HTTP status.
    pub status: Option<u16>,
    /// When the request was received, in microseconds since 1970.
    pub received: Option<i64>,
    /// From there to its end, in microseconds.
    pub micros: Option<u64>,
    /// The server's own measurement.
    pub measured: Option<Measured>,
    /// That the server calls the API deprecated.
    pub deprecated: Option<Deprecation>,
    /// Where the event stands.
    pub place: Place,
    /// The request's ID.
    pub audit_id: &'e str,
    /// The request's target as recorded.
    pub uri: &'e str,
    /// Keys of the query that the server ignores.
    pub unknown_keys: &'e [Cow<'e, str>],
    /// What the request says of the server's version.
    pub statement: Option<Statement>,
    /// What API Priority and Fairness did with it, if the record says so.
    pub apf: Option<&'e Apf<'e>>,
}

impl<'e> Request<'e> {
    /// The namespace in the path, or empty.
    #[must_use]
    pub fn namespace(&self) -> &'e str {
        let Some(target) = &self.parts.target else {
            return &self.parts.object.namespace;
        };
        namespace::of_path(&target.path)
    }

    /// A hash of the namespace that a LIST asks for, in its path or by its field selector; 0 for none.
    #[must_use]
    pub fn namespace_hash(&self) -> u32 {
        match &self.parts.target {
            Some(target) => namespace_hash(&namespace::asked_for(target)),
            None => namespace_hash(&self.parts.object.namespace),
        }
    }
}

impl Request<'_> {
    /// A hash of what a LIST or WATCH is of: its path and its selectors.
    #[must_use]
    pub fn collection_hash(&self) -> u64 {
        let Some(target) = &self.parts.target else { return self.target_hash() };
        let options = &target.options;
        let path = target.path.trim_end_matches('/');
        // `/api/v1/watch/pods` is a WATCH of `/api/v1/pods`.
        let path = match (self.asked.target, path.split_once("/watch/")) {
            (asked::Target::Resource { watch_prefix: true, .. }, Some((version, rest))) => {
                Cow::Owned(format!("{version}/{rest}"))
            }
            _ => Cow::Borrowed(path),
        };
        spread((&*path, &*options.field_selector, &*options.label_selector))
    }

    /// The revision at which a further page is read.
    #[must_use]
    pub fn revision(&self) -> Option<i64> {
        match ContinueToken::decode(&self.parts.target.as_ref()?.options.continue_token) {
            ContinueToken::AtRevision(revision) => Some(revision),
            _ => None,
        }
    }

    /// A hash of what the request is for: its path with its field selector, which may name one object.
    #[must_use]
    pub fn target_hash(&self) -> u64 {
        let object = &self.parts.object;
        match &self.parts.target {
            Some(target) => FxBuildHasher.hash_one((&*target.path, &*target.options.field_selector)),
            None => FxBuildHasher.hash_one((&*object.namespace, &*object.name)),
        }
    }
}

fn spread(key: impl std::hash::Hash) -> u64 {
    FxBuildHasher.hash_one(key).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The parts of an event that a request borrows from and the line does not hold as they are.
#[derive(Debug, Default)]
pub struct Parts<'e> {
    target: Option<ParsedTarget<'e>>,
    object: ObjectRef<'e>,
}

/// What is asked, and the keys of the query that the server ignores.
pub(super) type Asks<'e> = (Asked<&'e str>, &'e [Cow<'e, str>]);

impl<'e> Parts<'e> {
    /// Decodes an event's request target, or its object reference where it has none.
    #[must_use]
    pub fn of(event: &'e Event<'_>) -> Self {
        let uri: &str = &event.request_uri;
        let target = if uri.is_empty() { None } else { ParsedTarget::parse(uri) };
        let object = match target {
            Some(_) => None,
            None => event
                .object
                .as_deref()
                .cloned()
                .or_else(|| event.object_ref.and_then(|raw| serde_json::from_str(raw.0).ok())),
        };
        Self { target, object: object.unwrap_or_default() }
    }

    /// What stands in place of a target, where there is none that can be read.
    #[must_use]
    pub fn object(&self) -> Option<&ObjectRef<'e>> {
        Some(&self.object).filter(|_| self.target.is_none())
    }

    /// Decodes a request target.
    #[must_use]
    pub fn of_uri(uri: &'e str) -> Self {
        Self { target: ParsedTarget::parse(uri), object: ObjectRef::default() }
    }

    /// What is asked by a method, and if the target can't be read, by a verb.
    pub(super) fn asks(&'e self, method: Method, verb: impl FnOnce() -> Verb, has_uri: bool) -> Asks<'e> {
        let Some(target) = &self.target else {
            return (unknown(verb(), &self.object, has_uri), &[]);
        };
        let asked = Asked::new(method, &target.path, &target.options);
        let reads_options = asked.reads_list_options();
        (asked, if reads_options { &target.options.unknown_keys } else { &[] })
    }
}

/// Makes a request of an event. `stage` is the event's.
#[must_use]
pub fn classify<'e>(event: &'e Event<'_>, parts: &'e Parts<'e>, stage: Stage, place: Place) -> Request<'e> {
    let verb = Verb::from_audit(&event.verb);
    let (mut asked, unknown_keys) = parts.asks(verb.method(), || verb, !event.request_uri.is_empty());
    // A WATCH is one by its query: where there is none, the query was taken out of the record.
    if verb == Verb::Watch && asked.verb == Verb::List && !event.request_uri.contains('?') {
        asked = without_query(asked);
    }
    let asking = event.user.as_ref();
    let real = asking.map_or("", |user| &*user.username);
    let acting = event.impersonated_user.as_ref().map(|user| &*user.username).filter(|name| !name.is_empty());
    let identity = Identity::resolve(acting.unwrap_or(real));
    let extra = asking.and_then(|user| user.extra.as_ref());
    let said = |text: &'e str| Some(text).filter(|text| !text.is_empty());
    let product = Product::of(&event.user_agent);
    // Go's zero time stands for none.
    let received = timestamp::parse_micros(event.received()).filter(|at| *at > 0);
    let ended = matches!(stage, Stage::ResponseComplete | Stage::Panic);
    let micros = received.filter(|_| ended).and_then(|received| {
        let end = timestamp::parse_micros(&event.stage_timestamp)?;
        u64::try_from(end - received).ok()
    });
    let status = event.status().filter(|_| stage != Stage::RequestReceived);
    Request {
        client: Client {
            kind: identity.kind,
            identity: prefix(identity.name, MAX_NAME),
            impersonator: acting.map(|_| prefix(real, MAX_NAME)),
            product,
            user_agent: &event.user_agent,
            address: None,
        },
        node: identity.node.or_else(|| extra.and_then(|extra| said(&extra.node_name.0))),
        pod: extra.and_then(|extra| said(&extra.pod_name.0)),
        source: event.source_ips.map_or("", |raw| raw.0.rsplit('"').nth(1).unwrap_or_default()),
        answer: if stage == Stage::RequestReceived { Answer::Served } else { Answer::of(&asked, status) },
        era: 0,
        stage,
        long_running: asked::is_long_running(&asked),
        parts,
        asked,
        status,
        received,
        micros,
        measured: event.annotations.as_ref().filter(|_| ended).and_then(measured),
        deprecated: event.annotations.as_ref().filter(|_| ended).and_then(deprecated),
        place,
        audit_id: &event.audit_id,
        uri: &event.request_uri,
        unknown_keys,
        statement: Statement::of(real, &identity, product, &event.user_agent),
        apf: None,
    }
}

fn unknown<'e>(verb: Verb, object: &'e ObjectRef<'_>, unreadable: bool) -> Asked<&'e str> {
    let target =
        asked::Target::Unknown { group: &*object.api_group, resource: &*object.resource, unreadable };
    Asked { verb, target, options: Options::default() }
}

fn without_query(asked: Asked<&str>) -> Asked<&str> {
    let asked::Target::Resource { group, resource, .. } = asked.target else { return asked };
    let target = asked::Target::Unknown { group, resource, unreadable: false };
    Asked { verb: Verb::Watch, target, options: Options::default() }
}

fn measured(annotations: &Annotations<'_>) -> Option<Measured> {
    Some(Measured {
        total: go_duration::parse_micros(&annotations.total)?,
        etcd: go_duration::parse_micros(&annotations.etcd),
        decoded: !annotations.decode_response_object.is_empty(),
    })
}

fn deprecated(annotations: &Annotations<'_>) -> Option<Deprecation> {
    let removed = || {
        let (major, minor) = annotations.removed_release.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    (&*annotations.deprecated == "true").then(|| Deprecation { removed_in: removed() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<R>(json: &str, check: impl FnOnce(&Request<'_>) -> R) -> R {
        let event: Event<'_> = serde_json::from_str(json).expect("an event");
        let parts = Parts::of(&event);
        let place = Place { source: 0, offset: 0, line: 1 };
        check(&classify(&event, &parts, event.stage().expect("a stage"), place))
    }

    #[test]
    fn impersonation_acts_and_the_real_user_is_kept() {
        let json = r#"{"auditID":"a","stage":"ResponseComplete","verb":"list","requestURI":"/api/v1/pods",
            "user":{"username":"admin"},"impersonatedUser":{"username":"system:serviceaccount:a:b"}}"#;
        with(json, |request| {
            assert_eq!(request.client.kind, Kind::ServiceAccount);
            assert_eq!(request.client.identity, "system:serviceaccount:a:b");
            assert_eq!(request.client.impersonator, Some("admin"));
        });
    }

    #[test]
    fn durations_are_of_ended_requests() {
        let json = |stage: &str| {
            format!(
                r#"{{"auditID":"a","stage":"{stage}","verb":"get","requestURI":"/healthz",
                "requestReceivedTimestamp":"2024-01-01T00:00:00.000000Z",
                "stageTimestamp":"2024-01-01T00:00:01.500000Z",
                "annotations":{{"apiserver.latency.k8s.io/total":"1.5s"}}}}"#
            )
        };
        with(&json("ResponseComplete"), |request| {
            assert_eq!(request.micros, Some(1_500_000));
            let measured = Measured { total: 1_500_000, etcd: None, decoded: false };
            assert_eq!(request.measured, Some(measured));
        });
        with(&json("ResponseStarted"), |request| {
            assert_eq!((request.micros, request.measured), (None, None));
        });
    }

    #[test]
    fn the_namespace_is_the_paths() {
        for (uri, namespace) in [
            ("/api/v1/namespaces/n/pods", "n"),
            ("/apis/apps/v1/namespaces/n/deployments/d", "n"),
            ("/api/v1/watch/namespaces/n/pods", "n"),
            ("/api/v1/namespaces", ""),
            ("/api/v1/nodes/namespaces", ""),
            ("/apis/x/v1/things/namespaces/n", ""),
        ] {
            let json = format!(r#"{{"auditID":"a","stage":"Panic","verb":"get","requestURI":"{uri}"}}"#);
            with(&json, |request| assert_eq!(request.namespace(), namespace, "{uri}"));
        }
    }

    #[test]
    fn without_a_uri_the_object_reference_names_the_resource() {
        let json = r#"{"auditID":"a","stage":"Panic","verb":"list","objectRef":{"resource":"pods"}}"#;
        with(json, |request| {
            assert_eq!(
                request.asked.target,
                asked::Target::Unknown { group: "", resource: "pods", unreadable: false }
            );
        });
    }
}
