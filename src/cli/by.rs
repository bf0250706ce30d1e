//! `kubetoll scan --by`: a ranked count instead of the report.

use std::path::PathBuf;

use anyhow::bail;

use super::args::ScanArgs;
use super::output::{TextOutput, is_stdout};
use crate::ledger::Ledger;
use crate::render::ranked;
use crate::report::Ranked;
use crate::requests::grouping::RequestProperty;

/// The output formats of `--by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RankedFormat {
    Text,
    Json,
    Csv,
}

/// The property to count by, and the output for the counts.
#[derive(Debug)]
pub(super) struct RankedCount {
    by: RequestProperty,
    format: RankedFormat,
    /// The file for the counts; `None` is standard output.
    pub(super) to: Option<PathBuf>,
}

impl RankedCount {
    /// Reads the flags; `None` without `--by`.
    pub(super) fn from_args(args: &ScanArgs) -> anyhow::Result<Option<Self>> {
        let Some(by) = args.by else { return Ok(None) };
        let (format, to) = match &*args.format {
            [] => (RankedFormat::Text, None),
            [only] => {
                let format = match only.format.name {
                    "text" => RankedFormat::Text,
                    "json" => RankedFormat::Json,
                    "csv" => RankedFormat::Csv,
                    _ => bail!("--by prints text, json or csv; for other formats leave out --by"),
                };
                (format, only.path.clone())
            }
            _ => bail!("--by prints one count; name one --format"),
        };
        let to = to.filter(|to| !is_stdout(to)).or_else(|| args.output.clone());
        Ok(Some(Self { by, format, to }))
    }

    /// Writes the counts. The ledger must come from a run with `Settings::by` set to the property in `self.by`.
    pub(super) fn write(&self, ledger: Ledger, top: usize) -> anyhow::Result<Ranked> {
        let ranked = Ranked::from_ledger(ledger, self.by.as_str(), self.by == RequestProperty::Code, top);
        let output = TextOutput::prepare(self.to.as_deref())?;
        match self.format {
            RankedFormat::Text => output.write(&ranked::text(&ranked), anstream::ColorChoice::Never)?,
            RankedFormat::Json => output.write_raw(&ranked::json(&ranked))?,
            RankedFormat::Csv => output.write_raw(&ranked::csv(&ranked))?,
        }
        Ok(ranked)
    }
}
