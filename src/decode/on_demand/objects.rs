//! Locates the needed fields in the objects of an event.

use std::borrow::Cow;

use super::cursor::{JsonCursor, TextSpan};
use crate::k8s::event::{Caller, Extra, First, Raw, Text, User};

/// The fields that identify the client. The server writes them one after another.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClientFields {
    pub(crate) user: Option<UserFields>,
    pub(crate) impersonated_user: Option<UserFields>,
    pub(crate) source_ips: Option<TextSpan>,
    pub(crate) user_agent: TextSpan,
}

impl ClientFields {
    /// Moves all positions `by` bytes to the right.
    pub(crate) fn moved(self, by: u32) -> Self {
        Self {
            user: self.user.map(|user| user.moved(by)),
            impersonated_user: self.impersonated_user.map(|user| user.moved(by)),
            source_ips: self.source_ips.map(|span| span.moved(by)),
            user_agent: self.user_agent.moved(by),
        }
    }

    /// Builds the caller. `text` contains the fields, and `unescaped` the fields that had escapes.
    pub(crate) fn caller<'e>(&self, text: &'e str, unescaped: &'e str) -> Caller<'e> {
        let string = |span: TextSpan| span.text(text, unescaped);
        let user = |user: UserFields| User {
            username: string(user.username),
            extra: user.extra.map(|extra| Extra {
                pod_name: First(string(extra.pod_name)),
                node_name: First(string(extra.node_name)),
            }),
        };
        Caller {
            user: self.user.map(user),
            impersonated_user: self.impersonated_user.map(user),
            source_ips: self.source_ips.map(|span| Raw(&text[span.range()])),
            user_agent: string(self.user_agent),
        }
    }

    pub(crate) fn has_escapes(&self) -> bool {
        let user = |user: &UserFields| {
            let extra = user.extra.unwrap_or_default();
            user.username.has_escapes | extra.pod_name.has_escapes | extra.node_name.has_escapes
        };
        let users = self.user.as_ref().is_some_and(user) | self.impersonated_user.as_ref().is_some_and(user);
        users | self.user_agent.has_escapes
    }

    /// Locates the fields at the cursor.
    pub(crate) fn take(cursor: &mut JsonCursor<'_>) -> Option<Self> {
        let mut client = Self::default();
        if cursor.take_literal(br#","user":"#) {
            client.user = Some(user_in_server_order(cursor)?);
        }
        if cursor.take_literal(br#","impersonatedUser":"#) {
            client.impersonated_user = Some(user_in_server_order(cursor)?);
        }
        if cursor.take_literal(br#","sourceIPs":"#) {
            client.source_ips = Some(raw(cursor)?);
        }
        if cursor.take_literal(br#","userAgent":""#) {
            client.user_agent = cursor.string_end()?;
        }
        Some(client)
    }
}

impl TextSpan {
    /// Returns the text of a span. If the span had escapes, it is taken from `unescaped`.
    pub(crate) fn text<'e>(self, text: &'e str, unescaped: &'e str) -> Text<'e> {
        let text = if self.has_escapes { unescaped } else { text };
        Text(Cow::Borrowed(&text[self.range()]))
    }
}

