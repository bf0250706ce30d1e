//! Locates the needed fields in the objects of an event.

use std::borrow::Cow;

use super::cursor::{JsonCursor, TextSpan};
use crate::k8s::event::{Annotations, Extra, ResponseStatus, Text, User};

/// The fields that identify the client. The server writes them one after another.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClientFields {
    pub(crate) user: Option<User<TextSpan>>,
    pub(crate) impersonated_user: Option<User<TextSpan>>,
    pub(crate) source_ips: Option<TextSpan>,
    pub(crate) user_agent: TextSpan,
}

impl ClientFields {
    /// Moves all positions `by` bytes to the right.
    pub(crate) fn moved(self, by: u32) -> Self {
        let moved = |span: TextSpan| span.moved(by);
        Self {
            user: self.user.map(|user| user.map(moved)),
            impersonated_user: self.impersonated_user.map(|user| user.map(moved)),
            source_ips: self.source_ips.map(moved),
            user_agent: self.user_agent.moved(by),
        }
    }

    pub(crate) fn has_escapes(&self) -> bool {
        let user = |user: &User<TextSpan>| {
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
            client.user = Some(user(cursor)?);
        }
        if cursor.take_literal(br#","impersonatedUser":"#) {
            client.impersonated_user = Some(user(cursor)?);
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

/// Locates a string. `None` if the key occurs twice.
pub(super) fn text(cursor: &mut JsonCursor<'_>, field: &mut TextSpan) -> Option<()> {
    if *field != TextSpan::default() {
        return None;
    }
    *field = cursor.string()?;
    Some(())
}

/// Locates an object. `None` if the key occurs twice.
pub(super) fn once<V>(
    cursor: &mut JsonCursor<'_>,
    field: &mut Option<V>,
    read: impl FnOnce(&mut JsonCursor<'_>) -> Option<V>,
) -> Option<()> {
    if field.is_some() {
        return None;
    }
    *field = Some(read(cursor)?);
    Some(())
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

pub(super) fn user(cursor: &mut JsonCursor<'_>) -> Option<User<TextSpan>> {
    let mut user = User::default();
    cursor.object(|cursor, key| match key {
        b"username" => text(cursor, &mut user.username),
        b"extra" => once(cursor, &mut user.extra, extra),
        _ => cursor.skip(),
    })?;
    Some(user)
}

fn extra(cursor: &mut JsonCursor<'_>) -> Option<Extra<TextSpan>> {
    let mut extra = Extra::default();
    cursor.object(|cursor, key| {
        let field = match key {
            b"authentication.kubernetes.io/pod-name" => &mut extra.pod_name,
            b"authentication.kubernetes.io/node-name" => &mut extra.node_name,
            _ => return cursor.skip(),
        };
        if *field != TextSpan::default() {
            return None;
        }
        *field = only(cursor)?;
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
pub(super) fn status_in_server_order(cursor: &mut JsonCursor<'_>) -> Option<ResponseStatus> {
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
    code.map(|code| ResponseStatus { code: Some(code) })
}

pub(super) fn status(cursor: &mut JsonCursor<'_>) -> Option<ResponseStatus> {
    let mut code = None;
    cursor.object(|cursor, key| match key {
        b"code" if code.is_some() => None,
        b"code" => cursor.integer().map(|own| code = Some(own)),
        _ => cursor.skip(),
    })?;
    Some(ResponseStatus { code })
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

/// Locates the annotations that kubetoll needs. The span of an empty annotation is empty.
pub(super) fn annotations(cursor: &mut JsonCursor<'_>) -> Option<Annotations<TextSpan>> {
    let mut annotations = Annotations::default();
    cursor.object(|cursor, key| match annotations.get_mut(key) {
        Some(field) => text(cursor, field),
        None => cursor.skip(),
    })?;
    for span in annotations.each_mut().filter(|span| span.start == span.end) {
        *span = TextSpan::default();
    }
    Some(annotations)
}
