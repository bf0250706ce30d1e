//! The header of a klog line. Its timestamp has neither year nor zone.
//!
//! Source: k8s.io/klog/v2 `internal/buffer/buffer.go:FormatHeader`.

use crate::k8s::timestamp::{civil_micros, year_of};

/// One minute in microseconds.
const MINUTE: i64 = 60_000_000;
/// One day in microseconds.
const DAY: i64 = 24 * 60 * MINUTE;
/// 15 minutes, in microseconds. The offset of every time zone is a multiple of this.
const ZONE_STEP: i64 = 15 * MINUTE;
/// The maximum difference between the timestamps of an envelope and of klog, in microseconds. The difference of their
/// time zones does not count.
const MAX_DELAY: i64 = 2 * MINUTE;
/// The maximum difference of a time zone from UTC, in microseconds.
const MAX_ZONE: i64 = 14 * 60 * MINUTE;
/// The maximum number of years to search backwards. Leap years are at most eight years apart.
const MAX_YEARS_BACK: i32 = 8;

/// `I1120 20:31:42.554433    4065 httplog.go:134] `, and the rest of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KlogHeader<'a> {
    pub(crate) severity: KlogSeverity,
    /// When the line was written.
    pub(crate) time: KlogTime,
    /// The text after the header.
    pub(crate) rest: &'a str,
}

/// The severity letter of a klog line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KlogSeverity {
    Info,
    Warning,
    Error,
    Fatal,
}

/// A timestamp without a year, in the server's time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KlogTime {
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// Microseconds since midnight.
    pub(crate) micros_of_day: i64,
}

/// Facts that complete a timestamp without year or zone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockContext {
    /// The timestamp of the line's envelope (CRI, docker, journald), in microseconds since 1970. It determines the
    /// year and the time zone of klog's timestamp.
    pub wrapper: Option<i64>,
    /// The year from the command line. If it is used, klog's time counts as UTC.
    pub year: Option<i32>,
    /// When the file was last modified, in microseconds since 1970. If it is used, klog's time counts as UTC.
    pub file_time: Option<i64>,
}

impl<'a> KlogHeader<'a> {
    /// Parses the header of a line; `None` if it has none. Some builds of 1.25 to 1.29 write `??? ` before it.
    #[must_use]
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let text = text.strip_prefix("??? ").unwrap_or(text);
        let b: &[u8; 22] = text.as_bytes().first_chunk()?;
        let severity = match b[0] {
            b'I' => KlogSeverity::Info,
            b'W' => KlogSeverity::Warning,
            b'E' => KlogSeverity::Error,
            b'F' => KlogSeverity::Fatal,
            _ => return None,
        };
        if b[5] != b' ' || b[8] != b':' || b[11] != b':' || b[14] != b'.' || b[21] != b' ' {
            return None;
        }
        let pair = |at: usize| {
            let (tens, ones) = (b[at].wrapping_sub(b'0'), b[at + 1].wrapping_sub(b'0'));
            (tens < 10 && ones < 10).then(|| tens * 10 + ones)
        };
        let (month, day) = (pair(1)?, pair(3)?);
        let (hour, minute, second) = (pair(6)?, pair(9)?, pair(12)?);
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let micros = i64::from(pair(15)?) * 10_000 + i64::from(pair(17)?) * 100 + i64::from(pair(19)?);
        let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
        let after = text.get(22..)?;
        let bracket = memchr::memchr(b']', after.as_bytes())?;
        let rest = &after[bracket + 1..];
        is_origin(&after[..bracket]).then(|| Self {
            severity,
            time: KlogTime { month, day, micros_of_day: seconds * 1_000_000 + micros },
            rest: rest.strip_prefix(' ').unwrap_or(rest),
        })
    }
}

/// Whether a text is a thread number and `file:line`. Both change with every release, so nothing else is checked.
fn is_origin(text: &str) -> bool {
    let text = text.trim_start_matches(' ');
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0
        && text[digits..].strip_prefix(' ').is_some_and(|origin| !origin.is_empty() && !origin.contains(' '))
}

