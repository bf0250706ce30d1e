//! The bodies of the fuzz targets; `tests/reading/fuzz_smoke.rs` runs them without a fuzzer.

use kubetoll::apiserver::judge::served_against_model;
use kubetoll::apiserver::{
    Certainty, LimitVerdict, ParsedTarget, RequestShape, ServedFrom, Server, across_versions, certainty,
    judge,
};
use kubetoll::decode::on_demand::{CachedCallers, EventFields};
use kubetoll::decode::{Decoder, Outcome, SourceFacts, detect};
use kubetoll::input::framing::lines;
use kubetoll::input::{Framing, SourcePosition};
use kubetoll::k8s::request_info::Method;
use kubetoll::k8s::secrets::{masked, masked_target};
use kubetoll::k8s::user_agent::{AgentForm, stated_version};
use kubetoll::k8s::{AgentProduct, Event, KubeVersion, Stage};
use kubetoll::ledger::exemplar::shown_uri;
use kubetoll::ledger::{Ledger, ProductRows};
use kubetoll::requests::Classifier;

use super::same::report_difference;
use super::{conservation, run};

/// Any records of a log are counted, and all sums agree. Block boundaries and block order do not matter.
pub fn line(bytes: &[u8]) {
    let mut decoder = Decoder::new(None, run::MAX_LINE);
    let mut outcomes = 0;
    for record in lines(bytes, 1, 0) {
        decoder.record(&record, SourceFacts::default(), &mut |outcome, _| {
            outcomes += 1;
            if let Outcome::Event(event, _) = outcome {
                one_event(event);
            }
        });
    }
    decoder.finish(&mut |_, _| outcomes += 1);
    let settings = run::settings(1, &[]);
    let (timeline, none) = (run::timeline(), run::sources(&[]));
    let complete =
        run::report(run::count(&run::blocks(bytes, |_| false), &settings, &timeline), &none, &timeline);
    conservation::check(&complete);
    assert_eq!(complete.input.records, outcomes, "each entry is counted once");
    let may_cut = |text: &[u8]| match detect::framing(text) {
        Framing::Joined(may_cut) => Some(may_cut),
        _ => None,
    };
    let Some(may_cut) = may_cut(bytes) else { return };
    let ends: Vec<usize> = memchr::memchr_iter(b'\n', bytes).map(|feed| feed + 1).collect();
    let mut blocks =
        run::blocks(bytes, |line| ends.get(line).is_some_and(|at| may_cut(&bytes[..*at], &bytes[*at..])));
    blocks.reverse();
    let other = run::report(run::count(&blocks, &settings, &timeline), &none, &timeline);
    assert_eq!(report_difference(&other, &complete), Vec::<String>::new());
}

/// An event is classified and counted.
fn one_event(event: &Event<'_>) {
    let stage = event.stage().expect("decode lets only the four stages pass");
    let mut classifier = Classifier::default();
    let request = classifier.event(event, stage, SourcePosition { source: 0, offset: 0, line: 1 });
    if stage == Stage::RequestReceived {
        assert!(request.micros.is_none() && request.status.is_none() && request.measured.is_none());
    }
    let mut ledger = Ledger::default();
    ledger.clients.observe(&request);
    ledger.clients.observe(&request);
    let (clients, rest) = ledger.clients.into_parts();
    assert!(clients.len() == 1 && rest.is_none(), "the same request is the same client's");
    for (_, client) in clients {
        let (products, overflow) = client.products.into_parts();
        assert!(products.len() == 1 && overflow.is_none(), "and of the same product");
        for (_, product) in products {
            let ProductRows { rows, overflow } = ProductRows::from_product(product, false);
            assert!(rows.len() == 1 && overflow.is_none(), "and of the same shape");
            for (_, row) in rows {
                assert_eq!(row.events, 2);
            }
        }
    }
}

/// A text that may contain secrets. A secret after any text is masked.
pub fn secrets(text: &str) {
    let token = "hunter2-hunter2-hunter2";
    if text.contains(token) {
        return; // libFuzzer finds the token by what it is compared with.
    }
    for key in ["access_token", "%70assword", "command"] {
        assert!(!masked_target(&format!("{text}&{key}={token}")).contains(token), "{key}");
        assert!(!masked(&format!("{text} ?{key}={token}")).contains(token), "{key}");
    }
}

