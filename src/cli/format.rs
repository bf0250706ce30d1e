//! What `--format` takes.

use std::path::PathBuf;
use std::str::FromStr;

use crate::render::export::TableFormat;

/// A page: one report in one form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    Text,
    Json,
    Markdown,
    Sarif,
    Junit,
    Github,
}

impl Page {
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

/// An output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Format {
    /// To standard output, or to a file.
    Page(Page, Option<PathBuf>),
    Table(TableFormat, PathBuf),
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = text.split_once('=').map_or((text, None), |(name, path)| (name, Some(path)));
        let table = |format| match path {
            Some(path) if !path.is_empty() => Ok(Self::Table(format, path.into())),
            _ => Err(format!("write it with a path: {name}=PATH")),
        };
        if let Some((_, page)) = Page::ALL.into_iter().find(|(own, _)| *own == name) {
            return match path {
                Some("") => Err(format!("write it with a path, {name}=PATH, or as {name}")),
                path => Ok(Self::Page(page, path.map(PathBuf::from))),
            };
        }
        // Rows that are text may go to standard output.
        let text_table = |format| match path {
            None => Ok(Self::Table(format, "-".into())),
            Some(_) => table(format),
        };
        match name {
            "parquet" => table(TableFormat::Parquet),
            "csv" => text_table(TableFormat::Csv),
            "ndjson" => text_table(TableFormat::Ndjson),
            _ => {
                let pages: Vec<&str> = Page::ALL.iter().map(|(name, _)| *name).collect();
                Err(format!("known formats are {}, csv, ndjson and parquet=PATH", pages.join(", ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        let table = |format, path: &str| Ok(Format::Table(format, path.into()));
        assert_eq!("json".parse(), Ok(Format::Page(Page::Json, None)));
        assert_eq!("sarif=a=b".parse(), Ok(Format::Page(Page::Sarif, Some("a=b".into()))));
        assert_eq!("parquet=a=b".parse(), table(TableFormat::Parquet, "a=b"));
        assert_eq!("csv".parse(), table(TableFormat::Csv, "-"));
        for bad in ["parquet", "csv=", "json=", "xml"] {
            assert!(bad.parse::<Format>().is_err(), "{bad}");
        }
    }
}
