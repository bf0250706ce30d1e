//! Where JSON documents end in a stream that does not keep them on lines: pretty-printed, one behind the other
//! without a line feed, or the elements of an array of any length.
//!
//! Only the structure is followed, so that each byte is looked at once. Damage ends a record where the structure
//! becomes impossible: the next record begins at the next line, document or element.

#[cfg(test)]
mod tests;

use super::framing::{LONGEST_REPEATED, RecordKind, RecordSpan, Repeats, common_start};

/// How deep a document may be. What is deeper is no log, and its record ends there.
const MAX_DEPTH: usize = 256;

/// What encloses a place in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

/// Where in a text the scanner stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanState {
    /// Between records.
    Between,
    /// In a record, not in a string.
    Structure,
    /// In a string of a record.
    String,
    /// In what is no JSON, up to the end of the line or to a document or element that begins behind another's end.
    Garbage,
}

/// Follows a stream of JSON. Positions are those in the bytes of the block that is being filled.
#[derive(Debug)]
pub struct JsonScanner {
    state: ScanState,
    /// An array at the top is open, whose elements are the records.
    in_array: bool,
    stack: Vec<Container>,
    /// The last byte that was neither white space nor in a string; `"` for a string.
    previous: u8,
    /// Where the record at hand began, and on which line.
    start: usize,
    start_line: u64,
    /// Up to here all was seen.
    at: usize,
    line: u64,
    found: Vec<RecordSpan>,
    /// Where the last record ended.
    last: Option<RecordEnd>,
}

/// A place where a record ended. What follows depends on nothing else.
#[derive(Debug, Clone, Copy)]
struct RecordEnd {
    at: usize,
    line: u64,
    in_array: bool,
}

impl Default for JsonScanner {
    fn default() -> Self {
        Self {
            state: ScanState::Between,
            in_array: false,
            stack: Vec::new(),
            previous: 0,
            start: 0,
            start_line: 1,
            at: 0,
            line: 1,
            found: Vec::new(),
            last: None,
        }
    }
}

impl JsonScanner {
    /// Goes on to the end of the bytes. `ended` says that no more follow.
    pub fn scan(&mut self, bytes: &[u8], ended: bool) {
        while self.at < bytes.len() {
            let before = (self.at, self.state);
            let found = self.found.len();
            match self.state {
                ScanState::Between if bytes[self.at] == b'\n' => {
                    let feeds = bytes[self.at..].iter().take_while(|byte| **byte == b'\n').count();
                    self.at += feeds;
                    self.line += feeds as u64;
                }
                ScanState::String => self.string(bytes, ended),
                ScanState::Garbage => self.garbage(bytes, ended),
                ScanState::Between | ScanState::Structure => self.structure(bytes[self.at]),
            }
            if (self.at, self.state) == before {
                // What stands here depends on a byte that is not read yet.
                break;
            }
            if self.found.len() > found {
                self.repeat(bytes);
            }
        }
        if ended && self.state != ScanState::Between {
            self.at = bytes.len();
            self.end(bytes.len());
        }
    }

    /// Takes repetitions of the record that has just ended, without looking at each.
    fn repeat(&mut self, bytes: &[u8]) {
        let before = self.last.replace(RecordEnd { at: self.at, line: self.line, in_array: self.in_array });
        let (Some(before), Some(span)) = (before, self.found.last().copied()) else { return };
        let period = self.at - before.at;
        if period > LONGEST_REPEATED || before.in_array != self.in_array || span.end != self.at {
            return;
        }
        let same = common_start(&bytes[before.at..], &bytes[self.at..]);
        let times = same.saturating_sub(LOOKAHEAD) / period;
        if times == 0 {
            return;
        }
        let lines = self.line - before.line;
        let repeats = Repeats { times: times - 1, bytes: period, lines };
        let (start, end) = (span.start + period, span.end + period);
        self.found.push(RecordSpan { start, end, line: span.line + lines, repeats, ..span });
        self.at += times * period;
        self.line += times as u64 * lines;
        self.last = Some(RecordEnd { at: self.at, line: self.line, in_array: self.in_array });
    }