/// A request target gets a verdict for every release. The verdict is consistent, and the same each time.
pub fn uri(text: &str) {
    assert!(shown_uri(text).len() <= 410, "evidence is bounded");
    let Some(target) = ParsedTarget::parse(text) else {
        return;
    };
    for method in [Method::Get, Method::Post, Method::Delete] {
        let shape = RequestShape::new(method, &target.path, &target.options);
        let again = ParsedTarget::parse(text).expect("it could be parsed before");
        assert_eq!(shape, RequestShape::new(method, &again.path, &again.options));
        let owned = shape.to_owned();
        assert_eq!(owned.as_borrowed(), shape);
        for minor in KubeVersion::OLDEST.minor..=KubeVersion::NEWEST.minor {
            let server = Server::with_defaults(KubeVersion { minor, patch: Some(minor % 5 * 3) });
            for status in [None, Some(200), Some(401), Some(404), Some(410), Some(429)] {
                judged(&server, &shape, status);
            }
        }
        let server = Server::with_defaults(KubeVersion::NEWEST);
        let spans = across_versions(&server, &shape);
        assert_eq!(spans.first().map(|span| span.first.minor), Some(KubeVersion::OLDEST.minor));
        assert_eq!(spans.last().map(|span| span.last), Some(KubeVersion::NEWEST));
        let certain = certainty(&server, &shape, None) == Certainty::Certain;
        assert_eq!(spans.len() == 1, certain, "certain is what no release decides otherwise");
    }
}

fn judged(server: &Server, shape: &RequestShape<&str>, status: Option<u16>) {
    let verdict = judge(server, shape, status);
    assert_eq!(verdict, judge(server, &shape.to_owned().as_borrowed(), status));
    assert_eq!(verdict.rejected.is_some(), verdict.served_from == ServedFrom::Rejected);
    assert_eq!(verdict.likely.is_some(), verdict.served_from == ServedFrom::Depends);
    assert!(verdict.limit == LimitVerdict::Absent || shape.options.limit.is_page());
    assert!(verdict.rejected.is_none_or(|rejected| (400..600).contains(&rejected)));
    match status {
        Some(401) => assert_eq!(verdict.rejected, Some(401)),
        Some(200) => assert_eq!(verdict.rejected, None, "an answer overrides the model"),
        _ => assert!(!served_against_model(server, shape, status)),
    }
}

/// A user agent's product is a short printable name that does not depend on the version.
pub fn user_agent(text: &str) {
    let product = AgentProduct::from_user_agent(text);
    assert!(!product.name.is_empty() && product.name.len() <= AgentProduct::MAX_LENGTH);
    assert!(product.name.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()));
    assert_eq!(product, AgentProduct::from_user_agent(text));
    match product.form {
        AgentForm::Unnamed => assert_eq!(product.name, AgentProduct::UNNAMED),
        _ if text.is_empty() => assert_eq!(product.name, AgentProduct::ABSENT),
        form => {
            assert!(text.starts_with(product.name), "a name is the client's own");
            let other = AgentProduct::from_user_agent(&text[..product.name.len()]).name.to_owned();
            assert!(other == product.name || product.name.contains(' '), "{form:?}");
            let versioned = format!("{}/1.2.3", product.name);
            assert_eq!(
                AgentProduct::from_user_agent(&versioned).name,
                product.name,
                "a version makes no other product"
            );
        }
    }
    let version = stated_version(text, product.name);
    assert!(version.is_none_or(|version| text.contains(version) && !version.contains([' ', '/'])));
}

/// The on-demand decoder reads the same as `serde_json`, if `serde_json` accepts the text.
pub fn on_demand(text: &str) {
    let mut meant = String::new();
    let mut recent = CachedCallers::default();
    // The second time, the client is cached.
    for _ in 0..2 {
        let fields = EventFields::find(text, &mut recent);
        let Some(mut fields) = fields else { return };
        let Some(found) = fields.event(text, &mut meant) else { return };
        match serde_json::from_str::<Event<'_>>(text) {
            Ok(event) => {
                assert_eq!(Event { request_bytes: None, caller_id: None, ..found }, event);
            }
            // In a body, kubetoll checks only brackets and strings.
            Err(error) => assert!(error.is_syntax() || error.is_eof(), "{error}"),
        }
    }
}
