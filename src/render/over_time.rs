//! A client's requests over time, and the clients with the most requests in the busiest minute.

use std::collections::HashMap;

use super::client_name::client_name;
use super::display::width as columns_of;
use super::plain::{count, counted, escaped, share};
use super::prose::Line;
use super::span::drawn;
use super::sparkline::sparkline;
use crate::k8s::timestamp;
use crate::ledger::{Busiest, RequestRates, Step};
use crate::report::Report;
use crate::report::v1::{Client, Finding, Peak, PeakClient, Point, minute};

/// The line on a peak names at most this many clients.
const NAMED: usize = 3;
/// The maximum number of columns of a sparkline. If the text beside it leaves too little room, the sparkline of a
/// long log still has `FEWEST_COLUMNS`. Then the text continues on the next line.
const MOST_COLUMNS: usize = 100;
const FEWEST_COLUMNS: usize = 40;
/// The room for the text that shows how many minutes one column of a sparkline covers, in characters.
const STEP_ROOM: usize = "; 1440 minutes a column".len();
/// One day in minutes.
const DAY: u32 = 24 * 60;

/// A client's identity, its kind, and the user that impersonates the client.
type ClientIds<'r> = (&'r str, &'r str, Option<&'r str>);

pub(super) struct OverTime<'r> {
    clients: HashMap<ClientIds<'r>, &'r Client>,
    /// The first and last minute to draw, in minutes since 1970, and whether the range leaves out some requests.
    span: Option<((u32, u32), bool)>,
}

struct Series {
    /// For each window: its first minute, in minutes since 1970, and its count.
    counts: Vec<(u32, u64)>,
    busiest: Busiest,
    steps: Vec<Step>,
}

impl<'r> OverTime<'r> {
    pub(super) fn new(report: &'r Report) -> Self {
        let clients = report.clients.iter().map(|client| (key(client), client)).collect();
        let first = match report.page.first_not_long_running {
            Some(first) => u32::try_from(first / 60_000_000).ok(),
            None => report.input.first_timestamp.as_deref().and_then(minute_of),
        };
        let span = first.zip(report.input.last_timestamp.as_deref().and_then(minute_of));
        Self { clients, span: span.map(|span| drawn(report, span)) }
    }

    /// Returns lines on the requests of a finding's client, and on its reads from etcd. If possible, they have at most
    /// `room` characters.
    pub(super) fn lines(&self, finding: &Finding, room: usize) -> Vec<(&'static str, Line)> {
        let Some(client) = self.client(finding) else { return Vec::new() };
        let series = [
            ("Requests", Series::new(client, |point| point.requests)),
            ("Etcd reads", Series::new(client, |point| point.etcd_reads)),
        ];
        let lines = series.into_iter().map(|(title, series)| Some((title, self.line(&series?, room)?)));
        lines.flatten().collect()
    }

    fn client(&self, finding: &Finding) -> Option<&'r Client> {
        // The report has a series for each client, but not for the sum of a program.
        let who = finding.who.as_ref().filter(|who| who.program.is_none())?;
        let key = (finding.client.as_deref()?, who.kind, who.impersonated_by.as_deref());
        self.clients.get(&key).copied()
    }

    fn line(&self, series: &Series, room: usize) -> Option<Line> {
        let Busiest { minute: at, requests: most, window_minutes } = series.busiest;
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        let ((first, last), is_cut) = self.span?;
        let is_one_day = [last, at].iter().all(|minute| minute / DAY == first / DAY);
        let at = minute_text(at);
        let at = at.split_once(' ').map(|(_, time)| time).filter(|_| is_one_day).unwrap_or(&at);
        let peak = match window_minutes {
            1 => format!("peak {} a minute at {at} UTC", count(most)),
            width => {
                format!(
                    "peak {} a minute on average of {width} minutes, {at} UTC",
                    count(most.div_ceil(width))
                )
            }
        };
        let outside = if is_cut { series.outside((first, last)) } else { 0 };
        // A sparkline of two columns or of only zeros shows nothing. So return only the peak.
        if last.saturating_sub(first) < 2 || (is_cut && series.columns((first, last), 1).0 == [0]) {
            return Some(Line::default().text(peak));
        }
        let peak = match outside {
            0 => peak,
            _ => format!("{peak}; {} far from these minutes not drawn", count(outside)),
        };
        let room = room.saturating_sub(columns_of(&peak) + 2);
        let (line, step) = series.columns((first, last), room);
        if step == 1 {
            return Some(Line::default().code(sparkline(&line)).text(format!("  {peak}")));
        }
        let (line, step) = series.columns((first, last), room.saturating_sub(STEP_ROOM));
        Some(Line::default().code(sparkline(&line)).text(format!("  {peak}; {step} minutes a column")))
    }
}

