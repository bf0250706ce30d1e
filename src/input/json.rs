//! Finds the ends of JSON documents in a stream that does not have one document per line. Documents may be
//! pretty-printed, follow each other without a line feed, or be elements of a long array.
//!
//! The scanner follows only the structure and looks at each byte once. A record ends where damage makes the structure
//! impossible. The next record begins at the next line, document or element.

use super::framing::{LONGEST_REPEATED, RecordKind, RecordSpan, Repeats, common_start};

/// The maximum nesting depth of a document. A record with deeper nesting is not a log, so it ends at this depth.
const MAX_DEPTH: usize = 256;

/// The container that the current position is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanState {
    /// Between records.
    Between,
    /// In a record, outside a string.
    Structure,
    /// In a string of a record.
    String,
    /// In bytes that are not JSON. They end at the end of the line, or where a document or element begins.
    Garbage,
}

/// Scans a JSON stream. Positions are offsets in the block that is being filled.
#[derive(Debug)]
pub struct JsonScanner {
    state: ScanState,
    /// True if a top-level array is open. Its elements are the records.
    is_in_array: bool,
    stack: Vec<Container>,
    /// The last byte that is neither white space nor inside a string. A `"` represents a whole string.
    previous: u8,
    /// Where the current record began, and its line number.
    start: usize,
    start_line: u64,
    /// The position up to which all bytes are scanned.
    at: usize,
    line: u64,
    spans: Vec<RecordSpan>,
    /// Where the last record ended.
    last: Option<RecordEnd>,
}

/// The state of the scanner at the end of a record. Between two records, the scanner needs no other state. So if the
/// same bytes follow, they form the same record again.
#[derive(Debug, Clone, Copy)]
struct RecordEnd {
    at: usize,
    line: u64,
    is_in_array: bool,
}

impl Default for JsonScanner {
    fn default() -> Self {
        Self {
            state: ScanState::Between,
            is_in_array: false,
            stack: Vec::new(),
            previous: 0,
            start: 0,
            start_line: 1,
            at: 0,
            line: 1,
            spans: Vec::new(),
            last: None,
        }
    }
}

impl JsonScanner {
    /// Scans to the end of the bytes. `ended` is true if no more bytes follow.
    pub fn scan(&mut self, bytes: &[u8], ended: bool) {
        while self.at < bytes.len() {
            let before = (self.at, self.state);
            let spans_before = self.spans.len();
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
                // The decision depends on a byte that is not read yet.
                break;
            }
            if self.spans.len() > spans_before {
                self.repeat(bytes);
            }
        }
        if ended && self.state != ScanState::Between {
            self.at = bytes.len();
            self.end(bytes.len());
        }
    }

    /// Counts how often the record that just ended repeats, without scanning each repetition.
    fn repeat(&mut self, bytes: &[u8]) {
        let before =
            self.last.replace(RecordEnd { at: self.at, line: self.line, is_in_array: self.is_in_array });
        let (Some(before), Some(span)) = (before, self.spans.last().copied()) else { return };
        let period = self.at - before.at;
        if period > LONGEST_REPEATED || before.is_in_array != self.is_in_array || span.end != self.at {
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
        self.spans.push(RecordSpan { start, end, line: span.line + lines, repeats, ..span });
        self.at += times * period;
        self.line += times as u64 * lines;
        self.last = Some(RecordEnd { at: self.at, line: self.line, is_in_array: self.is_in_array });
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
                // Commas between elements, and the bytes of a byte order mark, are skipped.
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

    /// Whether an object or an array may begin here, inside a record.
    fn value_may_begin(&self) -> bool {
        match self.stack.last() {
            Some(Container::Object) => self.previous == b':',
            Some(Container::Array) => matches!(self.previous, b'[' | b','),
            None => false,
        }
    }

    fn open(&mut self, byte: u8) {
        if self.state == ScanState::Between {
            if byte == b'[' && !self.is_in_array {
                self.is_in_array = true;
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
            if byte == b']' && self.is_in_array {
                self.is_in_array = false;
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
        // The position is after the opening quote, or where an earlier call stopped.
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
                // An escaped byte never ends the string, but a line feed ends the record.
                let escaped = bytes.get(at + 1);
                self.at = match escaped {
                    None if !ended => at,
                    None | Some(b'\n') => at + 1,
                    Some(_) => at + 2,
                };
            }
            Some(at) => {
                // A JSON string contains no line feed, so the document is truncated here.
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
                // Some programs write spaces between tokens: Python writes `[{"a": 1}, {"b": 2}]`.
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
        let kind = if self.is_in_array { RecordKind::Element } else { RecordKind::Document };
        let repeats = Repeats::default();
        self.spans.push(RecordSpan { start: self.start, end, line: self.start_line, kind, repeats });
        self.stack.clear();
        self.state = ScanState::Between;
        self.previous = 0;
    }

    /// The position at which the block may end. If no record is open, it is the current position. Otherwise it is the
    /// end of the last whole record.
    #[must_use]
    pub fn cut(&self) -> Option<usize> {
        match self.state {
            ScanState::Between => Some(self.at).filter(|at| *at > 0),
            _ => self.spans.last().map(RecordSpan::end_of_last),
        }
    }

    /// The number of bytes that are scanned. Bytes whose meaning depends on the next byte are not scanned yet.
    #[must_use]
    pub(crate) fn scanned(&self) -> usize {
        self.at
    }

    /// Takes the records that were found, all before `cut`. The bytes after `cut` become the start of the next block.
    pub fn take(&mut self, cut: usize) -> Vec<RecordSpan> {
        self.move_by(cut);
        std::mem::take(&mut self.spans)
    }

    /// The end of the first record that was found.
    #[must_use]
    pub(crate) fn end_of_first(&self) -> Option<usize> {
        self.spans.first().map(|span| span.end)
    }

    /// Drops the first `bytes` bytes, which belong to a record that exceeds the cap. If the record ends within these
    /// bytes, it is dropped from the found records, too.
    pub(crate) fn forget(&mut self, bytes: usize) {
        self.spans.retain_mut(|span| {
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

    /// The line number and the position at which the last record began.
    #[must_use]
    pub(crate) fn start(&self) -> (u64, usize) {
        (self.start_line, self.start)
    }
}

/// To find the end of a record, the scanner may need this many bytes after it: a brace, spaces and a quote.
const LOOKAHEAD: usize = SPACES + 4;
/// The scanner searches damaged text for the next element. It accepts at most this many spaces between two tokens.
const SPACES: usize = 4;

/// Decides whether a document or element begins at a brace in damaged text, and returns its offset. `text` is the
/// text before the brace. `next` is the first byte after the brace that is not a space.
///
/// A string that contains JSON (`"{\"…`) begins at the quote before the brace. An object (`{"…` or `{}`) begins at
/// the brace. Returns `None` if neither can begin here.
fn start_after(text: &[u8], next: u8) -> Option<usize> {
    let is_separated = |text: &[u8], end: &[u8]| {
        let trim = |text: &'_ [u8]| {
            let spaces = text.iter().rev().take(SPACES).take_while(|byte| **byte == b' ').count();
            text.len() - spaces
        };
        let text = &text[..trim(text)];
        // The damaged byte may be the comma between two elements. So also try the text without its last byte.
        let other = &text[..text.len().saturating_sub(1)];
        text.ends_with(end) && end.len() == 1 || other[..trim(other)].ends_with(end)
    };
    // If at most two bytes are before the brace, only the text between two records is damaged.
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
