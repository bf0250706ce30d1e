//! The table of clients for a terminal.

use super::client_name::client_name;
use super::cost;
use super::display::cut;
use super::load::{amount, share};
use super::plain::{count, duration, rounded, short_count, short_duration};
use super::table::{NARROW, table as laid_out};
use crate::report::Report;
use crate::report::v1::{Client, Cost, Counts, Latency, Load, Rate};

/// The minimum table width for the columns that a narrow table omits.
const WIDE: usize = 145;

/// Renders the clients with the most load, each in its own row. The other clients share one row.
pub(crate) fn table(report: &Report, top: usize, width: usize) -> String {
    let (wide, narrow) = (width >= WIDE, width < NARROW);
    let (priced, by_objects) = (cost::is_by_inventory(report), cost::is_by_objects(report));
    let columns = columns(wide, narrow, priced);
    let count = if narrow { short_count } else { count };
    let took = if narrow { short_duration } else { duration };
    let row = |name: String, figures: &Figures<'_>, agents: String| {
        let counts = figures.counts;
        let mut row = vec![name, count(counts.requests)];
        if !narrow {
            row.push(count(counts.by_verb.get("list").copied().unwrap_or(0)));
        }
        row.push(count(counts.etcd_lists));
        row.push(count(counts.etcd_gets));
        row.push(count(counts.etcd_writes));
        row.push(count(counts.limit_ignored));
        row.push(figures.rate.map_or("–".to_owned(), |rate| {
            let mean = if rate.window_minutes > 1 { "≈" } else { "" };
            format!("{mean}{}", count(rounded(rate.peak_per_minute)))
        }));
        if priced {
            let work = figures.cost.and_then(|cost| cost.total.as_ref());
            row.push(cost::short(work.and_then(|work| work.etcd.as_ref()), by_objects));
            if !narrow {
                row.push(cost::short(work.and_then(|work| work.received.as_ref()), by_objects));
            }
        }
        if wide || !priced {
            let of = |latency: &Latency| format!("{}/{}", took(latency.p50_micros), took(latency.p99_micros));
            row.push(figures.latency.map_or("–".to_owned(), of));
        }
        row.push(share(&figures.load));
        if wide {
            row.push(amount(&figures.load));
            row.push(agents);
        }
        row
    };
    let (shown, others) = shown(&report.clients, top);
    let agents = |client: &Client| {
        let agents: Vec<&str> = client.user_agents.iter().map(|agent| &*agent.product).take(2).collect();
        cut(&agents.join(", "), 30).into()
    };
    let mut rows: Vec<Vec<String>> = shown
        .into_iter()
        .map(|client| row(client_name(client), &Figures::new(client), agents(client)))
        .collect();
    if !others.is_empty() {
        let (counts, cost, load) = (sum(&others), cost::sum(&others), sum_loads(&others));
        let figures = Figures { counts: &counts, latency: None, rate: None, cost: Some(&cost), load };
        rows.push(row(format!("({} others)", others.len()), &figures, String::new()));
    }
    let total = &report.totals;
    let all = Figures {
        counts: &total.counts,
        latency: total.latency.as_ref(),
        rate: total.rate.as_ref(),
        cost: Some(&total.cost),
        load: total.load,
    };
    rows.push(row("all".to_owned(), &all, String::new()));
    laid_out(&columns, rows, 0, width)
}

fn columns(wide: bool, narrow: bool, priced: bool) -> Vec<(&'static str, bool)> {
    let mut columns = vec![("client", false), ("requests", true)];
    if !narrow {
        columns.push(("LISTs", true));
    }
    columns.extend([("etcd\nLISTs", true), ("etcd\nGETs", true), ("etcd\nwrites", true)]);
    columns.extend([("limits\nignored", true), ("peak\n/min", true)]);
    if priced {
        columns.push(("read from\netcd", true));
        if !narrow {
            columns.push(("received\nat most", true));
        }
    }
    if wide || !priced {
        columns.push(("p50/p99", true));
    }
    columns.push(("load", true));
    if wide {
        columns.extend([("", true), ("user agents", false)]);
    }
    columns
}

/// Splits the clients into those with their own row and those without. The first `top` clients get a row. Other
/// clients get a row if their cost is only a lower bound, up to `2 * top` rows.
fn shown(clients: &[Client], top: usize) -> (Vec<&Client>, Vec<&Client>) {
    let (mut shown, mut others) = (Vec::new(), Vec::new());
    for (at, client) in clients.iter().enumerate() {
        let is_shown = at < top || (client.cost.lower_bound && shown.len() < 2 * top);
        if is_shown { shown.push(client) } else { others.push(client) }
    }
    (shown, others)
}

struct Figures<'a> {
    counts: &'a Counts,
    latency: Option<&'a Latency>,
    rate: Option<&'a Rate>,
    cost: Option<&'a Cost>,
    load: Load,
}

impl<'a> Figures<'a> {
    fn new(client: &'a Client) -> Self {
        let (latency, rate) = (client.latency.as_ref(), client.rate.as_ref());
        Self { counts: &client.counts, latency, rate, cost: Some(&client.cost), load: client.load }
    }
}

fn sum(clients: &[&Client]) -> Counts {
    let mut sum = Counts::default();
    for client in clients {
        let counts = &client.counts;
        sum.requests += counts.requests;
        *sum.by_verb.entry("list".to_owned()).or_default() +=
            counts.by_verb.get("list").copied().unwrap_or(0);
        sum.etcd_lists += counts.etcd_lists;
        sum.etcd_gets += counts.etcd_gets;
        sum.etcd_writes += counts.etcd_writes;
        sum.limit_ignored += counts.limit_ignored;
    }
    sum
}

fn sum_loads(clients: &[&Client]) -> Load {
    let mut sum = Load::default();
    for Client { load, .. } in clients {
        sum.unit = load.unit;
        sum.amount = sum.amount.saturating_add(load.amount);
        sum.share = sum.share.into_iter().chain(load.share).reduce(|a, b| a + b);
        if sum.bound.is_empty() || cost::is_estimate(load.bound) {
            sum.bound = load.bound;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(name: usize) -> Client {
        Client { identity: name.to_string(), ..Client::default() }
    }

    fn names<'c>(clients: &[&'c Client]) -> Vec<&'c str> {
        clients.iter().map(|client| &*client.identity).collect()
    }

    #[test]
    fn clients_of_unknown_cost_get_rows_up_to_the_limit() {
        let mut clients: Vec<Client> = (0..30).map(client).collect();
        clients[20..].iter_mut().for_each(|client| client.cost.lower_bound = true);
        let (rows, others) = shown(&clients, 3);
        assert_eq!((names(&rows), others.len()), (vec!["0", "1", "2", "20", "21", "22"], 24));
    }
}
