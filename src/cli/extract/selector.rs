//! Selects the events to write.

use std::collections::{BTreeSet, HashSet};
use std::hash::BuildHasher as _;
use std::io;

use anyhow::bail;
use rustc_hash::FxBuildHasher;

use super::super::log_reader::LogReader;
use super::super::progress::Progress;
use crate::decode::Outcome;
use crate::input::SourcePosition;
use crate::k8s::{KubeVersion, Stage};
use crate::ledger::ServerTimeline;
use crate::pipeline;
use crate::render::plain::counted;
use crate::report::{CaseCache, CaseFilter};
use crate::requests::{Classifier, Request, request_hash};
use crate::version::{ClaimSpans, Claims, Inferred, Relation, Sighting, sample};

/// The maximum number of selected requests. The hash of each request takes 16 bytes.
const MAX_REQUESTS: usize = 8 << 20;

/// A set of hashes, which need no further hashing.
type Hashes = HashSet<u64, FxBuildHasher>;

/// Selects the events to write. The last event of a request shows its client, shape and status. Earlier events do
/// not, so they are found by their audit ID.
pub(super) struct EventSelector<'a> {
    reader: &'a LogReader<'a>,
    timeline: &'a ServerTimeline,
    cases: Option<CaseFilter>,
    pub(super) received_only: bool,
    /// Whether the log has an event.
    has_events: bool,
    /// Whether an event is selected.
    has_selected: bool,
    /// For each selected request, a hash of its audit ID and its target.
    requests: Hashes,
    /// Hashes of additional events. They are written so that the output shows the server's version.
    version_events: Hashes,
    /// Whether the selected events show the same version as the whole log.
    pub(super) version: ShownVersion,
    /// The Kubernetes versions by which kubetoll judges the selected requests.
    versions: BTreeSet<KubeVersion>,
}

/// Whether the written events show the same version as the whole log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ShownVersion {
    NotCompared,
    /// The same version. To show it, this number of events of other requests was added.
    Same(usize),
    Other,
}

/// The state and the results of one worker that looks for the selected requests.
#[derive(Default)]
struct Finder {
    classifier: Classifier,
    cache: CaseCache,
    events: CollectedEvents,
}

#[derive(Default)]
struct CollectedEvents {
    has_ended: bool,
    has_received: bool,
    has_selected: bool,
    requests: Vec<u64>,
    claims: Claims,
    selected: Claims,
    spans: ClaimSpans,
}

impl<'a> EventSelector<'a> {
    /// Reads the log to find the audit IDs of the selected requests, and events that show `version`.
    pub(super) fn new(
        reader: &'a LogReader<'a>,
        timeline: &'a ServerTimeline,
        cases: Option<CaseFilter>,
        version: Option<&Inferred>,
    ) -> anyhow::Result<Self> {
        let mut selector = Self {
            reader,
            timeline,
            cases,
            received_only: false,
            has_events: false,
            has_selected: false,
            requests: HashSet::default(),
            version_events: HashSet::default(),
            version: ShownVersion::NotCompared,
            versions: BTreeSet::new(),
        };
        let mut events = selector.find()?;
        if events.has_received && !events.has_ended {
            // The log has only RequestReceived events. Count each of them as a request, and search again.
            selector.received_only = true;
            events = selector.find()?;
        }
        selector.has_events = events.has_ended || events.has_received;
        selector.has_selected = events.has_selected;
        if let Some(version) = version {
            selector.add_version_events(version, &mut events);
        }
        Ok(selector)
    }