impl Series {
    /// Creates a client's series. `number` selects a count of each point, such as its requests. `None` if all counts
    /// are zero.
    fn new(client: &Client, number: fn(&Point) -> u32) -> Option<Self> {
        let mut rates = RequestRates::default();
        client.timelines.iter().for_each(|timeline| timeline.add_to(&mut rates, number));
        let points = client.timelines.iter().flat_map(|timeline| &timeline.points.0);
        let counts = points.map(|point| (point.minute, u64::from(number(point)))).collect();
        Some(Self { counts, busiest: rates.busiest()?, steps: rates.steps() })
    }

    fn outside(&self, (first, last): (u32, u32)) -> u64 {
        let outside = self.counts.iter().filter(|(minute, _)| !(first..=last).contains(minute));
        outside.map(|(_, count)| count).sum()
    }

    /// Returns the highest number of requests per minute for each column. Also returns the number of minutes of a
    /// column. `room` limits the number of columns.
    fn columns(&self, (first, last): (u32, u32), room: usize) -> (Vec<u64>, u32) {
        let most = u64::try_from(room.clamp(FEWEST_COLUMNS, MOST_COLUMNS)).unwrap_or(1);
        let (first, end) = (u64::from(first), u64::from(last) + 1);
        let minutes = end.saturating_sub(first);
        let step = minutes.div_ceil(most).max(1);
        let mut columns = vec![0; usize::try_from(minutes.div_ceil(step)).unwrap_or(0)];
        let until = self.steps.iter().skip(1).map(|next| next.minute);
        for (now, until) in self.steps.iter().zip(until) {
            let (from, until) = (now.minute.max(first), until.min(end));
            if now.requests > 0 && from < until {
                let column = |minute: u64| usize::try_from((minute - first) / step).unwrap_or(0);
                for most in &mut columns[column(from)..=column(until - 1)] {
                    *most = now.requests.max(*most);
                }
            }
        }
        (columns, u32::try_from(step).unwrap_or(u32::MAX))
    }
}

/// Describes the minute with the most requests, and the minute with the most reads from etcd. Names the busiest
/// clients of each.
pub(super) fn peaks(report: &Report) -> Vec<String> {
    let clients: HashMap<ClientIds<'_>, &Client> =
        report.clients.iter().map(|client| (key(client), client)).collect();
    let line = |peak: &Option<Peak>, what: &str| peak.as_ref().map(|peak| self::peak(peak, what, &clients));
    let totals = &report.totals;
    [line(&totals.peak, "request"), line(&totals.etcd_peak, "etcd read")].into_iter().flatten().collect()
}

fn peak(peak: &Peak, what: &str, clients: &HashMap<ClientIds<'_>, &Client>) -> String {
    let part = |client: &PeakClient| {
        let key = (&*client.identity, &*client.kind, client.impersonated_by.as_deref());
        let name = clients
            .get(&key)
            .map_or_else(|| escaped(&client.identity).into_owned(), |client| client_name(client));
        format!("{name} {} ({})", count(client.requests), share(client.requests, peak.requests))
    };
    let named = &peak.clients[..NAMED.min(peak.clients.len())];
    let left = peak.requests.saturating_sub(named.iter().map(|client| client.requests).sum());
    let others = (left > 0).then(|| format!("others {} ({})", count(left), share(left, peak.requests)));
    let parts: Vec<String> = named.iter().map(part).chain(others).collect();
    let mean = match peak.window_minutes {
        1 => String::new(),
        width => format!(", on average of {width} minutes"),
    };
    let at = without_seconds(&peak.at);
    let requests = counted(peak.requests, what);
    format!("{requests} in the minute from {at} UTC{mean}: {}", parts.join(", "))
}

fn key(client: &Client) -> ClientIds<'_> {
    (&client.identity, &client.kind, client.impersonated_by.as_deref())
}

fn minute_of(timestamp: &str) -> Option<u32> {
    u32::try_from(timestamp::parse_micros(timestamp)? / 60_000_000).ok()
}

/// Formats a minute since 1970: `2026-11-20 20:36`.
fn minute_text(at: u32) -> String {
    without_seconds(&minute(at))
}

fn without_seconds(at: &str) -> String {
    at.trim_end_matches(":00Z").replace('T', " ")
}
