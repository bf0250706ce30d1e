//! Locates the fields of an event in its line.

use super::cached_callers::CachedCallers;
use super::cursor::{JsonCursor, TextSpan};
use super::objects::{
    annotations, annotations_in_server_order, once, raw, reference_in_server_order, status,
    status_in_server_order, text, user,
};
use crate::decode::unescape::append;
use crate::k8s::Event;
use crate::k8s::event::{Annotations, AuditEvent, ResponseStatus};

/// The start of every event in the log backend's format.
pub(in crate::decode) const START: &[u8] = br#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":""#;
/// The positions of the values `Event` and `audit.k8s.io/v1` in the log backend's format.
const KIND: TextSpan = TextSpan { start: 9, end: 14, has_escapes: false };
const API_VERSION: TextSpan = TextSpan { start: 30, end: 45, has_escapes: false };

/// The positions of an event's fields.
#[derive(Debug, Default, PartialEq)]
pub struct EventFields(pub(super) AuditEvent<TextSpan>);

impl EventFields {
    /// Locates the fields of an event. Returns `None` if the text is not an event, or if its JSON is unusual. For
    /// example, a key is repeated or has an escape. The caller then uses `serde_json`.
    #[must_use]
    pub fn find(text: &str, callers: &mut CachedCallers) -> Option<Self> {
        let mut fields = Self::default();
        match fields.find_in_server_order(text, callers) {
            Some(()) => Some(fields),
            None => Self::in_any_order(text),
        }
    }

