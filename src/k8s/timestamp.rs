//! Timestamps as microseconds since 1970, the resolution of audit events.

use std::ops::RangeInclusive;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime};

/// Parses an RFC 3339 timestamp into microseconds since 1970. Returns `None` if the text is not a timestamp.
///
/// The apiserver writes `metav1.MicroTime`: always `YYYY-MM-DDThh:mm:ss.ffffffZ`. A fast path parses that format;
/// chrono parses all others.
#[must_use]
pub fn parse_micros(text: &str) -> Option<i64> {
    micro_time(text.as_bytes())
        .or_else(|| DateTime::parse_from_rfc3339(text).ok().map(|t| t.timestamp_micros()))
        .filter(|micros| YEARS_0_TO_9999.contains(micros))
}

/// Like [`parse_micros`], but also accepts a zone without a colon (`+0100`, from zap and journald). A timestamp
/// without a zone is UTC.
#[must_use]
pub(crate) fn parse_any_zone(text: &str) -> Option<i64> {
    parse_micros(text)
        .or_else(|| {
            DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f%z").ok().map(|t| t.timestamp_micros())
        })
        .or_else(|| {
            let local = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").ok()?;
            Some(local.and_utc().timestamp_micros())
        })
        .filter(|micros| YEARS_0_TO_9999.contains(micros))
}

/// Formats a timestamp as RFC 3339 in UTC with microseconds. Returns `?` if it is outside of chrono's range.
#[must_use]
pub fn format_micros(micros: i64) -> String {
    with_micros(micros, str::to_owned)
}

/// Like [`format_micros`], but passes the text to `show`. This avoids an allocation. A report formats tens of
/// thousands of timestamps.
pub(crate) fn with_micros<T>(micros: i64, show: impl FnOnce(&str) -> T) -> T {
    let by_chrono = || {
        let at = DateTime::from_timestamp_micros(micros);
        at.map_or_else(|| "?".to_owned(), |at| at.to_rfc3339_opts(chrono::SecondsFormat::Micros, true))
    };
    match &micro_time_text(micros) {
        Some(text) => show(str::from_utf8(text).unwrap_or("?")),
        None => show(&by_chrono()),
    }
}

/// Formats a timestamp as `metav1.MicroTime` without chrono. Returns `None` unless the year has four digits.
fn micro_time_text(micros: i64) -> Option<[u8; LENGTH]> {
    let (days, of_day) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    let (year, month, day) = civil_from_days(days);
    if !(0..=9_999).contains(&year) {
        return None;
    }
    let (seconds, micros) = (of_day / 1_000_000, of_day % 1_000_000);
    let mut text = *b"0000-00-00T00:00:00.000000Z";
    for (at, two_digits) in [
        (0, year / 100),
        (2, year % 100),
        (5, month),
        (8, day),
        (11, seconds / 3_600),
        (14, seconds / 60 % 60),
        (17, seconds % 60),
        (20, micros / 10_000),
        (22, micros / 100 % 100),
        (24, micros % 100),
    ] {
        let number = u8::try_from(two_digits).ok()?;
        text[at] = b'0' + number / 10;
        text[at + 1] = b'0' + number % 10;
    }
    Some(text)
}

/// The range of RFC 3339 timestamps in UTC, in microseconds since 1970. Differences of two such values fit in `i64`.
pub(crate) const YEARS_0_TO_9999: RangeInclusive<i64> = -62_167_219_200_000_000..=253_402_300_799_999_999;

/// One day in microseconds.
const DAY: i64 = 86_400_000_000;

