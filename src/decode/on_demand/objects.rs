//! The objects within an event, of which a few fields each are needed.

use std::borrow::Cow;

use super::scan::{Scan, Span};
use crate::k8s::event::{Caller, Extra, First, Raw, Text, User};

/// The fields that tell of the client, which the server writes one behind the other.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClientFields {
    pub user: Option<UserFields>,
    pub impersonated_user: Option<UserFields>,
    pub source_ips: Option<Span>,
    pub user_agent: Span,
}

impl ClientFields {
    /// The same so many bytes further behind.
    pub fn moved(self, by: u32) -> Self {
        Self {
            user: self.user.map(|user| user.moved(by)),
            impersonated_user: self.impersonated_user.map(|user| user.moved(by)),
            source_ips: self.source_ips.map(|span| span.moved(by)),
            user_agent: self.user_agent.moved(by),
        }
    }

    /// What they tell. `text` is where they stand, and `meant` where what they mean was put that hold escapes.
    pub fn caller<'e>(&self, text: &'e str, meant: &'e str) -> Caller<'e> {
        let of = |span: Span| span.text(text, meant);
        let user = |user: UserFields| User {
            username: of(user.username),
            extra: user.extra.map(|extra| Extra {
                pod_name: First(of(extra.pod_name)),
                node_name: First(of(extra.node_name)),
            }),
        };
        Caller {
            user: self.user.map(user),
            impersonated_user: self.impersonated_user.map(user),
            source_ips: self.source_ips.map(|span| Raw(&text[span.range()])),
            user_agent: of(self.user_agent),
        }
    }

    /// Whether one of them holds escapes.
    pub fn has_escapes(&self) -> bool {
        let user = |user: &UserFields| {
            let extra = user.extra.unwrap_or_default();
            user.username.escaped | extra.pod_name.escaped | extra.node_name.escaped
        };
        let users = self.user.as_ref().is_some_and(user) | self.impersonated_user.as_ref().is_some_and(user);
        users | self.user_agent.escaped
    }

    /// Takes them.
    pub fn take(scan: &mut Scan<'_>) -> Option<Self> {
        let mut client = Self::default();
        if scan.has(br#","user":"#) {
            client.user = Some(user_in_server_order(scan)?);
        }
        if scan.has(br#","impersonatedUser":"#) {
            client.impersonated_user = Some(user_in_server_order(scan)?);
        }
        if scan.has(br#","sourceIPs":"#) {
            client.source_ips = Some(raw(scan)?);
        }
        if scan.has(br#","userAgent":""#) {
            client.user_agent = scan.string_end()?;
        }
        Some(client)
    }
}