    fn find(&mut self) -> anyhow::Result<CollectedEvents> {
        let (mut all, mut requests) = (CollectedEvents::default(), std::mem::take(&mut self.requests));
        let mut finders: Vec<Finder> = (0..self.reader.settings.threads).map(|_| Finder::default()).collect();
        let progress = Progress::new(self.reader.sources.bytes_on_disk, !self.reader.args.no_progress);
        let read = |finder: &mut Finder, outcome: Outcome<'_>, place: SourcePosition| {
            self.look_at(finder, &outcome, place);
        };
        pipeline::each(
            &self.reader.sources.list,
            &self.reader.settings,
            &progress.read,
            &mut finders,
            &read,
            &mut |finder| {
                let events = &mut finder.events;
                all.has_ended |= events.has_ended;
                all.has_received |= events.has_received;
                all.has_selected |= events.has_selected;
                all.claims.merge(&mut events.claims);
                all.selected.merge(&mut events.selected);
                all.spans.merge(&mut events.spans);
                requests.extend(events.requests.drain(..));
                if requests.len() > MAX_REQUESTS {
                    let message =
                        "more than 8,388,608 requests are chosen; choose fewer with --after and --before";
                    return Err(io::Error::other(message));
                }
                Ok(())
            },
        )?;
        self.requests = requests;
        Ok(all)
    }

    fn look_at(&self, finder: &mut Finder, outcome: &Outcome<'_>, place: SourcePosition) {
        let Finder { classifier, cache, events } = finder;
        let Some(mut request) = request(outcome, classifier, place) else { return };
        let is_received = request.stage == Stage::RequestReceived;
        (events.has_ended, events.has_received) =
            (events.has_ended || !is_received, events.has_received || is_received);
        let decides = self.decides(&mut request, cache);
        events.has_selected |= decides;
        if decides && !request.audit_id.is_empty() {
            events.requests.push(request_hash(request.audit_id, request.uri));
        }
        let shows = self.received_only || !request.is_before_end();
        if let (Some(at), true) = (request.received, decides) {
            events.spans.note(request.place.source, request.version_index, at);
        }
        pipeline::claims(&request, |claim| {
            let sighting = Sighting {
                at: request.received,
                event: event_hash(&request),
                request: request_hash(request.audit_id, request.uri),
            };
            if shows {
                events.claims.note(claim, request.place.source, sighting);
            }
            if decides {
                events.selected.note(claim, request.place.source, sighting);
            }
        });
    }

    fn add_version_events(&mut self, version: &Inferred, events: &mut CollectedEvents) {
        let CollectedEvents { claims, selected, spans, .. } = events;
        self.version = match sample(version, &self.reader.server, claims, selected, spans) {
            Some(sightings) => {
                self.version_events = sightings.iter().map(|sighting| sighting.event).collect();
                let added = self.version_events.len();
                self.requests.extend(sightings.iter().map(|sighting| sighting.request));
                ShownVersion::Same(added)
            }
            None => ShownVersion::Other,
        };
        self.versions = spans.versions(version);
    }

    /// Returns advice: how a scan of the extract can find the same version as a scan of the whole log.
    pub(super) fn version_advice(&self, version: &Inferred) -> anyhow::Result<Option<String>> {
        let judges = || {
            let versions: Vec<String> = self.versions.iter().map(ToString::to_string).collect();
            versions.join(" and ")
        };
        Ok(Some(match self.version {
            ShownVersion::NotCompared => return Ok(None),
            ShownVersion::Same(0) => format!("a scan of it finds Kubernetes {}, as in the log", judges()),
            ShownVersion::Same(added) => format!(
                "note: {} of other requests {} added, so that a scan of it finds Kubernetes {}, as in the log",
                counted(added as u64, "event"),
                if added == 1 { "is" } else { "are" },
                judges()
            ),
            ShownVersion::Other if self.versions.len() < 2 => {
                format!("scan it with --kube-version {}", judges())
            }
            ShownVersion::Other if matches!(version.relation, Relation::BySource | Relation::Mixed) => bail!(
                "the case has requests of servers of Kubernetes {}, which one log can't show; extract from one \
                 server's log at a time",
                judges()
            ),
            ShownVersion::Other => format!(
                "note: the case spans Kubernetes {}: extract the time of each version with --after and --before, and \
                 scan it with its --kube-version",
                judges()
            ),
        }))
    }

    /// Whether the log has events but none is selected.
    pub(super) fn is_empty(&self) -> bool {
        self.has_events && !self.has_selected
    }

    /// Whether an event shows that its request is selected.
    fn decides(&self, request: &mut Request<'_>, cache: &mut CaseCache) -> bool {
        request.version_index = self.timeline.version_index(request.place.source, request.received);
        (self.received_only || !request.is_before_end())
            && (self.reader.settings.filter.is_empty() || self.reader.settings.filter.pass(request))
            && self.cases.as_ref().is_none_or(|cases| cases.pass(request, cache))
    }

    pub(super) fn is_selected(&self, request: &mut Request<'_>, cache: &mut CaseCache) -> bool {
        let has_id =
            |request: &Request<'_>| self.requests.contains(&request_hash(request.audit_id, request.uri));
        self.decides(request, cache)
            || (request.is_before_end() && !request.audit_id.is_empty() && has_id(request))
            || (!self.version_events.is_empty() && self.version_events.contains(&event_hash(request)))
    }
}

/// A hash that identifies the event in the log.
fn event_hash(request: &Request<'_>) -> u64 {
    let SourcePosition { source, offset, .. } = request.place;
    FxBuildHasher.hash_one((source, offset, request.audit_id, request.uri, request.stage as u8))
}

/// The request of an event or of an access line.
pub(super) fn request<'e>(
    outcome: &Outcome<'e>,
    classifier: &'e mut Classifier,
    place: SourcePosition,
) -> Option<Request<'e>> {
    match *outcome {
        Outcome::Event(event, _) => Some(classifier.event(event, event.stage()?, place)),
        Outcome::Access { line, logged_at, .. } => Some(classifier.line(line, logged_at, place)),
        _ => None,
    }
}
