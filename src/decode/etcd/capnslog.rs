//! etcd's lines in the capnslog format, used up to 3.4: `2020-03-30 04:14:55.750301 W | etcdserver: …`. syslog and
//! journald may remove the start of such a line.
//!
//! Source: github.com/coreos/pkg `capnslog/formatters.go:PrettyFormatter`, whose timestamps have no zone.

use std::borrow::Cow;

use super::line::{EtcdLine, EtcdResult, SlowRequest, warns};
use crate::decode::klog::{Clock, KlogTime, pairs};
use crate::decode::skip::SkipReason;
use crate::k8s::EtcdVersion;

/// The text that follows the type of a request (`read-only range`) and precedes the request.
const REQUEST: &str = "request \"";
/// The length of `2020-03-30 04:14:55`, in bytes. A fraction of a second may follow.
const SECONDS: usize = 19;

/// Parses a line that begins with capnslog's header, or with the slow-request warning.
pub(super) fn read(text: &str) -> Option<EtcdResult<'_>> {
    if let Some((clock, message)) = header(text) {
        return Some(line(clock, message));
    }
    let at = memchr::memmem::find(text.as_bytes(), REQUEST.as_bytes())?;
    is_warning(&text[..at]).then(|| line(Clock::None, text))
}

/// Parses a line with a prefix before capnslog's header.
pub(super) fn find(text: &str) -> Option<EtcdResult<'_>> {
    let bar = memchr::memmem::find(text.as_bytes(), b" | ")?;
    // The fraction of the timestamp before ` | ` may have up to nine bytes, or be absent. So try each length, the
    // longest first.
    let start = (SECONDS..=SECONDS + 9).rev().find_map(|length| {
        let start = bar.checked_sub(length + 2)?;
        text.get(start..).filter(|rest| header(rest).is_some())
    })?;
    read(start)
}

/// Parses timestamp and message: `2020-03-30 04:14:55.750301 W | etcdserver: message`.
fn header(text: &str) -> Option<(Clock, &str)> {
    let b = text.as_bytes().first_chunk::<SECONDS>()?;
    (b[4] == b'-' && b[7] == b'-' && b[10] == b' ' && b[13] == b':').then_some(())?;
    let (year, month, day) = (text.get(..4)?, text.get(5..7)?, text.get(8..10)?);
    let (clock, rest) = text.get(11..)?.split_once(' ')?;
    let message = rest.get(1..)?.strip_prefix(" | ").filter(|_| rest.starts_with(is_letter))?;
    let time = KlogTime::parse(month.parse().ok()?, day.parse().ok()?, clock)?;
    Some((Clock::Dated(year.parse().ok()?, time), message))
}

/// Whether a letter is a capnslog level: critical, error, warning, notice, info, debug, trace.
///
/// Source: capnslog `log_hijack.go`, `pkg_logger.go`.
fn is_letter(letter: char) -> bool {
    "CEWNIDT".contains(letter)
}

/// Whether the text before a request contains only words that etcd or syslog writes there.
fn is_warning(head: &str) -> bool {
    const WORDS: [&str; 8] = ["warning", "warn", "W", "|", "etcdserver:", "read-only", "range", "txn"];
    head.split_ascii_whitespace().all(|word| WORDS.contains(&word))
}

/// Parses a message. If the message is the slow-request warning, also parses the request in it.
fn line(clock: Clock, message: &str) -> EtcdResult<'_> {
    let request = memchr::memmem::find(message.as_bytes(), REQUEST.as_bytes());
    let is_warning = |at: &usize| is_warning(&message[..*at]);
    let Some(at) = request.filter(is_warning) else {
        // A slow-request warning without a readable request is damaged. A shell or another logger has escaped its
        // quotes once more.
        let is_lost = warns(message);
        return if is_lost {
            Err(SkipReason::WrongType)
        } else {
            Ok(EtcdLine { clock, slow: None, version: version(message) })
        };
    };
    slow(&message[at + REQUEST.len()..]).map(|slow| EtcdLine { clock, slow: Some(slow), version: None })
}

/// Parses the version of a start line: `etcdmain: etcd Version: 3.3.10`, `etcdserver: starting server... [version:
/// 3.4.3, …]`.
fn version(message: &str) -> Option<EtcdVersion> {
    let text = message
        .strip_prefix("etcdmain: etcd Version: ")
        .or_else(|| message.strip_prefix("etcdserver: starting server... [version: "))?;
    text.split(|c: char| c == ',' || c.is_ascii_whitespace()).next()?.parse().ok()
}

/// Parses `…" with result "…" took too long (…) to execute`. `text` begins after the request's opening quote.
fn slow(text: &str) -> Result<SlowRequest<'_>, SkipReason> {
    let torn = SkipReason::Truncated;
    let (request, rest) = pairs::quoted(text).ok_or(torn)?;
    let (response, rest) = match rest.strip_prefix(" with result \"") {
        Some(rest) => pairs::quoted(rest).map(|(response, rest)| (response.text(), rest)).ok_or(torn)?,
        None => (Cow::Borrowed(""), rest),
    };
    let took = rest.strip_prefix(" took too long (").and_then(|rest| rest.split_once(')')).ok_or(torn)?.0;
    SlowRequest::new(Cow::Borrowed(took), request.text(), response, None)
}
