//! Counts the slow requests in etcd's own log by resource and kind. Also keeps individual reads of collections, to
//! match them with the API requests that caused them.

mod ranges;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use compact_str::CompactString;

pub(crate) use ranges::{Ranges, SlowRange};

use super::bounded_map::BoundedKey;
use super::merge::merge_fields;
use super::{BoundedMap, EtcdVersions, Histogram, InputCounts, Merge};
use crate::apiserver::storage_key;
use crate::decode::etcd::{EtcdOperation, EtcdRequest, SlowRequest};
use crate::input::SourcePosition;
use crate::k8s::EtcdVersion;
use crate::k8s::text::prefix;
use crate::named::named;
use crate::requests::namespace_hash;

/// The maximum number of pairs of resource and kind. A cluster has a few hundred resources.
pub(crate) const MAX_RESOURCES: usize = 1_024;
/// Length limit of a resource name, in bytes: enough for the longest plural and the longest group.
const MAX_NAME: usize = 320;
/// Length limit of [`WorstRequest::key`], in bytes.
const MAX_KEY: usize = 400;
/// The maximum number of error texts. `MAX_ERROR` is the length limit of each text, in bytes.
const MAX_ERRORS: usize = 16;
const MAX_ERROR: usize = 120;

#[derive(Debug)]
pub struct EtcdLog {
    /// Counts of lines, bytes, foreign entries and skipped entries.
    pub(crate) input: InputCounts,
    pub(crate) lines: EtcdLines,
}

#[derive(Debug, Default)]
pub struct EtcdLines {
    /// Lines about slow requests, including duplicates.
    pub slow: u64,
    pub other: u64,
    /// Duplicate slow requests.
    pub duplicates: u64,
    /// Slow requests whose time is unknown.
    pub undated: u64,
    /// Lines about slow requests whose timestamps have no time zone.
    pub zoneless: u64,
    /// For each source: the number of lines about slow requests, and the number of other lines.
    pub by_source: BTreeMap<u32, [u64; 2]>,
    /// Timestamps of the first and last line, in microseconds since 1970.
    pub span: Option<(i64, i64)>,
    pub requests: BoundedMap<SlowKey, Slow, MAX_RESOURCES>,
    /// The costliest slow reads of collections.
    pub ranges: Ranges,
    /// The etcd versions in start lines, with their sources.
    pub versions: EtcdVersions,
}

named! {
    /// The kind of a request that the apiserver sends to etcd.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub(crate) enum EtcdKind {
        /// A read of a key range: for a LIST, for one page of a LIST, or to fill the watch cache.
        List = "list",
        /// A read of one key.
        Get = "get",
        /// A count of keys. The apiserver sends it for its own metrics.
        Count = "count",
        /// A read of keys without values. The apiserver uses it to estimate the size of its objects.
        ///
        /// Source: k8s.io/apiserver `pkg/storage/etcd3/store.go:getKeys`.
        Keys = "keys",
        /// A read of one key: the prefix of a resource without an object name. The apiserver only needs the current
        /// revision in the response.
        RevisionCheck = "revision-check",
        /// A transaction that only reads.
        ReadTransaction = "read-transaction",
        /// A write, or a transaction that contains one.
        Write = "write",
        /// Leases, compactions and requests that kubetoll cannot parse.
        Other = "other",
    }
    /// The name in reports.
    pub(crate) fn as_str;
}

impl EtcdKind {
    /// Whether the apiserver sends such requests for itself, not for a client.
    #[must_use]
    pub(crate) fn is_servers_own(self) -> bool {
        matches!(self, Self::Count | Self::Keys | Self::RevisionCheck)
    }
}