    fn structure(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' | 0 => {}
            b'\n' => self.line += 1,
            b'"' => {
                if self.state == ScanState::Between {
                    self.begin();
                }
                self.state = ScanState::String;
            }
            b'{' | b'[' => {
                if self.state == ScanState::Structure && !self.value_may_begin() {
                    self.end(self.at);
                } else {
                    self.open(byte);
                }
                return;
            }
            b'}' | b']' => {
                self.close(byte);
                return;
            }
            _ if self.state == ScanState::Between => {
                // Commas between elements, and marks of byte order.
                if byte != b',' && !matches!(byte, 0xef | 0xbb | 0xbf) {
                    self.begin();
                    self.state = ScanState::Garbage;
                    return;
                }
            }
            b',' | b':' | b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E' => {}
            _ => {
                self.state = ScanState::Garbage;
                return;
            }
        }
        if !byte.is_ascii_whitespace() {
            self.previous = byte;
        }
        self.at += 1;
    }

    /// Whether an object or an array may stand here, inside of a record.
    fn value_may_begin(&self) -> bool {
        match self.stack.last() {
            Some(Container::Object) => self.previous == b':',
            Some(Container::Array) => matches!(self.previous, b'[' | b','),
            None => false,
        }
    }

    fn open(&mut self, byte: u8) {
        if self.state == ScanState::Between {
            if byte == b'[' && !self.in_array {
                self.in_array = true;
                self.at += 1;
                return;
            }
            self.begin();
        }
        self.state = ScanState::Structure;
        self.previous = byte;
        self.stack.push(if byte == b'{' { Container::Object } else { Container::Array });
        self.at += 1;
        if self.stack.len() > MAX_DEPTH {
            self.stack.clear();
            self.state = ScanState::Garbage;
        }
    }

    fn close(&mut self, byte: u8) {
        self.at += 1;
        if self.state == ScanState::Between {
            if byte == b']' && self.in_array {
                self.in_array = false;
            } else {
                self.at -= 1;
                self.begin();
                self.at += 1;
                self.state = ScanState::Garbage;
            }
            return;
        }
        self.previous = byte;
        let opened = if byte == b'}' { Container::Object } else { Container::Array };
        if self.stack.pop() == Some(opened) {
            if self.stack.is_empty() {
                self.end(self.at);
            }
        } else {
            self.stack.clear();
            self.state = ScanState::Garbage;
        }
    }

    fn string(&mut self, bytes: &[u8], ended: bool) {
        // Past the quote that began it, or wherever an earlier call stopped.
        match memchr::memchr3(b'"', b'\\', b'\n', &bytes[self.at..]).map(|found| self.at + found) {
            None => self.at = bytes.len(),
            Some(at) if bytes[at] == b'"' => {
                self.at = at + 1;
                self.state = ScanState::Structure;
                self.previous = b'"';
                if self.stack.is_empty() {
                    self.end(self.at);
                }
            }
            Some(at) if bytes[at] == b'\\' => {
                // Whatever is escaped, it ends no string, but a line feed ends the record.
                let escaped = bytes.get(at + 1);
                self.at = match escaped {
                    None if !ended => at,
                    None | Some(b'\n') => at + 1,
                    Some(_) => at + 2,
                };
            }
            Some(at) => {
                // No string holds a line feed: the document is torn here.
                self.at = at;
                self.end(at);
            }
        }
    }

    fn garbage(&mut self, bytes: &[u8], ended: bool) {
        self.stack.clear();
        match memchr::memchr2(b'\n', b'{', &bytes[self.at..]).map(|found| self.at + found) {
            None => self.at = bytes.len(),
            Some(at) if bytes[at] == b'\n' => {
                self.at = at;
                self.end(at);
            }
            Some(at) => {
                // Python writes `[{"a": 1}, {"b": 2}]`.
                let behind = &bytes[at + 1..];
                let spaces = behind.iter().take(SPACES).take_while(|byte| **byte == b' ').count();
                match behind.get(spaces) {
                    None if !ended => self.at = at,
                    Some(next) => match start_after(&bytes[self.start..at], *next) {
                        Some(start) => {
                            self.at = self.start + start;
                            self.end(self.at);
                        }
                        None => self.at = at + 1,
                    },
                    None => self.at = at + 1,
                }
            }
        }
    }

    fn begin(&mut self) {
        self.start = self.at;
        self.start_line = self.line;
    }

    fn end(&mut self, end: usize) {
        let kind = if self.in_array { RecordKind::Element } else { RecordKind::Document };
        let repeats = Repeats::default();
        self.found.push(RecordSpan { start: self.start, end, line: self.start_line, kind, repeats });
        self.stack.clear();
        self.state = ScanState::Between;
        self.previous = 0;
    }

    /// Where the last whole record ends, or what follows the last one, if there is any.
    #[must_use]
    pub fn cut(&self) -> Option<usize> {
        match self.state {
            ScanState::Between => Some(self.at).filter(|at| *at > 0),
            _ => self.found.last().map(RecordSpan::end_of_last),
        }
    }

    /// How many of the bytes were looked at: all but one whose meaning depends on the next.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.at
    }

    /// Hands over the records found, all before `cut`; what follows becomes the start of the next block.
    pub fn take(&mut self, cut: usize) -> Vec<RecordSpan> {
        self.move_by(cut);
        std::mem::take(&mut self.found)
    }

    /// Where the first record ends that has been found, if there is one.
    #[must_use]
    pub fn end_of_first(&self) -> Option<usize> {
        self.found.first().map(|span| span.end)
    }

    /// Forgets the first bytes: of a record that is too long to be held. Where it ends, it is forgotten too.
    pub fn forget(&mut self, bytes: usize) {
        self.found.retain_mut(|span| {
            let keep = span.end_of_last() > bytes;
            span.start = span.start.saturating_sub(bytes);
            span.end = span.end.saturating_sub(bytes);
            keep
        });
        self.move_by(bytes);
    }

    fn move_by(&mut self, bytes: usize) {
        self.at -= bytes;
        self.start = self.start.saturating_sub(bytes);
        self.last = self.last.and_then(|last| Some(RecordEnd { at: last.at.checked_sub(bytes)?, ..last }));
    }

    /// The line on which the last record began, and where in the bytes.
    #[must_use]
    pub fn start(&self) -> (u64, usize) {
        (self.start_line, self.start)
    }
}

