//! Formats numbers and timestamps for people, also as filters in rule texts.

use minijinja::{Environment, Error, ErrorKind};

pub(crate) use crate::k8s::text::{count, more};
use crate::k8s::timestamp;

/// Formats a number of bytes with at most three digits: `45.2 MB`.
pub(crate) fn bytes(number: u64) -> String {
    scaled(number, &["B", "kB", "MB", "GB", "TB", "PB"], 1000, " ", 99.95)
}

/// Formats a number in the greatest unit that fits. Shows one decimal if the value in that unit is below `exact`.
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

/// Divides two numbers, and rounds the result to one decimal; 0 if the divisor is 0.
#[allow(clippy::cast_precision_loss, reason = "rates are for people, and counts are far below 2^52")]
pub(super) fn tenths(count: u64, over: u64) -> f64 {
    if over == 0 { 0.0 } else { (count as f64 * 10.0 / over as f64).round() / 10.0 }
}

/// Formats a number of repetitions: `once`, `twice`, `1,234 times`.
pub(crate) fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{} times", count(number)),
    }
}

/// Formats a duration with two or three significant digits: `250 ms`, `1.0 s`, `72 s`, `6.0 min`, `2.5 h`.
pub(crate) fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        ..0.9995 => return format!("{:.0} ms", seconds * 1000.0),
        ..119.5 => (seconds, "s"),
        ..7_170.0 => (seconds / 60.0, "min"),
        _ => (seconds / 3_600.0, "h"),
    };
    let decimals = usize::from(value < 9.95);
    format!("{value:.decimals$} {unit}")
}

/// Returns the plural noun, or its singular if `number` is 1. Handles plurals such as `LISTs`, `WATCHes`, `policies`
/// and `ingresses.networking.k8s.io`.
pub(crate) fn noun(number: u64, plural: &str) -> String {
    if number != 1 {
        return plural.to_owned();
    }
    let (word, rest) = plural.split_at(plural.find(['.', '/']).unwrap_or(plural.len()));
    let lower = word.to_ascii_lowercase();
    let ends = |ending: &str| lower.ends_with(ending);
    let cut = |by: usize| &word[..word.len() - by];
    if ends("ies") {
        format!("{}y{rest}", cut(3))
    } else if ["ches", "shes", "sses", "xes"].iter().any(|ending| ends(ending)) {
        format!("{}{rest}", cut(2))
    } else if ends("s") && !ends("ss") && !ends("endpoints") {
        format!("{}{rest}", cut(1))
    } else {
        plural.to_owned()
    }
}

/// Returns the third-person form of a Kubernetes verb, for a sentence: `LISTs`, `WATCHes`.
pub(crate) fn does(verb: &str) -> String {
    match verb {
        "watch" | "patch" => format!("{}es", verb.to_uppercase()),
        "connect" => "CONNECTs to".to_owned(),
        "proxy" => "sends PROXY requests to".to_owned(),
        "other" | "" => "requests".to_owned(),
        _ => format!("{}s", verb.to_uppercase()),
    }
}

/// Formats an RFC 3339 timestamp to the second: `2026-11-20 20:36:00 UTC`. Returns any other text unchanged.
pub(crate) fn timestamp(text: &str) -> String {
    timestamp::parse_micros(text).map_or_else(|| text.to_owned(), timestamp::format_second)
}

/// The maximum number of distinct targets that the ledger counts exactly; see `ledger::targets`.
const EXACT: u32 = 64;

/// The filters of rule texts and what they do, for the rule reference.
pub(crate) const FILTERS: &[(&str, &str)] = &[
    ("count", "`26093` as `26,093`; fractions are rounded, below 10 to one decimal"),
    (
        "count('LISTs')",
        "`26093` as `26,093 LISTs`, `1` as `1 LIST`: the number with a plural noun, such as `resource`",
    ),
    (
        "distinct",
        "`26093` as `≈26,093`: above 64 distinct targets the number is an estimate; takes a noun as `count` does",
    ),
    ("does", "`list` as `LISTs`, `watch` as `WATCHes`: what a client does"),
    ("duration", "seconds: `0.25` as `250 ms`, `1` as `1.0 s`, `72` as `72 s`, `360` as `6.0 min`"),
    ("times", "`1`, `2`, `1234` as `once`, `twice`, `1,234 times`"),
    ("bytes", "`2400000000` as `2.4 GB`"),
    ("timestamp", "`2026-11-20T20:36:00.123456Z` as `2026-11-20 20:36:00 UTC`"),
];

