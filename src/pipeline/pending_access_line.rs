//! An access line that waits for other lines of its request.

use crate::decode::klog::{AccessLine, Apf};
use crate::input::SourcePosition;

/// The maximum memory for access lines that wait for other lines of their request, in bytes.
const ROOM: usize = 1 << 25;
/// With more than eight workers, the maximum is this many bytes for each worker, and not [`ROOM`]. One worker may be
/// some blocks ahead of another, and the waiting lines of these blocks must fit.
const ROOM_PER_WORKER: usize = 1 << 22;

/// All time zone offsets are multiples of this, in microseconds.
const ZONE_STEP: i64 = 15 * 60 * 1_000_000;

/// The maximum memory for access lines that wait for other lines of their request, in bytes.
pub(super) fn room(threads: usize) -> usize {
    ROOM.max(ROOM_PER_WORKER * threads)
}

/// An access line that waits for other lines of its request.
#[derive(Debug)]
pub(super) struct PendingAccessLine {
    pub(crate) line: AccessLine<'static>,
    pub(crate) logged_at: Option<i64>,
    pub(crate) place: SourcePosition,
}

impl PendingAccessLine {
    /// The sort key of the lines of a request. The line with the smallest key counts. If two keys are equal, it does
    /// not matter which line counts.
    pub(crate) fn rank(&self) -> (Option<i64>, Option<u64>, SourcePosition, Option<&Apf<'static>>) {
        (self.logged_at, self.line.latency_micros, self.place, self.line.apf.as_ref())
    }

    /// The start time of the request, in microseconds since 1970. Both lines of a request have almost the same start
    /// time: a line that is written one second later has one second more latency.
    pub(crate) fn began(&self) -> Option<i64> {
        let latency = self.line.latency_micros.and_then(|micros| i64::try_from(micros).ok()).unwrap_or(0);
        self.logged_at.and_then(|logged_at| logged_at.checked_sub(latency))
    }

    /// A value that is equal for duplicates of one line. Timestamps of duplicates may differ by a time zone offset,
    /// because klog writes no zone.
    pub(crate) fn content(&self) -> (Option<i64>, Option<u64>) {
        (self.logged_at.map(|logged_at| logged_at.rem_euclid(ZONE_STEP)), self.line.latency_micros)
    }
}
