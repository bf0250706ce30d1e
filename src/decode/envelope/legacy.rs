//! The apiserver's `legacy` audit format: one line of quoted values. It does not contain the time at which the
//! request ended.
//!
//! Source: k8s.io/apiserver `pkg/audit/format.go:EventString`.

use std::borrow::Cow;

use super::line::{Prefixed, TextLine};
use crate::decode::klog::pairs::KlogPairs;
use crate::k8s::Event;
use crate::k8s::event::{ResponseStatus, Text, User};

/// Returns the event of a line.
#[must_use]
pub(crate) fn strip<'a>(line: &TextLine<'a>) -> Option<Prefixed<'a>> {
    let (time, rest) = line.dated?;
    Some(Prefixed::Legacy(Box::new(event(time, rest)?)))
}

/// Builds the event from a line whose timestamp was removed.
fn event<'a>(time: &'a str, rest: &'a str) -> Option<Event<'a>> {
    let pairs = rest.strip_prefix("AUDIT: ")?;
    let mut event = Event { request_received_timestamp: Text(Cow::Borrowed(time)), ..Event::default() };
    for (key, value) in KlogPairs::new(pairs) {
        let text = Text(value.text());
        match key {
            "id" => event.audit_id = text,
            "stage" => event.stage_name = text,
            "method" => event.verb = text,
            "user" if &*text != "<none>" => event.user = Some(User { username: text, extra: None }),
            "as" if &*text != "<self>" => {
                event.impersonated_user = Some(User { username: text, extra: None });
            }
            "user-agent" => event.user_agent = text,
            "uri" => event.request_uri = text,
            // The value is `<deferred>` at stages before the response.
            "response" => {
                event.response_status = text.parse().ok().map(|code| ResponseStatus { code: Some(code) });
            }
            _ => {}
        }
    }
    super::audit::is_event(&event).then_some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legacy_line_becomes_an_event() {
        let rest = r#"AUDIT: id="a" stage="ResponseComplete" ip="10.0.0.1" method="list" user="alice" groups="\"x\",\"y\"" as="<self>" asgroups="<lookup>" user-agent="kubectl/v1 \"x\"" namespace="<none>" uri="/api/v1/pods?limit=5" response="200""#;
        let event = event("2026-01-01T00:00:00.5Z", rest).expect("an event");
        assert_eq!((&*event.audit_id, &*event.verb, event.status()), ("a", "list", Some(200)));
        assert_eq!(&*event.user_agent, "kubectl/v1 \"x\"");
        assert!(event.impersonated_user.is_none());
        assert!(super::event("t", "AUDIT: id=\"a\" stage=\"ResponseC").is_none());
    }
}
