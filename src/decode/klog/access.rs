//! A line of the apiserver's access log (`-v=3` and above): one request.
//!
//! Source: k8s.io/apiserver `pkg/server/httplog/httplog.go:Log`, 1.16 to 1.37. Nearly every release changes the keys
//! and their order, so a line is parsed as a map.

use std::borrow::Cow;

use super::pairs::{KlogPairs, PairValue};
use crate::k8s::{Mark, Marks, go_duration};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessLine<'a> {
    /// Up to 1.21, this is the HTTP method. Later releases write either the method or the API verb.
    /// `requests::http_method` determines the method from this text.
    pub verb: Cow<'a, str>,
    /// The request target: encoded path and raw query.
    pub uri: Cow<'a, str>,
    /// The time from the start of the request to this line, in microseconds.
    pub latency_micros: Option<u64>,
    /// The client's `User-Agent`.
    pub user_agent: Cow<'a, str>,
    /// The request's audit ID; empty up to 1.21.
    pub audit_id: Cow<'a, str>,
    /// The address of the peer: `host:port`.
    pub source: Cow<'a, str>,
    /// The HTTP status of the response.
    pub status: Option<u16>,
    /// True if the logged status is `0`: the response had no status yet, or nothing set one.
    pub has_status_zero: bool,
    /// True if the connection switched to another protocol.
    pub(crate) is_hijacked: bool,
    /// How API Priority and Fairness handled the request (1.23 and later).
    pub(crate) apf: Option<Apf<'a>>,
    /// Features of the line that only some releases write. They narrow down the server's version.
    pub(crate) marks: Marks,
}

/// How API Priority and Fairness handled a request.
///
/// Source: k8s.io/apiserver `pkg/server/filters/priority-and-fairness.go`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Apf<'a> {
    /// The name of the `PriorityLevelConfiguration`.
    pub(crate) priority_level: Cow<'a, str>,
    /// The name of the `FlowSchema`.
    pub(crate) flow_schema: Cow<'a, str>,
    /// The number of seats that the request occupies while it executes, as the server estimates it (1.24 and later).
    pub(crate) initial_seats: Option<u32>,
    /// The number of seats that the request still occupies for some time after it executed (1.24 and later).
    pub(crate) final_seats: Option<u32>,
    /// Execution time, in microseconds (1.24 and later).
    pub(crate) execution_micros: Option<u64>,
    /// Time in queues and filters, in microseconds. The server writes it only above 100 ms.
    pub(crate) queue_micros: Option<u64>,
}

/// The value of a key, in either log format.
#[derive(Debug, Clone)]
pub(super) enum LoggedValue<'a> {
    /// From the text format.
    Text(PairValue<'a>),
    /// A string from the JSON format.
    Json(Cow<'a, str>),
    /// A number from the JSON format.
    Number(u64),
    /// `true` from the JSON format.
    True,
}

impl<'a> LoggedValue<'a> {
    fn text(self) -> Cow<'a, str> {
        match self {
            Self::Text(value) => value.text(),
            Self::Json(text) => text,
            Self::Number(_) | Self::True => Cow::Borrowed(""),
        }
    }

    fn micros(&self) -> Option<u64> {
        match self {
            Self::Text(value) => micros(value.raw()),
            Self::Json(text) => micros(text),
            Self::Number(_) | Self::True => None,
        }
    }

    fn number<N: TryFrom<u64>>(&self) -> Option<N> {
        let number = match self {
            Self::Text(value) => value.raw().parse().ok()?,
            Self::Number(number) => *number,
            Self::Json(_) | Self::True => return None,
        };
        N::try_from(number).ok()
    }
}

/// Parses a Go duration into microseconds. It also accepts `Âµs`, which is `µs` that another program decoded as
/// Latin-1.
pub(super) fn micros(text: &str) -> Option<u64> {
    go_duration::parse_micros(text).or_else(|| go_duration::parse_micros(&text.replacen('Â', "", 1)))
}

fn owned(text: &str) -> Cow<'static, str> {
    Cow::Owned(text.to_owned())
}

