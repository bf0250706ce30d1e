//! Anonymizes access lines: the fields that kubetoll reads, with the same pseudonyms as in events.

use std::fmt::Write as _;

use super::{Anonymizer, public};
use crate::decode::klog::{AccessLine, KlogHeader};
use crate::k8s::address::host;
use crate::k8s::timestamp::format_micros;
use crate::k8s::{Mark, Verb};

/// HTTP methods, and other words that access lines have instead of audit verbs.
const METHODS: [&str; 8] = ["POST", "PUT", "HEAD", "OPTIONS", "APPLY", "CONNECT", "WATCHLIST", "TRACE"];

impl Anonymizer {
    /// Anonymizes a line of an access log. `text` is the line without envelopes such as CRI's.
    ///
    /// `logged_at` is the line's time, in microseconds since 1970. If it is set, the result starts with a new CRI
    /// envelope with this time. The envelope is necessary because klog's header has no year. Without it, the result
    /// starts with the klog header of `text`.
    ///
    /// Returns one line without a line feed. Returns `None` if the line has no time.
    #[must_use]
    pub(crate) fn access_line(
        &self,
        line: &AccessLine<'_>,
        text: &str,
        logged_at: Option<i64>,
    ) -> Option<String> {
        let mut out = String::new();
        if let Some(micros) = logged_at {
            // For example, `2026-07-23T10:00:00.000000Z`.
            let time = format_micros(micros);
            let (date, of_day) = time.strip_suffix('Z')?.split_once('T')?;
            let (_, month_day) = date.split_once('-')?;
            let month_day = month_day.replace('-', "");
            write!(out, "{time} stderr F I{month_day} {of_day}").ok()?;
        } else {
            KlogHeader::parse(text)?;
            let text = text.strip_prefix("??? ").unwrap_or(text);
            out.push_str(text.get(..21)?);
        }
        out.push_str("       1 httplog.go:132] \"HTTP\"");
        self.pairs(line, &mut out);
        Some(out)
    }