/// Finds the kind of a request. `rest` is the part of the key after the resource.
fn kind(request: &EtcdRequest<'_>, rest: Option<&str>) -> EtcdKind {
    match request.operation {
        EtcdOperation::Range => match request.range {
            Some(range) if range.count_only => EtcdKind::Count,
            Some(range) if range.keys_only => EtcdKind::Keys,
            Some(_) => EtcdKind::List,
            None if request.limit > 0 && rest.is_none_or(str::is_empty) => EtcdKind::RevisionCheck,
            None => EtcdKind::Get,
        },
        EtcdOperation::ReadTxn => EtcdKind::ReadTransaction,
        EtcdOperation::Write => EtcdKind::Write,
        EtcdOperation::Other => EtcdKind::Other,
    }
}

/// Slow requests with equal keys are counted together. The key contains no object or namespace name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlowKey {
    /// The resource as reports name it; see [`storage_key::StorageKey::parse`].
    pub(crate) resource: CompactString,
    pub(crate) kind: EtcdKind,
}

impl BoundedKey for SlowKey {}

#[derive(Debug, Clone, Default)]
pub struct Slow {
    /// Durations of the requests, in microseconds.
    pub took: Histogram,
    /// The number of keys in the responses.
    pub items: SumAndMax,
    /// Sizes of the responses, in bytes.
    pub bytes: SumAndMax,
    pub(crate) limited: u64,
    /// Requests for one specific revision instead of the newest one.
    pub(crate) at_revision: u64,
    /// Errors by text. Digits are masked.
    pub errors: BoundedMap<Box<str>, u64, MAX_ERRORS>,
    /// End times of the first and last of these requests, in microseconds since 1970.
    pub(crate) span: Option<(i64, i64)>,
    /// The request with the largest response.
    pub worst: Option<Box<WorstRequest>>,
}

/// A sum, and the largest of the summed numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SumAndMax {
    pub(crate) sum: u64,
    pub(crate) max: u64,
}

impl SumAndMax {
    fn record(&mut self, amount: Option<u64>) {
        self.merge(Self { sum: amount.unwrap_or(0), max: amount.unwrap_or(0) });
    }
}

