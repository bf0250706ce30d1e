//! Decodes JSON: objects that are events or envelopes, and strings and arrays inside them.

use super::{Decoder, OutcomeSink, TextContext, cut_reason, salvage};
use crate::decode::envelope::{
    Content, Envelope, Inner, audit, azure_parsed, azure_record, azure_records, azure_table,
    cloudwatch_subscription, collector, docker, event_list, firehose, gke, json, json_array, logs_insights,
    otlp,
};
use crate::decode::envelope_keys::{EnvelopeKeys, is_string};
use crate::decode::foreign::Foreign;
use crate::decode::klog;
use crate::decode::on_demand::EventFields;
use crate::decode::outcome::{Layers, Outcome};
use crate::decode::skip::SkipReason;
use crate::decode::unescape::unescape;
use crate::k8s::Event;

impl Decoder {
    pub(super) fn object(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        if self.is_envelope_at[context.layers.len()] || !self.event(text, context, out) {
            self.open_object(text, context, out);
        }
    }

    /// Opens an object as an envelope. The decoder tries an event first, unless the last object at this depth was an
    /// envelope. In that case, this function also tries to decode the object as an event.
    pub(super) fn open_object(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let was_wrapped = self.is_envelope_at[context.layers.len()];
        let error = match serde_json::from_str::<EnvelopeKeys<'_>>(text) {
            Ok(keys) => {
                let is_event = was_wrapped && keys.audit_id.is_some() && keys.stage.is_some();
                if is_event && self.event(text, context, out) {
                    self.is_envelope_at[context.layers.len()] = false;
                } else {
                    self.envelope(text, &keys, context, out);
                }
                return;
            }
            Err(error) => error,
        };
        // `EnvelopeKeys` checks the whole JSON, but the event decoder checks only the fields that it needs. So the
        // event is not lost if another field is damaged.
        if was_wrapped && self.event(text, context, out) {
            self.is_envelope_at[context.layers.len()] = false;
        } else if error.is_eof() {
            self.salvage(text, cut_reason(text, context), context, out);
        } else if error.is_data() {
            context.skip(SkipReason::WrongType, text, out);
        } else {
            self.several(text, context, out);
        }
    }

    /// Emits an object that is an audit event. Returns false if it is not one.
    pub(super) fn event(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) -> bool {
        let mut fields = if self.is_last_line_nonstandard && context.layers.is_empty() {
            EventFields::in_any_order(text)
        } else {
            EventFields::find(text, &mut self.callers)
        };
        self.event_of(fields.as_mut(), text, context, out)
    }

    /// Like [`Decoder::event`], with fields that were already located.
    pub(super) fn event_of(
        &mut self,
        fields: Option<&mut EventFields>,
        text: &str,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) -> bool {
        let mut unescaped = std::mem::take(&mut self.unescaped);
        let fields = fields.and_then(|fields| fields.unescape(text, &mut unescaped).map(|()| fields));
        let mut hand_over = |event: &Event<'_>| {
            let is_event = audit::is_event(event);
            if is_event {
                out(Outcome::Event(event, Some(text)), context.layers.with(audit::format_of(event)));
            }
            is_event
        };
        let is_event = match fields {
            Some(fields) => fields.event(text, &unescaped, &self.callers).as_ref().map(&mut hand_over),
            None => Some(serde_json::from_str(text).is_ok_and(|event| hand_over(&event))),
        };
        self.unescaped = unescaped;
        is_event.unwrap_or_else(|| {
            // Other clients evicted this event's client from the cache. So the fields are located again.
            let mut fields = EventFields::find(text, &mut self.callers);
            self.event_of(fields.as_mut(), text, context, out)
        })
    }

    pub(super) fn envelope(
        &mut self,
        text: &str,
        keys: &EnvelopeKeys<'_>,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) {
        if context.layers.len() >= Layers::MAX {
            return context.skip(SkipReason::TooDeep, text, out);
        }
        if keys.klog_message.is_some()
            && let Some(line) = klog::read(text)
        {
            return Self::klog(&line, text, Envelope::HttpLogJson, context, out);
        }
        let Some((envelope, payload)) = open(text, keys, context.layers) else {
            return self.unknown(text, keys, context, out);
        };
        self.is_envelope_at[context.layers.len()] = true;
        let context = context.within(envelope, None);
        match payload {
            Content::Foreign(foreign) => out(Outcome::Foreign(foreign), context.layers),
            // An entry of Google Cloud may have no audit ID: users often remove its `insertId` before they share a
            // log.
            Content::Event(event) if audit::is_event(&event) || envelope == Envelope::Gke => {
                out(Outcome::Event(&event, None), context.layers);
            }
            Content::Event(_) => context.skip(SkipReason::NotAnEvent, text, out),
            Content::Values(values) if values.is_empty() => {
                out(Outcome::Foreign(Foreign::Empty), context.layers);
            }
            Content::Values(values) => values.into_iter().for_each(|inner| self.inner(inner, context, out)),
            Content::Elements(array, of) => {
                let take = &mut |value| self.inner(of(value), context, out);
                if matches!(json_array::each_of(array.get(), take), Ok(0) | Err(_)) {
                    out(Outcome::Foreign(Foreign::Empty), context.layers);
                }
            }
            Content::Line { inner, stream } => self.docker(inner, stream, context, out),
        }
    }

    /// Decodes an object that is neither an event nor an envelope. The object may be an envelope with a damaged key;
    /// then its elements may still be whole.
    fn unknown(
        &mut self,
        text: &str,
        keys: &EnvelopeKeys<'_>,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) {
        let record = otlp::record(text).map(|inner| (Envelope::Otlp, inner));
        let element = record.or_else(|| Some((Envelope::LogsInsights, logs_insights::field(text)?)));
        if let Some((envelope, inner)) = element {
            return self.inner(inner, context.within(envelope, None), out);
        }
        let looks_like_an_event = keys.audit_id.is_some() && keys.stage.is_some();
        match (looks_like_an_event, context.is_shared) {
            (true, _) if serde_json::from_str::<Event<'_>>(text).is_err() => {
                context.skip(SkipReason::WrongType, text, out);
            }
            (true, _) => context.skip(SkipReason::NotAnEvent, text, out),
            (false, _) if !self.is_for_etcd && Self::etcd_start(text, context, out) => {}
            (false, is_shared) => {
                let is_salvaged = self.salvage_elements(text, context, out);
                match is_shared {
                    _ if is_salvaged => {}
                    true => out(Outcome::Foreign(Foreign::Json), context.layers),
                    false => context.skip(SkipReason::NotAnEvent, text, out),
                }
            }
        }
    }

    pub(super) fn inner(&mut self, inner: Inner<'_>, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let context = TextContext { time: inner.time.or(context.time), ..context };
        if is_string(inner.value) {
            self.string(inner.value.get(), context, out);
        } else {
            self.text(inner.value.get(), context, out);
        }
    }

    /// Decodes a JSON string that contains the next layer.
    pub(super) fn string(&mut self, raw: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let context = if context.layers.is_empty() { context.within(Envelope::Json, None) } else { context };
        self.with_unescaped(raw, context, out, |decoder, text, context, out| {
            decoder.nested(text, context, out);
        });
    }

    /// Removes the escapes of a JSON string and passes the text to `then`. Skips a string that is incomplete or
    /// invalid.
    pub(super) fn with_unescaped(
        &mut self,
        raw: &str,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
        then: impl FnOnce(&mut Self, &str, TextContext<'_>, OutcomeSink<'_>),
    ) {
        let depth = context.layers.len();
        let context = context.within_string(raw);
        let mut buffer = std::mem::take(&mut self.buffers[depth]);
        buffer.clear();
        let body = raw.get(1..).unwrap_or_default();
        let end = unescape(body, &mut buffer);
        let complete = end.filter(|end| end + 1 == body.len());
        if let Some(text) = complete.and_then(|_| simdutf8::basic::from_utf8(&buffer).ok()) {
            then(self, text, context, out);
        } else {
            let is_cut = end.is_none() && !body.ends_with('"');
            let reason = if is_cut { cut_reason(raw, context) } else { SkipReason::NotJson };
            self.salvage_string(raw, reason, context, out);
        }
        self.buffers[depth] = buffer;
    }

    pub(super) fn docker(
        &mut self,
        inner: Inner<'_>,
        stream: usize,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) {
        let context = TextContext { time: inner.time, ..context };
        self.with_unescaped(inner.value.get(), context, out, |decoder, text, context, out| {
            if docker::is_unfinished(text) {
                decoder.part(stream, text.as_bytes(), context, out);
            } else if decoder.parts.is_open(stream) {
                decoder.last_part(stream, text.as_bytes(), context, out);
            } else {
                decoder.nested(text, context, out);
            }
        });
    }

    pub(super) fn array(
        &mut self,
        text: &str,
        trimmed: &str,
        context: TextContext<'_>,
        out: OutcomeSink<'_>,
    ) {
        let inside = context.within(Envelope::JsonArray, None);
        match json_array::each(trimmed, &mut |value| self.inner(Inner { value, time: None }, inside, out)) {
            Ok(0) => out(Outcome::Foreign(Foreign::Empty), context.layers),
            Ok(_) => {}
            Err(error) if error.is_eof() && trimmed[1..].starts_with(['{', '[', '"']) => {
                self.salvage(trimmed, cut_reason(trimmed, context), context, out);
            }
            Err(_) => self.line(text, trimmed, context, out),
        }
    }

    /// Decodes several values on one line. The line feeds between them are lost.
    pub(super) fn several(&mut self, text: &str, context: TextContext<'_>, out: OutcomeSink<'_>) {
        let mut end = 0;
        for value in json::values(text) {
            match value {
                Ok(value) if value.get().len() < text.len() && context.layers.len() < Layers::MAX => {
                    end = salvage::end_of(value.get(), text);
                    self.inner(Inner { value, time: None }, context, out);
                }
                Err(error) if end > 0 && error.is_eof() => {
                    return self.salvage(&text[end..], SkipReason::Truncated, context, out);
                }
                _ => return self.salvage(&text[end..], SkipReason::NotJson, context, out),
            }
        }
    }
}

