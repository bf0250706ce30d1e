//! The arguments of commands that print one page.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::color::Color;
use super::number::number;
use super::output_path;
use crate::render::text::TOP;

/// Where a page goes, and how it looks.
#[derive(Debug, Args)]
pub(super) struct PageArgs {
    /// Write to a file instead of standard output. The file is written whole or not at all. PATH has a `/` or a `.`,
    /// or is `-` for standard output.
    #[arg(short, long, value_name = "PATH", value_parser = output_path::parse, help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// The maximum number of rows in each table.
    #[arg(long, value_name = "N", default_value_t = TOP, value_parser = number::<usize>(0..=i64::MAX, "how many rows to print, such as 20"), help_heading = "Output")]
    pub(crate) top: usize,
    /// When to color the text. `NO_COLOR` is honored.
    #[arg(long, value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub(crate) color: Color,
}

/// The output formats of `upgrade` and `budget slope`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PageFormat {
    Text,
    Json,
    Markdown,
}
