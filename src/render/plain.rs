//! Formats texts and numbers for people.

use std::borrow::Cow;

pub(crate) use super::escape::escaped;
use crate::rules::figures::scaled;
pub(crate) use crate::rules::figures::{bytes, count};

/// Cuts a text to `width` characters. A cut text ends with `…`.
pub(crate) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if text.chars().count() <= width {
        return Cow::Borrowed(text);
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    Cow::Owned(short)
}

/// Formats a count with at most five characters: `4,718`, `26k`, `1.2M`.
pub(crate) fn short_count(number: u64) -> String {
    if number < 10_000 { count(number) } else { scaled(number, &["", "k", "M", "G", "T"], 1000, "", 9.95) }
}

/// As [`duration`], but with at most two digits below a minute: `12 ms`, `1.2 s`.
pub(crate) fn short_duration(micros: u64) -> String {
    if micros < 60_000_000 { scaled(micros, &["µs", "ms", "s"], 1000, " ", 9.95) } else { duration(micros) }
}

/// Formats a number and its noun: `1 file`, `2 files`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Formats microseconds with at most three digits: `850 µs`, `12.4 ms`, `1.2 s`. From one minute on: `3 min 24 s`.
pub(crate) fn duration(micros: u64) -> String {
    if micros < 60_000_000 {
        return scaled(micros, &["µs", "ms", "s"], 1000, " ", 99.95);
    }
    let seconds = micros / 1_000_000;
    match seconds {
        0..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        3_600..172_800 => format!("{} h {:02} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {:02} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// Formats a part of a whole as [`per_cent`] does. Returns a dash if the whole is zero.
#[allow(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub(crate) fn share(part: u64, total: u64) -> String {
    if total == 0 { "–".to_owned() } else { per_cent(part as f64 / total as f64) }
}

/// Formats a fraction (0 to 1) as a percentage with one decimal. A small fraction above zero becomes `<0.1 %`.
pub(crate) fn per_cent(part: f64) -> String {
    match tenths(part) {
        0 if part > 0.0 => "<0.1 %".to_owned(),
        tenths => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

/// Converts a fraction (0 to 1) to tenths of a percent, rounded: 0.251 becomes 251.
#[allow(clippy::cast_possible_truncation, reason = "a part is at most a few wholes")]
pub(crate) fn tenths(part: f64) -> i64 {
    (part * 1_000.0).round() as i64
}

/// Removes the fractions of a second from a timestamp.
pub(super) fn to_seconds(timestamp: &str) -> String {
    let seconds = timestamp.split(['.', 'Z']).next().unwrap_or(timestamp);
    format!("{} UTC", seconds.replace('T', " "))
}

/// Rounds a rate to a whole number.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is a small positive number"
)]
pub(super) fn rounded(rate: f64) -> u64 {
    rate.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_keep_small_values_above_zero() {
        assert_eq!(
            (count(26_093), count(999), count(1_000)),
            ("26,093".into(), "999".into(), "1,000".into())
        );
        assert_eq!(
            (bytes(45_247_400), bytes(999), bytes(1_000)),
            ("45.2 MB".into(), "999 B".into(), "1.0 kB".into())
        );
        assert_eq!(duration(850), "850 µs");
        assert_eq!(duration(12_400), "12.4 ms");
        assert_eq!(duration(480_000), "480 ms");
        assert_eq!(duration(1_200_000), "1.2 s");
        assert_eq!(duration(125_000_000), "2 min 05 s");
        assert_eq!([share(1, 3), share(1, 3_000), share(1, 0)], ["33.3 %", "<0.1 %", "–"]);
        assert_eq!([per_cent(0.251), per_cent(0.0), per_cent(0.0001)], ["25.1 %", "0.0 %", "<0.1 %"]);
        assert_eq!((short_count(26_093), short_count(1_234_567)), ("26k".into(), "1.2M".into()));
        assert_eq!((short_duration(12_400), short_duration(1_240_000)), ("12 ms".into(), "1.2 s".into()));
        assert_eq!(cut("abcdef", 4), "abc…");
    }
}
