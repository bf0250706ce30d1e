//! Damaged text: events in it that are whole are read, and the bytes between them are lost.

use super::{At, Decoder, OutcomeSink};
use crate::decode::envelope::{Envelope, json, yaml};
use crate::decode::outcome::{Layers, Outcome};
use crate::decode::skip::SkipReason;

/// How many bytes are parsed for each byte of a damaged text at most. Clients choose what is in a log.
const WORK: usize = 16;

/// Which objects of a text may be events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pieces {
    Any,
    /// Elements of arrays: the text is whole JSON.
    Elements,
}

impl Decoder {
    /// Hands over the whole events of a damaged text, and skips the rest.
    pub(super) fn salvage(&mut self, text: &str, reason: SkipReason, at: At<'_>, out: OutcomeSink<'_>) {
        if !self.pieces(text, reason, Pieces::Any, at, out) {
            at.skip(reason, text, out);
        }
    }

    /// Hands over the events in arrays of an object that is no envelope; false if there are none.
    pub(super) fn salvage_elements(&mut self, text: &str, at: At<'_>, out: OutcomeSink<'_>) -> bool {
        self.pieces(text, SkipReason::NotAnEvent, Pieces::Elements, at, out)
    }

    /// As [`Decoder::salvage`], of a JSON string with damaged escapes.
    pub(super) fn salvage_string(&mut self, raw: &str, reason: SkipReason, at: At<'_>, out: OutcomeSink<'_>) {
        if self.is_salvaging || !may_hold_event(raw) {
            return at.skip(reason, raw, out);
        }
        // A text whose first byte is damaged may begin with a quote, and be no string.
        if !self.pieces(raw, reason, Pieces::Any, at, out) {
            let text = unescaped_as_far_as_possible(raw);
            if !self.pieces(&text, reason, Pieces::Any, at, out) {
                at.skip(reason, raw, out);
            }
        }
    }

    /// As [`Decoder::salvage`], of a YAML document: the items of its outermost list.
    pub(super) fn salvage_yaml(&mut self, text: &str, at: At<'_>, out: OutcomeSink<'_>) {
        let items = yaml::items(text);
        if items.is_empty() || !may_hold_event(text) {
            return at.skip(SkipReason::NotYaml, text, out);
        }
        for item in items {
            match yaml::to_json(item) {
                Some(json) => self.text(&json, at.joined(), out),
                None => at.skip(SkipReason::NotYaml, item, out),
            }
        }
    }

    /// True if there was at least one event.
    fn pieces(
        &mut self,
        text: &str,
        reason: SkipReason,
        pieces: Pieces,
        at: At<'_>,
        out: OutcomeSink<'_>,
    ) -> bool {
        if self.is_salvaging || at.layers.len() >= Layers::MAX || !may_hold_event(text) {
            return false;
        }
        let inside = self.only_batch(at);
        self.is_salvaging = true;
        let mut gaps = Gaps { text, end: 0, lost: Vec::new() };
        let (mut from, mut work) = (0, WORK * text.len());
        while let Some(brace) = memchr::memchr(b'{', &text.as_bytes()[from..]).filter(|_| work > 0) {
            let brace = from + brace;
            from = brace + 1;
            let Some(start) = start_of(text, brace, pieces) else { continue };
            let piece = match json::values(&text[start..]).next() {
                Some(Ok(value)) => value.get(),
                Some(Err(error)) => {
                    work = work.saturating_sub(offset_of(&error, &text[start..]));
                    continue;
                }
                None => continue,
            };
            work = work.saturating_sub(piece.len());
            if self.piece(piece, inside, out) {
                from = start + piece.len();
                gaps.piece(start, from);
            }
        }
        self.is_salvaging = false;
        if gaps.end == 0 {
            return false;
        }
        gaps.give(reason, at, out);
        true
    }

    /// Hands over an object or a string if there is an event in it.
    fn piece(&mut self, text: &str, at: At<'_>, out: OutcomeSink<'_>) -> bool {
        let (mut is_found, mut others) = (false, Vec::new());
        self.text(text, at, &mut |outcome, layers| match outcome {
            Outcome::Skip(reason, extent) => others.push((Outcome::Skip(reason, extent), layers)),
            Outcome::Foreign(kind) => others.push((Outcome::Foreign(kind), layers)),
            read => {
                is_found = true;
                out(read, layers);
            }
        });
        if is_found {
            for (outcome, layers) in others {
                out(outcome, layers);
            }
        }
        is_found
    }

