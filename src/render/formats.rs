//! The output formats of `scan`. A new format is one file in this room and one row of [`FORMATS`].

use std::io::{self, Write};

use super::export::TableFormat;
use super::text::{self, View};
use super::{github, json, junit, markdown, sarif};
use crate::report::Report;

#[derive(Debug)]
pub(crate) struct OutputFormat {
    /// The value of `--format`.
    pub(crate) name: &'static str,
    /// The file extensions that select the format. The help shows the first one. Other extensions select text.
    pub(crate) extensions: &'static [&'static str],
    pub(crate) writer: FormatWriter,
    /// The text for the job summary, if kubetoll runs in a GitHub workflow.
    pub(crate) job_summary: Option<fn(&Report) -> String>,
}

#[derive(Debug)]
pub(crate) enum FormatWriter {
    Terminal(fn(&Report, &View<'_>) -> String),
    /// The whole report as text.
    Page(fn(&Report) -> io::Result<String>),
    /// The whole report, written in parts because it may be large.
    Stream(fn(&Report, &mut dyn Write) -> io::Result<()>),
    /// A row for each client and request shape.
    Table(TableFormat),
}

/// All formats. The first one is the default.
pub(crate) static FORMATS: [OutputFormat; 9] = [
    format("text", &[], FormatWriter::Terminal(text::render)),
    format("json", &["json"], FormatWriter::Stream(|report, out| json::write(report, out))),
    format("markdown", &["md", "markdown"], FormatWriter::Page(|report| Ok(markdown::render(report)))),
    format("sarif", &["sarif", "sarif.json"], FormatWriter::Page(|report| Ok(sarif::render(report)))),
    format("junit", &["xml"], FormatWriter::Page(|report| junit::render(report).map_err(io::Error::other))),
    OutputFormat {
        job_summary: Some(markdown::render),
        ..format("github", &[], FormatWriter::Page(|report| Ok(github::render(report))))
    },
    format("parquet", &["parquet"], FormatWriter::Table(TableFormat::Parquet)),
    format("csv", &["csv"], FormatWriter::Table(TableFormat::Csv)),
    format("ndjson", &["ndjson", "jsonl"], FormatWriter::Table(TableFormat::Ndjson)),
];

const fn format(
    name: &'static str,
    extensions: &'static [&'static str],
    writer: FormatWriter,
) -> OutputFormat {
    OutputFormat { name, extensions, writer, job_summary: None }
}

impl PartialEq for OutputFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for OutputFormat {}

impl OutputFormat {
    pub(crate) fn by_name(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    pub(crate) fn by_extension(extension: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.extensions.contains(&extension))
    }

    pub(crate) fn text() -> &'static Self {
        &FORMATS[0]
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self.writer, FormatWriter::Terminal(_))
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.writer, FormatWriter::Table(_))
    }

    /// Whether the format is binary, so that it does not go to standard output by default.
    pub(crate) fn needs_path(&self) -> bool {
        matches!(self.writer, FormatWriter::Table(TableFormat::Parquet))
    }
}

/// The help of `--format`.
pub(crate) fn help() -> String {
    let (tables, pages): (Vec<&OutputFormat>, Vec<&OutputFormat>) =
        FORMATS.iter().partition(|format| format.is_table());
    let pages = pages.iter().map(|format| format!("`{}`", format.name));
    let tables = tables.iter().map(|format| format!("`{}=PATH`", format.name));
    format!(
        "The output format: {}, each with `=PATH` to write a file. Tables: {}. You can repeat this flag",
        one_of(pages.collect()),
        one_of(tables.collect())
    )
}

/// The file extensions in the help of `--output`. An extension with another first letter than its format is followed
/// by the format's name.
pub(crate) fn extensions_help() -> String {
    let one = |format: &OutputFormat| {
        let extension = format.extensions.first()?;
        let is_clear = extension[..1] == format.name[..1];
        let note = if is_clear { String::new() } else { format!(" (`{}`)", format.name) };
        Some((format.needs_path(), format!("`.{extension}`{note}")))
    };
    let mut all: Vec<(bool, String)> = FORMATS.iter().filter_map(one).collect();
    all.sort_by_key(|(needs_path, _)| *needs_path);
    one_of(all.into_iter().map(|(_, text)| text).collect())
}

/// Joins texts as `a, b or c`.
fn one_of(mut texts: Vec<String>) -> String {
    let last = texts.pop().unwrap_or_default();
    if texts.is_empty() { last } else { format!("{} or {last}", texts.join(", ")) }
}
