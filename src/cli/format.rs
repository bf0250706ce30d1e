//! The values of `--format`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::render::formats::{FORMATS, OutputFormat};

/// The format of one output, and its path. Without a path, it goes to standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) format: &'static OutputFormat,
    pub(super) path: Option<PathBuf>,
}

impl Format {
    /// The path of a table, or `None` for a page.
    pub(super) fn table_path(&self) -> Option<&Path> {
        self.path.as_deref().filter(|_| self.format.is_table())
    }

    /// Returns the format for a file extension, such as CSV for `.csv`. An extension of a format that kubetoll does
    /// not write, such as `.pdf`, is an error. Any other extension means text.
    pub(super) fn from_path(path: &Path) -> Result<Self, String> {
        let ending = ending(path);
        let of_stem = path.file_stem().map(|stem| self::ending(Path::new(stem))).unwrap_or_default();
        let by_extension = OutputFormat::by_extension(&format!("{of_stem}.{ending}"))
            .or_else(|| OutputFormat::by_extension(&ending));
        match &*ending {
            _ if by_extension.is_some() => {}
            "gz" | "zst" | "xz" | "bz2" | "lz4" | "zip" | "tgz" | "tar" | "7z" => {
                return Err(format!(
                    "kubetoll does not compress what it writes; use -o {} and compress that",
                    path.with_extension("").display()
                ));
            }
            "html" | "htm" | "pdf" | "doc" | "docx" | "rst" | "adoc" => {
                return Err(format!(
                    "kubetoll does not write .{ending}; use --format markdown={}",
                    path.with_extension("md").display()
                ));
            }
            "yaml" | "yml" | "toml" | "xls" | "xlsx" | "tsv" | "sqlite" | "db" => {
                return Err(format!(
                    "kubetoll does not write .{ending}; use --format json={} or --format csv={}",
                    path.with_extension("json").display(),
                    path.with_extension("csv").display()
                ));
            }
            _ => {}
        }
        Ok(Self { format: by_extension.unwrap_or(OutputFormat::text()), path: Some(path.to_owned()) })
    }
}

/// The format of a page by the ending of its file: text, JSON or Markdown.
pub(super) fn of_ending<T>(output: Option<&Path>, [text, json, markdown]: [T; 3]) -> T {
    match output.map(ending).as_deref() {
        Some("json") => json,
        Some("md" | "markdown") => markdown,
        _ => text,
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
        let Some(format) = OutputFormat::by_name(name) else {
            let (files, others): (Vec<&OutputFormat>, Vec<&OutputFormat>) =
                FORMATS.iter().partition(|format| format.needs_path());
            let others: Vec<&str> = others.iter().map(|format| format.name).collect();
            let files: Vec<String> = files.iter().map(|format| format!("{}=PATH", format.name)).collect();
            return Err(format!("known formats are {} and {}", others.join(", "), files.join(", ")));
        };
        match path {
            Some("") if !format.is_table() => Err(format!("write it with a path, {name}=PATH, or as {name}")),
            Some("") => Err(format!("write it with a path: {name}=PATH")),
            None if format.needs_path() => Err(format!("write it with a path: {name}=PATH")),
            None if format.is_table() => Ok(Self { format, path: Some("-".into()) }),
            path => Ok(Self { format, path: path.map(PathBuf::from) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(name: &str, path: Option<&str>) -> Format {
        let format = OutputFormat::by_name(name).expect("a format");
        Format { format, path: path.map(PathBuf::from) }
    }

    #[test]
    fn format_flag_parses_name_and_path() {
        let of = |name, path: Option<&str>| Ok(format(name, path));
        assert_eq!("json".parse(), of("json", None));
        assert_eq!("sarif=a=b".parse(), of("sarif", Some("a=b")));
        assert_eq!("parquet=a=b".parse(), of("parquet", Some("a=b")));
        assert_eq!("csv".parse(), of("csv", Some("-")));
        assert_eq!("JSON=a.json".parse(), of("json", Some("a.json")));
        for bad in ["parquet", "csv=", "json=", "xml"] {
            assert!(bad.parse::<Format>().is_err(), "{bad}");
        }
    }
    #[test]
    fn file_extension_selects_the_format() {
        for (path, expected) in [
            ("out.json", "json"),
            ("out.SARIF", "sarif"),
            ("out.sarif.json", "sarif"),
            ("out.md", "markdown"),
            ("junit.xml", "junit"),
            ("out.txt", "text"),
            ("./out", "text"),
            ("report-1.36.2", "text"),
        ] {
            assert_eq!(Format::from_path(Path::new(path)), Ok(format(expected, Some(path))), "{path}");
        }
        assert_eq!(Format::from_path(Path::new("a.csv")), Ok(format("csv", Some("a.csv"))));
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
