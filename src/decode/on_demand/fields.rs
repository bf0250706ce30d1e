//! Where the fields of an event stand in its line.

use std::borrow::Cow;

use super::recent::RecentClients;
use super::scan::{Scan, Span};
use crate::decode::unescape::append;
use crate::k8s::Event;
use crate::k8s::event::{Annotations, ClientText, Extra, First, Raw, ResponseStatus, Text, User};

/// Where `Event` and the API's version stand in an event that is written as the log backend does.
const KIND: Span = Span { start: 9, end: 14, escaped: false };
const API_VERSION: Span = Span { start: 30, end: 45, escaped: false };

/// The fields of an event, by their places.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Fields {
    kind: Span,
    api_version: Span,
    audit_id: Span,
    stage: Span,
    request_uri: Span,
    verb: Span,
    client: ClientFields,
    /// The text that tells of the client, if it was met before.
    pub(super) client_text: Option<ClientText>,
    object_ref: Option<Span>,
    response_status: Option<StatusFields>,
    received: Span,
    ended: Span,
    annotations: Option<AnnotationFields>,
}

/// The fields that tell of the client, which the server writes one behind the other.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClientFields {
    user: Option<UserFields>,
    impersonated_user: Option<UserFields>,
    source_ips: Option<Span>,
    user_agent: Span,
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

    /// Takes them.
    fn take(scan: &mut Scan<'_>) -> Option<Self> {
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
struct UserFields {
    username: Span,
    extra: Option<ExtraFields>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct ExtraFields {
    pod_name: Span,
    node_name: Span,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct StatusFields {
    code: Option<i32>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct AnnotationFields {
    total: Span,
    etcd: Span,
    decode_response_object: Span,
    deprecated: Span,
    truncated: Span,
    removed_release: Span,
}

/// Which fields were met: a second one of a name is for `serde_json` to refuse.
#[derive(Default)]
struct Met(u32);

impl Met {
    fn once(&mut self, field: u32) -> Option<()> {
        let is_new = self.0 & 1 << field == 0;
        self.0 |= 1 << field;
        is_new.then_some(())
    }
}

impl Fields {
    /// Finds the fields of an event. `None` for what is none, and for one that is written as no server does: then
    /// `serde_json` has to tell.
    #[must_use]
    pub fn find(text: &str, recent: &mut RecentClients) -> Option<Self> {
        Self::in_server_order(text, recent).or_else(|| Self::in_any_order(text))
    }

    /// Finds the fields of an event that is written to the letter as the log backend does.
    ///
    /// Source: k8s.io/apiserver `pkg/apis/audit/v1/types.go:Event`, whose fields come in their order, and Go's
    /// `encoding/json`, which sorts the keys of maps.
    pub(super) fn in_server_order(text: &str, recent: &mut RecentClients) -> Option<Self> {
        const START: &[u8] = br#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":""#;
        let mut scan = Scan::new(text)?;
        let mut fields = Self::default();
        scan.string_behind(START)?;
        fields.kind = KIND;
        fields.api_version = API_VERSION;
        fields.audit_id = scan.string_behind(br#","auditID":""#)?;
        fields.stage = scan.string_behind(br#","stage":""#)?;
        fields.request_uri = scan.string_behind(br#","requestURI":""#)?;
        fields.verb = scan.string_behind(br#","verb":""#)?;
        (fields.client, fields.client_text) = recent.take(&mut scan, ClientFields::take)?;
        if scan.has(br#","objectRef":"#) {
            fields.object_ref = Some(raw(&mut scan)?);
        }
        if scan.has(br#","responseStatus":"#) {
            let is_plain = scan.has(br#"{"metadata":{},"code":"#);
            fields.response_status = Some(if is_plain {
                let code = scan.integer()?;
                scan.expect(b'}')?;
                StatusFields { code: Some(code) }
            } else {
                status(&mut scan)?
            });
        }
        for body in [br#","requestObject":"#.as_slice(), br#","responseObject":"#] {
            if scan.has(body) {
                scan.skip()?;
            }
        }
        fields.received = scan.string_behind(br#","requestReceivedTimestamp":""#)?;
        fields.ended = scan.string_behind(br#","stageTimestamp":""#)?;
        if scan.has(br#","annotations":"#) {
            fields.annotations =
                Some(annotations_in_server_order(&mut scan).or_else(|| annotations(&mut scan))?);
        }
        (scan.has(b"}") && scan.at() == text.len()).then_some(fields)
    }

    /// Finds the fields of an event in whatever order.
    pub(super) fn in_any_order(text: &str) -> Option<Self> {
        let mut scan = Scan::new(text)?;
        let mut fields = Self::default();
        let mut met = Met::default();
        scan.object(|scan, key| fields.take(scan, key, &mut met))?;
        scan.space();
        (scan.at() == text.len()).then_some(fields)
    }

    fn take(&mut self, scan: &mut Scan<'_>, key: &[u8], met: &mut Met) -> Option<()> {
        let (number, field) = match key {
            b"kind" => (0, &mut self.kind),
            b"apiVersion" => (1, &mut self.api_version),
            b"auditID" => (2, &mut self.audit_id),
            b"stage" => (3, &mut self.stage),
            b"requestURI" => (4, &mut self.request_uri),
            b"verb" => (5, &mut self.verb),
            b"userAgent" => (6, &mut self.client.user_agent),
            b"requestReceivedTimestamp" => (7, &mut self.received),
            b"stageTimestamp" => (8, &mut self.ended),
            b"user" => {
                met.once(9)?;
                self.client.user = Some(user(scan)?);
                return Some(());
            }
            b"sourceIPs" => {
                met.once(10)?;
                self.client.source_ips = Some(raw(scan)?);
                return Some(());
            }
            b"objectRef" => {
                met.once(11)?;
                self.object_ref = Some(raw(scan)?);
                return Some(());
            }
            b"responseStatus" => {
                met.once(12)?;
                self.response_status = Some(status(scan)?);
                return Some(());
            }
            b"annotations" => {
                met.once(13)?;
                self.annotations = Some(annotations(scan)?);
                return Some(());
            }
            b"impersonatedUser" => {
                met.once(14)?;
                self.client.impersonated_user = Some(user(scan)?);
                return Some(());
            }
            // Only older servers and some collectors write these.
            b"timestamp" | b"k8s_audit_level" => return None,
            _ => return scan.skip(),
        };
        met.once(number)?;
        *field = scan.string()?;
        Some(())
    }

    /// Undoes the escapes of the fields that hold some. `text` is the line, and what they mean is put into `meant`.
    /// `None` where an escape is none.
    #[must_use]
    pub fn unescape(&mut self, text: &str, meant: &mut String) -> Option<()> {
        meant.clear();
        let mut undo = |span: &mut Span| {
            if !span.escaped {
                return Some(());
            }
            let start = meant.len();
            append(&text[span.range()], meant)?;
            // What escapes mean is no longer than they are.
            (span.start, span.end) = (u32::try_from(start).ok()?, u32::try_from(meant.len()).ok()?);
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
        if let Some(annotations) = &mut self.annotations {
            undo(&mut annotations.total)?;
            undo(&mut annotations.etcd)?;
            undo(&mut annotations.decode_response_object)?;
            undo(&mut annotations.deprecated)?;
            undo(&mut annotations.truncated)?;
            undo(&mut annotations.removed_release)?;
        }
        Some(())
    }

    /// Whether a field holds escapes beside the target, in which servers write `&` as one.
    fn has_other_escapes(&self) -> bool {
        let user = |user: &UserFields| {
            let extra = user.extra.unwrap_or_default();
            user.username.escaped | extra.pod_name.escaped | extra.node_name.escaped
        };
        let ClientFields { user: asking, impersonated_user, user_agent, .. } = &self.client;
        let users = asking.as_ref().is_some_and(user) | impersonated_user.as_ref().is_some_and(user);
        let names = self.kind.escaped | self.api_version.escaped | self.audit_id.escaped;
        let others = self.stage.escaped | self.verb.escaped | self.received.escaped | self.ended.escaped;
        let annotations = self.annotations.as_ref().is_some_and(|own| *own != AnnotationFields::default());
        users | names | others | user_agent.escaped | annotations
    }

    /// The event. `text` is the line, and `meant` is what [`Fields::unescape`] filled.
    #[must_use]
    pub fn event<'e>(&self, text: &'e str, meant: &'e str) -> Event<'e> {
        let of = |span: Span| {
            let text = if span.escaped { meant } else { text };
            Text(Cow::Borrowed(&text[span.range()]))
        };
        let raw = |span: Span| Raw(&text[span.range()]);
        let user = |user: UserFields| User {
            username: of(user.username),
            extra: user.extra.map(|extra| Extra {
                pod_name: First(of(extra.pod_name)),
                node_name: First(of(extra.node_name)),
            }),
        };
        Event {
            kind: of(self.kind),
            api_version: of(self.api_version),
            audit_id: of(self.audit_id),
            stage_name: of(self.stage),
            request_uri: of(self.request_uri),
            verb: of(self.verb),
            user: self.client.user.map(user),
            impersonated_user: self.client.impersonated_user.map(user),
            user_agent: of(self.client.user_agent),
            object_ref: self.object_ref.map(raw),
            object: None,
            source_ips: self.client.source_ips.map(raw),
            timestamp_v1alpha1: None,
            k8s_audit_level: None,
            response_status: self.response_status.map(|status| ResponseStatus { code: status.code }),
            request_received_timestamp: of(self.received),
            stage_timestamp: of(self.ended),
            client: self.client_text,
            annotations: self.annotations.map(|own| Annotations {
                total: of(own.total),
                etcd: of(own.etcd),
                decode_response_object: of(own.decode_response_object),
                deprecated: of(own.deprecated),
                truncated: of(own.truncated),
                removed_release: of(own.removed_release),
            }),
        }
    }
}

/// Takes a value as it is written.
fn raw(scan: &mut Scan<'_>) -> Option<Span> {
    let start = scan.mark();
    if !matches!(scan.peek()?, b'{' | b'[' | b'"') {
        return None;
    }
    scan.skip()?;
    Some(Span { start, end: scan.mark(), escaped: false })
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

fn user(scan: &mut Scan<'_>) -> Option<UserFields> {
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

fn status(scan: &mut Scan<'_>) -> Option<StatusFields> {
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

/// Takes what the server writes of a request that was quick; `None`, with the place as it was, for anything else.
fn annotations_in_server_order(scan: &mut Scan<'_>) -> Option<AnnotationFields> {
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
    took.map(|()| AnnotationFields::default())
}

fn annotations(scan: &mut Scan<'_>) -> Option<AnnotationFields> {
    let (mut annotations, mut met) = (AnnotationFields::default(), Met::default());
    scan.object(|scan, key| {
        let (number, field) = match key {
            b"apiserver.latency.k8s.io/total" => (0, &mut annotations.total),
            b"apiserver.latency.k8s.io/etcd" => (1, &mut annotations.etcd),
            b"apiserver.latency.k8s.io/decode-response-object" => {
                (2, &mut annotations.decode_response_object)
            }
            b"k8s.io/deprecated" => (3, &mut annotations.deprecated),
            b"audit.k8s.io/truncated" => (4, &mut annotations.truncated),
            b"k8s.io/removed-release" => (5, &mut annotations.removed_release),
            _ => return scan.skip(),
        };
        met.once(number)?;
        *field = scan.string()?;
        Some(())
    })?;
    Some(annotations)
}