impl<'a> AccessLine<'a> {
    /// A copy that does not borrow from the log.
    #[must_use]
    pub(crate) fn to_static(&self) -> AccessLine<'static> {
        let Self { verb, uri, user_agent, audit_id, source, apf, .. } = self;
        AccessLine {
            verb: owned(verb),
            uri: owned(uri),
            user_agent: owned(user_agent),
            audit_id: owned(audit_id),
            source: owned(source),
            apf: apf.as_ref().map(|apf| Apf {
                priority_level: owned(&apf.priority_level),
                flow_schema: owned(&apf.flow_schema),
                ..*apf
            }),
            ..*self
        }
    }

    /// Builds a line from its pairs; `None` if they do not describe a request.
    pub(super) fn from_pairs(pairs: KlogPairs<'a>) -> Option<Self> {
        let mut line = Self::default();
        for (key, value) in pairs {
            line.set(key, LoggedValue::Text(value));
        }
        line.is_complete().then(|| line.with_release_marks())
    }

    /// Sets the field of a key. Ignores keys that no report needs.
    pub(super) fn set(&mut self, key: &str, value: LoggedValue<'a>) {
        match key {
            "verb" => self.verb = value.text(),
            "URI" => self.uri = value.text(),
            "latency" => self.latency_micros = value.micros(),
            "userAgent" => self.user_agent = value.text(),
            "UserAgent" => {
                self.marks.set(Mark::OldAccessLine);
                self.user_agent = value.text();
            }
            "audit-ID" => {
                self.marks.set(Mark::AuditIdInLine);
                self.audit_id = value.text();
            }
            "srcIP" => self.source = value.text(),
            "resp" => self.set_status(value.number()),
            "hijacked" => {
                self.is_hijacked = matches!(value, LoggedValue::True)
                    || matches!(&value, LoggedValue::Text(value) if value.raw() == "true");
            }
            "apf_pl" => {
                self.marks.set(Mark::PriorityLevelInLine);
                self.apf().priority_level = value.text();
            }
            "apf_fs" => self.apf().flow_schema = value.text(),
            "apf_iseats" => {
                self.marks.set(Mark::SeatsInLine);
                self.apf().initial_seats = value.number();
            }
            "apf_additionalLatency" => self.marks.set(Mark::AdditionalLatencyInLine),
            "watchlist_init_latency" => self.marks.set(Mark::WatchListLatencyInLine),
            "apf_fseats" => self.apf().final_seats = value.number(),
            "apf_execution_time" => self.apf().execution_micros = value.micros(),
            "fl_priorityandfairness" => self.apf().queue_micros = value.micros(),
            _ => {}
        }
    }

    /// Marks a line that lacks an audit ID, because some old releases write none. A line without source or status was
    /// cut, so it gets no mark.
    pub(super) fn with_release_marks(mut self) -> Self {
        let is_complete =
            !self.source.is_empty() && (self.status.is_some() || self.has_status_zero || self.is_hijacked);
        let is_old = self.marks.has(Mark::OldAccessLine) || self.marks.has(Mark::AuditIdInLine);
        if is_complete && !is_old {
            self.marks.set(Mark::AccessLineWithoutAuditId);
        }
        self
    }

    /// Whether the fields that every release writes are present.
    pub(super) fn is_complete(&self) -> bool {
        !self.verb.is_empty() && !self.uri.is_empty()
    }

    pub(super) fn set_status(&mut self, code: Option<u16>) {
        self.status = code.filter(|code| (100..600).contains(code));
        self.has_status_zero = code == Some(0);
    }

    fn apf(&mut self) -> &mut Apf<'a> {
        self.apf.get_or_insert_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> AccessLine<'_> {
        AccessLine::from_pairs(KlogPairs::new(text)).expect("an access line")
    }

    #[test]
    fn line_of_1_25_and_later_is_parsed() {
        let line = read(
            r#"verb="WATCH" URI="/api/v1/pods?fieldSelector=spec.nodeName%21%3D&watch=true" latency="430.891µs" userAgent="kube-scheduler/v1.30.2 (linux/amd64) kubernetes/0c1d2e3" audit-ID="5b1e07aa" srcIP="[::1]:41212" apf_pl="workload-high" apf_fs="kube-scheduler" apf_iseats=10 apf_fseats=2 apf_additionalLatency="0s" apf_init_latency="251.111µs" fl_priorityandfairness="240.123456ms" apf_execution_time="217.901µs" resp=0"#,
        );
        assert_eq!((&*line.verb, line.latency_micros), ("WATCH", Some(430)));
        assert!(matches!(line.uri, Cow::Borrowed(_)));
        assert_eq!((&*line.source, &*line.audit_id), ("[::1]:41212", "5b1e07aa"));
        assert_eq!((line.status, line.has_status_zero, line.is_hijacked), (None, true, false));
        let apf = line.apf.expect("apf");
        assert_eq!((&*apf.priority_level, &*apf.flow_schema), ("workload-high", "kube-scheduler"));
        assert_eq!((apf.initial_seats, apf.final_seats), (Some(10), Some(2)));
        assert_eq!((apf.execution_micros, apf.queue_micros), (Some(217), Some(240_123)));
    }

    #[test]
    fn line_of_1_19_is_parsed() {
        let line = read(
            r#"verb="GET" URI="/apis/x/v1/ys" latency="2.5000321s" userAgent="kubelet/v1.19.2" srcIP="10.0.0.1:5" resp=504 statusStack="\ngoroutine 7 [running]:\n" addedInfo="\nlogging error output: \"x\"""#,
        );
        assert_eq!((line.status, &*line.audit_id, line.apf), (Some(504), "", None));
    }

    #[test]
    fn line_of_1_18_is_parsed() {
        let line = read(
            r#"verb="GET" URI="/api/v1/pods" latency=1m0.2ms resp=500 UserAgent="Prometheus/2.11.1" srcIP="10.0.0.1:5": "#,
        );
        assert_eq!((&*line.user_agent, line.latency_micros), ("Prometheus/2.11.1", Some(60_000_200)));
        assert_eq!((&*line.source, line.status), ("10.0.0.1:5", Some(500)));
    }

    #[test]
    fn multi_line_value_and_hijacked_connection_are_parsed() {
        let line = read(r#"verb="CONNECT" URI="/x" resp=500 statusStack=<"#);
        assert_eq!(line.status, Some(500));
        assert!(read(r#"verb="CONNECT" URI="/x" hijacked=true"#).is_hijacked);
        assert_eq!(read(r#"verb="GET" URI="/x" latency="1.5Âµs" resp=9000"#).latency_micros, Some(1));
        assert_eq!(AccessLine::from_pairs(KlogPairs::new(r#"verb="GET" latency="1s""#)), None);
    }
}
