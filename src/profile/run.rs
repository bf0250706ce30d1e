//! The profile of one run.

use std::collections::BTreeMap;

use super::saved_report::{NotAReport, SavedClient, SavedReport, SavedShape};
use crate::apiserver::ServedFrom;
use crate::judged::shape_text;
use crate::k8s::timestamp::parse_micros;

/// Requests within this time after the first request of their client belong to its start, if no such request comes
/// later. For example, a client asks for the server's APIs once. In microseconds.
const START: i64 = 60_000_000;
const MINUTE: f64 = 60_000_000.0;
/// The shortest time that a rate is computed for, in minutes.
const SHORTEST: f64 = 1.0 / 60.0;
/// Subresources whose requests may be open for a long time.
const LONG_RUNNING: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

/// What each client sends in one run.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "each says what the log shows")]
pub struct RunProfile {
    pub(crate) kube_version: String,
    /// The log does not show the version, so kubetoll assumes the newest one that fits.
    pub(crate) version_is_assumed: bool,
    pub(crate) etcd_version: Option<String>,
    /// From the first request to the last event; `None` if the log has no timestamps. Requests that may be open for a
    /// long time do not count, because they may have begun before the log.
    pub(crate) minutes: Option<f64>,
    /// The filters of the scan, as flags; `None` if the report has filters but does not name them.
    pub(crate) filters: Option<Vec<String>>,
    /// The log has only RequestReceived events.
    pub(crate) received_only: bool,
    /// Requests by verb.
    pub(crate) verbs: BTreeMap<String, u64>,
    /// Whether the report shows which LISTs belong to informers. `kubetoll scan --no-patterns` does not look for them.
    pub(crate) has_patterns: bool,
    /// The number of LIST and WATCH requests that kubetoll did not follow. It may miss informers among them.
    pub(crate) not_followed: u64,
    /// Whether the log shows the start of watches. Without ResponseStarted events, it shows only watches that ended.
    pub(crate) shows_open_watches: bool,
    /// The largest number of nodes that one client ran on.
    pub(crate) nodes: u64,
    /// By name; see [`RunProfile::client_name`].
    pub(crate) clients: BTreeMap<String, ClientProfile>,
    pub(crate) findings: Vec<RunFinding>,
}

/// What one client sends in a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientProfile {
    /// From the client's first request to the end of the run.
    pub(crate) minutes: f64,
    /// How often the client started; see [`starts`].
    pub(crate) starts: u64,
    /// The client was running before the log begins, and does not start in it. So the log does not show its first
    /// LISTs, and may not show all its watches.
    pub(crate) was_running: bool,
    /// By name, such as `list pods cluster-wide ?limit=500`.
    pub(crate) shapes: BTreeMap<String, ShapeProfile>,
}

/// The requests of a client in one shape. Every request is in exactly one of `informer_starts`, `once`, `steady` and,
/// for each WATCH, `renewals`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShapeProfile {
    pub(crate) verb: String,
    /// The first LISTs of informers, all pages of them.
    pub(crate) informer_starts: u64,
    /// Requests of a shape that the client sends only within a minute of its first request.
    pub(crate) once: u64,
    /// All other requests. A WATCH counts only if it ended within 65 s.
    pub(crate) steady: u64,
    /// Each WATCH that lasted. Their number depends on timeouts and on the length of the run.
    pub(crate) renewals: u64,
    /// Watches that are open at the same time.
    pub(crate) watches: u64,
    /// `watches` is not a number that each start of the program has. For example, the log does not show the first WATCH.
    pub(crate) is_partial: bool,
    /// How much more the requests per minute vary than random independent requests (1). The index of dispersion: the
    /// variance divided by the mean.
    pub(crate) dispersion: f64,
    /// Requests by the source of the result, the likely one if the verdict is `depends`.
    pub(crate) served_from: BTreeMap<String, u64>,
    /// LISTs and GETs read from etcd.
    pub(crate) etcd_reads: u64,
    /// Writes to etcd.
    pub(crate) writes: u64,
}

