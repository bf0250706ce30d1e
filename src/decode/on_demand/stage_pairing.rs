//! Pairs a `RequestReceived` event with a later event of the same request. Both events contain the same client and
//! request, in the same bytes. So the first event is only compared, not parsed; only its position and timestamp are
//! its own. It waits for its pair until the end of its block.
//!
//! The naive twin parses each event alone.

use std::hash::Hasher;

use rustc_hash::FxHasher;
use wide::u8x16;

use super::cursor::JsonCursor;
use super::event_fields::START;
use crate::decode::envelope::{Envelope, audit};
use crate::decode::outcome::Layers;
use crate::input::{Record, RecordKind};
use crate::k8s::Event;

/// How many events can wait at a time. A block contains about as many.
const SLOTS: usize = 1 << 10;
/// Longer events do not wait. In bytes.
const MAX_LINE: usize = 8 << 10;
/// The length of a timestamp. The server always writes microseconds.
///
/// Source: k8s.io/apimachinery `pkg/apis/meta/v1/micro_time.go:RFC3339Micro`.
const INSTANT: usize = "2026-01-01T00:00:00.000000Z".len();
const AUDIT_ID: &[u8] = br#","auditID":""#;
const STAGE: &[u8] = br#","stage":"RequestReceived""#;
const RECEIVED: &[u8] = br#","requestReceivedTimestamp":""#;
const WRITTEN: &[u8] = br#"","stageTimestamp":""#;
const END: &[u8] = br#""}"#;
const TAIL: usize = RECEIVED.len() + INSTANT + WRITTEN.len() + INSTANT + END.len();

/// The `RequestReceived` events of a block that wait for their pair.
#[derive(Debug)]
pub struct PendingRequestReceived<'b> {
    waiting: Vec<RequestReceived<'b>>,
    /// How many events to reserve memory for.
    expected: usize,
    /// By a hash of the audit ID: the event's index plus one, or 0.
    slots: [u16; SLOTS],
}

/// A `RequestReceived` event in exactly the log backend's format.
#[derive(Debug)]
struct RequestReceived<'b> {
    record: Record<'b>,
    /// Offset of the audit ID.
    audit_id: usize,
    /// Offset of the bytes after the stage. They extend to the event's timestamps.
    asked: usize,
    is_paired: bool,
}

/// A `RequestReceived` event whose other fields equal those of its pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairedRequestReceived<'b> {
    pub record: Record<'b>,
    /// The event's own `stageTimestamp`, as written. It contains only digits, capital letters and ASCII characters
    /// between them.
    pub logged_at: &'b [u8],
}

impl<'b> PendingRequestReceived<'b> {
    /// Creates the state for a block of `lines` lines.
    #[must_use]
    pub fn with_lines(lines: u64) -> Self {
        // At most half of the lines wait, because each event has a pair.
        let expected = usize::try_from(lines / 2).map_or(SLOTS, |half| half.min(SLOTS));
        Self { waiting: Vec::new(), expected, slots: [0; SLOTS] }
    }

    /// Keeps a `RequestReceived` event until its pair arrives. Returns false for any other record.
    pub fn keep(&mut self, record: Record<'b>) -> bool {
        let Some(arrival) = RequestReceived::parse(record) else { return false };
        let Ok(index) = u16::try_from(self.waiting.len() + 1) else { return false };
        // This may overwrite the slot of a waiting event. That event is then parsed alone.
        self.slots[slot_of(arrival.audit_id())] = index;
        if self.waiting.is_empty() {
            self.waiting.reserve(self.expected);
        }
        self.waiting.push(arrival);
        true
    }

    /// Finds the waiting event of the same request, if both are in the same format. `layers` are the envelopes of
    /// `event`.
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

    /// Takes the events without a pair, in the order of the log.
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

    /// `requestReceivedTimestamp` and `stageTimestamp`.
    fn instants(&self) -> (&'b [u8], &'b [u8]) {
        let tail = &self.record.bytes[self.record.bytes.len() - TAIL..];
        let logged_at = RECEIVED.len() + INSTANT + WRITTEN.len();
        (&tail[RECEIVED.len()..][..INSTANT], &tail[logged_at..][..INSTANT])
    }
}

/// Whether a timestamp contains only ASCII characters from `-` to `Z`: no quote and no escape.
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

    /// Whether a `RequestReceived` event is paired. If so, it checks that the event differs from its pair only in the
    /// fields of a response.
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
            // The compared bytes may end inside a field.
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
