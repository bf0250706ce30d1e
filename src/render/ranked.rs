//! A ranked count (`--by`) as text, JSON and CSV.

use std::fmt::Write as _;

use super::escape;
use super::export::csv_cell;
use super::plain::{count, counted, escaped, share};
use crate::report::Ranked;

/// Renders a line for each value: its requests, their share, and the value.
#[must_use]
pub fn text(ranked: &Ranked) -> String {
    let Ranked { by, requests, rows, others } = ranked;
    let mut out = format!("{} by {by}\n", counted(*requests, "request"));
    let width = rows.iter().map(|row| count(row.requests).len()).chain([count(others.requests).len()]);
    let width = width.max().unwrap_or(0);
    let mut line = |number: u64, value: &str| {
        let (number, share) = (count(number), share(number, *requests));
        writeln!(out, "{number:>width$}  {share:>7}  {value}").expect("a String takes all");
    };
    for row in rows {
        line(row.requests, &escaped(&row.value));
    }
    if others.requests > 0 {
        let values = match (others.values, others.more) {
            (0, _) => "values without a count of their own".to_owned(),
            (values, true) => format!("{} or more others; --top {}", count(values), shown_next(ranked)),
            (values, false) => format!("{}; --top {}", counted(values, "other"), shown_next(ranked)),
        };
        line(others.requests, &format!("({values})"));
    }
    out
}

/// The `--top` value that shows all values.
fn shown_next(ranked: &Ranked) -> u64 {
    ranked.rows.len() as u64 + ranked.others.values
}

/// Renders the count as one JSON object.
#[must_use]
pub fn json(ranked: &Ranked) -> String {
    escape::pretty_json(ranked) + "\n"
}

/// Renders a header line and a line for each value. Values beyond `--top` are omitted.
#[must_use]
pub fn csv(ranked: &Ranked) -> String {
    let mut out = format!("requests,share,{}\n", ranked.by);
    for row in &ranked.rows {
        writeln!(out, "{},{:.6},{}", row.requests, row.share, csv_cell(&row.value))
            .expect("a String takes all");
    }
    out
}
