//! Pairs a `RequestReceived` event with its `ResponseComplete` event. The server writes an event when a request arrives and another when it is answered, and
//! both say who asks and what in the same words: of most arrivals all is known once the answer's event is read, but for
//! where and when they were written. So an arrival waits for its answer as long as its block is read.
//!
//! The naive twin is reading each event by itself.

use std::hash::Hasher;

use rustc_hash::FxHasher;
use wide::u8x16;

use super::cursor::JsonCursor;
use super::event_fields::START;
use crate::decode::envelope::{Envelope, audit};
use crate::decode::outcome::Layers;
use crate::input::{Record, RecordKind};
use crate::k8s::Event;

/// How many arrivals can wait at a time: about as many as a block holds.
const SLOTS: usize = 1 << 10;
/// Longer ones do not wait, in bytes.
const MAX_LINE: usize = 8 << 10;
/// Microseconds are always written.
///
/// Source: k8s.io/apimachinery `pkg/apis/meta/v1/micro_time.go:RFC3339Micro`.
const INSTANT: usize = "2026-01-01T00:00:00.000000Z".len();
const AUDIT_ID: &[u8] = br#","auditID":""#;
const STAGE: &[u8] = br#","stage":"RequestReceived""#;
const RECEIVED: &[u8] = br#","requestReceivedTimestamp":""#;
const WRITTEN: &[u8] = br#"","stageTimestamp":""#;
const END: &[u8] = br#""}"#;
const TAIL: usize = RECEIVED.len() + INSTANT + WRITTEN.len() + INSTANT + END.len();

/// The arrivals of a block.
#[derive(Debug)]
pub struct PendingRequestReceived<'b> {
    waiting: Vec<RequestReceived<'b>>,
    /// How many to make room for.
    expected: usize,
    /// By a hash of the audit ID: one more than the arrival's index, or 0.
    slots: [u16; SLOTS],
}

/// An event at `RequestReceived` that is written to the letter as the log backend does.
#[derive(Debug)]
struct RequestReceived<'b> {
    record: Record<'b>,
    /// Where the audit ID begins.
    audit_id: usize,
    /// From behind the stage to where an answer would stand.
    asked: usize,
    is_paired: bool,
}

/// An arrival of which the answer's event tells all else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairedRequestReceived<'b> {
    /// Where it stands.
    pub record: Record<'b>,
    /// Its own time, as it is written: no more than letters, digits and what stands between them.
    pub logged_at: &'b [u8],
}

impl<'b> PendingRequestReceived<'b> {
    /// Those of a block of so many lines.
    #[must_use]
    pub fn with_lines(lines: u64) -> Self {
        // Each has its answer.
        let expected = usize::try_from(lines / 2).map_or(SLOTS, |half| half.min(SLOTS));
        Self { waiting: Vec::new(), expected, slots: [0; SLOTS] }
    }

    /// Keeps a record that is an arrival; false for any other.
    pub fn keep(&mut self, record: Record<'b>) -> bool {
        let Some(arrival) = RequestReceived::parse(record) else { return false };
        let Ok(index) = u16::try_from(self.waiting.len() + 1) else { return false };
        // Where another one waits, that is read by itself.
        self.slots[slot_of(arrival.audit_id())] = index;
        if self.waiting.is_empty() {
            self.waiting.reserve(self.expected);
        }
        self.waiting.push(arrival);
        true
    }

    /// The arrival of the request that an event is of, if both are written alike. `layers` is the event's form.
    pub fn pair(&mut self, event: &Event<'_>, layers: Layers) -> Option<PairedRequestReceived<'b>> {
        let asked = event.request_bytes?;
        let slot = self.slots[slot_of(event.audit_id.as_bytes())];
        let arrival = self.waiting.get_mut(usize::from(slot).checked_sub(1)?)?;
        let (received, logged_at) = arrival.instants();
        let is_it = !arrival.is_paired
            && arrival.audit_id() == event.audit_id.as_bytes()
            && arrival.asked() == asked.as_bytes()
            && received == event.received().as_bytes()
            && layers == Layers::default().with(Envelope::Audit)
            && audit::form(event) == Envelope::Audit;
        arrival.is_paired |= is_it;
        is_it.then_some(PairedRequestReceived { record: arrival.record, logged_at })
    }

    /// Takes the arrivals of which no answer was found, as they came.
    pub fn take_unpaired(&mut self) -> impl Iterator<Item = Record<'b>> + use<'b> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().filter(|arrival| !arrival.is_paired).map(|arrival| arrival.record)
    }
}