    /// The elements of a batch that the user names are in that batch, though its start is lost.
    fn only_batch<'t>(&self, at: At<'t>) -> At<'t> {
        let named = self.only.iter().flat_map(|only| only.iter());
        named
            .filter(|envelope| is_batch(*envelope) && !at.layers.contains(*envelope))
            // The name of the batch must not change what its elements are, so they are not taken for a shared log's.
            .fold(at, |at, envelope| At { layers: at.layers.with(envelope), ..at })
    }
}

fn is_batch(envelope: Envelope) -> bool {
    matches!(
        envelope,
        Envelope::JsonArray
            | Envelope::EventList
            | Envelope::CloudwatchSubscription
            | Envelope::Firehose
            | Envelope::LogsInsights
            | Envelope::AzureRecords
            | Envelope::Otlp
    )
}

/// Whether a text names an audit ID or an entry of Cloud Audit Logs. Most damaged text does not, and is not parsed.
pub(in crate::decode) fn may_hold_event(text: &str) -> bool {
    [&b"udit"[..], b"protoPayload"].iter().any(|word| memchr::memmem::find(text.as_bytes(), word).is_some())
}

/// Where a piece may begin that has this brace: the brace, or the quote before it.
fn start_of(text: &str, brace: usize, pieces: Pieces) -> Option<usize> {
    let (before, behind) = (&text.as_bytes()[..brace], &text.as_bytes()[brace + 1..]);
    let is_element = |before: &[u8]| matches!(before.trim_ascii_end().last(), Some(b'[' | b','));
    match behind.first()? {
        b'\\' => {
            let before = before.strip_suffix(b"\"")?;
            is_element(before).then_some(before.len())
        }
        b'"' | b' ' | b'\n' | b'\r' | b'\t' => {
            let is_wanted = pieces == Pieces::Any || is_element(before);
            (is_wanted && behind.trim_ascii_start().first() == Some(&b'"')).then_some(brace)
        }
        _ => None,
    }
}

/// How many bytes were parsed before an error.
fn offset_of(error: &serde_json::Error, text: &str) -> usize {
    let mut feeds = memchr::memchr_iter(b'\n', text.as_bytes());
    let line = match error.line() {
        0 | 1 => 0,
        line => feeds.nth(line - 2).map_or(text.len(), |feed| feed + 1),
    };
    line + error.column()
}

/// What is between the pieces of a text.
struct Gaps<'t> {
    text: &'t str,
    /// Where the last piece ended.
    end: usize,
    lost: Vec<&'t str>,
}

impl<'t> Gaps<'t> {
    fn piece(&mut self, start: usize, end: usize) {
        self.gap(&self.text[self.end..start]);
        self.end = end;
    }

    /// Notes a text, if it is more than what is between elements.
    fn gap(&mut self, text: &'t str) {
        if !text.bytes().all(|byte| byte.is_ascii_whitespace() || b",[]{}".contains(&byte)) {
            self.lost.push(text);
        }
    }

    /// Skips the gaps. Damage is counted even if it cost nothing.
    fn give(mut self, reason: SkipReason, at: At<'_>, out: OutcomeSink<'_>) {
        let rest = &self.text[self.end..];
        self.gap(rest);
        if self.lost.is_empty() {
            self.lost.push(rest);
        }
        if at.string.is_none() {
            self.lost.iter().for_each(|gap| at.skip(reason, gap, out));
        } else {
            at.skip_some(reason, self.lost.iter().map(|gap| gap.len()).sum(), out);
        }
    }
}

/// What a JSON string means, with U+FFFD for what no string may hold.
fn unescaped_as_far_as_possible(raw: &str) -> String {
    let body = raw.strip_prefix('"').unwrap_or(raw);
    let body = body.strip_suffix('"').unwrap_or(body);
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        let escaped = rest[at + 1..].chars().next();
        let length = if escaped == Some('u') { 6 } else { 1 + escaped.map_or(0, char::len_utf8) };
        let escape = rest.get(at..at + length).unwrap_or(&rest[at..=at]);
        // Half of a pair of surrogates is replaced too.
        let character: Option<char> = serde_json::from_str(&format!("\"{escape}\"")).ok();
        text.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = &rest[at + escape.len()..];
    }
    text + rest
}

/// Where a part of a text ends in it.
pub(super) fn end_of(part: &str, text: &str) -> usize {
    (part.as_ptr().addr() - text.as_ptr().addr()) + part.len()
}
