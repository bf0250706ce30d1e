//! Properties of any bytes that are read as a log in an envelope. Each entry is decoded once. Block boundaries,
//! block order and earlier records do not change an entry.

use std::sync::LazyLock;

use kubetoll::decode::{Decoder, Envelope, Foreign, Layers, Outcome, SkipReason, SourceFacts, detect};
use kubetoll::input::{Block, Framing, RecordKind};

use super::json_records::json_records;
use super::run::{self, MAX_LINE};

/// An entry's content, and the envelopes around it.
type Entry = (String, Layers);

/// Lines after which the decoder has last seen an envelope, one line for each depth.
static OTHERS: LazyLock<Block> = LazyLock::new(|| {
    let event = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"a","stage":"Panic"}"#;
    let mut lines = format!("2026-01-01T00:00:00Z stdout P {{\"log\":\n{event}\n");
    let mut nested = event.to_owned();
    for _ in 0..Layers::MAX {
        nested = format!("{{\"message\":{nested}}}");
        lines.push_str(&nested);
        lines.push('\n');
    }
    Block { first_line: 1, bytes: lines.into_bytes(), ..Block::default() }
});

/// A log that is decoded with a given envelope but may be in any.
pub fn envelope(envelope: Envelope, bytes: &[u8]) {
    let form = Layers::default().with(envelope);
    let framing = detect::framing_of(Some(form))(bytes);
    let (complete, blocks) = run::whole_and_pieces(bytes, framing);
    let free = read(&mut Decoder::new(None, MAX_LINE), [&complete]);
    let forced = read(&mut Decoder::new(Some(form), MAX_LINE), [&complete]);
    assert_eq!(free.len(), forced.len(), "what is another form's is skipped, not lost");
    // YAML aliases repeat content that occurs once.
    let repeats = matches!(framing, Framing::Yaml);
    assert!(free.len() <= bytes.len() + 1 || repeats, "no entry comes of nothing");
    for (free, forced) in free.iter().zip(&forced) {
        let no_form =
            [skip(SkipReason::Blank), format!("{:?}", Outcome::Foreign(Foreign::Part))].contains(&free.0);
        // The start of a batch may be damaged. The given envelope then decides how its elements are decoded.
        let is_named = forced.0 == free.0 && forced.1.contains(envelope);
        let expected_layers = if is_named { forced.1 } else { free.1 };
        let passes = is_named || free.1.contains(envelope) || no_form;
        let expected = if passes { free.0.clone() } else { skip(SkipReason::OtherFormat) };
        assert_eq!(
            (&expected, expected_layers),
            (&forced.0, forced.1),
            "the form named is read as without its name"
        );
    }
    for (only, expected) in [(None, free), (Some(form), forced)] {
        let mut decoder = Decoder::new(only, MAX_LINE);
        read(&mut decoder, [&*OTHERS]);
        assert_eq!(read(&mut decoder, &blocks), expected, "the same in pieces, after any earlier input");
        let mut apart: Vec<Entry> = Vec::new();
        for block in blocks.iter().rev() {
            apart.append(&mut read(&mut Decoder::new(only, MAX_LINE), [block]));
        }
        assert_eq!(sorted(apart), sorted(expected), "the same in pieces, whoever reads them");
    }
}

/// Text that is scanned at once and in pieces of some size gives the same records in the same order. Only
/// separators between records are skipped.
pub fn json_scanner(bytes: &[u8]) {
    let complete = json_records(bytes, bytes.len().max(1));
    for step in [1, 2, 3, 7, 64] {
        assert_eq!(json_records(bytes, step), complete, "read {step} at a time");
    }
    let mut at = 0;
    for (range, _, _) in complete.into_iter().chain([(bytes.len()..bytes.len(), 0, RecordKind::Line)]) {
        assert!(at <= range.start && range.start <= range.end, "one behind the other");
        let between = |byte: &u8| {
            byte.is_ascii_whitespace() || matches!(byte, 0 | b',' | b'[' | b']' | 0xef | 0xbb | 0xbf)
        };
        assert!(bytes[at..range.start].iter().all(between), "nothing is lost between records");
        at = range.end;
    }
}

/// The entries of blocks that one decoder reads.
fn read<'b>(decoder: &mut Decoder, blocks: impl IntoIterator<Item = &'b Block>) -> Vec<Entry> {
    let facts = SourceFacts { year: Some(2026), modified: None };
    let mut entries = Vec::new();
    for block in blocks {
        let mut take = |outcome: Outcome<'_>, layers| entries.push((debug_text(&outcome), layers));
        for record in block.records() {
            decoder.record(&record, facts, &mut take);
        }
        decoder.finish(&mut take);
    }
    entries
}

/// An entry's content, without its formatting and the decoder's number of its client.
fn debug_text(outcome: &Outcome<'_>) -> String {
    let text = format!("{outcome:?}");
    match outcome {
        Outcome::Event(event, _) => text
            .replace(&format!(", request_bytes: {:?}", event.request_bytes), "")
            .replace(&format!(", caller_id: {:?}", event.caller_id), ""),
        Outcome::Skip(reason, _) => skip(*reason),
        _ => text,
    }
}

fn skip(reason: SkipReason) -> String {
    format!("{reason:?}")
}

fn sorted(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_unstable();
    entries
}
