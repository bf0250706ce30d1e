//! A line of the apiserver's access log as a request.

use super::client_identity::ClientIdentity;
use super::event_fact::EventFacts;
use super::request::{CacheKeys, Request};
use super::request_spec::RequestSpec;
use super::status_class::StatusClass;
use crate::decode::klog::AccessLine;
use crate::input::SourcePosition;
use crate::k8s::Stage;

/// The apiserver may log a long-running request at its start or at its end. If the line has no status and a latency
/// below this, kubetoll assumes the start. In microseconds.
const JUST_BEGUN: u64 = 1_000_000;

/// Builds the request of an access line.
pub(super) fn request<'e>(
    line: &'e AccessLine<'_>,
    client: &'e ClientIdentity,
    spec: RequestSpec<'e>,
    keys: CacheKeys,
    ended: Option<i64>,
    place: SourcePosition,
) -> Request<'e> {
    let long_running = spec.long_running;
    // Releases 1.30 to 1.32 log a WATCH when it begins, and do not log its end (kubernetes/kubernetes#125614). Older
    // releases log a WATCH when it ends. Neither line has a status, because nothing sets it. So the latency shows
    // which of the two it is.
    let begun = long_running
        && line.has_status_zero
        && !line.audit_id.is_empty()
        && line.latency_micros.is_some_and(|micros| micros < JUST_BEGUN);
    let served = line.is_hijacked || (long_running && line.has_status_zero);
    let latency = line.latency_micros.and_then(|micros| i64::try_from(micros).ok()).unwrap_or(0);
    Request {
        client,
        spec,
        keys,
        status_class: if served {
            StatusClass::Served
        } else {
            StatusClass::from_status(spec.shape, line.status)
        },
        version_index: 0,
        stage: if begun { Stage::ResponseStarted } else { Stage::ResponseComplete },
        status: line.status,
        received: ended.and_then(|ended| ended.checked_sub(latency)),
        micros: line.latency_micros.filter(|_| !begun),
        begins_again: false,
        says_received: false,
        measured: None,
        marks: line.marks,
        deprecated: None,
        facts: EventFacts::default(),
        place,
        audit_id: &line.audit_id,
        uri: &line.uri,
        apf: line.apf.as_ref(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::klog::Apf;
    use crate::k8s::{AddressClass, Kind, Verb};
    use crate::requests::{ClaimSource, Classifier};

    const PLACE: SourcePosition = SourcePosition { source: 0, offset: 0, line: 1 };

    fn line<'a>(verb: &'a str, uri: &'a str) -> AccessLine<'a> {
        AccessLine {
            verb: verb.into(),
            uri: uri.into(),
            latency_micros: Some(2_000),
            user_agent: "kubelet/v1.30.1 (linux/amd64) kubernetes/1".into(),
            audit_id: "a".into(),
            source: "10.0.0.1:5".into(),
            status: Some(200),
            ..AccessLine::default()
        }
    }

    fn with<R>(line: &AccessLine<'_>, check: impl FnOnce(&Request<'_>) -> R) -> R {
        check(&Classifier::default().line(line, Some(5_000_000), PLACE))
    }

    #[test]
    fn verb_comes_from_method_and_target() {
        for (logged_verb, uri, verb) in [
            ("GET", "/api/v1/pods?limit=500", Verb::List),
            ("GET", "/api/v1/pods?watch=true", Verb::Watch),
            ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Dx", Verb::List),
            ("LIST", "/api/v1/watch/pods", Verb::Watch),
            ("LIST", "/api/v1/namespaces/n/pods/p", Verb::Get),
            ("WATCH", "/api/v1/pods?watch=1&fieldSelector=metadata.name%3Dx", Verb::Watch),
            ("APPLY", "/api/v1/namespaces/n/pods/p", Verb::Patch),
            ("DELETE", "/api/v1/namespaces/n/pods", Verb::DeleteCollection),
            ("POST", "/api/v1/namespaces/n/pods", Verb::Create),
            ("PUT", "/api/v1/namespaces/n/pods/p/status", Verb::Update),
            ("CONNECT", "/api/v1/namespaces/n/pods/p/log?follow=true", Verb::Get),
            ("CONNECT", "/api/v1/namespaces/n/pods/p/exec?command=x", Verb::Create),
            ("CONNECT", "/api/v1/namespaces/n/services/s/proxy/x", Verb::Get),
            ("GET", "/readyz", Verb::Get),
            ("OPTIONS", "/api/v1/pods", Verb::Other),
            ("post", "/%zz", Verb::Post),
        ] {
            with(&line(logged_verb, uri), |request| {
                assert_eq!(request.shape().verb, verb, "{logged_verb} {uri}");
            });
        }
    }

    #[test]
    fn received_is_the_line_time_minus_the_latency() {
        let apf = Apf { flow_schema: "system-nodes".into(), ..Apf::default() };
        let line = AccessLine { apf: Some(apf), ..line("LIST", "/api/v1/pods?limt=1") };
        with(&line, |request| {
            assert_eq!((request.received, request.micros), (Some(4_998_000), Some(2_000)));
            assert_eq!((request.stage, request.status), (Stage::ResponseComplete, Some(200)));
            let client = request.client.client_ref();
            assert_eq!((client.kind, client.identity), (Kind::UserAgent, "kubelet"));
            assert_eq!(client.address, Some(AddressClass::Private));
            assert_eq!(&*request.apf.expect("apf").flow_schema, "system-nodes");
            assert_eq!(request.spec.unknown_keys, [Box::from("limt")]);
            assert_eq!(request.client.version_claim.expect("a version claim").by, ClaimSource::Unconfirmed);
        });
    }

    #[test]
    fn watch_without_a_status_is_a_start_if_its_latency_is_short() {
        let watch = |micros, audit_id: &'static str| AccessLine {
            latency_micros: Some(micros),
            audit_id: audit_id.into(),
            status: None,
            has_status_zero: true,
            ..line("WATCH", "/api/v1/pods?watch=true")
        };
        for (line, stage, micros) in [
            (watch(430, "a"), Stage::ResponseStarted, None),
            (watch(2_000_000, "a"), Stage::ResponseComplete, Some(2_000_000)),
            (watch(430, ""), Stage::ResponseComplete, Some(430)),
        ] {
            with(&line, |request| {
                assert_eq!((request.stage, request.micros, request.status), (stage, micros, None));
                assert_eq!(request.status_class, StatusClass::Served);
            });
        }
        let list = AccessLine { status: None, has_status_zero: true, ..line("LIST", "/api/v1/pods") };
        with(&list, |request| {
            assert_eq!(
                (request.stage, request.status_class),
                (Stage::ResponseComplete, StatusClass::Unknown)
            );
        });
        let exec = AccessLine {
            status: None,
            is_hijacked: true,
            ..line("CONNECT", "/api/v1/namespaces/n/pods/p/exec")
        };
        with(&exec, |request| assert_eq!(request.status_class, StatusClass::Served));
    }

    #[test]
    fn loopback_client_claims_the_server_version() {
        let line = AccessLine {
            source: "[::1]:5".into(),
            user_agent: "kube-apiserver/v1.31.2 (linux/amd64) kubernetes/1".into(),
            ..line("GET", "/readyz")
        };
        with(&line, |request| {
            assert_eq!(request.client.version_claim.expect("a version claim").version.to_string(), "1.31.2");
        });
    }
}
