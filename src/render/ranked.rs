//! A ranked count (`--by`) as text, JSON and CSV.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::escape;
use super::export::csv_cell;
use super::plain::{count, counted, escaped, share};
use crate::k8s::identity::short_name;
use crate::k8s::{Identity, Kind};
use crate::report::Ranked;

/// Renders a line for each value: its requests, their share, and the value.
pub(crate) fn text(ranked: &Ranked) -> String {
    let Ranked { by, requests, rows, others } = ranked;
    let mut out = format!("{} by {by}\n", counted(*requests, "request"));
    let width = rows.iter().map(|row| count(row.requests).len()).chain([count(others.requests).len()]);
    let width = width.max().unwrap_or(0);
    let mut line = |number: u64, value: &str| {
        let (number, share) = (count(number), share(number, *requests));
        writeln!(out, "{number:>width$}  {share:>7}  {value}").expect("a String takes all");
    };
    for row in rows {
        let name = if *by == "client" { client(&row.value) } else { Cow::Borrowed(&*row.value) };
        line(row.requests, &escaped(&name));
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

/// The name of a client as on the page: `ops/poller`, `user jane`, `nodes`.
fn client(identity: &str) -> Cow<'_, str> {
    // An access log names no users. There, the value is a user agent product with an address class, such as `curl
    // (private address)`.
    if identity.ends_with(" address)") {
        return identity.into();
    }
    match Identity::resolve(identity).kind {
        Kind::Node => "nodes".into(),
        kind => short_name(kind.as_str(), identity),
    }
}

/// Returns the value for `--top` with which the output shows all values that were counted.
fn shown_next(ranked: &Ranked) -> u64 {
    ranked.rows.len() as u64 + ranked.others.values
}

pub(crate) fn json(ranked: &Ranked) -> String {
    escape::pretty_json(ranked) + "\n"
}

/// Renders a header line and one line for each value. Values beyond `--top` are omitted.
pub(crate) fn csv(ranked: &Ranked) -> String {
    let mut out = format!("requests,share,{}\n", ranked.by);
    for row in &ranked.rows {
        writeln!(out, "{},{:.6},{}", row.requests, row.share, csv_cell(&row.value))
            .expect("a String takes all");
    }
    out
}