impl<'b> RequestReceived<'b> {
    fn parse(record: Record<'b>) -> Option<Self> {
        let line = record.bytes;
        if record.kind != RecordKind::Line || line.len() > MAX_LINE {
            return None;
        }
        let mut cursor = JsonCursor::from_bytes(line)?;
        let is_of_a_level = cursor.has(START)
            && (cursor.has(b"Metadata\"") || cursor.has(b"RequestResponse\"") || cursor.has(b"Request\""));
        if !is_of_a_level {
            return None;
        }
        let audit_id = cursor.string_behind(AUDIT_ID)?;
        if !cursor.has(STAGE) {
            return None;
        }
        let arrival = Self { record, audit_id: audit_id.range().start, asked: cursor.at(), is_paired: false };
        let tail = line.get(cursor.at()..)?.last_chunk::<TAIL>()?;
        let is_alike = !audit_id.escaped
            && tail.starts_with(RECEIVED)
            && tail[RECEIVED.len() + INSTANT..].starts_with(WRITTEN)
            && tail.ends_with(END)
            && is_plain(arrival.instants().1);
        is_alike.then_some(arrival)
    }

    fn audit_id(&self) -> &'b [u8] {
        &self.record.bytes[self.audit_id..self.asked - STAGE.len() - 1]
    }

    fn asked(&self) -> &'b [u8] {
        &self.record.bytes[self.asked..self.record.bytes.len() - TAIL]
    }

    /// When the request was received, and when this was written.
    fn instants(&self) -> (&'b [u8], &'b [u8]) {
        let tail = &self.record.bytes[self.record.bytes.len() - TAIL..];
        let logged_at = RECEIVED.len() + INSTANT + WRITTEN.len();
        (&tail[RECEIVED.len()..][..INSTANT], &tail[logged_at..][..INSTANT])
    }
}

/// Whether an instant has no byte but digits, capitals and what stands between these in ASCII: no quote, no escape.
fn is_plain(instant: &[u8]) -> bool {
    const STEP: usize = 16;
    let is_plain = |bytes: Option<&[u8; STEP]>| {
        bytes.is_some_and(|bytes| {
            let bytes = u8x16::new(*bytes);
            bytes.max(u8x16::splat(b'-')).min(u8x16::splat(b'Z')) == bytes
        })
    };
    is_plain(instant.first_chunk()) & is_plain(instant.last_chunk())
}

