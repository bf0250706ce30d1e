//! The settings of a run.

use crate::decode::Layers;
use crate::ledger::Dedup;
use crate::requests::filter::Filter;
use crate::requests::grouping::RequestProperty;

/// The settings of a run.
#[derive(Debug)]
pub struct Settings {
    /// The number of workers.
    pub threads: usize,
    /// The maximum size of a record, in bytes. Longer records are skipped.
    pub max_record: usize,
    /// Selects the requests to count.
    pub filter: Filter,
    /// The envelopes around each event. If `None`, kubetoll detects the envelopes of each record.
    pub format: Option<Layers>,
    /// How duplicate events are detected.
    pub dedup: Dedup,
    /// Whether to keep the history of each client instance, to find patterns over time.
    pub patterns: bool,
    /// The year of klog lines, because these lines contain no year.
    pub year: Option<i32>,
    /// Groups requests by this property. Each value of the property then counts as a client.
    pub by: Option<RequestProperty>,
}

/// By default, one worker counts all requests, and records may have up to 64 MiB.
impl Default for Settings {
    fn default() -> Self {
        Self {
            threads: 1,
            max_record: 64 << 20,
            filter: Filter::default(),
            format: None,
            dedup: Dedup::default(),
            patterns: true,
            year: None,
            by: None,
        }
    }
}
