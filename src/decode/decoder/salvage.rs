//! Finds whole events in damaged text, and reports the bytes between them as skipped.

use super::{Decoder, OutcomeSink, TextContext};
use crate::decode::envelope::{Envelope, json, yaml};
use crate::decode::envelope_keys::may_hold_event;
use crate::decode::outcome::{Layers, Outcome};
use crate::decode::skip::SkipReason;

/// For each byte of damaged text, at most this many bytes are parsed. Clients choose what is in a log, so damaged text
/// must not be expensive.
const MAX_WORK_PER_BYTE: usize = 16;

/// Which objects of a text may be events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pieces {
    Any,
    /// Only elements of arrays, because the text itself is valid JSON.
    Elements,
}

impl Decoder {
    /// Emits the whole events of a damaged text, and skips the rest.
    pub(super) fn salvage(
        &mut self,
        text: &str,
        reason: SkipReason,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) {
        if !self.pieces(text, reason, Pieces::Any, context, out) {
            context.skip(reason, text, out);
        }
    }

    /// Emits the events in arrays of an object that is not an envelope. Returns false if there are none.
    pub(super) fn salvage_elements(
        &mut self,
        text: &str,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) -> bool {
        self.pieces(text, SkipReason::NotAnEvent, Pieces::Elements, context, out)
    }

    /// Like [`Decoder::salvage`], for a JSON string with damaged escapes.
    pub(super) fn salvage_string(
        &mut self,
        raw: &str,
        reason: SkipReason,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) {
        if self.is_salvaging || !may_hold_event(raw) {
            return context.skip(reason, raw, out);
        }
        // The text may be an object with a damaged first byte, which happens to be a quote.
        if !self.pieces(raw, reason, Pieces::Any, context, out) {
            let text = unescaped_as_far_as_possible(raw);
            if !self.pieces(&text, reason, Pieces::Any, context, out) {
                context.skip(reason, raw, out);
            }
        }
    }

    /// Like [`Decoder::salvage`], for a YAML document: it decodes each item of the outermost list.
    pub(super) fn salvage_yaml(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let items = yaml::items(text);
        if items.is_empty() || !may_hold_event(text) {
            return context.skip(SkipReason::NotYaml, text, out);
        }
        for item in items {
            match yaml::to_json(item) {
                Some(json) => self.text(&json, context.joined(), out),
                None => context.skip(SkipReason::NotYaml, item, out),
            }
        }
    }

    /// Emits the events of a text, and skips the text between them. Returns true if it found at least one event.
    fn pieces(
        &mut self,
        text: &str,
        reason: SkipReason,
        pieces: Pieces,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) -> bool {
        if self.is_salvaging || context.layers.len() >= Layers::MAX || !may_hold_event(text) {
            return false;
        }
        let inside = self.only_batch(context);
        self.is_salvaging = true;
        let mut gaps = Gaps { text, end: 0, lost: Vec::new() };
        let (mut from, mut work) = (0, MAX_WORK_PER_BYTE * text.len());
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
        gaps.give(reason, context, out);
        true
    }

    /// Emits the outcomes of an object or string that contains an event. Returns false if it contains none.
    fn piece(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) -> bool {
        let (mut has_event, mut others) = (false, Vec::new());
        self.text(text, context, &mut |outcome, layers| match outcome {
            Outcome::Skip(reason, extent) => others.push((Outcome::Skip(reason, extent), layers)),
            Outcome::Foreign(kind) => others.push((Outcome::Foreign(kind), layers)),
            read => {
                has_event = true;
                out(read, layers);
            }
        });
        if has_event {
            for (outcome, layers) in others {
                out(outcome, layers);
            }
        }
        has_event
    }

    /// Adds the batch format to the envelopes, if the user requires a batch format. The elements of a damaged batch
    /// then have this format, although the start of the batch is lost.
    fn only_batch<'t>(&self, context: TextContext<'t>) -> TextContext<'t> {
        let named = self.required_format.iter().flat_map(|required_format| required_format.iter());
        named
            .filter(|envelope| is_batch(*envelope) && !context.layers.contains(*envelope))
            // Only `layers` changes here. `is_shared` would turn damaged elements into foreign ones.
            .fold(context, |context, envelope| TextContext {
                layers: context.layers.with(envelope),
                ..context
            })
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

/// Returns where a JSON value with this brace may begin: at the brace, or at the quote before it. Returns `None` if
/// no event can begin here.
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

/// How many bytes `serde_json` parsed before the error.
fn offset_of(error: &serde_json::Error, text: &str) -> usize {
    let mut feeds = memchr::memchr_iter(b'\n', text.as_bytes());
    let line = match error.line() {
        0 | 1 => 0,
        line => feeds.nth(line - 2).map_or(text.len(), |feed| feed + 1),
    };
    line + error.column()
}

/// The text between the events that were found.
struct Gaps<'t> {
    text: &'t str,
    /// The end of the last event.
    end: usize,
    lost: Vec<&'t str>,
}

impl<'t> Gaps<'t> {
    fn piece(&mut self, start: usize, end: usize) {
        self.gap(&self.text[self.end..start]);
        self.end = end;
    }

    /// Adds a gap, unless it holds only separators of elements.
    fn gap(&mut self, text: &'t str) {
        if !text.bytes().all(|byte| byte.is_ascii_whitespace() || b",[]{}".contains(&byte)) {
            self.lost.push(text);
        }
    }

    /// Reports the gaps as skipped. If there are none, it reports the text after the last event, so that the report
    /// counts the damage.
    fn give(mut self, reason: SkipReason, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let rest = &self.text[self.end..];
        self.gap(rest);
        if self.lost.is_empty() {
            self.lost.push(rest);
        }
        if context.string.is_none() {
            self.lost.iter().for_each(|gap| context.skip(reason, gap, out));
        } else {
            context.skip_some(reason, self.lost.iter().map(|gap| gap.len()).sum(), out);
        }
    }
}

/// Removes the escapes of a JSON string. Invalid escapes become U+FFFD.
fn unescaped_as_far_as_possible(raw: &str) -> String {
    let body = raw.strip_prefix('"').unwrap_or(raw);
    let body = body.strip_suffix('"').unwrap_or(body);
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(backslash) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..backslash]);
        let escaped = rest[backslash + 1..].chars().next();
        let length = if escaped == Some('u') { 6 } else { 1 + escaped.map_or(0, char::len_utf8) };
        let escape = rest.get(backslash..backslash + length).unwrap_or(&rest[backslash..=backslash]);
        // serde_json also rejects half of a surrogate pair.
        let character: Option<char> = serde_json::from_str(&format!("\"{escape}\"")).ok();
        text.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = &rest[backslash + escape.len()..];
    }
    text + rest
}

/// The offset in `text` at which its slice `part` ends.
pub(super) fn end_of(part: &str, text: &str) -> usize {
    (part.as_ptr().addr() - text.as_ptr().addr()) + part.len()
}
