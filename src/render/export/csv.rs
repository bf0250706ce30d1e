//! Rows as CSV after RFC 4180, but with LF line ends. A null is an empty cell, an empty text is `""`.

use std::io::{self, Write};

use csv_core::{Terminator, Writer, WriterBuilder};
use rayon::prelude::*;
use serde::Serialize;

use super::columns::COLUMNS;
use super::csv_text::harden;
use super::rows::{ColumnValue, ShapeRow, signed};
use crate::k8s::timestamp::with_micros;

/// The maximum number of rows that a thread formats at a time. It limits the memory for text that is not written yet.
const AT_A_TIME: usize = 512;

/// Writes a header line and the rows.
pub(super) fn write(rows: &[ShapeRow<'_>], mut out: impl Write) -> io::Result<()> {
    let mut header = CsvLines::new();
    header.line(COLUMNS, |lines, column| lines.text(column.name));
    out.write_all(&header.written)?;
    for rows in rows.chunks(AT_A_TIME * rayon::current_num_threads()) {
        let parts = rows.par_chunks(AT_A_TIME).map(|rows| {
            let mut lines = CsvLines::new();
            for row in rows {
                lines.line(COLUMNS, |lines, column| lines.value(&column.value, row));
            }
            lines.written
        });
        for part in parts.collect::<Vec<_>>() {
            out.write_all(&part)?;
        }
    }
    out.flush()
}

/// Formats a text as one CSV cell.
pub(in crate::render) fn cell(text: &str) -> String {
    let mut lines = CsvLines::new();
    lines.text(text);
    String::from_utf8(lines.written).expect("a cell of text is text")
}

/// CSV lines that are not written yet.
struct CsvLines {
    /// Decides which texts need quotes.
    format: Writer,
    written: Vec<u8>,
}

const QUOTE: u8 = b'"';

impl CsvLines {
    fn new() -> Self {
        let format = WriterBuilder::new().terminator(Terminator::Any(b'\n')).quote(QUOTE).build();
        Self { format, written: Vec::new() }
    }

    fn line<T>(&mut self, cells: &[T], write: impl Fn(&mut Self, &T)) {
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                self.written.push(self.format.get_delimiter());
            }
            write(self, cell);
        }
        self.written.push(b'\n');
    }

    fn value(&mut self, value: &ColumnValue, row: &ShapeRow<'_>) {
        match value {
            ColumnValue::Text(get) => self.text(get(row)),
            ColumnValue::MaybeText(get) => self.maybe(get(row), Self::text),
            ColumnValue::MaybeTimestamp(get) => {
                self.maybe(get(row), |lines, at| {
                    // A timestamp needs no quotes.
                    with_micros(at.0, |text| lines.written.extend_from_slice(text.as_bytes()));
                });
            }
            ColumnValue::Texts(get) => match get(row) {
                [one] => self.text(one),
                texts => self.text(&texts.join(",")),
            },
            ColumnValue::Integer(get) => self.as_in_json(signed(get(row))),
            ColumnValue::MaybeInteger(get) => self.maybe(get(row).map(signed), Self::as_in_json),
            ColumnValue::MaybeFloat(get) => self.maybe(get(row), Self::as_in_json),
            ColumnValue::Bool(get) => self.as_in_json(get(row)),
        }
    }

    fn maybe<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        if let Some(value) = value {
            write(self, value);
        }
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return self.written.extend_from_slice(b"\"\"");
        }
        let text = harden(text);
        let text = text.as_bytes();
        if self.format.should_quote(text) {
            self.quoted(text);
        } else {
            self.written.extend_from_slice(text);
        }
    }

    fn quoted(&mut self, text: &[u8]) {
        self.written.push(QUOTE);
        let start = self.written.len();
        // In the worst case, each byte is a quote, which takes two bytes.
        self.written.resize(start + 2 * text.len(), 0);
        let (_, _, length) = csv_core::quote(text, &mut self.written[start..], QUOTE, QUOTE, true);
        self.written.truncate(start + length);
        self.written.push(QUOTE);
    }

    /// Formats a number or a boolean as in JSON.
    fn as_in_json(&mut self, value: impl Serialize) {
        serde_json::to_writer(&mut self.written, &value).expect("memory takes all bytes");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(cells: &[Option<&str>]) -> String {
        let mut lines = CsvLines::new();
        lines.line(cells, |lines, cell| lines.maybe(*cell, CsvLines::text));
        String::from_utf8(lines.written).expect("cells are text")
    }

    #[test]
    fn cells_are_quoted_only_where_needed() {
        assert_eq!(line(&[Some("a b"), None, Some(""), Some("c")]), "a b,,\"\",c\n");
        assert_eq!(line(&[None, None]), ",\n");
        assert_eq!(
            line(&[Some("a,b"), Some("say \"so\""), Some("a\nb\rc")]),
            "\"a,b\",\"say \"\"so\"\"\",\"a\nb\rc\"\n"
        );
        assert_eq!(line(&[Some("=1,2"), Some("\"")]), "\"'=1,2\",\"\"\"\"\n");
    }
}
