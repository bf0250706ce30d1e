//! The report as JSON: the public contract of `report/v1.rs`, indented.

use std::io::{self, BufWriter, Write};

use crate::report::Report;

/// Bytes that are written at once.
const BUFFER: usize = 1 << 18;

/// Writes the report, with a line feed at its end. The whole text is never held in memory.
///
/// # Errors
/// Where the bytes can't be written.
pub fn write(report: &Report, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, out);
    serde_json::to_writer_pretty(&mut out, report)?;
    out.write_all(b"\n")?;
    out.flush()
}