impl UserFields {
    fn moved(self, by: u32) -> Self {
        let extra = |extra: ExtraFields| ExtraFields {
            pod_name: extra.pod_name.moved(by),
            node_name: extra.node_name.moved(by),
        };
        Self { username: self.username.moved(by), extra: self.extra.map(extra) }
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct UserFields {
    pub(crate) username: TextSpan,
    pub(crate) extra: Option<ExtraFields>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExtraFields {
    pub(crate) pod_name: TextSpan,
    pub(crate) node_name: TextSpan,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct StatusFields {
    pub(crate) code: Option<i32>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnnotationFields {
    pub(crate) total: TextSpan,
    pub(crate) etcd: TextSpan,
    pub(crate) decode_response_object: TextSpan,
    pub(crate) mutating_webhook: TextSpan,
    pub(crate) validating_webhook: TextSpan,
    pub(crate) queue_wait: TextSpan,
    pub(crate) deprecated: TextSpan,
    pub(crate) truncated: TextSpan,
    pub(crate) removed_release: TextSpan,
    pub(crate) authentication: TextSpan,
    pub(crate) impersonation: TextSpan,
    pub(crate) decision: TextSpan,
}

impl AnnotationFields {
    /// Whether a needed annotation is present and not empty.
    pub(crate) fn are_some(mut self) -> bool {
        self.each_mut().into_iter().any(|span| span.start < span.end)
    }

    pub(crate) fn each_mut(&mut self) -> [&mut TextSpan; 12] {
        let Self {
            total,
            etcd,
            decode_response_object,
            mutating_webhook,
            validating_webhook,
            queue_wait,
            authentication,
            impersonation,
            deprecated,
            truncated,
            removed_release,
            decision,
        } = self;
        [
            total,
            etcd,
            decode_response_object,
            mutating_webhook,
            validating_webhook,
            queue_wait,
            authentication,
            impersonation,
            deprecated,
            truncated,
            removed_release,
            decision,
        ]
    }
}

/// Detects repeated keys. If a key is repeated, `serde_json` must parse the object.
#[derive(Default)]
pub(super) struct UniqueKeys(u32);

impl UniqueKeys {
    pub(crate) fn once(&mut self, field: u32) -> Option<()> {
        let is_new = self.0 & 1 << field == 0;
        self.0 |= 1 << field;
        is_new.then_some(())
    }
}

/// Locates an object, an array or a string. The span includes the brackets or quotes.
pub(super) fn raw(cursor: &mut JsonCursor<'_>) -> Option<TextSpan> {
    let start = cursor.mark();
    if !matches!(cursor.peek()?, b'{' | b'[' | b'"') {
        return None;
    }
    cursor.skip()?;
    Some(TextSpan { start, end: cursor.mark(), has_escapes: false })
}

/// Locates an object reference whose fields are in the server's order, without other fields. For any other value, it
/// returns `None` and leaves the cursor where it was.
///
/// Source: k8s.io/apiserver `pkg/apis/audit/v1/types.go:ObjectReference`.
pub(super) fn reference_in_server_order(cursor: &mut JsonCursor<'_>) -> Option<TextSpan> {
    let start = cursor.mark();
    let mut take = || {
        cursor.expect(b'{')?;
        take_if_there(cursor, br#""resource":""#)?;
        take_if_there(cursor, br#","namespace":""#)?;
        take_if_there(cursor, br#","name":""#)?;
        take_if_there(cursor, br#","uid":""#)?;
        take_if_there(cursor, br#","apiGroup":""#)?;
        take_if_there(cursor, br#","apiVersion":""#)?;
        take_if_there(cursor, br#","resourceVersion":""#)?;
        take_if_there(cursor, br#","subresource":""#)?;
        cursor.expect(b'}')
    };
    if take().is_none() {
        cursor.back_to(start as usize);
        return None;
    }
    Some(TextSpan { start, end: cursor.mark(), has_escapes: false })
}

/// Moves over a literal and the string after it, if the text continues with the literal.
#[inline(always)]
#[allow(clippy::inline_always, reason = "comparing with a constant takes a few instructions")]
fn take_if_there(cursor: &mut JsonCursor<'_>, literal: &[u8]) -> Option<()> {
    if cursor.take_literal(literal) { cursor.string_end().map(|_| ()) } else { Some(()) }
}

/// Locates a user whose fields are in the server's order, without other fields.
fn user_in_server_order(cursor: &mut JsonCursor<'_>) -> Option<UserFields> {
    let mut user = UserFields { username: cursor.string_after(br#"{"username":""#)?, extra: None };
    if cursor.take_literal(br#","uid":""#) {
        cursor.string_end()?;
    }
    if cursor.take_literal(br#","groups":"#) {
        cursor.skip()?;
    }
    if cursor.take_literal(br#","extra":"#) {
        user.extra = Some(extra_in_server_order(cursor).or_else(|| extra(cursor))?);
    }
    cursor.expect(b'}')?;
    Some(user)
}

pub(super) fn user(cursor: &mut JsonCursor<'_>) -> Option<UserFields> {
    let (mut user, mut keys) = (UserFields::default(), UniqueKeys::default());
    cursor.object(|cursor, key| {
        match key {
            b"username" => {
                keys.once(0)?;
                user.username = cursor.string()?;
            }
            b"extra" => {
                keys.once(1)?;
                user.extra = Some(extra(cursor)?);
            }
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    Some(user)
}

/// Locates the extra fields of a token that is bound to a pod, in the server's order. For any other value, it returns
/// `None` and leaves the cursor where it was.
fn extra_in_server_order(cursor: &mut JsonCursor<'_>) -> Option<ExtraFields> {
    let start = cursor.at();
    let mut extra = ExtraFields::default();
    let mut take = || {
        let mut entry = |literal: &[u8]| {
            let value = cursor.string_after(literal)?;
            cursor.expect(b']').map(|()| value)
        };
        entry(br#"{"authentication.kubernetes.io/credential-id":[""#)?;
        extra.node_name = entry(br#","authentication.kubernetes.io/node-name":[""#)?;
        entry(br#","authentication.kubernetes.io/node-uid":[""#)?;
        extra.pod_name = entry(br#","authentication.kubernetes.io/pod-name":[""#)?;
        entry(br#","authentication.kubernetes.io/pod-uid":[""#)?;
        cursor.expect(b'}')
    };
    let took = take();
    if took.is_none() {
        cursor.back_to(start);
    }
    took.map(|()| extra)
}

fn extra(cursor: &mut JsonCursor<'_>) -> Option<ExtraFields> {
    let (mut extra, mut keys) = (ExtraFields::default(), UniqueKeys::default());
    cursor.object(|cursor, key| {
        match key {
            b"authentication.kubernetes.io/pod-name" => {
                keys.once(0)?;
                extra.pod_name = only(cursor)?;
            }
            b"authentication.kubernetes.io/node-name" => {
                keys.once(1)?;
                extra.node_name = only(cursor)?;
            }
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    Some(extra)
}

/// Locates the string in an array of one string. The values of `user.extra` are such arrays.
fn only(cursor: &mut JsonCursor<'_>) -> Option<TextSpan> {
    cursor.expect(b'[')?;
    cursor.skip_space();
    let value = cursor.string()?;
    cursor.skip_space();
    cursor.expect(b']')?;
    Some(value)
}

/// Locates the status of a response whose fields are in the server's order. For any other value, it returns `None`
/// and leaves the cursor where it was.
///
/// Source: k8s.io/apimachinery `pkg/apis/meta/v1/types.go:Status`.
pub(super) fn status_in_server_order(cursor: &mut JsonCursor<'_>) -> Option<StatusFields> {
    let start = cursor.at();
    let mut take = || {
        if !cursor.take_literal(br#"{"metadata":{}"#) {
            return None;
        }
        take_if_there(cursor, br#","status":""#)?;
        take_if_there(cursor, br#","message":""#)?;
        take_if_there(cursor, br#","reason":""#)?;
        if cursor.take_literal(br#","details":"#) {
            cursor.skip()?;
        }
        if !cursor.take_literal(br#","code":"#) {
            return None;
        }
        let code = cursor.integer()?;
        cursor.expect(b'}').map(|()| code)
    };
    let code = take();
    if code.is_none() {
        cursor.back_to(start);
    }
    code.map(|code| StatusFields { code: Some(code) })
}

pub(super) fn status(cursor: &mut JsonCursor<'_>) -> Option<StatusFields> {
    let mut code = None;
    cursor.object(|cursor, key| {
        if key != b"code" {
            return cursor.skip();
        }
        if code.is_some() {
            return None;
        }
        code = Some(cursor.integer()?);
        Some(())
    })?;
    Some(StatusFields { code })
}

/// Moves over annotations that contain only the authorization decision and its reason. Fast requests often have only
/// these. kubetoll needs neither, unless the server responded 403. For other annotations, it returns `None` and
/// leaves the cursor where it was.
pub(super) fn annotations_in_server_order(cursor: &mut JsonCursor<'_>) -> Option<()> {
    let start = cursor.at();
    let mut take = || {
        cursor.string_after(br#"{"authorization.k8s.io/decision":""#)?;
        cursor.string_after(br#","authorization.k8s.io/reason":""#)?;
        cursor.expect(b'}')
    };
    let took = take();
    if took.is_none() {
        cursor.back_to(start);
    }
    took
}

pub(super) fn annotations(cursor: &mut JsonCursor<'_>) -> Option<AnnotationFields> {
    let (mut annotations, mut keys) = (AnnotationFields::default(), UniqueKeys::default());
    cursor.object(|cursor, key| {
        let (number, field) = match key {
            b"apiserver.latency.k8s.io/total" => (0, &mut annotations.total),
            b"apiserver.latency.k8s.io/etcd" => (1, &mut annotations.etcd),
            b"apiserver.latency.k8s.io/decode-response-object" => {
                (2, &mut annotations.decode_response_object)
            }
            b"apiserver.latency.k8s.io/mutating-webhook" => (6, &mut annotations.mutating_webhook),
            b"apiserver.latency.k8s.io/validating-webhook" => (7, &mut annotations.validating_webhook),
            b"k8s.io/deprecated" => (3, &mut annotations.deprecated),
            b"audit.k8s.io/truncated" => (4, &mut annotations.truncated),
            b"k8s.io/removed-release" => (5, &mut annotations.removed_release),
            b"apiserver.latency.k8s.io/apf-queue-wait" => (8, &mut annotations.queue_wait),
            b"apiserver.latency.k8s.io/authentication" => (9, &mut annotations.authentication),
            b"apiserver.latency.k8s.io/impersonation" => (10, &mut annotations.impersonation),
            b"authorization.k8s.io/decision" => (11, &mut annotations.decision),
            _ => return cursor.skip(),
        };
        keys.once(number)?;
        *field = cursor.string()?;
        Some(())
    })?;
    Some(annotations)
}
