//! Pairs a `RequestReceived` event with a later event of the same request. Both events contain the same client and
//! request, in the same bytes. So the `RequestReceived` event is only compared, not parsed. kubetoll takes only the
//! position and the `stageTimestamp` from this event. The `RequestReceived` event waits until the end of its block.
//!
//! Tests compare a paired event with the same event, parsed alone.

use std::hash::Hasher;

use rustc_hash::FxHasher;
use wide::u8x16;

use super::cursor::JsonCursor;
use super::event_fields::START;
use crate::decode::envelope::Envelope;
use crate::decode::outcome::Layers;
use crate::input::{Record, RecordKind};
use crate::k8s::Event;

/// The maximum number of events that wait at a time. A block contains about as many events.
const SLOTS: usize = 1 << 10;
/// In bytes. Longer events do not wait for the later event of their request.
const MAX_LINE: usize = 8 << 10;
/// The length of a timestamp. The server always writes microseconds.
///
/// Source: k8s.io/apimachinery `pkg/apis/meta/v1/micro_time.go:RFC3339Micro`.
const TIMESTAMP: usize = "2026-01-01T00:00:00.000000Z".len();
const AUDIT_ID: &[u8] = br#","auditID":""#;
const STAGE: &[u8] = br#","stage":"RequestReceived""#;
const RECEIVED: &[u8] = br#","requestReceivedTimestamp":""#;
const WRITTEN: &[u8] = br#"","stageTimestamp":""#;
const END: &[u8] = br#""}"#;
const TAIL: usize = RECEIVED.len() + TIMESTAMP + WRITTEN.len() + TIMESTAMP + END.len();

/// The `RequestReceived` events of a block that wait for a later event of the same request.
#[derive(Debug)]
pub(crate) struct PendingRequestReceived<'b> {
    waiting: Vec<RequestReceived<'b>>,
    /// How many events to reserve memory for.
    expected: usize,
    /// The slots, chosen by a hash of the audit ID. Each contains an event's index plus one, or 0 if it is empty.
    slots: [u16; SLOTS],
}

/// A `RequestReceived` event in exactly the log backend's format.
#[derive(Debug)]
struct RequestReceived<'b> {
    record: Record<'b>,
    /// Offset of the audit ID.
    audit_id: usize,
    /// Offset of the bytes that are compared with those of the later event. They begin after the stage and end before
    /// the event's timestamps.
    request: usize,
    is_paired: bool,
}

/// A `RequestReceived` event that was paired with a later event. Fields that this struct lacks are equal in both
/// events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PairedRequestReceived<'b> {
    pub(crate) record: Record<'b>,
    /// The event's own `stageTimestamp`, as written. It contains only ASCII characters from `-` to `Z`: no quote and
    /// no escape.
    pub(crate) logged_at: &'b [u8],
}

impl<'b> PendingRequestReceived<'b> {
    /// Creates the state for a block of `lines` lines.
    #[must_use]
    pub(crate) fn with_lines(lines: u64) -> Self {
        // At most half of the lines wait, because each waiting event normally has a later event in the block.
        let expected = usize::try_from(lines / 2).map_or(SLOTS, |half| half.min(SLOTS));
        Self { waiting: Vec::new(), expected, slots: [0; SLOTS] }
    }

    /// Keeps a `RequestReceived` event, so that [`Self::pair`] can find it later. Returns false for any other record.
    pub(crate) fn keep(&mut self, record: Record<'b>) -> bool {
        let Some(waiting_event) = RequestReceived::parse(record) else { return false };
        let Ok(index) = u16::try_from(self.waiting.len() + 1) else { return false };
        // This may overwrite another waiting event in the same slot. The overwritten event is then parsed alone.
        self.slots[slot_of(waiting_event.audit_id())] = index;
        if self.waiting.is_empty() {
            self.waiting.reserve(self.expected);
        }
        self.waiting.push(waiting_event);
        true
    }