/// A finding of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFinding {
    pub(crate) rule: String,
    pub(crate) rule_name: String,
    pub(crate) severity: String,
    pub(crate) client: Option<String>,
    pub(crate) shape: Option<String>,
    pub(crate) message: String,
}

impl ShapeProfile {
    /// All requests.
    #[must_use]
    pub(crate) fn requests(&self) -> u64 {
        self.informer_starts + self.once + self.steady + self.renewals
    }

    /// The source of most requests. Refused requests do not count, unless all are.
    #[must_use]
    pub(crate) fn main_source(&self) -> &str {
        let most = self.accepted().max_by_key(|(_, requests)| *requests);
        most.or_else(|| self.served_from.iter().next().map(|(source, n)| (source.as_str(), *n)))
            .map_or("", |(source, _)| source)
    }

    /// The requests that the server did not refuse, by source.
    pub(crate) fn accepted(&self) -> impl Iterator<Item = (&str, u64)> {
        let all = self.served_from.iter().map(|(source, requests)| (source.as_str(), *requests));
        all.filter(|(source, _)| *source != ServedFrom::Rejected.as_str())
    }

    /// Adds the requests of another shape or run. The larger dispersion counts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.verb.clone_from(&other.verb);
        self.informer_starts += other.informer_starts;
        self.once += other.once;
        self.steady += other.steady;
        self.renewals += other.renewals;
        self.watches += other.watches;
        self.is_partial |= other.is_partial;
        self.dispersion = self.dispersion.max(other.dispersion);
        self.etcd_reads += other.etcd_reads;
        self.writes += other.writes;
        for (source, requests) in &other.served_from {
            *self.served_from.entry(source.clone()).or_default() += requests;
        }
    }
}

impl ClientProfile {
    /// Adds another client that counts as the same. The client that started first decides the time.
    pub(crate) fn add_other(&mut self, other: &Self) {
        self.minutes = self.minutes.max(other.minutes);
        self.add(other);
    }

    /// Adds the requests of another client, or of the same client in another run.
    pub(crate) fn add(&mut self, other: &Self) {
        self.starts += other.starts;
        self.was_running |= other.was_running;
        for (name, shape) in &other.shapes {
            self.shapes.entry(name.clone()).or_default().add(shape);
        }
    }
}

impl RunProfile {
    /// Reads the JSON report of a run.
    ///
    /// # Errors
    /// If the text is not a JSON report of a version that this kubetoll reads.
    pub(crate) fn from_report(json: &[u8]) -> Result<Self, NotAReport> {
        let report = SavedReport::parse(json)?;
        let first = report.clients.iter().filter_map(first_request).min();
        let first = first.or_else(|| time(report.input.first_timestamp.as_ref()));
        let last = report.clients.iter().filter_map(|client| time(client.last_timestamp.as_ref())).max();
        let last = last.or_else(|| time(report.input.last_timestamp.as_ref()));
        let span = first.zip(last);
        let mut verbs = BTreeMap::new();
        let (mut lists, mut has_patterns) = (0, false);
        for shape in report.clients.iter().flat_map(|client| &client.shapes) {
            *verbs.entry(shape.verb.clone()).or_default() += shape.requests;
            lists += u64::from(shape.verb == "list" || shape.verb == "watch");
            has_patterns |= shape.pattern.is_some();
        }
        let followed = &report.followed;
        let mut clients: BTreeMap<String, ClientProfile> = BTreeMap::new();
        for saved in &report.clients {
            let own = ClientProfile::from_saved(saved, span);
            clients.entry(Self::client_name(saved)).or_default().add_other(&own);
        }
        Ok(Self {
            minutes: span.map(|(first, last)| minutes(last - first)),
            filters: report.input.filters.or((report.input.filtered == 0).then(Vec::new)),
            received_only: report.input.received_only,
            has_patterns: lists == 0
                || has_patterns
                || followed.lists.requests + followed.watches.requests > 0,
            not_followed: followed.lists.left_out + followed.watches.left_out,
            shows_open_watches: report.input.events_by_stage.get("ResponseStarted").is_some_and(|n| *n > 0)
                || report.input.access_lines > 0,
            nodes: report.clients.iter().map(|client| client.nodes.count).max().unwrap_or(0),
            verbs,
            clients,
            kube_version: report.server.kube_version,
            version_is_assumed: matches!(&*report.server.version_source, "newest-possible" | "newest-known"),
            etcd_version: report.server.etcd_version,
            findings: report
                .findings
                .into_iter()
                .map(|finding| RunFinding {
                    rule: finding.rule.id,
                    rule_name: finding.rule.name,
                    severity: finding.severity,
                    client: finding.client,
                    shape: finding.shape,
                    message: finding.message,
                })
                .collect(),
        })
    }