/// Rounds a number in a template. Variables are never negative, but the result of a subtraction can be.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is neither too great nor negative"
)]
fn rounded(number: f64, show: fn(u64) -> String) -> Result<String, Error> {
    if !number.is_finite() || number.abs() >= 1e18 {
        return Err(Error::new(ErrorKind::InvalidOperation, "not a number that can be shown"));
    }
    let sign = if number <= -0.5 { "-" } else { "" };
    Ok(format!("{sign}{}", show(number.abs().round() as u64)))
}

/// Appends the noun, if any, to a formatted number.
fn with_noun(shown: String, plural: Option<String>) -> String {
    match plural {
        Some(plural) => {
            let noun = noun(u64::from(shown == "1"), &plural);
            format!("{shown} {noun}")
        }
        None => shown,
    }
}

/// Adds [`FILTERS`] to the environment of rule texts.
pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter("count", |number: f64, plural: Option<String>| {
        let shown = match number {
            // A small number that is not whole, such as a rate, gets one decimal.
            0.05..9.95 if (number - number.round()).abs() >= 0.05 => format!("{number:.1}"),
            _ => rounded(number, count)?,
        };
        Ok::<_, Error>(with_noun(shown, plural))
    });
    environment.add_filter("distinct", |number: f64, plural: Option<String>| {
        let mark = if number > f64::from(EXACT) { "≈" } else { "" };
        rounded(number, count).map(|shown| with_noun(format!("{mark}{shown}"), plural))
    });
    environment.add_filter("does", |verb: String| does(&verb));
    environment.add_filter("duration", |seconds: f64| match seconds {
        0.0..1e15 => Ok(duration(seconds)),
        _ => Err(Error::new(ErrorKind::InvalidOperation, "not a duration that can be shown")),
    });
    environment.add_filter("times", |number: f64| rounded(number, times));
    environment.add_filter("bytes", |number: f64| rounded(number, bytes));
    environment.add_filter("timestamp", |text: String| timestamp(&text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_list_items_are_counted() {
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
                "{{ 1|count('LISTs') }}, {{ 1.04|count('WATCHes') }}, {{ 2|count('pages') }}, {{ 0|count('pages') }}",
                "1 LIST, 1 WATCH, 2 pages, 0 pages",
            ),
            (
                "{{ 1|distinct('ingresses.networking.k8s.io') }}, {{ 1|distinct('endpoints') }}, {{ 90|distinct('pods') }}",
                "1 ingress.networking.k8s.io, 1 endpoints, ≈90 pods",
            ),
            ("{{ 1|count('networkpolicies') }}, {{ 1|count('leases') }}", "1 networkpolicy, 1 lease"),
            (
                "{{ 'list'|does }} {{ 'patch'|does }} {{ 'deletecollection'|does }} {{ 'other'|does }}",
                "LISTs PATCHes DELETECOLLECTIONs requests",
            ),
            (
                "{{ 0.25|duration }}, {{ 0.9999|duration }}, {{ 1|duration }}, {{ 9.97|duration }}, {{ 29.8|duration }}",
                "250 ms, 1.0 s, 1.0 s, 10 s, 30 s",
            ),
            ("{{ 119|duration }}, {{ 360.2|duration }}, {{ 9000|duration }}", "119 s, 6.0 min, 2.5 h"),
            (
                "{{ 0|times }}, {{ 1|times }}, {{ 2|times }}, {{ 1234|times }}",
                "0 times, once, twice, 1,234 times",
            ),
            ("{{ 2400000000|bytes }}, {{ 12|bytes }}", "2.4 GB, 12 B"),
            ("{{ '2026-11-20T20:36:00.123456Z'|timestamp }}", "2026-11-20 20:36:00 UTC"),
            ("{{ 'long ago'|timestamp }}", "long ago"),
            ("{{ 1e300|count }}", "invalid operation: not a number that can be shown (in <string>:1)"),
        ] {
            assert_eq!(filled(text), shown, "{text}");
        }
    }
}