    /// Finds the waiting event of the same request. Both events must be plain audit events. `layers` are the
    /// envelopes of `event`.
    pub(crate) fn pair(&mut self, event: &Event<'_>, layers: Layers) -> Option<PairedRequestReceived<'b>> {
        let request = event.request_bytes.as_ref()?;
        let slot = self.slots[slot_of(event.audit_id.as_bytes())];
        let waiting_event = self.waiting.get_mut(usize::from(slot).checked_sub(1)?)?;
        let (received, logged_at) = waiting_event.timestamps();
        let is_it = !waiting_event.is_paired
            && waiting_event.audit_id() == event.audit_id.as_bytes()
            && waiting_event.request() == request.as_bytes()
            && received == event.received().as_bytes()
            && layers == Layers::default().with(Envelope::Audit)
            && Envelope::of_event(event) == Envelope::Audit;
        waiting_event.is_paired |= is_it;
        is_it.then_some(PairedRequestReceived { record: waiting_event.record, logged_at })
    }

    /// Takes the events without a pair, in the order of the log.
    pub(crate) fn take_unpaired(&mut self) -> impl Iterator<Item = Record<'b>> + use<'b> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting
            .into_iter()
            .filter(|waiting_event| !waiting_event.is_paired)
            .map(|waiting_event| waiting_event.record)
    }
}

impl<'b> RequestReceived<'b> {
    fn parse(record: Record<'b>) -> Option<Self> {
        let line = record.bytes;
        if record.kind != RecordKind::Line || line.len() > MAX_LINE {
            return None;
        }
        let mut cursor = JsonCursor::from_bytes(line)?;
        let is_of_a_level = cursor.take_literal(START)
            && (cursor.take_literal(b"Metadata\"")
                || cursor.take_literal(b"RequestResponse\"")
                || cursor.take_literal(b"Request\""));
        if !is_of_a_level {
            return None;
        }
        let audit_id = cursor.string_after(AUDIT_ID)?;
        if !cursor.take_literal(STAGE) {
            return None;
        }
        let waiting_event =
            Self { record, audit_id: audit_id.range().start, request: cursor.at(), is_paired: false };
        let tail = line.get(cursor.at()..)?.last_chunk::<TAIL>()?;
        let is_alike = !audit_id.has_escapes
            && tail.starts_with(RECEIVED)
            && tail[RECEIVED.len() + TIMESTAMP..].starts_with(WRITTEN)
            && tail.ends_with(END)
            && is_plain(waiting_event.timestamps().1);
        is_alike.then_some(waiting_event)
    }

    fn audit_id(&self) -> &'b [u8] {
        &self.record.bytes[self.audit_id..self.request - STAGE.len() - 1]
    }

    fn request(&self) -> &'b [u8] {
        &self.record.bytes[self.request..self.record.bytes.len() - TAIL]
    }

    /// `requestReceivedTimestamp` and `stageTimestamp`.
    fn timestamps(&self) -> (&'b [u8], &'b [u8]) {
        let tail = &self.record.bytes[self.record.bytes.len() - TAIL..];
        let logged_at = RECEIVED.len() + TIMESTAMP + WRITTEN.len();
        (&tail[RECEIVED.len()..][..TIMESTAMP], &tail[logged_at..][..TIMESTAMP])
    }
}

