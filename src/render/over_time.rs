//! When a client's requests came, and who made the most in the busiest minute.

use std::collections::{BTreeMap, HashMap};

use super::plain::{count, counted, escaped, share};
use super::prose::Line;
use super::sparkline::sparkline;
use super::text::name;
use crate::k8s::timestamp;
use crate::report::v1::{Client, Finding, Peak, PeakClient, Point, Report, minute};

/// Clients of a peak that are named.
const NAMED: usize = 3;
/// The most characters in a sparkline; and the fewest of a long log's, with words on the next line if need be.
const MOST_COLUMNS: usize = 100;
const FEWEST_COLUMNS: usize = 40;
/// What is kept free to say how wide a column is.
const STEP_ROOM: usize = "; 1440 minutes a column".len();
/// In minutes.
const DAY: u32 = 24 * 60;

/// An identity, its kind and who asked.
type Key<'r> = (&'r str, &'r str, Option<&'r str>);

/// The clients of a report, over the minutes of its log.
pub(super) struct OverTime<'r> {
    clients: HashMap<Key<'r>, &'r Client>,
    /// The first and the last minute since 1970.
    span: Option<(u32, u32)>,
}

/// Requests by the begin of their window, in minutes since 1970.
struct Series {
    width: u32,
    counts: BTreeMap<u32, u64>,
}

impl<'r> OverTime<'r> {
    pub(super) fn of(report: &'r Report) -> Self {
        let clients = report.clients.iter().map(|client| (key(client), client)).collect();
        // A watch may be older than the log by hours.
        let shapes = report.clients.iter().flat_map(|client| &client.shapes);
        let first = shapes.filter(|shape| !shape.long_running).filter_map(|s| s.first_timestamp.as_deref());
        let first = first.min().or(report.input.first_timestamp.as_deref());
        let last = report.input.last_timestamp.as_deref();
        let span = first.and_then(minute_of).zip(last.and_then(minute_of));
        Self { clients, span }
    }

    /// The requests of a finding's client and its reads from etcd, a line each, of so many characters if they fit.
    pub(super) fn lines(&self, finding: &Finding, room: usize) -> Vec<(&'static str, Line)> {
        let Some(client) = self.client(finding) else { return Vec::new() };
        let series = [
            ("Requests", Series::of(client, |point| point.requests)),
            ("Etcd reads", Series::of(client, |point| point.etcd_reads)),
        ];
        let lines = series.into_iter().map(|(title, series)| Some((title, self.line(&series, room)?)));
        lines.flatten().collect()
    }

    fn client(&self, finding: &Finding) -> Option<&'r Client> {
        let who = finding.who.as_ref()?;
        let key = (finding.client.as_deref()?, who.kind.as_str(), who.impersonated_by.as_deref());
        self.clients.get(&key).copied()
    }

    fn line(&self, series: &Series, room: usize) -> Option<Line> {
        let (at, most) = series.peak()?;
        let (first, last) = self.span?;
        let is_one_day = [last, at].iter().all(|minute| minute / DAY == first / DAY);
        let at = instant(at);
        let at = at.split_once(' ').map(|(_, time)| time).filter(|_| is_one_day).unwrap_or(&at);
        let peak = match series.width {
            1 => format!("peak {} a minute at {at} UTC", count(most)),
            width => format!("peak {} in the {width} minutes from {at} UTC", count(most)),
        };
        // A line of two columns shows nothing.
        if last.saturating_sub(first) < 2 {
            return Some(Line::default().text(peak));
        }
        let room = room.saturating_sub(peak.chars().count() + 2);
        let (line, step) = series.columns((first, last), room);
        if step == series.width {
            return Some(Line::default().code(sparkline(&line)).text(format!("  {peak}")));
        }
        let (line, step) = series.columns((first, last), room.saturating_sub(STEP_ROOM));
        Some(Line::default().code(sparkline(&line)).text(format!("  {peak}; {step} minutes a column")))
    }
}

impl Series {
    fn of(client: &Client, number: fn(&Point) -> u32) -> Self {
        let width = client.timelines.iter().map(|timeline| timeline.window_minutes).max().unwrap_or(1);
        let width = u32::try_from(width).unwrap_or(u32::MAX);
        let mut counts = BTreeMap::new();
        for point in client.timelines.iter().flat_map(|timeline| &timeline.points.0) {
            *counts.entry(point.minute - point.minute % width).or_default() += u64::from(number(point));
        }
        Self { width, counts }
    }

    /// The first window with the most requests.
    fn peak(&self) -> Option<(u32, u64)> {
        let peak = self.counts.iter().rev().max_by_key(|(_, count)| **count);
        peak.map(|(minute, count)| (*minute, *count)).filter(|(_, count)| *count > 0)
    }

    /// The requests of the busiest window in each column, in so many columns at most; and a column's minutes.
    fn columns(&self, (first, last): (u32, u32), room: usize) -> (Vec<u64>, u32) {
        let most = room.clamp(FEWEST_COLUMNS, MOST_COLUMNS);
        let first = first - first % self.width;
        let windows = last.saturating_sub(first) / self.width + 1;
        let step = windows.div_ceil(u32::try_from(most).unwrap_or(u32::MAX)) * self.width;
        let mut columns = vec![0; (last.saturating_sub(first) / step) as usize + 1];
        for (minute, count) in self.counts.range(first..=last) {
            let column = &mut columns[((minute - first) / step) as usize];
            *column = (*column).max(*count);
        }
        (columns, step)
    }
}

/// The busiest minute of the log and who made its requests; the same for reads from etcd.
pub(super) fn peaks(report: &Report) -> Vec<String> {
    let clients: HashMap<Key<'_>, &Client> =
        report.clients.iter().map(|client| (key(client), client)).collect();
    let told = |peak: &Option<Peak>, what: &str| peak.as_ref().map(|peak| self::peak(peak, what, &clients));
    let totals = &report.totals;
    [told(&totals.peak, "request"), told(&totals.etcd_peak, "etcd read")].into_iter().flatten().collect()
}

fn peak(peak: &Peak, what: &str, clients: &HashMap<Key<'_>, &Client>) -> String {
    let part = |client: &PeakClient| {
        let key = (&*client.identity, &*client.kind, client.impersonated_by.as_deref());
        let name =
            clients.get(&key).map_or_else(|| escaped(&client.identity).into_owned(), |client| name(client));
        format!("{name} {} ({})", count(client.requests), share(client.requests, peak.requests))
    };
    let named = &peak.clients[..NAMED.min(peak.clients.len())];
    let left = peak.requests.saturating_sub(named.iter().map(|client| client.requests).sum());
    let others = (left > 0).then(|| format!("others {} ({})", count(left), share(left, peak.requests)));
    let parts: Vec<String> = named.iter().map(part).chain(others).collect();
    let when = match peak.window_minutes {
        1 => "in the minute".to_owned(),
        width => format!("in the {width} minutes"),
    };
    let at = without_seconds(&peak.at);
    let requests = counted(peak.requests, what);
    format!("{requests} {when} from {at} UTC: {}", parts.join(", "))
}

fn key(client: &Client) -> Key<'_> {
    (&client.identity, &client.kind, client.impersonated_by.as_deref())
}

fn minute_of(timestamp: &str) -> Option<u32> {
    u32::try_from(timestamp::parse_micros(timestamp)? / 60_000_000).ok()
}

/// `2026-11-20 20:36`.
fn instant(at: u32) -> String {
    without_seconds(&minute(at))
}

fn without_seconds(at: &str) -> String {
    at.trim_end_matches(":00Z").replace('T', " ")
}