impl Span {
    /// What stands there; `meant` is where what it means was put if it holds escapes.
    pub fn text<'e>(self, text: &'e str, meant: &'e str) -> Text<'e> {
        let text = if self.escaped { meant } else { text };
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
    pub username: Span,
    pub extra: Option<ExtraFields>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExtraFields {
    pub pod_name: Span,
    pub node_name: Span,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct StatusFields {
    pub code: Option<i32>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnnotationFields {
    pub total: Span,
    pub etcd: Span,
    pub decode_response_object: Span,
    pub mutating_webhook: Span,
    pub validating_webhook: Span,
    pub queue_wait: Span,
    pub deprecated: Span,
    pub truncated: Span,
    pub removed_release: Span,
    pub authentication: Span,
    pub impersonation: Span,
    pub decision: Span,
}

impl AnnotationFields {
    /// Whether one of them is there and says anything.
    pub fn are_some(mut self) -> bool {
        self.each_mut().into_iter().any(|span| span.start < span.end)
    }

    /// All of them.
    pub fn each_mut(&mut self) -> [&mut Span; 12] {
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

/// Which fields were met: a second one of a name is for `serde_json` to refuse.
#[derive(Default)]
pub(super) struct Met(u32);

impl Met {
    pub fn once(&mut self, field: u32) -> Option<()> {
        let is_new = self.0 & 1 << field == 0;
        self.0 |= 1 << field;
        is_new.then_some(())
    }
}

/// Takes a value as it is written.
pub(super) fn raw(scan: &mut Scan<'_>) -> Option<Span> {
    let start = scan.mark();
    if !matches!(scan.peek()?, b'{' | b'[' | b'"') {
        return None;
    }
    scan.skip()?;
    Some(Span { start, end: scan.mark(), escaped: false })
}

/// Takes a reference to an object whose fields come in the order in which the server writes them, and none with another
/// name; `None`, with the place as it was, for anything else.
///
/// Source: k8s.io/apiserver `pkg/apis/audit/v1/types.go:ObjectReference`.
pub(super) fn reference_in_server_order(scan: &mut Scan<'_>) -> Option<Span> {
    let start = scan.mark();
    let mut take = || {
        scan.expect(b'{')?;
        take_if_there(scan, br#""resource":""#)?;
        take_if_there(scan, br#","namespace":""#)?;
        take_if_there(scan, br#","name":""#)?;
        take_if_there(scan, br#","uid":""#)?;
        take_if_there(scan, br#","apiGroup":""#)?;
        take_if_there(scan, br#","apiVersion":""#)?;
        take_if_there(scan, br#","resourceVersion":""#)?;
        take_if_there(scan, br#","subresource":""#)?;
        scan.expect(b'}')
    };
    if take().is_none() {
        scan.back_to(start as usize);
        return None;
    }
    Some(Span { start, end: scan.mark(), escaped: false })
}

/// Takes a string behind a text, if that stands here.
#[inline(always)]
#[allow(clippy::inline_always, reason = "with a text that is known, comparing is a few instructions")]
fn take_if_there(scan: &mut Scan<'_>, literal: &[u8]) -> Option<()> {
    if scan.has(literal) { scan.string_end().map(|_| ()) } else { Some(()) }
}

/// Takes a user whose fields come in the order in which the server writes them, and none with another name.
fn user_in_server_order(scan: &mut Scan<'_>) -> Option<UserFields> {
    let mut user = UserFields { username: scan.string_behind(br#"{"username":""#)?, extra: None };
    if scan.has(br#","uid":""#) {
        scan.string_end()?;
    }
    if scan.has(br#","groups":"#) {
        scan.skip()?;
    }
    if scan.has(br#","extra":"#) {
        user.extra = Some(extra_in_server_order(scan).or_else(|| extra(scan))?);
    }
    scan.expect(b'}')?;
    Some(user)
}

pub(super) fn user(scan: &mut Scan<'_>) -> Option<UserFields> {
    let (mut user, mut met) = (UserFields::default(), Met::default());
    scan.object(|scan, key| {
        match key {
            b"username" => {
                met.once(0)?;
                user.username = scan.string()?;
            }
            b"extra" => {
                met.once(1)?;
                user.extra = Some(extra(scan)?);
            }
            _ => scan.skip()?,
        }
        Some(())
    })?;
    Some(user)
}

/// Takes what the server writes of a token that is bound to a pod; `None`, with the place as it was, for anything else.
fn extra_in_server_order(scan: &mut Scan<'_>) -> Option<ExtraFields> {
    let start = scan.at();
    let mut extra = ExtraFields::default();
    let mut take = || {
        let mut entry = |literal: &[u8]| {
            let value = scan.string_behind(literal)?;
            scan.expect(b']').map(|()| value)
        };
        entry(br#"{"authentication.kubernetes.io/credential-id":[""#)?;
        extra.node_name = entry(br#","authentication.kubernetes.io/node-name":[""#)?;
        entry(br#","authentication.kubernetes.io/node-uid":[""#)?;
        extra.pod_name = entry(br#","authentication.kubernetes.io/pod-name":[""#)?;
        entry(br#","authentication.kubernetes.io/pod-uid":[""#)?;
        scan.expect(b'}')
    };
    let took = take();
    if took.is_none() {
        scan.back_to(start);
    }
    took.map(|()| extra)
}

fn extra(scan: &mut Scan<'_>) -> Option<ExtraFields> {
    let (mut extra, mut met) = (ExtraFields::default(), Met::default());
    scan.object(|scan, key| {
        match key {
            b"authentication.kubernetes.io/pod-name" => {
                met.once(0)?;
                extra.pod_name = only(scan)?;
            }
            b"authentication.kubernetes.io/node-name" => {
                met.once(1)?;
                extra.node_name = only(scan)?;
            }
            _ => scan.skip()?,
        }
        Some(())
    })?;
    Some(extra)
}

/// Takes an array of one string, as `user.extra` holds its values.
fn only(scan: &mut Scan<'_>) -> Option<Span> {
    scan.expect(b'[')?;
    scan.space();
    let value = scan.string()?;
    scan.space();
    scan.expect(b']')?;
    Some(value)
}

/// Takes an answer's status as the server writes it; `None`, with the place as it was, for anything else.
///
/// Source: k8s.io/apimachinery `pkg/apis/meta/v1/types.go:Status`.
pub(super) fn status_in_server_order(scan: &mut Scan<'_>) -> Option<StatusFields> {
    let start = scan.at();
    let mut take = || {
        if !scan.has(br#"{"metadata":{}"#) {
            return None;
        }
        take_if_there(scan, br#","status":""#)?;
        take_if_there(scan, br#","message":""#)?;
        take_if_there(scan, br#","reason":""#)?;
        if scan.has(br#","details":"#) {
            scan.skip()?;
        }
        if !scan.has(br#","code":"#) {
            return None;
        }
        let code = scan.integer()?;
        scan.expect(b'}').map(|()| code)
    };
    let code = take();
    if code.is_none() {
        scan.back_to(start);
    }
    code.map(|code| StatusFields { code: Some(code) })
}

pub(super) fn status(scan: &mut Scan<'_>) -> Option<StatusFields> {
    let mut code = None;
    scan.object(|scan, key| {
        if key != b"code" {
            return scan.skip();
        }
        if code.is_some() {
            return None;
        }
        code = Some(scan.integer()?);
        Some(())
    })?;
    Some(StatusFields { code })
}

/// Takes what the server writes of a request that was quick, of which nothing is needed; `None`, with the place as it was,
/// for anything else.
pub(super) fn annotations_in_server_order(scan: &mut Scan<'_>) -> Option<()> {
    let start = scan.at();
    let mut take = || {
        scan.string_behind(br#"{"authorization.k8s.io/decision":""#)?;
        scan.string_behind(br#","authorization.k8s.io/reason":""#)?;
        scan.expect(b'}')
    };
    let took = take();
    if took.is_none() {
        scan.back_to(start);
    }
    took
}

pub(super) fn annotations(scan: &mut Scan<'_>) -> Option<AnnotationFields> {
    let (mut annotations, mut met) = (AnnotationFields::default(), Met::default());
    scan.object(|scan, key| {
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
            _ => return scan.skip(),
        };
        met.once(number)?;
        *field = scan.string()?;
        Some(())
    })?;
    Some(annotations)
}