    /// The identity. With impersonation, also the authenticated user.
    fn client_name(saved: &SavedClient) -> String {
        match &saved.impersonated_by {
            Some(real) => format!("{} (by {real})", saved.identity),
            None => saved.identity.clone(),
        }
    }
}

impl ClientProfile {
    fn from_saved(saved: &SavedClient, span: Option<(i64, i64)>) -> Self {
        let first = first_request(saved).or_else(|| span.map(|(first, _)| first));
        let own_minutes = first.zip(span).map_or(0.0, |(first, (_, last))| minutes(last - first));
        let shapes = || saved.shapes.iter().filter(|shape| !is_of_one_object(shape));
        let patterns = || shapes().filter_map(|shape| shape.pattern.as_ref());
        let was_running = patterns().all(|pattern| pattern.starts() == 0)
            && saved.shapes.iter().any(continues_earlier_watch);
        let mut client = Self {
            minutes: own_minutes,
            starts: if was_running { 1 } else { starts(saved) },
            was_running,
            shapes: BTreeMap::new(),
        };
        let has_start = |watch: &SavedShape| {
            let is_informer = |list: &SavedShape| {
                let informers = list.pattern.as_ref().and_then(|pattern| pattern.informers.as_ref());
                list.resource == watch.resource && informers.is_some_and(|informers| informers.starts > 0)
            };
            saved.shapes.iter().any(is_informer)
        };
        for shape in &saved.shapes {
            let name = match &shape.resource {
                None => shape_text::OTHER_SHAPES.to_owned(),
                Some(resource) => shape_text::name(
                    &shape.verb,
                    resource,
                    shape.subresource.as_deref(),
                    shape.scope.as_deref(),
                    &shape.parameters,
                ),
            };
            let first = first.filter(|_| !was_running);
            let mut own = ShapeProfile::from_saved(shape, first, own_minutes);
            let watches = shape.pattern.as_ref().and_then(|pattern| pattern.watches.as_ref());
            own.is_partial = is_of_one_object(shape)
                || watches.is_some_and(|watches| watches.concurrent.is_none())
                || continues_earlier_watch(shape) && !has_start(shape);
            client.shapes.entry(name).or_default().add(&own);
        }
        client
    }
}

impl ShapeProfile {
    fn from_saved(saved: &SavedShape, client_first: Option<i64>, minutes: f64) -> Self {
        let pattern = saved.pattern.as_ref();
        let source = saved.likely.as_ref().unwrap_or(&saved.served_from);
        let reads_etcd = source == "etcd" && matches!(&*saved.verb, "list" | "get");
        let mut shape = Self {
            verb: saved.verb.clone(),
            dispersion: dispersion(saved, minutes),
            served_from: BTreeMap::from([(source.clone(), saved.requests)]),
            etcd_reads: if reads_etcd { saved.requests } else { 0 },
            writes: saved.etcd_writes,
            ..Self::default()
        };
        if saved.verb == "watch" {
            let watches = pattern.and_then(|pattern| pattern.watches.as_ref());
            shape.watches = watches.and_then(|watches| watches.concurrent).unwrap_or(0);
            shape.steady = watches.map_or(0, |watches| watches.short.min(saved.requests));
            shape.renewals = saved.requests - shape.steady;
            return shape;
        }
        let informers = pattern.and_then(|pattern| pattern.informers.as_ref());
        let informers = informers.filter(|_| !is_of_one_object(saved));
        shape.informer_starts =
            informers.map_or(0, |informers| (informers.starts + informers.further_pages).min(saved.requests));
        let rest = saved.requests - shape.informer_starts;
        let last = saved.last_timestamp.as_deref().and_then(parse_micros);
        let is_once = client_first.zip(last).is_some_and(|(first, last)| last - first <= START);
        *if is_once { &mut shape.once } else { &mut shape.steady } = rest;
        shape
    }
}

