//! Rows as a polars table, written as Parquet.

use std::borrow::Cow;
use std::io::{self, Write};

use polars::prelude::{
    Column as Cells, DataFrame, IntoColumn, ListBuilderTrait, ListStringChunkedBuilder, PolarsResult,
};
use polars_io::parquet::write::{KeyValueMetadata, ParquetCompression, ParquetWriter};

use super::columns::COLUMNS;
use super::rows::{ColumnValue, ExportColumn, SCHEMA_VERSION, ShapeRow, signed};
use crate::render::escape::escaped;

/// Writes the rows as Parquet. The file's metadata has the version of kubetoll and the version of the columns.
pub(super) fn write_parquet(rows: &[ShapeRow<'_>], kubetoll: &str, out: impl Write) -> io::Result<()> {
    let metadata = KeyValueMetadata::from_static(vec![
        ("kubetoll.rows.schema_version".to_owned(), SCHEMA_VERSION.to_string()),
        ("kubetoll.version".to_owned(), kubetoll.to_owned()),
    ]);
    let mut out = io::BufWriter::new(out);
    let writer = ParquetWriter::new(&mut out)
        .with_compression(ParquetCompression::Zstd(None))
        .with_key_value_metadata(Some(metadata));
    writer.finish(&mut table(rows)).map_err(io::Error::other)?;
    out.flush()
}

fn table(rows: &[ShapeRow<'_>]) -> DataFrame {
    let columns = COLUMNS.iter().map(|column| cells(column, rows)).collect();
    let table: PolarsResult<DataFrame> = DataFrame::new(rows.len(), columns);
    table.expect("column names are unique, and each column has a value for each row")
}

fn cells(column: &ExportColumn, rows: &[ShapeRow<'_>]) -> Cells {
    let name = column.name;
    match column.value {
        ColumnValue::Text(get) => {
            let texts = rows.iter().map(|row| escaped(get(row)).into_owned());
            Cells::new(name.into(), texts.collect::<Vec<String>>())
        }
        ColumnValue::MaybeText(get) => {
            let texts = rows.iter().map(|row| get(row).map(|text| escaped(text).into_owned()));
            Cells::new(name.into(), texts.collect::<Vec<Option<String>>>())
        }
        ColumnValue::MaybeTimestamp(get) => {
            let timestamps = rows.iter().map(|row| get(row).map(|at| at.to_string()));
            Cells::new(name.into(), timestamps.collect::<Vec<Option<String>>>())
        }
        ColumnValue::Texts(get) => lists(name, rows.iter().map(get)),
        ColumnValue::Integer(get) => {
            Cells::new(name.into(), rows.iter().map(|row| signed(get(row))).collect::<Vec<i64>>())
        }
        ColumnValue::MaybeInteger(get) => {
            Cells::new(name.into(), rows.iter().map(|row| get(row).map(signed)).collect::<Vec<Option<i64>>>())
        }
        ColumnValue::MaybeFloat(get) => {
            Cells::new(name.into(), rows.iter().map(get).collect::<Vec<Option<f64>>>())
        }
        ColumnValue::Bool(get) => Cells::new(name.into(), rows.iter().map(get).collect::<Vec<bool>>()),
    }
}

fn lists<'a>(name: &str, values: impl ExactSizeIterator<Item = &'a [String]>) -> Cells {
    // The type is explicit, because polars cannot infer it from an empty column.
    let mut builder = ListStringChunkedBuilder::new(name.into(), values.len(), values.len());
    for list in values {
        let texts: Vec<Cow<'_, str>> = list.iter().map(|text| escaped(text)).collect();
        builder.append_values_iter(texts.iter().map(|text| &**text));
    }
    builder.finish().into_column()
}
