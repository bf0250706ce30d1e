//! Numbers and instants as people read them, and the filters by which the texts of rules have them so.

use minijinja::{Environment, Error, ErrorKind};

pub use crate::k8s::text::{count, more};
use crate::k8s::timestamp;

/// Bytes with three figures at most: `45.2 MB`.
#[must_use]
pub fn bytes(number: u64) -> String {
    scaled(number, &["B", "kB", "MB", "GB", "TB", "PB"], 1000, " ", 99.95)
}

/// A number in the greatest unit of which there is one. Below `exact`, one decimal is shown.
#[allow(clippy::cast_precision_loss, reason = "three figures are shown")]
pub(crate) fn scaled(number: u64, units: &[&str], base: u64, space: &str, exact: f64) -> String {
    let mut value = number as f64;
    let mut unit = 0;
    while value >= base as f64 && unit + 1 < units.len() {
        value /= base as f64;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && value < exact);
    format!("{value:.decimals$}{space}{}", units[unit])
}

/// How often: `once`, `twice`, `1,234 times`.
#[must_use]
pub fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{} times", count(number)),
    }
}

/// An instant to the second, `2026-11-20 20:36:00 UTC`. What is no instant stays as it is.
#[must_use]
pub fn instant(text: &str) -> String {
    timestamp::parse_micros(text).map_or_else(|| text.to_owned(), timestamp::format_second)
}

/// Up to so many different targets of a row are counted exactly; see `ledger::targets`.
const EXACT: u32 = 64;

/// The filters, their form and what they make of it, for people who write rules.
pub const FILTERS: &[(&str, &str)] = &[
    ("count", "`26093` as `26,093`; fractions are rounded, below 10 to one decimal"),
    ("distinct", "`26093` as `≈26,093`: of more than 64 different targets the number is an estimate"),
    ("times", "`1`, `2`, `1234` as `once`, `twice`, `1,234 times`"),
    ("bytes", "`2400000000` as `2.4 GB`"),
    ("instant", "`2026-11-20T20:36:00.123456Z` as `2026-11-20 20:36:00 UTC`"),
];

/// A number of a template, rounded. Names hold nothing negative; what an operation makes of them may be.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is neither too great nor negative"
)]
fn whole(number: f64, show: fn(u64) -> String) -> Result<String, Error> {
    if !number.is_finite() || number.abs() >= 1e18 {
        return Err(Error::new(ErrorKind::InvalidOperation, "no number that can be shown"));
    }
    let sign = if number <= -0.5 { "-" } else { "" };
    Ok(format!("{sign}{}", show(number.abs().round() as u64)))
}

/// Lets texts use [`FILTERS`].
pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter("count", |number: f64| match number {
        // Rates are given to one decimal.
        0.05..9.95 if (number - number.round()).abs() >= 0.05 => Ok(format!("{number:.1}")),
        _ => whole(number, count),
    });
    environment.add_filter("distinct", |number: f64| {
        let mark = if number > f64::from(EXACT) { "≈" } else { "" };
        whole(number, count).map(|shown| format!("{mark}{shown}"))
    });
    environment.add_filter("times", |number: f64| whole(number, times));
    environment.add_filter("bytes", |number: f64| whole(number, bytes));
    environment.add_filter("instant", |text: String| instant(&text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_list_leaves_out_is_counted() {
        let files = |left| more(left, "file", "files");
        assert_eq!(files(0), None);
        assert_eq!(files(1).as_deref(), Some("1 more file"));
        assert_eq!(files(1_234).as_deref(), Some("1,234 more files"));
    }

    fn filled(text: &str) -> String {
        let mut environment = Environment::new();
        add_to(&mut environment);
        environment.render_str(text, ()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn filters_show_figures_as_people_read_them() {
        for (text, shown) in [
            ("{{ 26093|count }}", "26,093"),
            (
                "{{ 999.6|count }}, {{ 3.14|count }}, {{ 0.4|count }}, {{ 9.99|count }}, {{ 2.0|count }}",
                "1,000, 3.1, 0.4, 10, 2",
            ),
            ("{{ (1 - 1001)|count }}", "-1,000"),
            ("{{ 64|distinct }}, {{ 1280|distinct }}", "64, ≈1,280"),
            (
                "{{ 0|times }}, {{ 1|times }}, {{ 2|times }}, {{ 1234|times }}",
                "0 times, once, twice, 1,234 times",
            ),
            ("{{ 2400000000|bytes }}, {{ 12|bytes }}", "2.4 GB, 12 B"),
            ("{{ '2026-11-20T20:36:00.123456Z'|instant }}", "2026-11-20 20:36:00 UTC"),
            ("{{ 'long ago'|instant }}", "long ago"),
            ("{{ 1e300|count }}", "invalid operation: no number that can be shown (in <string>:1)"),
        ] {
            assert_eq!(filled(text), shown, "{text}");
        }
    }
}