/// How often a client starts: the number of its instances, times the starts of each.
///
/// An instance may start several informers for one resource, such as one for each namespace. Their watches are open at the
/// same time. After a restart of the container, the watches of the first start are gone.
fn starts(client: &SavedClient) -> u64 {
    #[derive(Default)]
    struct InformersOfResource {
        starts: u64,
        instances: u64,
        open: u64,
    }
    let mut informers: BTreeMap<_, InformersOfResource> = BTreeMap::new();
    for shape in client.shapes.iter().filter(|shape| !is_of_one_object(shape)) {
        let Some(pattern) = &shape.pattern else { continue };
        let own = informers.entry((&shape.resource, &shape.scope)).or_default();
        own.starts += pattern.starts();
        own.instances = own.instances.max(pattern.instances);
        own.open += pattern.watches.as_ref().and_then(|watches| watches.concurrent).unwrap_or(0);
    }
    let all_instances = informers.values().map(|own| own.instances).max();
    let started = || informers.values().filter(|own| own.starts > 0);
    let instances = started().map(|own| own.instances).max();
    let of_each = started().map(|own| own.starts / own.open.max(own.instances).max(1)).min();
    let starts = instances.zip(of_each).map(|(instances, of_each)| instances * of_each.max(1));
    starts.or(all_instances).unwrap_or(1).max(1)
}

fn time(text: Option<&String>) -> Option<i64> {
    parse_micros(text?)
}

/// The client's first request. Requests that may be open for a long time do not count: a log also has those that began
/// before it.
fn first_request(client: &SavedClient) -> Option<i64> {
    let is_short = |shape: &&SavedShape| {
        shape.verb != "watch"
            && shape.subresource.as_deref().is_none_or(|subresource| !LONG_RUNNING.contains(&subresource))
    };
    client.shapes.iter().filter(is_short).filter_map(|shape| time(shape.first_timestamp.as_ref())).min()
}

/// Whether the requests are for one object by its name. A kubelet has such a WATCH for each Secret of its pods, so their
/// number changes with the pods.
fn is_of_one_object(shape: &SavedShape) -> bool {
    shape.parameters.contains("fieldSelector=metadata.name") || shape.scope.as_deref() == Some("object")
}

/// Whether a WATCH begins at a revision that the client got from an earlier LIST or WATCH.
fn continues_earlier_watch(shape: &SavedShape) -> bool {
    shape.verb == "watch" && shape.parameters.contains("resourceVersion=N")
}

/// The index of dispersion of the requests per minute over `minutes`, at least 1.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn dispersion(saved: &SavedShape, minutes: f64) -> f64 {
    let Some(rate) = &saved.rate else { return 1.0 };
    let windows = (minutes / rate.window_minutes.max(1) as f64).max(1.0);
    let mean = saved.requests as f64 / windows;
    let variance = rate.sum_of_squares as f64 / windows - mean * mean;
    (variance / mean).max(1.0)
}

#[allow(clippy::cast_precision_loss, reason = "times are far below 2^52 microseconds")]
fn minutes(micros: i64) -> f64 {
    (micros as f64 / MINUTE).max(SHORTEST)
}