fn slot_of(audit_id: &[u8]) -> usize {
    let mut hasher = FxHasher::default();
    hasher.write(audit_id);
    (hasher.finish() >> 20) as usize & (SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use super::super::{CachedCallers, EventFields};
    use super::*;

    use proptest::prelude::*;

    const HEAD: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"a0c2f5ae-32a5-4ad6-95c9-ca3e1a16e9d9","stage":""#;
    const ASKED: &str = r#"","requestURI":"/api/v1/pods?limit=5\u0026x=ü","verb":"list","user":{"username":"u","groups":["g"]},"userAgent":"k\"l","objectRef":{"resource":"pods"}"#;
    const ARRIVED: &str = r#","requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z","stageTimestamp":"2026-01-01T00:00:00.000001Z"}"#;
    const ANSWER: &str = r#","responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z","stageTimestamp":"2026-01-01T00:00:01.000000Z","annotations":{"a":"b"}}"#;

    /// Whether an arrival is told by an answer. It is an event then that differs in what the answer adds only.
    fn is_told(arrival: &[u8], answer: &str) -> bool {
        let mut arrivals = PendingRequestReceived::with_lines(0);
        if !arrivals.keep(Record { line: 1, offset: 0, bytes: arrival, kind: RecordKind::Line }) {
            return false;
        }
        let mut unescaped = String::new();
        let mut recent = CachedCallers::default();
        let mut fields = EventFields::find(answer, &mut recent).expect("an event");
        fields.unescape(answer, &mut unescaped).expect("escapes");
        let event = fields.event(answer, &unescaped, &recent).expect("its client is kept");
        let Some(told) = arrivals.pair(&event, Layers::default().with(Envelope::Audit)) else {
            assert_eq!(arrivals.take_unpaired().count(), 1);
            return false;
        };
        assert_eq!(arrivals.take_unpaired().count(), 0);
        let own: Event<'_> = serde_json::from_slice(arrival).expect("what is told is an event");
        assert!(audit::is_event(&own));
        let expected = Event {
            stage_name: "RequestReceived".to_owned().into(),
            stage_timestamp: String::from_utf8(told.logged_at.to_vec()).expect("ASCII").into(),
            response_status: None,
            annotations: None,
            request_bytes: None,
            ..event
        };
        assert_eq!(own, expected);
        true
    }

    #[test]
    fn an_arrival_is_told_by_its_answer() {
        let arrival = format!("{HEAD}RequestReceived{ASKED}{ARRIVED}");
        for stage in ["ResponseStarted", "ResponseComplete", "Panic"] {
            assert!(is_told(arrival.as_bytes(), &format!("{HEAD}{stage}{ASKED}{ANSWER}")));
        }
        let answer = format!("{HEAD}ResponseComplete{ASKED}{ANSWER}");
        for (from, to) in [
            ("a0c2", "b0c2"),
            ("list", "get"),
            ("\"u\"", "\"v\""),
            ("00.000000Z", "00.000009Z"),
            ("requestReceived", "requestArrived"),
        ] {
            assert!(!is_told(arrival.replacen(from, to, 1).as_bytes(), &answer), "{to}");
        }
        assert!(!is_told(answer.as_bytes(), &answer));
    }

    #[test]
    fn of_several_each_finds_its_own() {
        let lines: Vec<String> = (0..2_000)
            .map(|n| format!("{HEAD}RequestReceived{ASKED}{ARRIVED}").replace("a0c2", &n.to_string()))
            .collect();
        let mut arrivals = PendingRequestReceived::with_lines(0);
        for (line, text) in (1..).zip(&lines) {
            assert!(arrivals.keep(Record {
                line,
                offset: 0,
                bytes: text.as_bytes(),
                kind: RecordKind::Line
            }));
        }
        let mut told = 0;
        for (line, n) in (1..).zip(0..2_000) {
            let answer = format!("{HEAD}Panic{ASKED}{ANSWER}").replace("a0c2", &n.to_string());
            let mut unescaped = String::new();
            let mut recent = CachedCallers::default();
            let mut fields = EventFields::find(&answer, &mut recent).expect("an event");
            fields.unescape(&answer, &mut unescaped).expect("escapes");
            let event = fields.event(&answer, &unescaped, &recent).expect("its client is kept");
            for round in 0..2 {
                if let Some(found) = arrivals.pair(&event, Layers::default().with(Envelope::Audit)) {
                    assert_eq!((found.record.line, round), (line, 0), "its own, and once");
                    told += 1;
                }
            }
        }
        assert_eq!(arrivals.take_unpaired().count(), 2_000 - told);
        assert!((500..=SLOTS).contains(&told), "{told}");
    }

    proptest! {
        #[test]
        fn what_is_damaged_is_read_by_itself(
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            cut in prop::option::of((any::<prop::sample::Index>(), 0_usize..40)),
            shift in 0_usize..60,
        ) {
            // The end of what is asked may stand anywhere in it.
            let asked = &ASKED[..ASKED.len() - shift];
            prop_assume!(ASKED.is_char_boundary(ASKED.len() - shift));
            let mut arrival = format!("{HEAD}RequestReceived{asked}{ARRIVED}").into_bytes();
            for (at, byte) in flips {
                let at = at.index(arrival.len());
                arrival[at] = byte;
            }
            if let Some((at, length)) = cut {
                let at = at.index(arrival.len());
                arrival.drain(at..(at + length).min(arrival.len()));
            }
            is_told(&arrival, &format!("{HEAD}ResponseComplete{ASKED}{ANSWER}"));
        }
    }
}
