//! Lists of files that the sections of the audit log and of etcd's log share.

use std::collections::BTreeMap;

use super::v1;
use crate::decode::{Foreign, SkipReason};
use crate::input::{SkippedPath, Sources};
use crate::ledger::InputCounts;

/// The maximum number of files that a list names.
pub(super) const NAMED_FILES: usize = 10;

pub(super) fn not_read(sources: &Sources) -> v1::NotRead {
    // Name files with errors first, then files of a known type that is not a log.
    let (recognized, wrong): (Vec<&SkippedPath>, Vec<&SkippedPath>) =
        sources.not_read.iter().partition(|one| one.kind.is_some());
    let named = wrong.into_iter().chain(recognized).take(NAMED_FILES);
    v1::NotRead {
        count: sources.not_read.len() as u64,
        files: named
            .map(|one| v1::NotReadFile { file: one.path.display().to_string(), why: one.why.clone() })
            .collect(),
    }
}

/// Files that were not read, because another file has the same bytes.
pub(super) fn copies(sources: &Sources) -> Vec<v1::Copy> {
    let copies = sources.duplicates.iter();
    copies
        .map(|copy| v1::Copy {
            file: copy.path.display().to_string(),
            of: copy.original.display().to_string(),
        })
        .collect()
}

pub(super) fn by_kind(foreign: &BTreeMap<Foreign, u64>) -> BTreeMap<String, u64> {
    foreign.iter().map(|(kind, count)| (kind.as_str().to_owned(), *count)).collect()
}

/// Counts of skipped records by the name of the reason.
pub(super) fn by_reason<'c>(
    skipped: impl IntoIterator<Item = (&'c SkipReason, u64)>,
) -> BTreeMap<String, u64> {
    skipped.into_iter().map(|(reason, count)| (reason.as_str().to_owned(), count)).collect()
}

pub(super) fn skipped(counts: &InputCounts) -> BTreeMap<String, u64> {
    by_reason(counts.skipped.iter().map(|(reason, (count, _))| (reason, *count)))
}

/// The first skipped records for each reason except blank records.
pub(super) fn skipped_at(counts: &InputCounts, sources: &Sources) -> Vec<v1::SkippedAt> {
    let skipped = counts.skipped.iter().filter(|(reason, _)| **reason != SkipReason::Blank);
    let places = skipped.flat_map(|(reason, (_, places))| places.iter().map(move |at| (reason, at)));
    places
        .map(|(reason, at)| v1::SkippedAt {
            reason: reason.as_str().to_owned(),
            file: sources.name(at.source),
            line: at.line,
        })
        .collect()
}

pub(super) fn damaged(counts: &InputCounts, sources: &Sources) -> Vec<v1::Damaged> {
    let damaged = counts.damaged.iter().map(|(source, (damage, line))| v1::Damaged {
        damage: damage.as_str().to_owned(),
        file: sources.name(*source),
        line: *line,
    });
    damaged.collect()
}
