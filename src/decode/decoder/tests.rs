//! Tests of the decoder.

use super::*;
use crate::decode::Envelope;
use proptest::prelude::*;

fn line(kind: u8, client: u8, number: usize) -> String {
    let event = format!(
        r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"{number}","stage":"ResponseComplete","requestURI":"/api/v1/pods?limit=5\u0026n={number}","verb":"list","user":{{"username":"u{}","groups":["{client}"]}},"userAgent":"a{client}","requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z","stageTimestamp":"2026-01-01T00:00:01.000000Z"}}"#,
        client % 20,
    );
    match kind {
        0 => event.replace("\"kind\":\"Event\",", ""),
        1 => event.replace("\"verb\"", "\"other\":[1],\"verb\""),
        2 => event.replace("\"ResponseComplete\"", "\"Other\""),
        3 => event.replace("\\u0026", "\\u00zz"),
        4 => event[..event.len() / 2].to_owned(),
        5 => format!("2026-01-01T00:00:00Z stdout P {}", &event[..event.len() / 2]),
        6 => format!("2026-01-01T00:00:00Z stdout F {}", &event[event.len() / 2..]),
        7 => event.replace("Metadata", "ü") + "\r",
        _ => event,
    }
}

/// An outcome without the caller's ID. Equal callers can have different IDs, because each decoder has its own cache.
fn summary(outcome: &Outcome<'_>, layers: Layers) -> String {
    let text = format!("{outcome:?} {layers:?}");
    match text.split_once("caller_id: ") {
        Some((before, behind)) => {
            before.to_owned() + &behind[behind.find(", object_ref").expect("it follows")..]
        }
        None => text,
    }
}

/// The outcomes of all lines, with their line numbers. `turn` is the batch size; 0 decodes each line alone.
fn outcomes(lines: &[String], turn: usize, required_format: Option<Layers>) -> Vec<(u64, String)> {
    let (mut decoder, facts) = (Decoder::new(required_format, 1 << 20), SourceFacts::default());
    let (mut outcomes, mut located) = (Vec::new(), Vec::new());
    let mut hand_over = |decoder: &mut Decoder, located: &mut Vec<LocatedEvent<'_>>| {
        decoder.decode_located(located, facts, &mut |record, outcome, layers| {
            outcomes.push((record.line, summary(&outcome, layers)));
        });
        assert!(located.is_empty());
    };
    let mut others = Vec::new();
    for (line, text) in (1..).zip(lines) {
        let record = Record { line, offset: 0, bytes: text.as_bytes(), kind: RecordKind::Line };
        let mut out = |outcome: Outcome<'_>, layers| others.push((line, summary(&outcome, layers)));
        if turn == 0 || !decoder.locate(record, &mut located, &mut out) {
            hand_over(&mut decoder, &mut located);
            decoder.record(&record, facts, &mut out);
        }
        if located.len() == turn {
            hand_over(&mut decoder, &mut located);
        }
    }
    hand_over(&mut decoder, &mut located);
    decoder.finish(&mut |outcome, layers| others.push((0, summary(&outcome, layers))));
    outcomes.extend(others);
    outcomes.sort_unstable();
    outcomes
}

proptest! {
    #[test]
    fn batches_decode_like_single_records(
        lines in prop::collection::vec((0_u8..30, 0_u8..90), 0..120),
        turn in 1_usize..60,
        required_format in prop::option::of(Just(Layers::default().with(Envelope::Cri))),
    ) {
        let lines: Vec<String> =
            lines.iter().enumerate().map(|(number, (kind, client))| line(*kind, *client, number)).collect();
        prop_assert_eq!(outcomes(&lines, turn, required_format), outcomes(&lines, 0, required_format));
    }
}

#[test]
fn binary_data_is_not_damaged_text() {
    let noise: Vec<u8> = (0..1_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    assert!(is_binary(&noise));
    assert!(!is_binary("größe\t名前\r".repeat(9).as_bytes()));
    assert!(!is_binary(&[&[0; 400][..], b"{\"kind\":\"Event\",\xff\x01}"].concat()));
}

proptest! {
    #[test]
    fn lossy_matches_the_standard_library(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xe2), Just(0x82), Just(b'a')], 0..60),
    ) {
        let text = lossy(&bytes);
        prop_assert_eq!(&text, &String::from_utf8_lossy(&bytes));
        prop_assert_eq!(text.capacity(), text.len());
    }
}
