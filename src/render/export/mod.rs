//! The report's rows as Parquet, CSV or NDJSON. Only this module uses polars.

mod columns;
mod csv;
mod csv_text;
mod rows;
#[cfg(feature = "tables")]
mod table;
#[cfg(not(feature = "tables"))]
mod table {
    use std::io::{self, ErrorKind, Write};

    use super::rows::ShapeRow;

    /// Always an error: without polars, kubetoll cannot write Parquet.
    pub(super) fn write_parquet(_: &[ShapeRow<'_>], _: &str, _: impl Write) -> io::Result<()> {
        Err(io::Error::new(ErrorKind::Unsupported, "built without the feature `tables`"))
    }
}

use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use columns::COLUMNS;
pub(super) use csv::cell as csv_cell;
pub use rows::{ColumnValue, ExportColumn, SCHEMA_VERSION, ShapeRow, rows};

use crate::render::{escape, file};
use crate::report::Report;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Parquet, compressed with zstd.
    Parquet,
    /// Comma-separated values, with a header.
    Csv,
    /// A JSON object on each line.
    Ndjson,
}

/// The reason why kubetoll could not write a file of rows.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("{}: can't be written; name a file in a directory that exists and can be written to", .path.display())]
    Place { path: PathBuf, source: io::Error },
    #[error("{}: the rows were not written; make room or name another file", .path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Checks before the scan that kubetoll can write the file. Writes nothing.
///
/// # Errors
/// [`ExportError::Place`] for a directory, a missing directory, or a file without write permission.
pub fn check(path: &Path) -> Result<(), ExportError> {
    if file::is_pipe_or_device(path) || path.as_os_str() == "-" {
        return Ok(());
    }
    file::Draft::beside(path).map(drop).map_err(|source| ExportError::Place { path: path.to_owned(), source })
}

/// Writes a row for each client and request shape, in the report's order. Either the whole file is written or nothing.
/// Pipes and devices are written directly; `-` is standard output.
///
/// # Errors
/// [`ExportError`] if the path is not writable or writing fails.
pub fn write(report: &Report, format: TableFormat, path: &Path) -> Result<(), ExportError> {
    let unwritten = |source| ExportError::Write { path: path.to_owned(), source };
    if path.as_os_str() == "-" {
        return write_rows(report, format, io::stdout().lock()).map_err(unwritten);
    }
    let mut draft =
        file::Draft::beside(path).map_err(|source| ExportError::Place { path: path.to_owned(), source })?;
    write_rows(report, format, draft.file()).and_then(|()| draft.keep()).map_err(unwritten)
}

fn write_rows(report: &Report, format: TableFormat, out: impl Write) -> io::Result<()> {
    let rows = rows(report);
    file::ClosableWriter::write_with(out, |out| match format {
        TableFormat::Parquet => table::write_parquet(&rows, &report.kubetoll_version, out),
        TableFormat::Csv => csv::write(&rows, out),
        TableFormat::Ndjson => write_ndjson(&rows, out),
    })
}

fn write_ndjson(rows: &[ShapeRow<'_>], out: impl Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    for row in rows {
        escape::json(&mut out, row)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}