    fn pairs(&self, line: &AccessLine<'_>, out: &mut String) {
        let mut pair = |key: &str, value: &dyn std::fmt::Display| {
            write!(out, " {key}={value}").expect("a String takes all");
        };
        let has = |mark| line.marks.has(mark);
        let quoted = |text: &str| format!("{text:?}");
        let micros = |micros: u64| quoted(&format!("{micros}µs"));
        let is_verb = |verb: &&str| {
            METHODS.contains(verb) || Verb::ALL.iter().any(|known| known.as_str().eq_ignore_ascii_case(verb))
        };
        let verb = Some(&*line.verb).filter(is_verb).map_or_else(|| self.word(&line.verb), str::to_owned);
        pair("verb", &quoted(&verb));
        pair("URI", &quoted(&self.target(&line.uri)));
        if let Some(latency) = line.latency_micros {
            pair("latency", &micros(latency));
        }
        let agent = if has(Mark::OldAccessLine) { "UserAgent" } else { "userAgent" };
        if !line.user_agent.is_empty() {
            pair(agent, &quoted(&self.user_agent(&line.user_agent)));
        }
        if has(Mark::AuditIdInLine) {
            let id = Some(&*line.audit_id).filter(|id| !id.is_empty()).map(|id| self.uuid(id));
            pair("audit-ID", &quoted(&id.unwrap_or_default()));
        }
        if !line.source.is_empty() {
            let address = self.address(host(&line.source));
            let port = 1_024 + self.integer(&line.source) % 60_000;
            let source = if address.contains(':') {
                format!("[{address}]:{port}")
            } else {
                format!("{address}:{port}")
            };
            pair("srcIP", &quoted(&source));
        }
        if let Some(apf) = &line.apf {
            let name =
                |name: &str| quoted(&if public::is_apf(name) { name.to_owned() } else { self.word(name) });
            if has(Mark::PriorityLevelInLine) {
                pair("apf_pl", &name(&apf.priority_level));
                pair("apf_fs", &name(&apf.flow_schema));
            }
            for (key, seats) in [("apf_iseats", apf.initial_seats), ("apf_fseats", apf.final_seats)] {
                if let Some(seats) = seats {
                    pair(key, &seats);
                }
            }
            for (key, took) in
                [("fl_priorityandfairness", apf.queue_micros), ("apf_execution_time", apf.execution_micros)]
            {
                if let Some(took) = took {
                    pair(key, &micros(took));
                }
            }
        }
        for (mark, key) in [
            (Mark::AdditionalLatencyInLine, "apf_additionalLatency"),
            (Mark::WatchListLatencyInLine, "watchlist_init_latency"),
        ] {
            if has(mark) {
                pair(key, &quoted("0s"));
            }
        }
        if line.is_hijacked {
            pair("hijacked", &true);
        } else if let Some(status) = line.status.or(line.has_status_zero.then_some(0)) {
            pair("resp", &status);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Key;
    use super::*;
    use crate::decode::{Decoder, Outcome, SourceFacts};
    use crate::input::{Record, RecordKind};

    /// Parses an access line, and calls `with` with the parsed line, its text and its time. Returns the results of
    /// `with`.
    fn read<T>(text: &str, mut with: impl FnMut(&AccessLine<'_>, &str, Option<i64>) -> T) -> Vec<T> {
        let record = Record { bytes: text.as_bytes(), offset: 0, line: 1, kind: RecordKind::Line };
        let facts = SourceFacts { year: Some(2026), ..SourceFacts::default() };
        let mut values = Vec::new();
        Decoder::new(None, 1 << 20).record(&record, facts, &mut |outcome, _| match outcome {
            Outcome::Access { line, text, logged_at } => values.push(with(line, text, logged_at)),
            other => panic!("{other:?}"),
        });
        values
    }

    #[test]
    fn access_line_keeps_the_verdict_and_loses_names() {
        let anonymizer = Anonymizer::new(Key::from_text("a"), &[]);
        let lines = [
            r#"I0723 10:00:00.123456       1 httplog.go:132] "HTTP" verb="WATCH" URI="/api/v1/namespaces/acme/pods?labelSelector=app%3Dacme&watch=true" latency="430.891µs" userAgent="acme/v1.30.2 (linux/amd64) kubernetes/0c1d2e3" audit-ID="5b1e07aa-acme" srcIP="203.0.113.7:41212" apf_pl="acme-level" apf_fs="service-accounts" apf_iseats=10 apf_fseats=2 apf_additionalLatency="0s" fl_priorityandfairness="240ms" apf_execution_time="217µs" resp=0"#,
            r#"I0723 10:00:00.123456       1 httplog.go:109] "HTTP" verb="GET" URI="/apis/acme.corp/v1/acmes" latency="2.5s" userAgent="kubelet/v1.19.2" srcIP="10.0.0.1:5" resp=504"#,
            r#"I0723 10:00:00.123456       1 httplog.go:132] "HTTP" verb="CONNECT" URI="/api/v1/namespaces/acme/pods/acme-0/exec" latency="2.5s" userAgent="kubectl/v1.30.2" audit-ID="a" srcIP="[::1]:5" hijacked=true"#,
            r#"I0723 10:00:00.123456       1 httplog.go:90] verb="GET" URI="/api/v1/pods" latency=1m0.2ms resp=500 UserAgent="acme/2.11.1" srcIP="10.0.0.1:5": "#,
        ];
        for text in lines {
            let own = read(text, |line, text, logged_at| {
                (line.to_static(), anonymizer.access_line(line, text, logged_at), logged_at)
            });
            let [(line, Some(anonymous), logged_at)] = &*own else { panic!("{own:?}") };
            assert!(!anonymous.contains("acme") && !anonymous.contains("203.0.113"), "{anonymous}");
            let other = read(anonymous, |line, _, logged_at| (line.to_static(), logged_at));
            let [(other, other_logged_at)] = &*other else { panic!("{other:?}") };
            assert_eq!(other_logged_at, logged_at, "{anonymous}");
            let judged = |line: &AccessLine<'_>| {
                let apf = line.apf.as_ref().map(|apf| (apf.initial_seats, apf.final_seats, apf.queue_micros));
                let response = (line.status, line.has_status_zero, line.is_hijacked);
                (line.verb.to_string(), line.latency_micros, response, line.marks, apf)
            };
            assert_eq!(judged(other), judged(line), "{anonymous}");
            assert_eq!(other.uri, anonymizer.target(&line.uri));
        }
    }

    #[test]
    fn access_line_without_a_year_keeps_its_header() {
        let anonymizer = Anonymizer::new(Key::from_text("a"), &[]);
        let line = AccessLine { verb: "GET".into(), uri: "/api".into(), ..AccessLine::default() };
        let text = "I0723 10:00:00.123456       1 httplog.go:132] \"HTTP\" verb=\"GET\"";
        let anonymous = anonymizer.access_line(&line, text, None).expect("a line");
        assert!(anonymous.starts_with("I0723 10:00:00.123456 "), "{anonymous}");
        assert_eq!(anonymizer.access_line(&line, "{}", None), None);
    }
}