    /// Locates the fields of an event in exactly the log backend's format. `self` must be empty. Returns `None` for
    /// any other text; then `self` is meaningless.
    ///
    /// Source: k8s.io/apiserver `pkg/apis/audit/v1/types.go:Event` declares the order of the fields. Go's
    /// `encoding/json` sorts the keys of maps.
    pub(in crate::decode) fn find_in_server_order(
        &mut self,
        text: &str,
        callers: &mut CachedCallers,
    ) -> Option<()> {
        let own = &mut self.0;
        let mut cursor = JsonCursor::new(text)?;
        cursor.string_after(START)?;
        own.kind = KIND;
        own.api_version = API_VERSION;
        own.audit_id = cursor.string_after(br#","auditID":""#)?;
        own.stage_name = cursor.string_after(br#","stage":""#)?;
        let start = cursor.mark();
        own.request_uri = cursor.string_after(br#","requestURI":""#)?;
        own.verb = cursor.string_after(br#","verb":""#)?;
        let (client, slot) = callers.pass(&mut cursor)?;
        own.user = client.user;
        own.impersonated_user = client.impersonated_user;
        own.source_ips = client.source_ips;
        own.user_agent = client.user_agent;
        own.caller_id = slot.map(|slot| slot.id);
        if cursor.take_literal(br#","objectRef":"#) {
            own.object_ref = Some(reference_in_server_order(&mut cursor).or_else(|| raw(&mut cursor))?);
        }
        own.request_bytes = Some(TextSpan { start, end: cursor.mark(), has_escapes: false });
        if cursor.take_literal(br#","responseStatus":"#) {
            own.response_status = Some(status_in_server_order(&mut cursor).or_else(|| status(&mut cursor))?);
        }
        for body in [br#","requestObject":"#.as_slice(), br#","responseObject":"#] {
            if cursor.take_literal(body) {
                cursor.skip()?;
            }
        }
        own.request_received_timestamp = cursor.string_after(br#","requestReceivedTimestamp":""#)?;
        own.stage_timestamp = cursor.string_after(br#","stageTimestamp":""#)?;
        // Only a response with status 403 needs the authorization decision.
        let is_forbidden = own.response_status.is_some_and(ResponseStatus::is_forbidden);
        if cursor.take_literal(br#","annotations":"#)
            && (is_forbidden || !callers.skips_annotations(slot, &mut cursor))
        {
            let start = cursor.mark();
            match (!is_forbidden).then(|| annotations_in_server_order(&mut cursor)).flatten() {
                Some(()) => callers.keep_annotations(slot, cursor.since(start)),
                None => own.annotations = annotations(&mut cursor)?.needed(is_forbidden),
            }
        }
        (cursor.take_literal(b"}") && cursor.at() == text.len()).then_some(())
    }

    /// Locates the fields of an event in any order.
    pub(in crate::decode) fn in_any_order(text: &str) -> Option<Self> {
        let mut cursor = JsonCursor::new(text)?;
        let mut own = AuditEvent::default();
        cursor.object(|cursor, key| take(&mut own, cursor, key))?;
        let is_forbidden = own.response_status.is_some_and(ResponseStatus::is_forbidden);
        own.annotations = own.annotations.take().and_then(|annotations| annotations.needed(is_forbidden));
        cursor.skip_space();
        (cursor.at() == text.len()).then_some(Self(own))
    }

    /// Builds the event. `text` is the line. The fields with escapes are written to `unescaped`, without their
    /// escapes. Returns `None` at an invalid escape.
    #[must_use]
    pub fn event<'e>(&mut self, text: &'e str, unescaped: &'e mut String) -> Option<Event<'e>> {
        self.unescape(text, unescaped)?;
        let own = &self.0;
        let string = |span: TextSpan| span.text(text, unescaped);
        Some(Event {
            kind: string(own.kind),
            api_version: string(own.api_version),
            audit_id: string(own.audit_id),
            stage_name: string(own.stage_name),
            request_uri: string(own.request_uri),
            verb: string(own.verb),
            user: own.user.map(|user| user.map(string)),
            impersonated_user: own.impersonated_user.map(|user| user.map(string)),
            source_ips: own.source_ips.map(string),
            user_agent: string(own.user_agent),
            caller_id: own.caller_id,
            object_ref: own.object_ref.map(string),
            object: None,
            timestamp_v1alpha1: None,
            k8s_audit_level: None,
            response_status: own.response_status,
            request_received_timestamp: string(own.request_received_timestamp),
            stage_timestamp: string(own.stage_timestamp),
            annotations: own.annotations.clone().map(|annotations| annotations.map(string)),
            authentication_metadata: own.authentication_metadata.map(string),
            request_bytes: own.request_bytes.map(string),
        })
    }

    /// Removes the escapes of the fields and writes the results to `unescaped`. The spans of these fields then point
    /// into `unescaped`.
    fn unescape(&mut self, text: &str, unescaped: &mut String) -> Option<()> {
        unescaped.clear();
        let own = &mut self.0;
        let mut undo = |span: &mut TextSpan| {
            if !span.has_escapes {
                return Some(());
            }
            let start = unescaped.len();
            append(&text[span.range()], unescaped)?;
            // The text without escapes is never longer than the line, so its offsets also fit into `u32`.
            (span.start, span.end) = (u32::try_from(start).ok()?, u32::try_from(unescaped.len()).ok()?);
            Some(())
        };
        for field in [
            &mut own.request_uri,
            &mut own.kind,
            &mut own.api_version,
            &mut own.audit_id,
            &mut own.stage_name,
            &mut own.verb,
            &mut own.request_received_timestamp,
            &mut own.stage_timestamp,
        ] {
            undo(field)?;
        }
        for annotation in own.annotations.iter_mut().flat_map(Annotations::each_mut) {
            undo(annotation)?;
        }
        // A cached client has no escapes.
        if own.caller_id.is_none() {
            undo(&mut own.user_agent)?;
            for user in [&mut own.user, &mut own.impersonated_user].into_iter().flatten() {
                undo(&mut user.username)?;
                if let Some(extra) = &mut user.extra {
                    undo(&mut extra.pod_name)?;
                    undo(&mut extra.node_name)?;
                }
            }
        }
        Some(())
    }
}

/// Locates the value of a key. Returns `None` if the key occurs twice.
fn take(own: &mut AuditEvent<TextSpan>, cursor: &mut JsonCursor<'_>, key: &[u8]) -> Option<()> {
    match key {
        b"kind" => text(cursor, &mut own.kind),
        b"apiVersion" => text(cursor, &mut own.api_version),
        b"auditID" => text(cursor, &mut own.audit_id),
        b"stage" => text(cursor, &mut own.stage_name),
        b"requestURI" => text(cursor, &mut own.request_uri),
        b"verb" => text(cursor, &mut own.verb),
        b"userAgent" => text(cursor, &mut own.user_agent),
        b"requestReceivedTimestamp" => text(cursor, &mut own.request_received_timestamp),
        b"stageTimestamp" => text(cursor, &mut own.stage_timestamp),
        b"user" => once(cursor, &mut own.user, user),
        b"impersonatedUser" => once(cursor, &mut own.impersonated_user, user),
        b"sourceIPs" => once(cursor, &mut own.source_ips, raw),
        b"objectRef" => once(cursor, &mut own.object_ref, raw),
        b"responseStatus" => once(cursor, &mut own.response_status, status),
        b"annotations" => once(cursor, &mut own.annotations, annotations),
        b"authenticationMetadata" => once(cursor, &mut own.authentication_metadata, raw),
        // Only older servers and some collectors write these keys. `serde_json` parses such events.
        b"timestamp" | b"k8s_audit_level" => None,
        _ => cursor.skip(),
    }
}
