//! Replaces the Parquet writer in a build without the feature `tables`.

use std::io::{self, ErrorKind, Write};

use super::rows::ShapeRow;

/// Always an error: this build cannot write Parquet.
pub(super) fn write_parquet(_: &[ShapeRow<'_>], _: &str, _: impl Write) -> io::Result<()> {
    Err(io::Error::new(ErrorKind::Unsupported, "built without the feature `tables`"))
}
