//! Traces of slow requests (above 500 ms). The server writes a trace over several lines: a header, steps, an end.
//! Other lines may come between them, so each line is parsed alone. Each line carries the trace's number.
//!
//! Source: k8s.io/utils `trace/trace.go` (1.15 and later), kubernetes `pkg/util/trace.go` before.

use std::borrow::Cow;

use super::access::micros;

/// One line of a trace. Fields that the line does not contain are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceFragment<'a> {
    /// A random number that all lines of a trace share. It is unique only within one process. `None` before 1.7.
    pub number: Option<u32>,
    pub part: TracePart,
    /// The traced operation: `List`, `Create`, `SerializeObject`.
    pub operation: Cow<'a, str>,
    /// The request's path, without the query.
    pub path: Cow<'a, str>,
    /// The client's `User-Agent`.
    pub(crate) user_agent: Cow<'a, str>,
    /// The request's audit ID (1.21 and later).
    pub audit_id: Cow<'a, str>,
    /// The client's address, without a port.
    pub(crate) client: Cow<'a, str>,
    /// The API group that the server resolved (1.26 and later).
    pub(crate) group: Cow<'a, str>,
    /// The resource that the server resolved (1.26 and later).
    pub(crate) resource: Cow<'a, str>,
    /// The scope that the server resolved: `cluster`, `namespace` or `resource` (1.26 and later).
    pub(crate) scope: Cow<'a, str>,
    /// The duration of the whole trace, in microseconds.
    pub(crate) total_micros: Option<u64>,
    /// The number of objects in a list response.
    pub(crate) items: Option<u64>,
    /// The number of bytes that an encoding step wrote.
    pub(crate) size: Option<u64>,
}

/// The kind of a line in a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TracePart {
    /// The first line: operation, request and duration.
    Header,
    /// The header of a nested trace.
    Nested,
    #[default]
    Step,
    /// The last line.
    End,
}

/// Steps whose count is the number of objects in a list response. Two other steps count something else. `Listed items
/// from cache` counts objects before filtering, and `SerializeObject` counts calls of the writer.
///
/// Source: k8s.io/apiserver `pkg/endpoints/handlers/get.go`, `pkg/storage/cacher/cacher.go`.
const ITEM_STEPS: [&str; 3] = ["Writing http response done", "Listing from storage done", "Filtered items"];

/// The length of the longest key, in bytes.
const MAX_KEY: usize = "resourceVersion".len();

impl<'a> TraceFragment<'a> {
    /// Parses one line of a trace, without klog's header.
    #[must_use]
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix("Trace")?;
        let (number, body) = match rest.strip_prefix('[') {
            Some(rest) => {
                let (number, body) = rest.split_once("]:")?;
                (Some(number.parse().ok()?), body.trim_start_matches(' '))
            }
            None => (None, rest.strip_prefix(' ').filter(|body| body.starts_with('"'))?),
        };
        let mut fragment = Self { number, ..Self::default() };
        if let Some(name) = body.strip_prefix('"') {
            fragment.header(name);
        } else if let Some(name) = body.strip_prefix("[\"") {
            fragment.part = TracePart::Nested;
            fragment.operation = name.split('"').next().unwrap_or_default().into();
        } else if let Some(step) = body.strip_prefix("---\"") {
            let (name, fields) = step.split_once('"')?;
            fragment.step(name, fields);
        } else if let Some((since, rest)) = brackets(body) {
            match rest.split_once(" count:") {
                _ if rest == "END" => {
                    fragment.part = TracePart::End;
                    fragment.total_micros = Some(since);
                }
                Some((name, _)) => fragment.step(name, &rest[name.len()..]),
                None => fragment.old_step(rest),
            }
        }
        Some(fragment)
    }

    /// Parses a trace that was logged as one message of several lines.
    #[must_use]
    pub(crate) fn read_lines(text: &'a str) -> Option<Self> {
        let mut lines = text.lines();
        let mut merged = Self::read(lines.next()?)?;
        for other in lines.filter_map(Self::read).filter(|other| other.number == merged.number) {
            merged.items = merged.items.max(other.items);
            merged.size = merged.size.max(other.size);
            if other.part == TracePart::End {
                merged.total_micros = other.total_micros;
            }
        }
        Some(merged)
    }

    /// A copy that does not borrow from the log.
    #[must_use]
    pub fn into_owned(self) -> TraceFragment<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        TraceFragment {
            number: self.number,
            part: self.part,
            operation: own(self.operation),
            path: own(self.path),
            user_agent: own(self.user_agent),
            audit_id: own(self.audit_id),
            client: own(self.client),
            group: own(self.group),
            resource: own(self.resource),
            scope: own(self.scope),
            total_micros: self.total_micros,
            items: self.items,
            size: self.size,
        }
    }

    /// Parses `List" url:/api/v1/pods,… (05-Jun-2023 11:12:13.456) (total time: 4101ms):`
    fn header(&mut self, text: &'a str) {
        self.part = TracePart::Header;
        let (name, rest) = text.split_once('"').unwrap_or((text, ""));
        // Up to 1.14 the path is a part of the name: `List /api/v1/pods`.
        let (operation, path) = match memchr::memmem::find(name.as_bytes(), b" /") {
            Some(at) => (&name[..at], &name[at + 1..]),
            None => (name, ""),
        };
        self.operation = operation.into();
        self.path = path.into();
        let fields = match rest.rsplit_once("(total time: ") {
            Some((before, total)) => {
                self.total_micros = total.split(')').next().and_then(micros);
                before.rsplit_once(" (").map_or(before, |(fields, _)| fields)
            }
            None => rest.rsplit_once(" (started").map_or(rest, |(fields, _)| fields),
        };
        for (key, value) in fields_of(fields.trim_matches(' ')) {
            let field = match key {
                "url" => &mut self.path,
                "user-agent" => &mut self.user_agent,
                "audit-id" => &mut self.audit_id,
                "client" => &mut self.client,
                "api-group" => &mut self.group,
                "resource" => &mut self.resource,
                "scope" => &mut self.scope,
                _ => continue,
            };
            *field = value.into();
        }
    }

    /// Parses `Writing http response done" count:81234 3987ms (11:12:17.557)`
    fn step(&mut self, name: &str, fields: &str) {
        for (key, value) in fields_of(fields.trim_matches(' ')) {
            match key {
                "count" if ITEM_STEPS.contains(&name) => self.items = leading_number(value),
                "size" => self.size = leading_number(value),
                _ => {}
            }
        }
    }

    /// Parses `Writing http response done (10 items)`, as 1.5 to 1.14 write it.
    fn old_step(&mut self, text: &str) {
        let count = ITEM_STEPS.iter().find_map(|step| text.strip_prefix(step)?.strip_prefix(" ("));
        let count = count.or_else(|| text.strip_prefix("Filtered "));
        self.items = count.filter(|count| count.contains(" items")).and_then(leading_number);
    }
}

