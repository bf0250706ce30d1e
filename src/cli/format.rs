//! The values of `--format`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::render::export::TableFormat;

/// A format that shows the whole report. `TableFormat` has the formats for tables of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageFormat {
    Text,
    Json,
    Markdown,
    Sarif,
    Junit,
    Github,
}

impl PageFormat {
    const ALL: [(&'static str, Self); 6] = [
        ("text", Self::Text),
        ("json", Self::Json),
        ("markdown", Self::Markdown),
        ("sarif", Self::Sarif),
        ("junit", Self::Junit),
        ("github", Self::Github),
    ];

    pub(super) fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, page)| *page == self).map_or("", |(name, _)| name)
    }
}

/// The format of one output, and its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Format {
    /// A report; without a path, it goes to standard output.
    Page(PageFormat, Option<PathBuf>),
    Table(TableFormat, PathBuf),
}

impl Format {
    /// Returns the format for a file extension, such as CSV for `.csv`. An extension of a format that kubetoll does
    /// not write, such as `.pdf`, is an error. Any other extension means text.
    pub(super) fn from_path(path: &Path) -> Result<Self, String> {
        let page = |page| Ok(Self::Page(page, Some(path.to_owned())));
        let table = |format| Ok(Self::Table(format, path.to_owned()));
        let ending = ending(path);
        match &*ending {
            "json" if path.file_stem().is_some_and(|stem| self::ending(Path::new(stem)) == "sarif") => {
                page(PageFormat::Sarif)
            }
            "json" => page(PageFormat::Json),
            "md" | "markdown" => page(PageFormat::Markdown),
            "sarif" => page(PageFormat::Sarif),
            "xml" => page(PageFormat::Junit),
            "csv" => table(TableFormat::Csv),
            "ndjson" | "jsonl" => table(TableFormat::Ndjson),
            "parquet" => table(TableFormat::Parquet),
            "gz" | "zst" | "xz" | "bz2" | "lz4" | "zip" | "tgz" | "tar" | "7z" => Err(format!(
                "kubetoll does not compress what it writes; use -o {} and compress that",
                path.with_extension("").display()
            )),
            "html" | "htm" | "pdf" | "doc" | "docx" | "rst" | "adoc" => Err(format!(
                "kubetoll does not write .{ending}; use --format markdown={}",
                path.with_extension("md").display()
            )),
            "yaml" | "yml" | "toml" | "xls" | "xlsx" | "tsv" | "sqlite" | "db" => Err(format!(
                "kubetoll does not write .{ending}; use --format json={} or --format csv={}",
                path.with_extension("json").display(),
                path.with_extension("csv").display()
            )),
            _ => page(PageFormat::Text),
        }
    }
}

/// The file extension in lower case; empty if there is none.
pub(super) fn ending(path: &Path) -> String {
    path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = text.split_once('=').map_or((text, None), |(name, path)| (name, Some(path)));
        let name = &*name.to_ascii_lowercase();
        let table = |format| match path {
            Some(path) if !path.is_empty() => Ok(Self::Table(format, path.into())),
            _ => Err(format!("write it with a path: {name}=PATH")),
        };
        if let Some((_, page)) = PageFormat::ALL.into_iter().find(|(own, _)| *own == name) {
            return match path {
                Some("") => Err(format!("write it with a path, {name}=PATH, or as {name}")),
                path => Ok(Self::Page(page, path.map(PathBuf::from))),
            };
        }
        // `csv` and `ndjson` may go to standard output. `parquet` is binary, so it needs a path.
        let text_table = |format| match path {
            None => Ok(Self::Table(format, "-".into())),
            Some(_) => table(format),
        };
        match name {
            "parquet" => table(TableFormat::Parquet),
            "csv" => text_table(TableFormat::Csv),
            "ndjson" => text_table(TableFormat::Ndjson),
            _ => {
                let pages: Vec<&str> = PageFormat::ALL.iter().map(|(name, _)| *name).collect();
                Err(format!("known formats are {}, csv, ndjson and parquet=PATH", pages.join(", ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_flag_parses_name_and_path() {
        let table = |format, path: &str| Ok(Format::Table(format, path.into()));
        assert_eq!("json".parse(), Ok(Format::Page(PageFormat::Json, None)));
        assert_eq!("sarif=a=b".parse(), Ok(Format::Page(PageFormat::Sarif, Some("a=b".into()))));
        assert_eq!("parquet=a=b".parse(), table(TableFormat::Parquet, "a=b"));
        assert_eq!("csv".parse(), table(TableFormat::Csv, "-"));
        assert_eq!("JSON=a.json".parse(), Ok(Format::Page(PageFormat::Json, Some("a.json".into()))));
        for bad in ["parquet", "csv=", "json=", "xml"] {
            assert!(bad.parse::<Format>().is_err(), "{bad}");
        }
    }
    #[test]
    fn file_extension_selects_the_format() {
        let page = |page, path: &str| Ok(Format::Page(page, Some(path.into())));
        for (path, expected) in [
            ("out.json", PageFormat::Json),
            ("out.SARIF", PageFormat::Sarif),
            ("out.sarif.json", PageFormat::Sarif),
            ("out.md", PageFormat::Markdown),
            ("junit.xml", PageFormat::Junit),
            ("out.txt", PageFormat::Text),
            ("./out", PageFormat::Text),
            ("report-1.36.2", PageFormat::Text),
        ] {
            assert_eq!(Format::from_path(Path::new(path)), page(expected, path), "{path}");
        }
        assert_eq!(
            Format::from_path(Path::new("a.csv")),
            Ok(Format::Table(TableFormat::Csv, "a.csv".into()))
        );
        for (path, flag) in [
            ("d/out.html", "--format markdown=d/out.md"),
            ("out.yaml", "--format json=out.json"),
            ("out.json.gz", "use -o out.json and"),
        ] {
            let error = Format::from_path(Path::new(path)).expect_err(path);
            assert!(error.contains(flag), "{path}: {error}");
        }
    }
}
