//! Damage stays local. A single damaged byte loses at most two events in any input format. A cut loses at most
//! one event that was complete before it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;

use crate::support::cases::cases;
use flate2::read::MultiGzDecoder;
use kubetoll::decode::{Decoder, Outcome, SourceFacts, detect};
use kubetoll::input::{Block, Cutter};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

/// The identifying fields of a text's events, in order.
fn events(text: &[u8]) -> Vec<String> {
    let mut cutter = Cutter::new(text, 0, 1 << 24, detect::framing);
    let (mut decoder, mut block, mut events) = (Decoder::new(None, 1 << 24), Block::default(), Vec::new());
    while cutter.fill(&mut block) {
        let mut take = |outcome: Outcome<'_>| {
            let key = match outcome {
                Outcome::Event(event, _) => {
                    format!("{} {} {}", &*event.audit_id, &*event.stage_name, event.received())
                }
                Outcome::Access { line, .. } => format!("{} {:?}", line.uri, line.latency_micros),
                _ => return,
            };
            events.push(key);
        };
        for record in block.records() {
            decoder.record(&record, SourceFacts::default(), &mut |outcome, _| take(outcome));
        }
        decoder.finish(&mut |outcome, _| take(outcome));
    }
    events
}

/// The number of events that are missing in another list.
fn lost(complete: &[String], damaged: &[String]) -> usize {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for key in damaged {
        *left.entry(key).or_default() += 1;
    }
    let mut is_lost = |key: &&String| match left.get_mut(key.as_str()) {
        Some(count @ 1..) => {
            *count -= 1;
            false
        }
        _ => true,
    };
    complete.iter().filter(|key| is_lost(key)).count()
}

/// Text in one input format, and its events.
struct Form {
    name: String,
    text: Vec<u8>,
    events: Vec<String>,
}

/// Every input format: the samples, and documents with more events.
static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let form = |(name, text): (String, Vec<u8>)| Form { name, events: events(&text), text };
    texts().into_iter().map(form).collect()
});

fn texts() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/logs");
    let mut forms = Vec::new();
    for entry in fs::read_dir(&folder).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let is_sample = path.is_file() && !name.ends_with(".expected.json");
        if !is_sample || ["README.md", "make.py", "mixed.jsonl"].contains(&&*name) {
            continue;
        }
        let mut text = fs::read(&path).expect("a file");
        if path.extension().is_some_and(|extension| extension == "gz") {
            let packed = std::mem::take(&mut text);
            MultiGzDecoder::new(&*packed).read_to_end(&mut text).expect("gzip");
        }
        forms.push((name, text));
    }
    forms.sort();
    forms.extend(documents());
    forms
}

