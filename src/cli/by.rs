//! `kubetoll scan --by`: a ranked count instead of the report.

use std::path::PathBuf;

use anyhow::bail;

use super::args::{ByArg, ScanArgs};
use super::format::{Format, Page};
use super::output::{Output, is_stdout};
use crate::ledger::Ledger;
use crate::render::export::TableFormat;
use crate::render::ranked;
use crate::report::Ranked;

/// The output formats of `--by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Text,
    Json,
    Csv,
}

/// The ranked count from the flags.
#[derive(Debug)]
pub(super) struct Count {
    by: ByArg,
    written: Written,
    /// A file; `None` is standard output.
    pub(super) to: Option<PathBuf>,
}

impl Count {
    /// Reads the flags; `None` without `--by`.
    pub(super) fn of(args: &ScanArgs) -> anyhow::Result<Option<Self>> {
        let Some(by) = args.by else { return Ok(None) };
        let (written, to) = match &*args.format {
            [] | [Format::Page(Page::Text, None)] => (Written::Text, None),
            [Format::Page(Page::Text, to)] => (Written::Text, to.clone()),
            [Format::Page(Page::Json, to)] => (Written::Json, to.clone()),
            [Format::Table(TableFormat::Csv, to)] => (Written::Csv, Some(to.clone())),
            [_] => bail!("--by prints text, json or csv; for other formats leave out --by"),
            _ => bail!("--by prints one count; name one --format"),
        };
        let to = to.filter(|to| !is_stdout(to)).or_else(|| args.output.clone());
        Ok(Some(Self { by, written, to }))
    }

    /// Writes the count. The ledger must have been counted by this property.
    pub(super) fn write(&self, ledger: Ledger, top: usize) -> anyhow::Result<Ranked> {
        let by = match self.by {
            ByArg::Verb => "verb",
            ByArg::User => "user",
            ByArg::Resource => "resource",
            ByArg::Code => "code",
            ByArg::Namespace => "namespace",
            ByArg::Client => "client",
        };
        let ranked = Ranked::from_ledger(ledger, by, self.by == ByArg::Code, top);
        let output = Output::prepare(self.to.as_deref())?;
        match self.written {
            Written::Text => output.write(&ranked::text(&ranked), anstream::ColorChoice::Never)?,
            Written::Json => output.write_whole(&ranked::json(&ranked))?,
            Written::Csv => output.write_whole(&ranked::csv(&ranked))?,
        }
        Ok(ranked)
    }
}