/// Whether a timestamp contains only ASCII characters from `-` to `Z`: no quote and no escape.
fn is_plain(timestamp: &[u8]) -> bool {
    const STEP: usize = 16;
    let is_plain = |bytes: Option<&[u8; STEP]>| {
        bytes.is_some_and(|bytes| {
            let bytes = u8x16::new(*bytes);
            bytes.max(u8x16::splat(b'-')).min(u8x16::splat(b'Z')) == bytes
        })
    };
    is_plain(timestamp.first_chunk()) & is_plain(timestamp.last_chunk())
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
    const REQUEST: &str = r#"","requestURI":"/api/v1/pods?limit=5\u0026x=ü","verb":"list","user":{"username":"u","groups":["g"]},"userAgent":"k\"l","objectRef":{"resource":"pods"}"#;
    const RECEIVED_TAIL: &str = r#","requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z","stageTimestamp":"2026-01-01T00:00:00.000001Z"}"#;
    const RESPONSE_TAIL: &str = r#","responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z","stageTimestamp":"2026-01-01T00:00:01.000000Z","annotations":{"a":"b"}}"#;

    /// Whether a `RequestReceived` event is paired with a later event. If so, this function checks the fields of the
    /// pair. Only the stage, `stageTimestamp`, the response status and the annotations may differ between the two
    /// events.
    fn is_paired(waiting_event: &[u8], later_event: &str) -> bool {
        let mut pending = PendingRequestReceived::with_lines(0);
        if !pending.keep(Record { line: 1, offset: 0, bytes: waiting_event, kind: RecordKind::Line }) {
            return false;
        }
        let mut unescaped = String::new();
        let mut recent = CachedCallers::default();
        let mut fields = EventFields::find(later_event, &mut recent).expect("an event");
        let event = fields.event(later_event, &mut unescaped).expect("escapes");
        let Some(pair) = pending.pair(&event, Layers::default().with(Envelope::Audit)) else {
            assert_eq!(pending.take_unpaired().count(), 1);
            return false;
        };
        assert_eq!(pending.take_unpaired().count(), 0);
        let own: Event<'_> = serde_json::from_slice(waiting_event).expect("a paired text is an event");
        assert!(crate::decode::envelope::audit::is_event(&own));
        let expected = Event {
            stage_name: "RequestReceived".to_owned().into(),
            stage_timestamp: String::from_utf8(pair.logged_at.to_vec()).expect("ASCII").into(),
            response_status: None,
            annotations: None,
            request_bytes: None,
            ..event
        };
        assert_eq!(own, expected);
        true
    }

    #[test]
    fn request_received_is_paired_with_each_later_stage() {
        let waiting_event = format!("{HEAD}RequestReceived{REQUEST}{RECEIVED_TAIL}");
        for stage in ["ResponseStarted", "ResponseComplete", "Panic"] {
            assert!(is_paired(waiting_event.as_bytes(), &format!("{HEAD}{stage}{REQUEST}{RESPONSE_TAIL}")));
        }
        let later_event = format!("{HEAD}ResponseComplete{REQUEST}{RESPONSE_TAIL}");
        for (from, to) in [
            ("a0c2", "b0c2"),
            ("list", "get"),
            ("\"u\"", "\"v\""),
            ("00.000000Z", "00.000009Z"),
            ("requestReceived", "requestArrived"),
        ] {
            assert!(!is_paired(waiting_event.replacen(from, to, 1).as_bytes(), &later_event), "{to}");
        }
        assert!(!is_paired(later_event.as_bytes(), &later_event));
    }

    #[test]
    fn each_event_is_paired_once_with_its_own() {
        let lines: Vec<String> = (0..2_000)
            .map(|n| format!("{HEAD}RequestReceived{REQUEST}{RECEIVED_TAIL}").replace("a0c2", &n.to_string()))
            .collect();
        let mut pending = PendingRequestReceived::with_lines(0);
        for (line, text) in (1..).zip(&lines) {
            assert!(pending.keep(Record { line, offset: 0, bytes: text.as_bytes(), kind: RecordKind::Line }));
        }
        let mut paired = 0;
        for (line, n) in (1..).zip(0..2_000) {
            let later_event = format!("{HEAD}Panic{REQUEST}{RESPONSE_TAIL}").replace("a0c2", &n.to_string());
            let mut unescaped = String::new();
            let mut recent = CachedCallers::default();
            let mut fields = EventFields::find(&later_event, &mut recent).expect("an event");
            let event = fields.event(&later_event, &mut unescaped).expect("escapes");
            for round in 0..2 {
                if let Some(pair) = pending.pair(&event, Layers::default().with(Envelope::Audit)) {
                    assert_eq!((pair.record.line, round), (line, 0), "each pairs once, with its own");
                    paired += 1;
                }
            }
        }
        assert_eq!(pending.take_unpaired().count(), 2_000 - paired);
        assert!((500..=SLOTS).contains(&paired), "{paired}");
    }

    proptest! {
        #[test]
        fn damaged_events_are_never_paired_wrongly(
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            cut in prop::option::of((any::<prop::sample::Index>(), 0_usize..40)),
            shift in 0_usize..60,
        ) {
            // Cuts off the end of the request, possibly inside a field.
            let request = &REQUEST[..REQUEST.len() - shift];
            prop_assume!(REQUEST.is_char_boundary(REQUEST.len() - shift));
            let mut waiting_event = format!("{HEAD}RequestReceived{request}{RECEIVED_TAIL}").into_bytes();
            for (at, byte) in flips {
                let at = at.index(waiting_event.len());
                waiting_event[at] = byte;
            }
            if let Some((at, length)) = cut {
                let at = at.index(waiting_event.len());
                waiting_event.drain(at..(at + length).min(waiting_event.len()));
            }
            is_paired(&waiting_event, &format!("{HEAD}ResponseComplete{REQUEST}{RESPONSE_TAIL}"));
        }
    }
}
