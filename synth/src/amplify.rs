//! A recorded audit log, repeated. Each copy has its own audit IDs and is later in time than the copy before.

use crate::time::{format_micros, parse_micros};

use super::rng::Rng;

const ID: &str = "\"auditID\":\"";
const RECEIVED: &str = "\"requestReceivedTimestamp\":\"";
const REACHED: &str = "\"stageTimestamp\":\"";
/// The time between the last event of a copy and the first of the next, in microseconds.
const PAUSE: i64 = 1_000_000;

/// An endless log: an iterator over its lines.
pub struct Amplified {
    lines: Vec<Recorded>,
    seed: u64,
    /// The time from the start of one copy to the start of the next, in microseconds.
    span: i64,
    written: usize,
}

/// A line, split where copies differ.
struct Recorded {
    text: String,
    id: [usize; 2],
    received: [usize; 2],
    reached: [usize; 2],
    /// Microseconds since 1970.
    times: [i64; 2],
}

impl Amplified {
    /// A log from a recording with one event per line, in the apiserver's field order and without bodies.
    ///
    /// # Errors
    /// With the number of a line that is no such event, or if there is none.
    pub fn new(recording: &str, seed: u64) -> Result<Self, String> {
        let lines: Vec<Recorded> = recording
            .lines()
            .enumerate()
            .map(|(index, line)| {
                Recorded::parse(line)
                    .ok_or_else(|| format!("line {} is no audit event with its times", index + 1))
            })
            .collect::<Result<_, _>>()?;
        let first = lines.iter().flat_map(|line| line.times).min().ok_or("the recording is empty")?;
        let last = lines.iter().flat_map(|line| line.times).max().unwrap_or(first);
        Ok(Self { lines, seed, span: last - first + PAUSE, written: 0 })
    }
}

impl Iterator for Amplified {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let copy = self.written / self.lines.len();
        let line = &self.lines[self.written % self.lines.len()];
        self.written += 1;
        Some(line.copy(copy, self.seed, self.span))
    }
}

impl Recorded {
    fn parse(line: &str) -> Option<Self> {
        // Quotes within strings are escaped, so no string contains one of the keys.
        let value = |key: &str| {
            let begin = line.find(key)? + key.len();
            Some([begin, begin + line[begin..].find('"')?])
        };
        let [id, received, reached] = [value(ID)?, value(RECEIVED)?, value(REACHED)?];
        let time = |[begin, end]: [usize; 2]| parse_micros(&line[begin..end]);
        let times = [time(received)?, time(reached)?];
        (id < received && received < reached).then(|| Self {
            text: line.to_owned(),
            id,
            received,
            reached,
            times,
        })
    }

    fn copy(&self, copy: usize, seed: u64, span: i64) -> String {
        let shift = i64::try_from(copy).expect("as many copies as were written") * span;
        let [received, reached] = self.times.map(|time| format_micros(time + shift));
        let id = fresh_id(&self.text[self.id[0]..self.id[1]], copy, seed);
        let mut line = String::with_capacity(self.text.len());
        let mut from = 0;
        for ([begin, end], value) in [(self.id, id), (self.received, received), (self.reached, reached)] {
            line.push_str(&self.text[from..begin]);
            line.push_str(&value);
            from = end;
        }
        line.push_str(&self.text[from..]);
        line
    }
}

/// The same for all events of one request in one copy.
fn fresh_id(recorded: &str, copy: usize, seed: u64) -> String {
    let text = recorded.bytes().fold(seed, |state, byte| Rng::new(state ^ u64::from(byte)).draw());
    Rng::new(text ^ Rng::new(copy as u64).draw()).uuid()
}
