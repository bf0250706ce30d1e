//! Tests that the size of reads does not change the records, even of damaged text.

use kubetoll::input::RecordKind;
use kubetoll::input::json::JsonScanner;
use proptest::prelude::*;

use crate::support::library::json_records::json_records;

/// The records of a text that is read in steps of `step` bytes.
fn records(text: &str, step: usize) -> Vec<(String, u64, RecordKind)> {
    let found = json_records(text.as_bytes(), step).into_iter();
    let text = |range| String::from_utf8_lossy(&text.as_bytes()[range]).trim().to_owned();
    found.map(|(range, line, part)| (text(range), line, part)).collect()
}

fn texts(text: &str) -> Vec<String> {
    records(text, 7).into_iter().map(|(text, ..)| text).collect()
}

#[test]
fn documents_and_elements_are_separated() {
    assert_eq!(texts(r#"{"a":[1,{}]}{"b":"}{"}"#), [r#"{"a":[1,{}]}"#, r#"{"b":"}{"}"#]);
    assert_eq!(texts("\u{feff}{\n \"a\": \"\\\"{\"\n}\n"), ["{\n \"a\": \"\\\"{\"\n}"]);
    assert_eq!(
        records("[{\"a\":1},\n {\"b\":2}]\n{\"c\":3}", 3),
        [
            ("{\"a\":1}".to_owned(), 1, RecordKind::Element),
            ("{\"b\":2}".to_owned(), 2, RecordKind::Element),
            ("{\"c\":3}".to_owned(), 3, RecordKind::Document)
        ]
    );
    assert_eq!(texts(r#"["x","y"]"#), [r#""x""#, r#""y""#]);
    assert_eq!(texts(r#"[[{"a":1}],[]]"#), [r#"[{"a":1}]"#, "[]"]);
}

#[test]
fn next_document_is_found_after_damage() {
    assert_eq!(texts("{\"a\": \"to\n{\"b\":2}"), ["{\"a\": \"to", "{\"b\":2}"], "torn in a string");
    assert_eq!(texts("{\"a\": 1\n{\"b\":2}\n{\"c\":3}"), ["{\"a\": 1", "{\"b\":2}", "{\"c\":3}"]);
    assert_eq!(texts("{\"a\": 1,\n{\"b\":2}"), ["{\"a\": 1,", "{\"b\":2}"], "torn behind a comma");
    assert_eq!(texts("{\"a\": #}{\"b\":2}"), ["{\"a\": #}", "{\"b\":2}"]);
    assert_eq!(texts("hello\n{\"b\":2}"), ["hello", "{\"b\":2}"]);
    assert_eq!(texts("}\n{\"b\":2}"), ["}", "{\"b\":2}"]);
    assert_eq!(texts("{\"a\":]\n{\"b\":2}"), ["{\"a\":]", "{\"b\":2}"]);
    assert_eq!(texts("{\"a\":\"\\"), ["{\"a\":\"\\"], "an escape at the end");
    assert_eq!(texts(&format!("{}\n{{}}", "[".repeat(400))).len(), 2, "deeper than any log");
}

#[test]
fn repeated_records_are_one_span() {
    for text in ["{\n", "{}", "}\n", "{\"kind\":\"Event\"", "x\n\n", "[]\n{}\r\n", "\"a\" "] {
        let mut scanner = JsonScanner::default();
        scanner.scan(text.repeat(10_000).as_bytes(), true);
        let spans = scanner.take(text.len() * 10_000);
        assert!(spans.len() < 30, "{text:?}: {} spans", spans.len());
    }
}

proptest! {
    #[test]
    fn repetitions_are_scanned_like_any_text(
        pieces in prop::collection::vec(
            prop::sample::select(vec!["{\"a\":1}", "[", "]", "{", "}", "\"", "\\", "\n", ",", ":", "x", " ", "    ", "1"]),
            1..7,
        ),
        times in 1_usize..40,
        end in "[\\[\\]{}\":,x \\n]{0,6}",
        step in 1_usize..300,
    ) {
        let text = pieces.concat().repeat(times) + &end;
        // With one byte per step, the scanner never sees a whole repetition.
        prop_assert_eq!(&records(&text, step), &records(&text, 1));
    }

    #[test]
    fn records_do_not_depend_on_the_size_of_reads(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "{\"a\":1}", "[", "]", "{", "}", "\"", "\\", "\n", ",", ":", "x", "{\"b\":\"\\\"\"}", " ", "\\\"", "1",
            ]),
            0..40,
        ),
        step in 1_usize..9,
    ) {
        let text = pieces.concat();
        let whole = records(&text, text.len().max(1));
        prop_assert_eq!(&records(&text, step), &whole);
        // Only separators may be outside the records.
        let inside: usize = whole.iter().map(|(text, ..)| text.split_whitespace().map(str::len).sum::<usize>()).sum();
        let outside = text.bytes().filter(|b| !b.is_ascii_whitespace()).count() - inside;
        let separators = text.bytes().filter(|b| matches!(b, b',' | b'[' | b']')).count();
        prop_assert!(outside <= separators, "{outside} bytes of {text:?} are in no record");
    }

    #[test]
    fn joined_documents_are_separated_again(
        numbers in prop::collection::vec(0_u32..1000, 1..12),
        pretty: bool,
        array: bool,
        step in 1_usize..40,
    ) {
        let document = |n: &u32| serde_json::json!({"n": n, "s": "{[\"\\]}", "l": [[], {}, {"x": null}]});
        let write = |value: &serde_json::Value| {
            if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) }.expect("JSON")
        };
        let values: Vec<_> = numbers.iter().map(document).collect();
        let text = if array {
            write(&serde_json::Value::Array(values.clone()))
        } else {
            values.iter().map(write).collect()
        };
        let found: Vec<serde_json::Value> = records(&text, step)
            .iter()
            .map(|(text, ..)| serde_json::from_str(text).expect("a document"))
            .collect();
        prop_assert_eq!(found, values);
    }
}