/// How far behind a record's end its end may depend on, in bytes: a brace, spaces and a quote.
const LOOKAHEAD: usize = SPACES + 4;
/// How many spaces may be between two tokens where an element is looked for.
const SPACES: usize = 4;

/// Where in damaged text that ends before a brace a document or an element begins, whose next byte behind the brace is
/// known: at the brace, or for a string that holds JSON at the quote before it.
fn start_after(text: &[u8], next: u8) -> Option<usize> {
    let is_separated = |text: &[u8], end: &[u8]| {
        let trim = |text: &'_ [u8]| {
            let spaces = text.iter().rev().take(SPACES).take_while(|byte| **byte == b' ').count();
            text.len() - spaces
        };
        let text = &text[..trim(text)];
        // The byte between two elements may be the damaged one.
        let other = &text[..text.len().saturating_sub(1)];
        text.ends_with(end) && end.len() == 1 || other[..trim(other)].ends_with(end)
    };
    // A damaged byte between two records.
    let is_between = text.len() <= 2;
    match next {
        b'"' | b'}' if is_between || is_separated(text, b"}") => Some(text.len()),
        b'\\' => {
            let text = text.strip_suffix(b"\"")?;
            (is_between || is_separated(text, b"}\"")).then_some(text.len())
        }
        _ => None,
    }
}
