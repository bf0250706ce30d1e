//! Decodes events in batches: first it locates the fields of several lines, then it emits one event after another.
//! The code for both steps does not fit into the processor's instruction cache. Without batches, the processor
//! fetches that code again for each event.
//!
//! Tests compare the outcomes with those of [`Decoder::record`].

use super::{Decoder, OutcomeSink, SourceFacts, TextContext, trim_end, with_required_format};
use crate::decode::on_demand::{EventFields, START};
use crate::decode::outcome::{Layers, Outcome};
use crate::input::{Record, RecordKind};

/// A record in the log backend's format, with the positions of its fields.
#[derive(Debug)]
pub struct LocatedEvent<'r> {
    record: Record<'r>,
    text: &'r str,
    fields: EventFields,
}

impl Decoder {
    /// Locates the fields of a record in exactly the log backend's format. Appends the record to `located`. The caller
    /// must emit the batch before it decodes any other record. Returns false for a record in any other format; the
    /// caller then decodes it with [`Decoder::record`].
    pub fn locate<'r>(
        &mut self,
        record: Record<'r>,
        located: &mut Vec<LocatedEvent<'r>>,
        out: OutcomeSink<'_>,
    ) -> bool {
        let may_be = record.kind == RecordKind::Line && !self.is_for_etcd && record.bytes.starts_with(START);
        if !may_be || std::mem::take(&mut self.is_last_line_nonstandard) {
            return false;
        }
        let Ok(text) = simdutf8::basic::from_utf8(trim_end(record.bytes)) else { return false };
        let own = located.push_mut(LocatedEvent { record, text, fields: EventFields::default() });
        if own.fields.find_in_server_order(text, &mut self.callers).is_none() {
            located.pop();
            self.is_last_line_nonstandard = true;
            return false;
        }
        // An event has none of the keys of a container line, so it cannot continue an unfinished line. So all
        // unfinished lines are dropped here.
        self.note_event(&record, out);
        true
    }

    /// Emits all located events, each with its record, and empties the batch.
    pub fn decode_located<'r>(
        &mut self,
        located: &mut Vec<LocatedEvent<'r>>,
        facts: SourceFacts,
        out: &mut dyn FnMut(&Record<'r>, Outcome<'_>, Layers),
    ) {
        let required_format = self.required_format;
        for LocatedEvent { record, text, fields } in &mut *located {
            let out: OutcomeSink<'_> = &mut |outcome, layers| {
                out(record, with_required_format(required_format, outcome, layers), layers);
            };
            let context = TextContext::new(record.bytes, Layers::default(), facts);
            if !self.event_of(Some(fields), text, context, out) {
                self.open_object(text, context, out);
            }
        }
        located.clear();
    }
}

#[cfg(test)]
mod tests {
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

    fn summary(outcome: &Outcome<'_>, layers: Layers) -> String {
        format!("{outcome:?} {layers:?}")
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
}
