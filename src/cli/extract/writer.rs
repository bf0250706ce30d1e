//! Writes the selected events.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::super::log_reader::LogReader;
use super::super::progress::Progress;
use super::selector::{EventSelector, ShownVersion, request};
use crate::anonymize::{self, Anonymizer};
use crate::decode::{Outcome, SkipReason};
use crate::input::block::Damage;
use crate::input::{Source, SourcePosition};
use crate::ledger::{Merge as _, VersionEvidence};
use crate::pipeline;
use crate::render::plain::{count, counted, escaped};
use crate::report::CaseCache;
use crate::requests::Classifier;
use crate::version::mixed_versions;

/// Counts of written events and of problems.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) read: u64,
    pub(super) events: u64,
    pub(super) lines: u64,
    /// Access lines without a timestamp, which cannot be anonymized.
    lines_left_out: u64,
    /// Events with a field of the wrong type, which cannot be anonymized.
    events_left_out: u64,
    /// For each reason, the number of skipped records and the position of the first one.
    skipped: BTreeMap<SkipReason, (u64, SourcePosition)>,
    /// The Kubernetes versions that the source files show, if the files cannot become one log. A scan of such a log
    /// would judge some requests by another version. Otherwise empty.
    mixed_versions: Vec<String>,
    /// Files that could not be read to the end. For each: the index of the source file, the damage, and the last line
    /// that kubetoll read.
    pub(super) damaged: Vec<(u32, Damage, u64)>,
}

impl Counts {
    fn merge(&mut self, other: &mut Self) {
        let other = std::mem::take(other);
        self.read += other.read;
        self.events += other.events;
        self.lines += other.lines;
        self.lines_left_out += other.lines_left_out;
        self.events_left_out += other.events_left_out;
        for (reason, (number, place)) in other.skipped {
            self.skipped.entry(reason).or_insert((0, place)).0 += number;
        }
    }

    /// Why the output is incomplete; `None` if it is complete.
    pub(super) fn problem(&self) -> Option<String> {
        match self {
            _ if !self.damaged.is_empty() => Some("the log can't be read to its end".to_owned()),
            Self { read: 0, .. } => {
                Some("the log holds no audit event; `kubetoll scan` says what it holds".to_owned())
            }
            Self { events_left_out: left_out @ 1.., .. } => {
                let left_out = counted(*left_out, "event");
                Some(format!("{left_out} can't be anonymized: a field has another type than in the API"))
            }
            Self { lines_left_out: left_out @ 1.., .. } => {
                let left_out = counted(*left_out, "access line");
                Some(format!("{left_out} can't be anonymized: the time can't be read"))
            }
            Self { mixed_versions, .. } if !mixed_versions.is_empty() => Some(format!(
                "the files are of servers of different versions, {}, which one log can't show; extract one server's \
                 log at a time",
                mixed_versions.join(" and ")
            )),
            _ => None,
        }
    }

    pub(super) fn skipped(&self, sources: &[Source]) -> Option<String> {
        let named = self.skipped.iter().map(|(reason, (number, place))| {
            let file = sources.get(place.source as usize).map(Source::name).unwrap_or_default();
            let first = if *number > 1 { "the first at " } else { "" };
            format!("{} {} ({first}{}:{})", count(*number), reason.as_str(), escaped(&file), place.line)
        });
        let named: Vec<String> = named.collect();
        (!named.is_empty()).then(|| named.join(", "))
    }
}

pub(super) struct Writer<'a> {
    pub(super) selector: Option<EventSelector<'a>>,
    pub(super) anonymizer: Option<Anonymizer>,
    pub(super) counts: Counts,
}

/// The output of one worker for one block.
#[derive(Default)]
struct WorkerOutput {
    classifier: Classifier,
    cache: CaseCache,
    text: Vec<u8>,
    counts: Counts,
    versions: VersionEvidence,
}

impl Writer<'_> {
    /// Writes the events of all source files, in order.
    pub(super) fn write(&mut self, reader: &LogReader<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut pages: Vec<WorkerOutput> =
            (0..reader.settings.threads).map(|_| WorkerOutput::default()).collect();
        let progress = Progress::new(reader.sources.bytes_on_disk, !reader.args.no_progress);
        let (mut counts, mut versions) = (Counts::default(), VersionEvidence::default());
        let read = |page: &mut WorkerOutput, outcome: Outcome<'_>, place: SourcePosition| {
            self.take(page, outcome, place);
        };
        let damaged = pipeline::each(
            &reader.sources.list,
            &reader.settings,
            &progress.read,
            &mut pages,
            &read,
            &mut |page| {
                counts.merge(&mut page.counts);
                versions.merge(std::mem::take(&mut page.versions));
                let done = out.write_all(&page.text);
                page.text.clear();
                done
            },
        )?;
        counts.damaged = damaged;
        if let Some(versions) = mixed_versions(&mut versions, &reader.server) {
            counts.mixed_versions = versions.iter().map(ToString::to_string).collect();
        }
        self.counts = counts;
        Ok(())
    }

    fn take(&self, page: &mut WorkerOutput, outcome: Outcome<'_>, place: SourcePosition) {
        let WorkerOutput { classifier, cache, text: out, counts, versions } = page;
        if let Outcome::Skip(reason, _) = outcome
            && reason.is_unread()
        {
            counts.skipped.entry(reason).or_insert((0, place)).0 += 1;
        }
        let Some(mut request) = request(&outcome, classifier, place) else { return };
        counts.read += 1;
        if self.selector.as_ref().is_some_and(|selector| !selector.is_selected(&mut request, cache)) {
            return;
        }
        let is_compared =
            self.selector.as_ref().is_some_and(|selector| selector.version != ShownVersion::NotCompared);
        if self.anonymizer.is_some() && !is_compared {
            // All source files become one output file. Collect their version claims, to check later that a scan of
            // the output finds the same versions.
            pipeline::claims(&request, |claim| versions.claim(claim, request.place.source, request.received));
        }
        let made;
        let text = match outcome {
            Outcome::Event(_, Some(text)) => text,
            Outcome::Event(event, None) => {
                made = anonymize::to_json(event);
                &made
            }
            Outcome::Access { line, text, logged_at } => {
                let anonymous =
                    self.anonymizer.as_ref().map(|names| names.access_line(line, text, logged_at));
                match anonymous {
                    Some(None) => counts.lines_left_out += 1,
                    Some(Some(anonymous)) => add_line(&anonymous, out),
                    None => add_line(text, out),
                }
                counts.lines += 1;
                return;
            }
            _ => return,
        };
        match self.anonymizer.as_ref().map(|names| names.event(text)) {
            Some(None) => {
                counts.events_left_out += 1;
                return;
            }
            Some(Some(anonymous)) => add_line(&anonymous, out),
            None => add_line(text, out),
        }
        counts.events += 1;
    }
}

/// Adds an event as one line. In JSON, line breaks occur only between tokens, so they can be removed.
fn add_line(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(text.as_bytes());
    for byte in &mut out[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    out.push(b'\n');
}
