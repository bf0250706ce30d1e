//! Numbers of a budget: how they are rounded and written.

use std::fmt;
use std::str::FromStr;

use super::phase::Phase;

/// The relative error of a number that a file states in decimals.
const ROUNDING: f64 = 1e-9;
/// The largest slack, as a factor. A larger one is likely an error.
const MOST_SLACK: f64 = 100.0;

/// How much more than measured a budget allows without a reason, such as `20%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slack(f64);

impl Slack {
    pub(crate) const DEFAULT: Self = Self(0.2);
}

impl FromStr for Slack {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a slack; write a percentage from 0% to 10000%, such as 20%");
        let number = text.trim().strip_suffix('%').ok_or_else(wrong)?.trim_end();
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let percent: f64 = number.parse().ok().filter(|_| is_plain).ok_or_else(wrong)?;
        Some(Self(percent / 100.0)).filter(|slack| slack.0 <= MOST_SLACK).ok_or_else(wrong)
    }
}

impl fmt::Display for Slack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Two decimals of a percentage. More digits come from the division by 100.
        write!(f, "{}%", (self.0 * 10_000.0).round() / 100.0)
    }
}

/// The limit for a measured number, with slack. Start counts and watches are whole numbers, so a single one gets no
/// slack below 100%: a second informer is never within the slack.
pub(crate) fn allowed(phase: Phase, measured: f64, slack: Slack) -> f64 {
    let limit = measured * (1.0 + slack.0);
    if phase.is_whole() { (limit * (1.0 + ROUNDING)).floor() } else { round_up(limit) }
}

/// Whether a limit is above what the slack allows.
pub(super) fn is_raise(phase: Phase, limit: f64, measured: f64, slack: Slack) -> bool {
    is_above(limit, allowed(phase, measured, slack))
}

/// Whether a number is above another by more than rounding.
pub(super) fn is_above(number: f64, other: f64) -> bool {
    number > other * (1.0 + ROUNDING)
}

/// Rounds up to three digits, so that a file stays readable.
pub(crate) fn round_up(number: f64) -> f64 {
    if number <= 0.0 || !number.is_finite() {
        return 0.0;
    }
    // A number that the file already has in three digits must not become larger.
    let number = number * (1.0 - ROUNDING);
    let scale = 10_f64.powf(2.0 - number.log10().floor());
    let rounded = (number * scale).ceil() / scale;
    // The scale is not exact, so the text of the number decides its value.
    plain(rounded).parse().unwrap_or(rounded)
}

/// Writes a number without an exponent: `12`, `9.87`, `0.00123`.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number of decimals is small")]
pub(crate) fn plain(number: f64) -> String {
    if number <= 0.0 || !number.is_finite() {
        return "0".to_owned();
    }
    let decimals = (2.0 - number.log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slack_is_a_percentage() {
        for (text, shown) in [("20%", "20%"), ("0%", "0%"), ("7.5%", "7.5%"), ("150 %", "150%")] {
            assert_eq!(text.parse::<Slack>().map(|slack| slack.to_string()), Ok(shown.to_owned()));
        }
        for bad in ["", "20", "0.2", "-5%", "%", "1e1%", "inf%", "NaN%", "1000000%", "2 0%"] {
            assert!(bad.parse::<Slack>().is_err(), "{bad}");
        }
    }

    #[test]
    fn limits_are_readable() {
        let slack = Slack::DEFAULT;
        let rate = |measured| plain(allowed(Phase::Minute, measured, slack));
        assert_eq!([10.0, 0.333, 123.0, 5_000.0].map(rate), ["12", "0.4", "148", "6000"]);
        let count = |measured| plain(allowed(Phase::Start, measured, slack));
        assert_eq!([0.0, 1.0, 4.0, 5.0, 10.0].map(count), ["0", "1", "4", "6", "12"]);
        assert_eq!(
            [0.001_234, 9.871, 12_345.0].map(|number| plain(round_up(number))),
            ["0.00124", "9.88", "12400"]
        );
    }

    proptest! {
        #[test]
        fn a_rounded_number_is_not_below_and_stays(number in 1e-6_f64..1e9) {
            let rounded = round_up(number);
            prop_assert!(rounded >= number * (1.0 - 1e-8) && rounded <= number * 1.011, "{} {}", number, rounded);
            prop_assert_eq!(round_up(rounded).to_bits(), rounded.to_bits());
            prop_assert_eq!(plain(rounded).parse::<f64>().ok(), Some(rounded));
        }

        #[test]
        fn an_allowed_limit_is_not_a_raise(measured in 0_u32..10_000, percent in 0_u32..300) {
            let slack: Slack = format!("{percent}%").parse().expect("a slack");
            for phase in Phase::ALL {
                let measured = round_up(f64::from(measured) / 7.0);
                let limit = allowed(phase, measured, slack);
                prop_assert!(!is_raise(phase, limit, measured, slack));
                prop_assert!(is_raise(phase, limit + 1.0, measured, slack));
            }
        }
    }
}
