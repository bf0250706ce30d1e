//! Detects text envelopes that put a prefix before a line. Each of them begins a line in its own way, so no line
//! matches two.

use super::envelope::cri::CriLine;
use super::envelope::{
    Envelope, Stripped, aws_logs_tail, cloudwatch_export, cri, grep, legacy, node_logs, syslog,
};
use crate::k8s::Event;

/// A line whose text envelope was removed.
#[derive(Debug)]
pub(crate) enum Prefixed<'a> {
    /// A line in an envelope: the envelope, and the line without its prefix.
    Line(Envelope, Stripped<'a>),
    /// A line of a container's output, or a part of one.
    Cri(CriLine<'a>),
    /// An event in the apiserver's `legacy` text format.
    Legacy(Box<Event<'a>>),
}

/// Removes the text envelope of a line; `None` if it has none.
#[must_use]
pub(crate) fn strip(text: &str) -> Option<Prefixed<'_>> {
    if text.as_bytes().first()?.is_ascii_digit() {
        return dated(text).or_else(|| undated(text));
    }
    syslog::strip(text).map(|line| Prefixed::Line(Envelope::Syslog, line)).or_else(|| undated(text))
}

/// Handles lines that begin with a timestamp.
fn dated(text: &str) -> Option<Prefixed<'_>> {
    let (time, rest) = text.split_once(' ')?;
    if !is_timestamp(time) {
        return None;
    }
    if let Some(line) = cri::strip(time, rest) {
        return Some(Prefixed::Cri(line));
    }
    if let Some(event) = legacy::event(time, rest) {
        return Some(Prefixed::Legacy(Box::new(event)));
    }
    if let Some(line) = cloudwatch_export::strip(time, rest) {
        return Some(Prefixed::Line(Envelope::CloudwatchExport, line));
    }
    if let Some(line) = aws_logs_tail::strip(time, rest).filter(|line| !is_program(rest, line.rest)) {
        return Some(Prefixed::Line(Envelope::AwsLogsTail, line));
    }
    syslog::strip_dated(time, rest).map(|line| Prefixed::Line(Envelope::Syslog, line))
}

/// Splits a line at its leading timestamp (`kubectl logs --timestamps`).
#[must_use]
pub(crate) fn after_timestamp(text: &str) -> Option<(&str, &str)> {
    text.split_once(' ').filter(|(time, _)| is_timestamp(time))
}

/// Whether the text after a timestamp begins with a host and a program, as in syslog (`host kube-apiserver[1]: …`).
/// Otherwise this text begins with the name of a log stream.
fn is_program(rest: &str, behind: &str) -> bool {
    !behind.starts_with('{')
        && syslog::strip_dated("", rest).is_some_and(|line| line.rest.len() < behind.len())
}

fn undated(text: &str) -> Option<Prefixed<'_>> {
    if let Some(line) = node_logs::strip(text) {
        return Some(Prefixed::Line(Envelope::NodeLogs, line));
    }
    grep::strip(text).map(|line| Prefixed::Line(Envelope::Grep, line))
}

/// Whether a word is a timestamp in the format of RFC 3339 or ISO 8601.
fn is_timestamp(word: &str) -> bool {
    let bytes = word.as_bytes();
    (19..=40).contains(&bytes.len())
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && bytes[10] == b'T'
        && bytes[13] == b':'
        && bytes.iter().all(|byte| byte.is_ascii_digit() || b"-:.,TZ+".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> Option<(Envelope, &str)> {
        Some(match strip(text)? {
            Prefixed::Line(envelope, line) => (envelope, line.rest),
            Prefixed::Cri(line) => (Envelope::Cri, line.text.rest),
            Prefixed::Legacy(_) => (Envelope::Legacy, ""),
        })
    }

    #[test]
    fn each_line_has_one_envelope() {
        let klog = "I1120 20:35:54.665582    4065 a.go:1] x";
        for (text, envelope, rest) in [
            ("2026-11-20T20:35:54.5Z stdout F {x", Envelope::Cri, "{x"),
            ("2026-11-20T20:35:54.5+01:00 stderr P ", Envelope::Cri, ""),
            ("2026-11-20T20:35:54.5Z {x", Envelope::CloudwatchExport, "{x"),
            ("2026-11-20T20:35:54.500000+00:00 kube-apiserver-audit-9a {x", Envelope::AwsLogsTail, "{x"),
            ("2026-11-20T20:35:54+0000 host kube-apiserver[7]: {x", Envelope::Syslog, "{x"),
            ("2026-11-20T20:35:54+0000 master-0 kube-apiserver[7]: {x", Envelope::Syslog, "{x"),
            ("Nov 20 20:35:54 master-0 kube-apiserver[7]: {x", Envelope::Syslog, "{x"),
            ("ip-10-0-1-2.internal {x", Envelope::NodeLogs, "{x"),
            ("[pod/kube-apiserver-a/kube-apiserver] {x", Envelope::NodeLogs, "{x"),
            ("logs/audit 1.log:17:{x", Envelope::Grep, "{x"),
            ("2026.log:{x", Envelope::Grep, "{x"),
        ] {
            assert_eq!(stripped(text), Some((envelope, rest)), "{text}");
        }
        assert_eq!(stripped(&format!("a.log:3:{klog}")), Some((Envelope::Grep, klog)));
        assert_eq!(
            stripped(&format!("2026-11-20T20:35:54.5Z kube-apiserver-9a {klog}")),
            Some((Envelope::AwsLogsTail, klog))
        );
        for text in ["hello", "", "a b c", "\"kind\":\"Event\",\"x\":{}", "x=1:{x"] {
            assert_eq!(stripped(text), None, "{text}");
        }
    }
}
