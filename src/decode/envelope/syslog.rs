//! syslog (RFC 3164 and RFC 5424) and the output of `journalctl`: timestamp, host and program before each line.

use super::line::{Prefixed, Stripped, TextLine};
use crate::decode::klog::KlogTime;

/// Returns the line after a header of syslog or `journalctl`.
#[must_use]
pub(crate) fn strip<'a>(line: &TextLine<'a>) -> Option<Prefixed<'a>> {
    let stripped = match line.dated {
        // `journalctl -o short-iso`
        Some((time, rest)) => Stripped { rest: after_program(rest)?, time: Some(time) },
        None => strip_undated(line.text)?,
    };
    Some(Prefixed::Line(stripped))
}

/// Returns the line after an RFC 3164 or RFC 5424 header, or after `journalctl`'s short header (`Mar 28 13:23:04 host
/// kube[1]: `).
fn strip_undated(text: &str) -> Option<Stripped<'_>> {
    let rest = after_priority(text);
    if let Some(rest) = rest.strip_prefix("1 ").filter(|_| rest.len() < text.len()) {
        return rfc_5424(rest);
    }
    let (_, day, clock, rest) = head(rest)?;
    let is_clock = clock.len() >= 8 && clock.bytes().all(|b| b.is_ascii_digit() || b == b':' || b == b'.');
    (day.parse::<u8>().is_ok() && is_clock).then_some(())?;
    Some(Stripped { rest: after_program(rest)?, time: None })
}

/// The timestamp of an RFC 3164 header, which has neither year nor zone.
#[must_use]
pub(crate) fn clock(text: &str) -> Option<KlogTime> {
    let (month, day, clock, _) = head(after_priority(text))?;
    KlogTime::parse(month, day.parse().ok()?, clock)
}

/// Splits a header into month (1 to 12), day, time of day and the rest. The day may be padded, and the time may have
/// a fraction.
fn head(text: &str) -> Option<(u8, &str, &str, &str)> {
    let (month, rest) = after_month(text)?;
    let (day, rest) = rest.trim_start_matches(' ').split_once(' ')?;
    let (clock, rest) = rest.split_once(' ')?;
    Some((month, day, clock, rest))
}

/// Whether the text is a line that `journalctl` adds between log lines: `-- Journal begins at …`, `-- Boot … --`.
#[must_use]
pub(crate) fn is_banner(text: &str) -> bool {
    ["-- Journal begins at ", "-- Logs begin at ", "-- Boot ", "-- Reboot --", "-- No entries --"]
        .iter()
        .any(|banner| text.starts_with(banner))
}

fn after_priority(text: &str) -> &str {
    text.strip_prefix('<')
        .and_then(|rest| rest.split_once('>'))
        .filter(|(priority, _)| priority.len() <= 3 && priority.bytes().all(|b| b.is_ascii_digit()))
        .map_or(text, |(_, rest)| rest)
}

fn after_month(text: &str) -> Option<(u8, &str)> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let (month, rest) = text.split_once(' ')?;
    let number = (1_u8..).zip(MONTHS).find(|(_, name)| month.eq_ignore_ascii_case(name))?.0;
    Some((number, rest))
}

/// Parses `host program[pid]: line`. The host is optional.
pub(super) fn after_program(text: &str) -> Option<&str> {
    let colon = memchr::memmem::find(text.get(..text.len().min(400)).unwrap_or(text).as_bytes(), b": ")?;
    let head = &text[..colon];
    let words = head.split(' ').count();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.[]/@ ".contains(&byte);
    (words <= 2 && head.bytes().all(is_name)).then_some(&text[colon + 2..])
}

/// Parses `<timestamp> <host> <program> <pid> <message id> <structured data> <line>`.
fn rfc_5424(text: &str) -> Option<Stripped<'_>> {
    let mut parts = text.splitn(6, ' ');
    let time = parts.next()?;
    let rest = parts.nth(4)?;
    let rest = match rest.strip_prefix("- ") {
        Some(rest) => rest,
        None if rest.starts_with('[') => rest.split_once("] ")?.1,
        None => return None,
    };
    Some(Stripped { rest: rest.trim_start_matches('\u{feff}'), time: Some(time) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_header(text: &str) -> Option<&str> {
        match strip(&TextLine::new(text))? {
            Prefixed::Line(line) => Some(line.rest),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn strip_removes_syslog_headers() {
        for text in [
            "Mar 28 13:23:04 host kube-apiserver[31992]: {x",
            "feb  6 13:23:04.123456 host kube-apiserver: {x",
            "<14>Mar 28 13:23:04 host kube-apiserver[1]: {x",
            "<14>1 2026-03-28T13:23:04Z host kube-apiserver 31992 - - {x",
            "<14>1 2026-03-28T13:23:04Z host kube-apiserver 31992 - [a b=\"c\"] {x",
        ] {
            assert_eq!(after_header(text), Some("{x"), "{text}");
        }
        let micros_of_day = ((13 * 60 + 23) * 60 + 4) * 1_000_000;
        for text in ["Mar 28 13:23:04 host x: y", "<14>mar 28 13:23:04 host x: y"] {
            assert_eq!(clock(text), Some(KlogTime { month: 3, day: 28, micros_of_day }), "{text}");
        }
        assert_eq!(clock("<14>1 2026-03-28T13:23:04Z host kube-apiserver 31992 - - x"), None);
        assert_eq!(after_header("2026-03-28T13:23:04Z host kube[1]: {x"), Some("{x"));
        for text in
            ["Mars 28 13:23:04 host x: {", "Mar x 13:23:04 host x: {", "{\"a\": 1}", "Mar 28 hello", "<>"]
        {
            assert_eq!(after_header(text), None, "{text}");
        }
    }
}