impl Merge for SumAndMax {
    fn merge(&mut self, other: Self) {
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorstRequest {
    /// Response size in bytes; 0 if the line does not show it.
    pub(crate) bytes: u64,
    /// Duration in microseconds.
    pub(crate) took_micros: u64,
    /// The position of the line in the log.
    pub(crate) place: SourcePosition,
    /// End time, in microseconds since 1970.
    pub(crate) ended: Option<i64>,
    /// The number of keys in the response.
    pub(crate) items: Option<u64>,
    /// The key of the request, or the start of its key range.
    pub(crate) key: Box<str>,
    /// The maximum number of keys in the response; 0 for no limit.
    pub(crate) limit: u64,
    /// The revision of the read; 0 for the newest one.
    pub(crate) revision: u64,
    pub(crate) error: Option<Box<str>>,
}

impl WorstRequest {
    /// Whether this is the same request as `range`. The position alone does not identify a request, because an
    /// envelope may contain several requests at one position.
    #[must_use]
    pub(crate) fn is(&self, range: &SlowRange) -> bool {
        (self.place, self.bytes, self.took_micros) == (range.place, range.bytes, range.took_micros)
    }

    /// The sort key: the largest response first, then the longest duration, then the first position.
    fn rank(&self) -> (Reverse<u64>, Reverse<u64>, SourcePosition, Option<i64>) {
        (Reverse(self.bytes), Reverse(self.took_micros), self.place, self.ended)
    }
}

impl EtcdLines {
    /// Counts a line that is not about a slow request. Records the version in the line, if it has one.
    pub(crate) fn observe_other(
        &mut self,
        version: Option<EtcdVersion>,
        place: SourcePosition,
        written: Option<i64>,
    ) {
        self.other += 1;
        if let Some(version) = version {
            self.versions.note(version, place.source);
        }
        self.by_source.entry(place.source).or_default()[1] += 1;
        self.span.merge(written.map(|written| (written, written)));
    }

    /// Counts a slow request. etcd writes the line when the request ends. `is_new` is false for a duplicate, which
    /// can only affect the position that the report shows.
    pub(crate) fn observe(
        &mut self,
        slow: &SlowRequest<'_>,
        place: SourcePosition,
        written: Option<i64>,
        is_new: bool,
    ) {
        self.slow += 1;
        self.by_source.entry(place.source).or_default()[0] += 1;
        self.duplicates += u64::from(!is_new);
        self.span.merge(written.map(|written| (written, written)));
        let request = slow.parsed_request();
        // The end of the key range identifies the collection. The start of the range may be the name of an object,
        // because a later page begins there.
        let collection =
            request.range.and_then(|range| range.prefix()).map(|(start, last)| format!("{start}{last}"));
        let scanned = collection.as_deref().filter(|collection| request.key.starts_with(collection));
        let storage_key = storage_key::StorageKey::parse(scanned.unwrap_or(request.key));
        let resource = CompactString::new(prefix(&storage_key.resource, MAX_NAME));
        let key = SlowKey { kind: kind(&request, storage_key.rest), resource };
        let row = self.requests.entry(&key, 0, || key.clone());
        row.offer(WorstRequest::new(slow, &request, place, written));
        if is_new {
            row.observe(slow, &request, written);
            self.undated += u64::from(written.is_none());
        }
        if key.kind == EtcdKind::List
            && let Some(ended) = written
        {
            let response = slow.response_size();
            let namespace =
                storage_key.rest.and_then(|rest| rest.split('/').next()).filter(|name| !name.is_empty());
            self.ranges.offer(SlowRange {
                bytes: response.bytes.unwrap_or(0),
                took_micros: slow.took_micros,
                place,
                ended,
                items: response.items.unwrap_or(0),
                limit: request.limit,
                in_namespace: namespace.is_some(),
                namespace: namespace.map_or(0, namespace_hash),
                resource: key.resource,
            });
        }
    }
}

impl Slow {
    fn observe(&mut self, slow: &SlowRequest<'_>, request: &EtcdRequest<'_>, written: Option<i64>) {
        let response = slow.response_size();
        self.took.record(slow.took_micros);
        self.items.record(response.items);
        self.bytes.record(response.bytes);
        self.limited += u64::from(request.limit > 0);
        self.at_revision += u64::from(request.range.is_some_and(|range| range.revision > 0));
        if let Some(error) = &slow.error {
            let class = error_class(error);
            *self.errors.entry(&*class, 0, || class.clone().into()) += 1;
        }
        self.span.merge(written.map(|written| (written, written)));
    }

    fn offer(&mut self, request: WorstRequest) {
        if self.worst.as_ref().is_none_or(|own| request.rank() < own.rank()) {
            self.worst = Some(Box::new(request));
        }
    }
}

impl WorstRequest {
    fn new(
        slow: &SlowRequest<'_>,
        request: &EtcdRequest<'_>,
        place: SourcePosition,
        ended: Option<i64>,
    ) -> Self {
        let response = slow.response_size();
        Self {
            bytes: response.bytes.unwrap_or(0),
            took_micros: slow.took_micros,
            place,
            ended,
            items: response.items,
            key: prefix(request.key, MAX_KEY).into(),
            limit: request.limit,
            revision: request.range.map_or(0, |range| range.revision),
            error: slow.error.as_deref().map(|error| prefix(error, MAX_ERROR).into()),
        }
    }
}

/// Masks the digits in an error's text. Errors that differ only in numbers then count together.
fn error_class(text: &str) -> String {
    let mut class = String::new();
    for c in prefix(text, MAX_ERROR).chars() {
        match c {
            '0'..='9' if class.ends_with('N') => {}
            '0'..='9' => class.push('N'),
            c => class.push(c),
        }
    }
    class
}

impl Merge for Slow {
    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: took, items, bytes, limited, at_revision, errors, span);
        if let Some(worst) = other.worst {
            self.offer(*worst);
        }
    }
}

merge_fields!(EtcdLines: slow, other, duplicates, undated, zoneless, by_source, span, requests, ranges, versions);

#[cfg(test)]
mod tests;