impl KlogTime {
    /// Parses a time of day such as `13:23:04` or `13:23:04.123456`. `month` is 1 to 12, and `day` is 1 to 31.
    #[must_use]
    pub(crate) fn parse(month: u8, day: u8, clock: &str) -> Option<Self> {
        let mut parts = clock.splitn(3, ':');
        let (hour, minute, seconds) = (parts.next()?, parts.next()?, parts.next()?);
        let (second, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
        let number = |text: &str| {
            let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u8>().ok().filter(|_| digits)
        };
        let (hour, minute, second) = (number(hour)?, number(minute)?, number(second)?);
        let is_time = hour < 24 && minute < 60 && second <= 60;
        let is_day = (1..=12).contains(&month) && (1..=31).contains(&day);
        (is_time && is_day && fraction.bytes().all(|byte| byte.is_ascii_digit())).then_some(())?;
        let micros = format!("{fraction:0<6}").get(..6)?.parse::<i64>().ok()?;
        let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
        Some(Self { month, day, micros_of_day: seconds * 1_000_000 + micros })
    }

    /// The timestamp in a given year and in UTC, in microseconds since 1970. `None` for 29 February in a common year.
    #[must_use]
    pub(crate) fn to_micros(self, year: i32) -> Option<i64> {
        civil_micros(year, self.month, self.day, self.micros_of_day)
    }

    /// Completes the timestamp with the envelope's time, else with the given year, else with the file's modification
    /// time.
    #[must_use]
    pub(crate) fn resolve(self, context: &ClockContext) -> Option<i64> {
        if let Some(wrapper) = context.wrapper {
            return Some(self.beside(wrapper));
        }
        if let Some(year) = context.year {
            return self.to_micros(year);
        }
        let latest = context.file_time?.checked_add(DAY)?;
        let year = year_of(latest)?;
        (0..=MAX_YEARS_BACK).filter_map(|back| self.to_micros(year - back)).find(|micros| *micros <= latest)
    }

    /// Keeps the microseconds of klog's timestamp. Chooses the year and zone with which it is nearest to the envelope's
    /// time. Returns the envelope's time if no zone fits.
    fn beside(self, wrapper: i64) -> i64 {
        let nearest = year_of(wrapper).and_then(|year| {
            [year, year - 1, year + 1]
                .into_iter()
                .filter_map(|year| self.to_micros(year))
                .min_by_key(|local| local.abs_diff(wrapper))
        });
        let Some(local) = nearest else { return wrapper };
        let difference = local - wrapper;
        let zone = (difference + ZONE_STEP / 2).div_euclid(ZONE_STEP) * ZONE_STEP;
        if zone.abs() <= MAX_ZONE && (difference - zone).abs() <= MAX_DELAY { local - zone } else { wrapper }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::k8s::timestamp::{format_micros, parse_micros};
    use proptest::prelude::*;

    fn at(text: &str) -> i64 {
        parse_micros(text).expect("a timestamp")
    }

    fn time(text: &str) -> KlogTime {
        KlogHeader::parse(&format!("I{text}       1 a.go:1] x")).expect("a header").time
    }

    #[test]
    fn headers_are_parsed() {
        let header =
            KlogHeader::parse("E0821 06:11:22.333444      13 writers.go:123] \"x\" y=1").expect("a header");
        assert_eq!((header.severity, header.rest), (KlogSeverity::Error, "\"x\" y=1"));
        let header =
            KlogHeader::parse("??? I1120 20:41:32.123456    5559 httplog.go:137] ").expect("a header");
        assert_eq!(header.rest, "");
        let micros_of_day = ((20 * 60 + 41) * 60 + 32) * 1_000_000 + 123_456;
        assert_eq!(header.time, KlogTime { month: 11, day: 20, micros_of_day });
        for none in [
            "",
            "I1120 20:41:32.123456",
            "I1120 20:41:32.123456    5559 httplog.go:137",
            "I1320 20:41:32.123456    5559 httplog.go:137] x",
            "I1120 20:41:32.12345x    5559 httplog.go:137] x",
            "X1120 20:41:32.123456    5559 httplog.go:137] x",
            "I1120 20:41:32.123456    some prose [and brackets] x",
            "Iéééé 20:41:32.123456    5559 httplog.go:137] x",
        ] {
            assert_eq!(KlogHeader::parse(none), None, "{none}");
        }
    }

    #[test]
    fn time_of_day_is_parsed() {
        let micros_of_day = ((13 * 60 + 23) * 60 + 4) * 1_000_000;
        assert_eq!(KlogTime::parse(3, 28, "13:23:04"), Some(KlogTime { month: 3, day: 28, micros_of_day }));
        let with_fraction = KlogTime { month: 3, day: 28, micros_of_day: micros_of_day + 120_000 };
        assert_eq!(KlogTime::parse(3, 28, "13:23:04.12"), Some(with_fraction));
        for (month, day, clock) in [
            (0, 1, "13:23:04"),
            (1, 32, "13:23:04"),
            (1, 1, "24:00:00"),
            (1, 1, "1:00:00"),
            (1, 1, "13:23:04.x"),
        ] {
            assert_eq!(KlogTime::parse(month, day, clock), None, "{month} {day} {clock}");
        }
    }

    #[test]
    fn envelope_timestamp_gives_year_and_zone() {
        for (klog, wrapper, resolved) in [
            ("0823 08:51:14.320140", "2023-08-23T08:51:14.321000Z", "2023-08-23T08:51:14.320140Z"),
            ("0328 15:21:03.512345", "2017-03-28T13:21:03.514000Z", "2017-03-28T13:21:03.512345Z"),
            ("0823 14:36:14.320140", "2023-08-23T08:51:15.000000Z", "2023-08-23T08:51:14.320140Z"),
            ("1231 23:59:59.900000", "2024-01-01T00:00:00.100000Z", "2023-12-31T23:59:59.900000Z"),
            ("0101 01:30:00.000000", "2023-12-31T23:30:00.500000Z", "2023-12-31T23:30:00.000000Z"),
            ("1231 16:00:00.000000", "2024-01-01T00:00:01.000000Z", "2024-01-01T00:00:00.000000Z"),
            ("0229 12:00:00.000000", "2024-02-29T12:00:01.000000Z", "2024-02-29T12:00:00.000000Z"),
            // No time zone explains these differences: they are seven minutes or three days. The envelope is late.
            ("0823 08:58:20.000000", "2023-08-23T08:51:14.000000Z", "2023-08-23T08:51:14.000000Z"),
            ("0820 08:51:14.000000", "2023-08-23T08:51:14.000000Z", "2023-08-23T08:51:14.000000Z"),
        ] {
            let context = ClockContext { wrapper: Some(at(wrapper)), year: Some(1999), file_time: Some(0) };
            assert_eq!(time(klog).resolve(&context).map(format_micros).as_deref(), Some(resolved), "{klog}");
        }
    }

    #[test]
    fn given_year_or_file_time_gives_the_year() {
        let year = |year| ClockContext { year: Some(year), ..ClockContext::default() };
        let micros = |text: &str, context: &ClockContext| time(text).resolve(context).map(format_micros);
        assert_eq!(
            micros("0229 00:00:00.000001", &year(2024)).as_deref(),
            Some("2024-02-29T00:00:00.000001Z")
        );
        assert_eq!(micros("0229 00:00:00.000001", &year(2023)), None);
        let file = |text| ClockContext { file_time: Some(at(text)), ..ClockContext::default() };
        for (klog, written, resolved) in [
            ("1120 20:00:00.000000", "2026-11-20T21:00:00Z", "2026-11-20T20:00:00.000000Z"),
            ("1121 20:00:00.000000", "2026-11-20T21:00:00Z", "2026-11-21T20:00:00.000000Z"),
            ("1121 22:00:00.000000", "2026-11-20T21:00:00Z", "2025-11-21T22:00:00.000000Z"),
            ("0101 05:00:00.000000", "2026-12-31T21:00:00Z", "2027-01-01T05:00:00.000000Z"),
            ("1231 05:00:00.000000", "2027-01-01T00:00:00Z", "2026-12-31T05:00:00.000000Z"),
            ("0229 05:00:00.000000", "2027-01-01T00:00:00Z", "2024-02-29T05:00:00.000000Z"),
        ] {
            assert_eq!(micros(klog, &file(written)).as_deref(), Some(resolved), "{klog} {written}");
        }
        assert_eq!(time("0101 00:00:00.000000").resolve(&ClockContext::default()), None);
    }

    proptest! {
        #[test]
        fn timestamps_resolve_in_any_zone_and_with_any_delay(
            micros in 0_i64..4_000_000_000_000_000,
            quarters in -48_i64..=56,
            delay in -MAX_DELAY..=MAX_DELAY,
        ) {
            let local = format_micros(micros + quarters * ZONE_STEP);
            let klog = format!("{}{} {}", &local[5..7], &local[8..10], &local[11..26]);
            let context = ClockContext { wrapper: Some(micros + delay), ..ClockContext::default() };
            prop_assert_eq!(time(&klog).resolve(&context), Some(micros));
        }
    }
}