/// Whether a line is a trace step without a number (before 1.7): `[1.23µs] [1.23µs] About to list directory`.
pub(super) fn is_step_without_number(text: &str) -> bool {
    text.starts_with('[') && brackets(text).is_some()
}

/// Parses the two durations of a step. Returns the first duration and the text after both. The first duration is the
/// time since the trace began, in microseconds.
fn brackets(text: &str) -> Option<(u64, &str)> {
    let (since, rest) = text.strip_prefix('[')?.split_once("] [")?;
    let (step, rest) = rest.split_once(']')?;
    micros(step)?;
    Some((micros(since)?, rest.strip_prefix(' ').unwrap_or(rest)))
}

fn leading_number(text: &str) -> Option<u64> {
    text[..text.bytes().take_while(u8::is_ascii_digit).count()].parse().ok()
}

/// Splits `key:value,key:value` into fields. A field ends at a comma before a known key.
fn fields_of(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let field = rest?;
        let (key, value) = (key_of(field)?, field);
        let next = memchr::memchr_iter(b',', field.as_bytes()).find(|at| key_of(&field[at + 1..]).is_some());
        rest = next.map(|at| &field[at + 1..]);
        Some((key, &value[key.len() + 1..next.unwrap_or(field.len())]))
    })
}

/// Returns the field name at the start of a text. Values may contain commas, so a field ends only at a comma before a
/// field name.
fn key_of(text: &str) -> Option<&str> {
    // Limits the search to the longest key. A client may send a value of commas only, which would make the search
    // quadratic.
    let start = &text.as_bytes()[..text.len().min(MAX_KEY + 1)];
    let key = &text[..memchr::memchr(b':', start)?];
    match key {
        "url" | "user-agent" | "audit-id" | "client" | "accept" | "protocol" | "api-group"
        | "api-version" | "name" | "subresource" | "namespace" | "resource" | "scope" | "verb" | "method"
        | "mediaType" | "encoder" | "type" | "key" | "resourceVersion" | "limit" | "continue" | "count"
        | "size" => Some(key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> TraceFragment<'_> {
        TraceFragment::read(text).expect("a fragment")
    }

    #[test]
    fn headers_of_all_releases_are_parsed() {
        let with_id = read(
            r#"Trace[1200034511]: "List" url:/api/v1/pods,user-agent:kubectl/v1.22.3 (linux/arm64) kubernetes/0a1b2c3, with words,audit-id:7c0ffe11,client:172.20.0.9,accept:application/json, */*,protocol:HTTP/2.0 (05-Jun-2023 11:12:13.456) (total time: 4101ms):"#,
        );
        assert_eq!((with_id.number, with_id.part), (Some(1_200_034_511), TracePart::Header));
        assert_eq!((&*with_id.operation, &*with_id.path), ("List", "/api/v1/pods"));
        assert_eq!(with_id.user_agent, "kubectl/v1.22.3 (linux/arm64) kubernetes/0a1b2c3, with words");
        assert_eq!((&*with_id.audit_id, &*with_id.client), ("7c0ffe11", "172.20.0.9"));
        assert_eq!(with_id.total_micros, Some(4_101_000));

        let sorted = read(
            r#"Trace[201]: "List" accept:application/vnd.kubernetes.protobuf,audit-id:1d2c3b4a,client:::1,api-group:apps,api-version:v1,name:,subresource:,namespace:0,protocol:HTTP/2.0,resource:deployments,scope:namespace,url:/apis/apps/v1/namespaces/0/deployments,user-agent:unknown,verb:LIST (11-May-2026 09:08:07.006) (total time: 1290ms):"#,
        );
        assert_eq!((&*sorted.group, &*sorted.resource, &*sorted.scope), ("apps", "deployments", "namespace"));
        assert_eq!((&*sorted.client, &*sorted.user_agent), ("::1", "unknown"));

        let started = read(
            r#"Trace[191]: "Create" url:/api/v1/namespaces/n/events,user-agent:kubelet/v1.18.7 (linux/amd64) kubernetes/1f2e3d4,client:10.20.30.40 (started: 2021-05-06 07:08:09.123456789 +0000 UTC m=+12.345678901) (total time: 612.000345ms):"#,
        );
        assert_eq!((&*started.client, started.total_micros), ("10.20.30.40", Some(612_000)));

        let in_the_name = read(
            r#"Trace[5]: "List /api/v1/pods" (started: 2018-05-13 12:26:50 +0000 UTC) (total time: 2m0.5s):"#,
        );
        assert_eq!((&*in_the_name.operation, &*in_the_name.path), ("List", "/api/v1/pods"));
        assert_eq!(in_the_name.total_micros, Some(120_500_000));

        let numberless =
            read(r#"Trace "List *api.PodList" (started 2016-05-17 20:10:11.512345678 +0800 CST):"#);
        assert_eq!((numberless.number, &*numberless.operation), (None, "List *api.PodList"));

        let serialize = read(
            r#"Trace[263]: "SerializeObject" audit-id:,method:GET,url:/api/v1/pods,protocol:HTTP/1.1,mediaType:application/json,encoder:{"name":"json","pretty":"false"} (21-Mar-2026 10:20:30.001) (total time: 405ms):"#,
        );
        assert_eq!((&*serialize.path, &*serialize.audit_id), ("/api/v1/pods", ""));
    }

    #[test]
    fn only_item_steps_set_items() {
        for (text, items, size) in [
            (r#"---"Writing http response done" count:81234 3987ms (11:12:17.557)"#, Some(81_234), None),
            (r#"---"Writing http response done" 3987ms (11:12:17.557)"#, None, None),
            (r#" ---"Filtered items" count:7 5ms (09:08:07.006)]"#, Some(7), None),
            (r#" ---"Listed items from cache" count:9 5ms (09:08:07.006)"#, None, None),
            (r#"---"Network" size:2087654,count:7001 0ms (10:20:30.400)"#, None, Some(2_087_654)),
            (r#"---"gzip" size:39876543,count:1 72ms (10:20:30.400)"#, None, Some(39_876_543)),
            ("[4.9s] [4.8s] Writing http response done count:5120", Some(5_120), None),
            ("[690.123456ms] [2.345678ms] Writing http response done (10 items)", Some(10), None),
            ("[690.5ms] [2.9ms] Filtered 12 items", Some(12), None),
            ("[690.5ms] [2.9ms] Listed 12 items from cache", None, None),
            ("[601.234567ms] [601.12345ms] Object stored in database", None, None),
            ("]", None, None),
            ("", None, None),
        ] {
            let line = format!("Trace[9]: {text}");
            let fragment = read(&line);
            assert_eq!((fragment.items, fragment.size), (items, size), "{text}");
            assert_eq!((fragment.number, fragment.part), (Some(9), TracePart::Step), "{text}");
        }
    }

    #[test]
    fn ends_and_nested_headers_are_parsed() {
        let end = read("Trace[77120034]: [2.100345678s] [2.100345678s] END");
        assert_eq!((end.part, end.total_micros), (TracePart::End, Some(2_100_345)));
        let nested = read(r#"Trace[20]: ["cacher.GetList" audit-id:1d2c,type:pods 1290ms (09:08:07.006)"#);
        assert_eq!(
            (nested.part, &*nested.operation, nested.total_micros),
            (TracePart::Nested, "cacher.GetList", None)
        );
    }

    #[test]
    fn other_lines_are_rejected() {
        for text in
            ["", "Trace", "Traces of", "Trace[]: x", "Trace[x]: y", "Trace[99999999999]: y", "Trace[1]"]
        {
            assert_eq!(TraceFragment::read(text), None, "{text}");
        }
        assert!(is_step_without_number("[12m3.456789012s] [640ns] END"));
        assert!(!is_step_without_number("[preflight] [1s] x") && !is_step_without_number("[]"));
    }

    #[test]
    fn multi_line_message_is_one_fragment() {
        let text = "Trace[7]: \"List\" url:/api/v1/pods (x) (total time: 700ms):\nTrace[7]: ---\"Filtered items\" count:3 1ms (y)\nTrace[7]: [700.5ms] [700.5ms] END\n";
        let fragment = TraceFragment::read_lines(text).expect("a fragment").into_owned();
        assert_eq!(
            (fragment.part, fragment.items, fragment.total_micros),
            (TracePart::Header, Some(3), Some(700_500))
        );
    }
}