/// Detects the envelope of an object, and extracts its content.
fn open<'a>(text: &'a str, keys: &EnvelopeKeys<'a>, around: Layers) -> Option<(Envelope, Content<'a>)> {
    let within = |envelope| move |payload| (envelope, payload);
    None.or_else(|| otlp::open(keys).map(within(Envelope::Otlp)))
        .or_else(|| cloudwatch_subscription::open(keys).map(within(firehose::or_subscription(around, keys))))
        .or_else(|| logs_insights::open(keys).map(within(Envelope::LogsInsights)))
        .or_else(|| azure_records::open(keys).map(within(Envelope::AzureRecords)))
        .or_else(|| azure_parsed::open(keys).map(within(azure_record::or_admin(keys, Envelope::AzureParsed))))
        .or_else(|| azure_record::open(keys).map(within(azure_record::or_admin(keys, Envelope::AzureRecord))))
        .or_else(|| event_list::open(keys).map(within(Envelope::EventList)))
        .or_else(|| keys.proto_payload.and_then(|_| gke::open(text)).map(within(Envelope::Gke)))
        .or_else(|| {
            keys.table_audit_id.and_then(|_| azure_table::open(text)).map(within(Envelope::AzureTable))
        })
        .or_else(|| docker::open(keys).map(within(Envelope::Docker)))
        .or_else(|| collector::open(keys).map(within(Envelope::Collector)))
}