/// Formats a timestamp for people, to the second: `2026-11-20 20:36:00 UTC`. Returns `?` outside of chrono's range.
#[must_use]
pub(crate) fn format_second(micros: i64) -> String {
    DateTime::from_timestamp_micros(micros)
        .map_or_else(|| "?".to_owned(), |t| t.format("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// Formats the minute of a timestamp as RFC 3339 in UTC: `2026-11-20T20:36:00Z`. Returns `?` outside of chrono's
/// range.
#[must_use]
pub(crate) fn format_minute(micros: i64) -> String {
    with_minute(micros, str::to_owned)
}

/// Like [`format_minute`], but passes the text to `show`. This avoids an allocation.
pub(crate) fn with_minute<T>(micros: i64, show: impl FnOnce(&str) -> T) -> T {
    let start = micros.div_euclid(60_000_000) * 60;
    let by_chrono = || {
        let at = DateTime::from_timestamp(start, 0);
        at.map_or_else(|| "?".to_owned(), |at| at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
    };
    match micro_time_text(micros) {
        Some([text @ .., _, _, _, _, _, _, _, _, _, _]) => {
            let mut minute = *b"0000-00-00T00:00:00Z";
            minute[..MINUTE_LENGTH].copy_from_slice(&text);
            show(str::from_utf8(&minute).unwrap_or("?"))
        }
        None => show(&by_chrono()),
    }
}

/// Parses timestamps as [`parse_micros`] does. It is faster if a timestamp is in the same minute as the one before.
#[derive(Debug, Clone)]
pub(crate) struct RecentMinute {
    /// The text of the last minute, such as `2026-01-01T00:00:`.
    text: [u8; MINUTE_LENGTH],
    /// The start of that minute, in microseconds since 1970.
    start: i64,
}

/// The length of a `metav1.MicroTime`, in bytes. The next constant is the length of its part before the seconds.
const LENGTH: usize = 27;
const MINUTE_LENGTH: usize = 17;

impl Default for RecentMinute {
    fn default() -> Self {
        // UTF-8 text never contains this byte, so the first timestamp never matches.
        Self { text: [u8::MAX; MINUTE_LENGTH], start: 0 }
    }
}

impl RecentMinute {
    /// Returns the same result as the function [`parse_micros`].
    #[must_use]
    pub(crate) fn parse_micros(&mut self, text: &str) -> Option<i64> {
        if let Some(([minute @ .., s0, s1, b'.', f0, f1, f2, f3, f4, f5, b'Z'], [])) =
            text.as_bytes().split_first_chunk::<LENGTH>()
            && *minute == self.text
        {
            let digits = eight_digits([s0, s1, f0, f1, f2, f3, f4, f5].map(|digit| *digit));
            // A leap second (`:60`) does not match here; chrono parses it below.
            if let Some(micros) = digits.filter(|micros| *micros < 60_000_000) {
                return Some(self.start + i64::from(micros));
            }
        }
        let micros = parse_micros(text)?;
        if micro_time(text.as_bytes()).is_some() {
            self.text.copy_from_slice(&text.as_bytes()[..MINUTE_LENGTH]);
            self.start = micros.div_euclid(60_000_000) * 60_000_000;
        }
        Some(micros)
    }
}

/// Parses eight decimal digits in one 64-bit word. It joins pairs, then groups of four, then all eight.
fn eight_digits(text: [u8; 8]) -> Option<u32> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(text);
    let digits = word.wrapping_sub(EACH * u64::from(b'0'));
    // For a byte below '0', the subtraction sets the highest bit. For a byte above '9', the addition sets it.
    if (digits | word.wrapping_add(EACH * u64::from(0x7f - b'9'))) & (EACH << 7) != 0 {
        return None;
    }
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let all = fours.wrapping_mul(10_000).wrapping_add(fours >> 32);
    u32::try_from(all & 0xffff_ffff).ok()
}

fn micro_time(b: &[u8]) -> Option<i64> {
    if b.len() != 27
        || b[4] != b'-'
        || b[7] != b'-'
        || b[10] != b'T'
        || b[13] != b':'
        || b[16] != b':'
        || b[19] != b'.'
        || b[26] != b'Z'
    {
        return None;
    }
    let number = |range: std::ops::Range<usize>| {
        b[range]
            .iter()
            .try_fold(0_i64, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
    };
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    // chrono parses leap seconds (`:60`), and the days 29 to 31, which some months do not have.
    if !(1..=12).contains(&month) || !(1..=28).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_from_civil(year, month, day);
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + number(20..26)?)
}

/// Converts a UTC day, and the microseconds since its midnight, into microseconds since 1970. Returns `None` if the
/// day does not exist.
#[must_use]
pub(crate) fn civil_micros(year: i32, month: u8, day: u8, of_day: i64) -> Option<i64> {
    let day = NaiveDate::from_ymd_opt(year, u32::from(month), u32::from(day))?;
    day.and_time(NaiveTime::MIN).and_utc().timestamp_micros().checked_add(of_day)
}

/// Returns the year of a timestamp in UTC.
#[must_use]
pub(crate) fn year_of(micros: i64) -> Option<i32> {
    DateTime::from_timestamp_micros(micros).map(|at| at.year())
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar, for years from 0 to 9999.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // The year starts in March here, so that the leap day is its last day.
    let year = if month <= 2 { year - 1 } else { year };
    let cycle = year.div_euclid(400);
    let year_of_cycle = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    cycle * 146_097 + year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year - 719_468
}

/// The inverse of [`days_from_civil`]: year, month and day.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let cycle = days.div_euclid(146_097);
    let day_of_cycle = days.rem_euclid(146_097);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_cycle + cycle * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn format_minute_truncates_seconds_and_fraction() {
        let micros = parse_micros("2026-11-20T20:36:59.999999Z").expect("a timestamp");
        assert_eq!(format_minute(micros), "2026-11-20T20:36:00Z");
    }

    proptest! {
        #[test]
        fn eight_digits_agree_with_the_standard_parser(text in prop_oneof!["[0-9]{8}", "[0-9:/ +a-]{8}"]) {
            let own = eight_digits(text.as_bytes().try_into().expect("eight"));
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            prop_assert_eq!(own, text.parse().ok().filter(|_| is_plain));
        }

        #[test]
        fn eight_digits_refuse_all_other_bytes(text in any::<[u8; 8]>()) {
            prop_assert_eq!(eight_digits(text).is_some(), text.iter().all(u8::is_ascii_digit));
        }

        #[test]
        fn fast_paths_agree_with_chrono(micros in -62_167_219_200_000_000_i64..253_402_300_799_000_000) {
            prop_assert_eq!(parse_micros(&format_micros(micros)), Some(micros));
            let by_chrono = DateTime::from_timestamp_micros(micros).expect("a timestamp");
            let by_chrono = by_chrono.to_rfc3339_opts(chrono::SecondsFormat::Micros, true);
            prop_assert_eq!(micro_time_text(micros).map(Vec::from), Some(by_chrono.into_bytes()));
            let by_chrono = DateTime::from_timestamp(micros.div_euclid(60_000_000) * 60, 0).expect("a timestamp");
            let by_chrono = by_chrono.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
            prop_assert_eq!(format_minute(micros), by_chrono);
        }

        #[test]
        fn recent_minute_agrees_with_parse_micros(
            texts in prop::collection::vec("2026-01-0[12]T00:0[01]:[0-6][0-9].[0-9x]{6}Z?", 1..30),
        ) {
            let mut minute = RecentMinute::default();
            for text in texts {
                prop_assert_eq!(minute.parse_micros(&text), parse_micros(&text), "{}", text);
            }
        }
    }

    #[test]
    fn other_rfc3339_formats_are_parsed_and_the_rest_refused() {
        assert_eq!(parse_micros("1970-01-01T00:00:01Z"), Some(1_000_000));
        assert_eq!(parse_micros("1970-01-01T01:00:00.000001+01:00"), Some(1));
        assert_eq!(parse_micros("2024-02-31T00:00:00.000000Z"), None);
        assert_eq!(parse_micros("yesterday"), None);
    }

    #[test]
    fn parse_any_zone_accepts_zones_of_other_programs() {
        for text in ["2021-02-16T16:01:48.863+0100", "2021-02-16T15:01:48.863", "2021-02-16T15:01:48.863Z"] {
            assert_eq!(parse_any_zone(text), Some(1_613_487_708_863_000), "{text}");
        }
        assert_eq!(parse_any_zone("2021-02-16"), None);
        for (year, at) in [("0000", YEARS_0_TO_9999.start()), ("+10000", &(YEARS_0_TO_9999.end() + 1))] {
            let text = format!("{year}-01-01T00:00:00.000000");
            assert_eq!(parse_any_zone(&text), Some(*at).filter(|at| YEARS_0_TO_9999.contains(at)), "{text}");
        }
    }
}
