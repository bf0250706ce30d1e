//! The samples of `fixtures/logs/`: kubetoll reads the expected records from each and loses nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubetoll::decode::klog::trace::TracePart;
use kubetoll::decode::{Decoder, Envelope, Foreign, Layers, Outcome, SourceFacts, detect};
use kubetoll::input::{Block, Feed, Sources};
use kubetoll::k8s::Event;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    format: String,
    framing: String,
    #[serde(default)]
    events: Vec<Value>,
    #[serde(default)]
    access: Vec<Value>,
    #[serde(default)]
    traces: Vec<Value>,
    foreign: u64,
    skipped: BTreeMap<String, u64>,
    /// Events that a reader could recover if it joined lines.
    #[serde(default, rename = "recoverable")]
    _recoverable: Value,
}

/// The records of a sample.
#[derive(Default)]
struct Found {
    framing: &'static str,
    layers: BTreeMap<Layers, u64>,
    events: Vec<Value>,
    access: Vec<Value>,
    traces: Vec<Value>,
    foreign: u64,
    skipped: BTreeMap<String, u64>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/logs")
}

/// The samples with their expected records.
fn samples() -> Vec<(PathBuf, Expected)> {
    let mut samples = Vec::new();
    for folder in [folder(), folder().join("damaged")] {
        for entry in fs::read_dir(folder).expect("a directory") {
            let path = entry.expect("an entry").path();
            if let Some(sample) = path.to_str().and_then(|path| path.strip_suffix(".expected.json")) {
                let expected = fs::read(&path).expect("a file");
                let expected = serde_json::from_slice(&expected)
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                samples.push((PathBuf::from(sample), expected));
            }
        }
    }
    samples.sort_by(|(a, _), (b, _)| a.cmp(b));
    samples
}

fn read(path: &Path, only: Option<Envelope>) -> Found {
    let sources = Sources::discover(&[path.to_owned()]).expect("a source");
    let only = only.map(|only| Layers::default().with(only));
    let tell = move |start: &[u8]| detect::framing_of(only)(start);
    let feed = Feed::new(&sources.list, vec![0], 1, 1 << 24, tell, Arc::default());
    let mut decoder = Decoder::new(only, 1 << 24);
    let (mut block, mut actual) = (Block::default(), Found::default());
    let facts = SourceFacts { year: Some(2026), modified: None };
    while feed.next_block(0, &mut block) {
        actual.framing = block.framing.as_str();
        for record in block.records() {
            decoder.record(&record, facts, &mut |outcome, layers| actual.take(&outcome, layers));
        }
        decoder.finish(&mut |outcome, layers| actual.take(&outcome, layers));
    }
    actual
}

impl Found {
    fn take(&mut self, outcome: &Outcome<'_>, layers: Layers) {
        match outcome {
            Outcome::Event(event, _) => {
                *self.layers.entry(layers).or_default() += 1;
                self.events.push(written(event));
            }
            Outcome::Access { line, logged_at: written, .. } => {
                assert!(written.is_some(), "the year is known");
                *self.layers.entry(layers).or_default() += 1;
                self.access.push(json!({
                    "verb": line.verb, "uri": line.uri, "userAgent": text(&line.user_agent), "srcIP": text(&line.source),
                    "auditID": text(&line.audit_id),
                    "resp": line.status.or(line.has_status_zero.then_some(0)),
                    "latencyMicros": line.latency_micros,
                }));
            }
            Outcome::Trace(fragment) => {
                *self.layers.entry(layers).or_default() += 1;
                if fragment.part == TracePart::Header {
                    self.traces.push(json!({
                        "number": fragment.number, "operation": fragment.operation,
                        "url": text(&fragment.path), "auditId": text(&fragment.audit_id),
                    }));
                }
            }
            Outcome::Foreign(Foreign::Part) => {}
            Outcome::Etcd { .. } | Outcome::Start { .. } | Outcome::Foreign(_) => self.foreign += 1,
            Outcome::Skip(reason, _) => *self.skipped.entry(reason.as_str().to_owned()).or_default() += 1,
        }
    }
}

fn text(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// An event in the format of the expected records.
fn written(event: &Event<'_>) -> Value {
    let user = event.user.as_ref().and_then(|user| text(&user.username));
    let agent = text(&event.user_agent);
    match &event.object {
        Some(object) if event.request_uri.is_empty() => json!({
            "verb": &*event.verb, "requestURI": null,
            "group": &*object.api_group, "resource": &*object.resource,
            "subresource": text(&object.subresource), "namespace": text(&object.namespace),
            "user": user, "userAgent": agent, "received": event.received(),
        }),
        _ => json!({
            "auditID": &*event.audit_id, "stage": &*event.stage_name, "verb": &*event.verb,
            "requestURI": &*event.request_uri, "user": user, "userAgent": agent,
            "code": event.status(), "received": text(event.received()),
        }),
    }
}

/// The expected records, without fields that other tests check or that differ by design.
fn pruned(mut expected: Value) -> Value {
    let fields = expected.as_object_mut().expect("an object");
    for elsewhere in ["count", "totalMicros", "impersonatedUser", "resourceName"] {
        fields.remove(elsewhere);
    }
    if fields.get("requestURI") == Some(&Value::Null) {
        fields.remove("code");
        for key in ["group", "resource"] {
            if fields[key].is_null() {
                fields[key] = json!("");
            }
        }
    }
    expected
}

#[test]
fn each_sample_decodes_to_its_expected_records() {
    let samples = samples();
    assert!(samples.len() > 45);
    let mut wrong = Vec::new();
    for (path, expected) in samples {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let actual = read(&path, None);
        let mut check = |what: &str, actual: String, expected: String| {
            if actual != expected {
                wrong.push(format!("{name}: {what}\n     found {actual}\n  expected {expected}"));
            }
        };
        check("framing", actual.framing.to_owned(), expected.framing);
        for (what, actual, expected) in [
            ("event", actual.events, expected.events),
            ("access line", actual.access, expected.access),
            ("trace", actual.traces, expected.traces),
        ] {
            let expected: Vec<Value> = expected.into_iter().map(pruned).collect();
            for (at, (actual, expected)) in actual.iter().zip(&expected).enumerate() {
                check(&format!("{what} {at}"), actual.to_string(), expected.to_string());
            }
            check(&format!("{what}s"), actual.len().to_string(), expected.len().to_string());
        }
        check("foreign", actual.foreign.to_string(), expected.foreign.to_string());
        check("skipped", format!("{:?}", actual.skipped), format!("{:?}", expected.skipped));
        let names: Vec<String> = actual.layers.keys().map(Layers::to_string).collect();
        if !names.iter().any(|layers| layers.split('/').any(|layer| layer == expected.format)) {
            check("format", format!("{names:?}"), expected.format);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
