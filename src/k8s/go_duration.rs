//! Parses Go durations (`1m0.023443627s`, `470.891µs`). The apiserver writes them into annotations and reads them
//! from `timeout=`.
//!
//! Source: Go `time.ParseDuration`.

/// Parses a Go duration into whole nanoseconds. Returns `None` where Go's `time.ParseDuration` fails.
///
/// It accepts an optional sign, `0` without a unit, decimal fractions, and the units `ns us µs μs ms s m h` in any
/// order.
#[must_use]
pub(crate) fn parse_nanoseconds(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i64 = 0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (integer, after) = rest.split_at(digits);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(after.bytes().take_while(u8::is_ascii_digit).count()),
            None => ("", after),
        };
        if integer.is_empty() && fraction.is_empty() {
            return None;
        }
        let unit_length = after.bytes().take_while(|b| *b != b'.' && !b.is_ascii_digit()).count();
        let (unit, after) = after.split_at(unit_length);
        let scale: i64 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let integer: i64 = if integer.is_empty() { 0 } else { integer.parse().ok()? };
        total = total.checked_add(integer.checked_mul(scale)?)?;
        total = total.checked_add(scaled_fraction(fraction, scale))?;
        rest = after;
    }
    Some(if negative { -total } else { total })
}

/// Parses a Go duration into whole microseconds. Returns `None` for a negative duration, too: a measured time is
/// never negative.
#[must_use]
pub(crate) fn parse_micros(text: &str) -> Option<u64> {
    u64::try_from(parse_nanoseconds(text)? / 1_000).ok()
}

/// Computes `0.<digits> × scale`, truncated to whole nanoseconds. Digits after the 18th are below 1 ns in every unit.
fn scaled_fraction(digits: &str, scale: i64) -> i64 {
    let mut value: i128 = 0;
    let mut divisor: i128 = 1;
    for digit in digits.bytes().take(18) {
        value = value * 10 + i128::from(digit - b'0');
        divisor *= 10;
    }
    i64::try_from(value * i128::from(scale) / divisor).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::parse_nanoseconds;

    #[test]
    fn durations_of_the_apiserver_are_parsed() {
        assert_eq!(parse_nanoseconds("1m0.023443627s"), Some(60_023_443_627));
        assert_eq!(parse_nanoseconds("470.891µs"), Some(470_891));
        assert_eq!(parse_nanoseconds("35.1us"), Some(35_100));
        assert_eq!(parse_nanoseconds("1.2s"), Some(1_200_000_000));
        assert_eq!(parse_nanoseconds("0s"), Some(0));
        assert_eq!(parse_nanoseconds("0"), Some(0));
        assert_eq!(parse_nanoseconds("-1.5h"), Some(-5_400_000_000_000));
        assert_eq!(parse_nanoseconds(".5s"), Some(500_000_000));
    }

    #[test]
    fn durations_that_go_refuses_are_none() {
        for bad in ["", "-", "5", "s", ".s", "1d", "1 s", "abc", "1s ", "99999999999999999999s"] {
            assert_eq!(parse_nanoseconds(bad), None, "{bad}");
        }
    }
}