/// Documents with events in each input format.
fn documents() -> Vec<(String, Vec<u8>)> {
    let audit = include_str!("../../fixtures/logs/audit.jsonl");
    let events: Vec<Value> = (0..24)
        .zip(audit.lines().cycle())
        .map(|(number, line)| {
            let mut event: Value = serde_json::from_str(line).expect("an event");
            event["auditID"] = format!("00000000-0000-4000-8000-{number:012}").into();
            event
        })
        .collect();
    let text = |event: &Value| event.to_string();
    let list = json!({"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "metadata": {}, "items": events});
    let azure = |event: &Value| {
        json!({"category": "kube-audit", "operationName": "x", "properties": {"log": text(event), "stream": "stdout"},
            "time": "2026-01-01T00:00:00Z"})
    };
    let aws = |event: &Value| json!({"id": "1", "timestamp": 1_767_225_600_000_u64, "message": text(event)});
    let body = |event: &Value| json!({"timeUnixNano": "1767225600000000000", "body": {"stringValue": text(event)}, "attributes": []});
    let of = |wrap: &dyn Fn(&Value) -> Value| Value::Array(events.iter().map(wrap).collect());
    let all = vec![
        ("array", Value::Array(events.clone())),
        ("event list", list),
        ("azure records", json!({ "records": of(&azure) })),
        (
            "azure objects",
            json!({ "records": of(&|event| {
            json!({"category": "kube-audit", "properties": {"log": event}, "time": "2026-01-01T00:00:00Z"})
        }) }),
        ),
        (
            "subscription",
            json!({"messageType": "DATA_MESSAGE", "owner": "1", "logGroup": "g", "logStream": "kube-apiserver-audit-1",
                "subscriptionFilters": ["f"], "logEvents": of(&aws)}),
        ),
        ("filtered events", json!({"events": of(&aws), "searchedLogStreams": []})),
        (
            "otlp",
            json!({"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [{"scope": {}, "logRecords": of(&body)}]}]}),
        ),
        (
            "insights",
            json!({"results": of(&|event| json!([
            {"field": "@timestamp", "value": "2026-01-01 00:00:00.000"}, {"field": "@message", "value": text(event)},
            {"field": "@ptr", "value": "x"}])), "status": "Complete"}),
        ),
        ("array of strings", of(&|event| text(event).into())),
    ];
    let mut documents = Vec::new();
    for (name, document) in all {
        documents.push((name.to_owned(), document.to_string().into_bytes()));
        documents.push((format!("{name}, a line"), format!("{document}\n").into_bytes()));
        let pretty = serde_json::to_string_pretty(&document).expect("JSON");
        documents.push((format!("{name}, pretty"), pretty.into_bytes()));
    }
    documents
}

/// The new value of a damaged byte.
const BYTES: &[u8] = b"\"\\{}[],:x0 \n\xff#";

impl Form {
    /// The number of lost events if a byte changes.
    fn lost_by(&self, at: usize, byte: u8) -> usize {
        let mut damaged = self.text.clone();
        damaged[at] = byte;
        lost(&self.events, &events(&damaged))
    }

    /// The number of complete events before a cut: those before the last new audit ID.
    fn complete(&self, cut: usize) -> usize {
        let id = |key: &String| key.split(' ').next().unwrap_or_default().to_owned();
        let is_there = |key: &&String| {
            id(key).len() > 20 && memchr::memmem::find(&self.text[..cut], id(key).as_bytes()).is_some()
        };
        let begun = self.events.iter().take_while(is_there).count();
        let is_first = |at: &usize| !self.events[..*at].iter().any(|key| id(key) == id(&self.events[*at]));
        (0..begun).rev().find(is_first).unwrap_or(0)
    }
}

#[test]
fn every_input_format_has_events() {
    assert!(FORMS.len() > 70);
    for form in FORMS.iter() {
        assert!(!form.events.is_empty(), "{}", form.name);
    }
}

#[test]
fn damage_at_the_start_or_the_end_of_a_document_loses_at_most_two_events() {
    for form in FORMS.iter() {
        let length = form.text.len();
        for (number, at) in (0..4).chain(length - 3..length).enumerate() {
            for byte in BYTES.iter().skip(number % 3).step_by(3) {
                let lost = form.lost_by(at, *byte);
                assert!(lost <= 2, "{}: byte {at} as {:?}: {lost} lost", form.name, char::from(*byte));
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn a_damaged_byte_loses_at_most_two_events(
        form: Index,
        at: Index,
        byte in prop_oneof![prop::sample::select(BYTES), any::<u8>()],
    ) {
        let form = form.get(&FORMS);
        let at = at.index(form.text.len());
        let lost = form.lost_by(at, byte);
        prop_assert!(lost <= 2, "{}: byte {at} as {:?}: {lost} lost", form.name, char::from(byte));
    }

    #[test]
    fn a_cut_loses_at_most_one_event_that_was_complete_before_it(form: Index, at: Index) {
        let form = form.get(&FORMS);
        let at = at.index(form.text.len());
        let complete = form.complete(at);
        let lost = lost(&form.events[..complete], &events(&form.text[..at]));
        prop_assert!(lost <= 1, "{}: cut at {at}: {lost} of {complete} lost", form.name);
    }
}
