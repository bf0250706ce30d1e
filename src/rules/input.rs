//! What rules on the input may ask: `input.*`. The one list of these names.

use super::group::{Whole, is_write};
use super::value::Kind::{Bool, Int};
use super::value::{Name, Value};
use crate::apiserver::Target;
use crate::decode::SkipReason;
use crate::k8s::Verb;
use crate::ledger::InputCounts;

/// Finds a fact of the input.
pub type Get = fn(&InputFacts) -> Value<'_>;

/// What was read, summed up.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub struct InputFacts {
    events: u64,
    requests: u64,
    minutes: u64,
    received_only: bool,
    without_uri: u64,
    reads: u64,
    lists: u64,
    writes: u64,
    without_reads: bool,
    cut: u64,
    skipped: u64,
    damaged: u64,
    longest_gap: u64,
    filtered: u64,
    access_only: bool,
}

impl InputFacts {
    /// Sums up.
    #[must_use]
    pub fn of(input: &InputCounts, whole: &Whole<'_>) -> Self {
        let lost = |reason: SkipReason| input.skipped.get(&reason).map_or(0, |(count, _)| *count);
        let all: u64 = input.skipped.values().map(|(count, _)| count).sum();
        let mut facts = Self {
            events: input.all_events(),
            requests: whole.requests,
            minutes: input.activity.span_minutes(),
            received_only: input.received_only(),
            without_reads: input.sources.values().any(|source| source.without_reads > 0),
            cut: input.truncated
                + lost(SkipReason::Truncated)
                + lost(SkipReason::CutByCloudwatch)
                + lost(SkipReason::TooLong),
            skipped: all - lost(SkipReason::Blank),
            damaged: input.damaged.len() as u64,
            longest_gap: input.activity.longest_gap().map_or(0, |gap| gap.minutes),
            filtered: input.filtered,
            access_only: input.all_events() > 0 && input.access_lines == input.all_events(),
            ..Self::default()
        };
        for (key, entry) in whole.accounts.clients.iter().flat_map(|account| &account.entries) {
            let requests = whole.accounts.requests_of(entry);
            let is_unknown =
                matches!(entry.asked.as_ref().map(|asked| &asked.target), Some(Target::Unknown { .. }));
            facts.without_uri += if is_unknown { requests } else { 0 };
            match key.verb.filter(|_| key.scope.is_some() || is_unknown) {
                Some(Verb::List) => {
                    facts.lists += requests;
                    facts.reads += requests;
                }
                Some(Verb::Get | Verb::Watch) => facts.reads += requests,
                Some(verb) if is_write(verb) => facts.writes += requests,
                _ => {}
            }
        }
        facts
    }
}

/// `input.*`
pub const INPUT: &[Name<Get>] = &[
    Name { name: "events", kind: Int, doc: "Events.", get: |input| Value::count(input.events) },
    Name { name: "requests", kind: Int, doc: "Requests.", get: |input| Value::count(input.requests) },
    Name {
        name: "minutes",
        kind: Int,
        doc: "Minutes from the first event to the last.",
        get: |input| Value::count(input.minutes),
    },
    Name {
        name: "receivedOnly",
        kind: Bool,
        doc: "All events are arrivals (RequestReceived): no answer and no duration is known.",
        get: |input| Value::Bool(input.received_only),
    },
    Name {
        name: "withoutUri",
        kind: Int,
        doc: "Requests of which no target is recorded: resourceVersion, limit and continue are unknown.",
        get: |input| Value::count(input.without_uri),
    },
    Name {
        name: "reads",
        kind: Int,
        doc: "GETs, LISTs and watches of resources.",
        get: |input| Value::count(input.reads),
    },
    Name { name: "lists", kind: Int, doc: "LISTs.", get: |input| Value::count(input.lists) },
    Name {
        name: "writes",
        kind: Int,
        doc: "Creates, updates, patches and deletes.",
        get: |input| Value::count(input.writes),
    },
    Name {
        name: "withoutReads",
        kind: Bool,
        doc: "A source is of a kind that never holds reads (Azure's kube-audit-admin).",
        get: |input| Value::Bool(input.without_reads),
    },
    Name {
        name: "cut",
        kind: Int,
        doc: "Records that were cut on their way, or are too long, and events that the server cut.",
        get: |input| Value::count(input.cut),
    },
    Name {
        name: "skipped",
        kind: Int,
        doc: "Records that could not be read, blank ones left out.",
        get: |input| Value::count(input.skipped),
    },
    Name {
        name: "damaged",
        kind: Int,
        doc: "Compressed streams that could not be read to their end.",
        get: |input| Value::count(input.damaged),
    },
    Name {
        name: "longestGapMinutes",
        kind: Int,
        doc: "The longest time without any event, in minutes.",
        get: |input| Value::count(input.longest_gap),
    },
    Name {
        name: "filtered",
        kind: Int,
        doc: "Events that a filter left out.",
        get: |input| Value::count(input.filtered),
    },
    Name {
        name: "accessOnly",
        kind: Bool,
        doc: "All events are access lines of the apiserver's own log, which name no user.",
        get: |input| Value::Bool(input.access_only),
    },
];
