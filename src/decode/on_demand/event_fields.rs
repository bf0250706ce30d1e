//! Locates the fields of an event in its line.

use super::cached_callers::{CachedCallers, CallerMatch, CallerSlot};
use super::cursor::{JsonCursor, TextSpan};
use super::objects::{
    AnnotationFields, ClientFields, StatusFields, UniqueKeys, annotations, annotations_in_server_order, raw,
    reference_in_server_order, status, status_in_server_order, user,
};
use crate::decode::unescape::append;
use crate::k8s::Event;
use crate::k8s::event::{Annotations, CallerRef, FORBIDDEN, Raw, ResponseStatus};

/// The start of every event in the log backend's format.
pub(in crate::decode) const START: &[u8] = br#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":""#;
/// The positions of the values `Event` and `audit.k8s.io/v1` in the log backend's format.
const KIND: TextSpan = TextSpan { start: 9, end: 14, has_escapes: false };
const API_VERSION: TextSpan = TextSpan { start: 30, end: 45, has_escapes: false };

/// The positions of an event's fields.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct EventFields {
    kind: TextSpan,
    api_version: TextSpan,
    audit_id: TextSpan,
    stage: TextSpan,
    request_uri: TextSpan,
    verb: TextSpan,
    pub(super) client: ClientFields,
    /// The slot of a cached client. If set, `client` is empty.
    pub(super) cached_client: Option<CallerSlot>,
    /// The bytes from `requestURI` through `objectRef`, which are compared with those of the RequestReceived event.
    /// Set only if the fields are in the server's order.
    pub(super) request_bytes: Option<TextSpan>,
    object_ref: Option<TextSpan>,
    response_status: Option<StatusFields>,
    received: TextSpan,
    ended: TextSpan,
    annotations: AnnotationFields,
    authentication_metadata: Option<TextSpan>,
}

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
        let mut cursor = JsonCursor::new(text)?;
        cursor.string_after(START)?;
        self.kind = KIND;
        self.api_version = API_VERSION;
        self.audit_id = cursor.string_after(br#","auditID":""#)?;
        self.stage = cursor.string_after(br#","stage":""#)?;
        let start = cursor.mark();
        self.request_uri = cursor.string_after(br#","requestURI":""#)?;
        self.verb = cursor.string_after(br#","verb":""#)?;
        match callers.pass(&mut cursor, ClientFields::take)? {
            CallerMatch::Cached(slot) => self.cached_client = Some(slot),
            CallerMatch::Parsed(client) => self.client = client,
        }
        if cursor.take_literal(br#","objectRef":"#) {
            self.object_ref = Some(reference_in_server_order(&mut cursor).or_else(|| raw(&mut cursor))?);
        }
        self.request_bytes = Some(TextSpan { start, end: cursor.mark(), has_escapes: false });
        if cursor.take_literal(br#","responseStatus":"#) {
            self.response_status = Some(status_in_server_order(&mut cursor).or_else(|| status(&mut cursor))?);
        }
        for body in [br#","requestObject":"#.as_slice(), br#","responseObject":"#] {
            if cursor.take_literal(body) {
                cursor.skip()?;
            }
        }
        self.received = cursor.string_after(br#","requestReceivedTimestamp":""#)?;
        self.ended = cursor.string_after(br#","stageTimestamp":""#)?;
        let is_forbidden = self.is_forbidden();
        if cursor.take_literal(br#","annotations":"#)
            && (is_forbidden || !callers.skips_annotations(self.cached_client, &mut cursor))
        {
            let start = cursor.mark();
            match (!is_forbidden).then(|| annotations_in_server_order(&mut cursor)).flatten() {
                Some(()) => callers.keep_annotations(self.cached_client, cursor.since(start)),
                None => self.annotations = annotations(&mut cursor)?,
            }
            self.drop_unneeded_decision();
        }
        (cursor.take_literal(b"}") && cursor.at() == text.len()).then_some(())
    }

    /// Locates the fields of an event in any order.
    pub(in crate::decode) fn in_any_order(text: &str) -> Option<Self> {
        let mut cursor = JsonCursor::new(text)?;
        let mut fields = Self::default();
        let mut keys = UniqueKeys::default();
        cursor.object(|cursor, key| fields.take(cursor, key, &mut keys))?;
        fields.drop_unneeded_decision();
        cursor.skip_space();
        (cursor.at() == text.len()).then_some(fields)
    }

    fn take(&mut self, cursor: &mut JsonCursor<'_>, key: &[u8], keys: &mut UniqueKeys) -> Option<()> {
        match key {
            b"kind" => text(cursor, keys, 0, &mut self.kind)?,
            b"apiVersion" => text(cursor, keys, 1, &mut self.api_version)?,
            b"auditID" => text(cursor, keys, 2, &mut self.audit_id)?,
            b"stage" => text(cursor, keys, 3, &mut self.stage)?,
            b"requestURI" => text(cursor, keys, 4, &mut self.request_uri)?,
            b"verb" => text(cursor, keys, 5, &mut self.verb)?,
            b"userAgent" => text(cursor, keys, 6, &mut self.client.user_agent)?,
            b"requestReceivedTimestamp" => text(cursor, keys, 7, &mut self.received)?,
            b"stageTimestamp" => text(cursor, keys, 8, &mut self.ended)?,
            b"user" => self.client.user = Some(keys.once(9).and_then(|()| user(cursor))?),
            b"sourceIPs" => self.client.source_ips = Some(keys.once(10).and_then(|()| raw(cursor))?),
            b"objectRef" => self.object_ref = Some(keys.once(11).and_then(|()| raw(cursor))?),
            b"responseStatus" => self.response_status = Some(keys.once(12).and_then(|()| status(cursor))?),
            b"annotations" => self.annotations = keys.once(13).and_then(|()| annotations(cursor))?,
            b"authenticationMetadata" => {
                self.authentication_metadata = Some(keys.once(15).and_then(|()| raw(cursor))?);
            }
            b"impersonatedUser" => {
                self.client.impersonated_user = Some(keys.once(14).and_then(|()| user(cursor))?);
            }
            // Only older servers and some collectors write these keys. `serde_json` parses such events.
            b"timestamp" | b"k8s_audit_level" => return None,
            _ => cursor.skip()?,
        }
        Some(())
    }

    /// Removes the escapes of the fields and writes the results to `unescaped`. `text` is the line. Returns `None` at
    /// an invalid escape.
    #[must_use]
    pub fn unescape(&mut self, text: &str, unescaped: &mut String) -> Option<()> {
        unescaped.clear();
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
        undo(&mut self.request_uri)?;
        if !self.has_other_escapes() {
            return Some(());
        }
        undo(&mut self.client.user_agent)?;
        undo(&mut self.kind)?;
        undo(&mut self.api_version)?;
        undo(&mut self.audit_id)?;
        undo(&mut self.stage)?;
        undo(&mut self.verb)?;
        undo(&mut self.received)?;
        undo(&mut self.ended)?;
        for user in [&mut self.client.user, &mut self.client.impersonated_user].into_iter().flatten() {
            undo(&mut user.username)?;
            if let Some(extra) = &mut user.extra {
                undo(&mut extra.pod_name)?;
                undo(&mut extra.node_name)?;
            }
        }
        for annotation in self.annotations.each_mut() {
            undo(annotation)?;
        }
        Some(())
    }

    /// Drops the authorization decision unless it is needed. Most events then have no needed annotation, so
    /// [`EventFields::unescape`] has less work.
    fn drop_unneeded_decision(&mut self) {
        if !self.is_forbidden() {
            self.annotations.decision = TextSpan::default();
        }
    }

    /// Whether the server responded 403. Only then is the authorization decision needed.
    fn is_forbidden(&self) -> bool {
        self.response_status.is_some_and(|status| status.code == Some(FORBIDDEN))
    }

    /// Whether a field other than the request URI may contain escapes. The URI often does, because servers escape `&`
    /// in it.
    fn has_other_escapes(&self) -> bool {
        let names = self.kind.has_escapes | self.api_version.has_escapes | self.audit_id.has_escapes;
        let others = self.stage.has_escapes
            | self.verb.has_escapes
            | self.received.has_escapes
            | self.ended.has_escapes;
        names | others | self.annotations.are_some()
            || (self.cached_client.is_none() && self.client.has_escapes())
    }

    /// Builds the event. `text` is the line. `unescaped` is the text from [`EventFields::unescape`]. `callers` is the
    /// cache that was used to locate the fields. Returns `None` if other clients evicted the event's client from the
    /// cache.
    #[must_use]
    pub fn event<'e>(
        &self,
        text: &'e str,
        unescaped: &'e str,
        callers: &'e CachedCallers,
    ) -> Option<Event<'e>> {
        let string = |span: TextSpan| span.text(text, unescaped);
        let raw = |span: TextSpan| Raw(&text[span.range()]);
        let own = &self.annotations;
        Some(Event {
            kind: string(self.kind),
            api_version: string(self.api_version),
            audit_id: string(self.audit_id),
            stage_name: string(self.stage),
            request_uri: string(self.request_uri),
            verb: string(self.verb),
            caller: match self.cached_client {
                Some(slot) => {
                    let (id, cache) = callers.get(slot)?;
                    CallerRef::Cached(id, cache)
                }
                None => CallerRef::Read(self.client.caller(text, unescaped)),
            },
            object_ref: self.object_ref.map(raw),
            object: None,
            timestamp_v1alpha1: None,
            k8s_audit_level: None,
            response_status: self.response_status.map(|status| ResponseStatus { code: status.code }),
            request_received_timestamp: string(self.received),
            stage_timestamp: string(self.ended),
            annotations: own.are_some().then(|| Annotations {
                total: string(own.total),
                etcd: string(own.etcd),
                decode_response_object: string(own.decode_response_object),
                mutating_webhook: string(own.mutating_webhook),
                validating_webhook: string(own.validating_webhook),
                queue_wait: string(own.queue_wait),
                deprecated: string(own.deprecated),
                truncated: string(own.truncated),
                removed_release: string(own.removed_release),
                authentication: string(own.authentication),
                impersonation: string(own.impersonation),
                decision: string(own.decision),
            }),
            has_authentication_metadata: self
                .authentication_metadata
                .is_some_and(|span| &text[span.range()] != "null"),
            request_bytes: self.request_bytes.map(|span| &text[span.range()]),
        })
    }
}

/// Locates a string. `None` if the key occurs twice.
fn text(cursor: &mut JsonCursor<'_>, keys: &mut UniqueKeys, number: u32, field: &mut TextSpan) -> Option<()> {
    keys.once(number)?;
    *field = cursor.string()?;
    Some(())
}
