//! Parses the value of `-o`, a path. Values that other tools accept (`-o json`, `-o top=10`) are errors that name
//! kubetoll's flag.

use std::path::PathBuf;

use super::format::{self, Format};
use crate::render::formats::{self, OutputFormat};

/// Formats of kubectl's `-o` that take a value. The value may contain a `/` or a `.`.
const TEMPLATES: [&str; 7] = [
    "custom-columns",
    "custom-columns-file",
    "go-template",
    "go-template-file",
    "jsonpath",
    "template",
    "jsonpath-file",
];

/// The help of `--output`.
pub(super) fn help() -> String {
    format!(
        "Write to a file instead of standard output. The file is written whole or not at all. PATH has a `/` or a `.`, \
         or is `-` for standard output. Without `--format`, the file extension selects the format: {}, else text",
        formats::extensions_help()
    )
}

/// Parses a path. A word without `/` and `.` is not a path. A known word with a value, such as `json=out.json`, is
/// not a path either.
pub(super) fn parse(text: &str) -> Result<PathBuf, String> {
    let (word, value) = text.split_once(['=', ':']).map_or((text, None), |(word, value)| (word, Some(value)));
    let name = word.to_ascii_lowercase();
    if value.is_some() && TEMPLATES.contains(&&*name) {
        return Err("-o takes a file; kubetoll has no output templates: use --format json and jq".to_owned());
    }
    let value = value.filter(|value| !value.is_empty());
    let digits = value.map(|value| &value[..value.bytes().take_while(u8::is_ascii_digit).count()]);
    let number = digits.filter(|digits| !digits.is_empty());
    let format = |name: &str| match value {
        Some(path) => format!("use --format {name}={path}"),
        None => format!("use --format {name}"),
    };
    let instead = match &*name {
        "top" => {
            let number = number.unwrap_or("N");
            format!("for a ranked count use --by verb --top {number}, for more cases --top {number}")
        }
        "by" => format!("use --by {}", value.unwrap_or("verb")),
        name if OutputFormat::by_name(name).is_some_and(|format| value.is_some() || !format.needs_path()) => {
            format(name)
        }
        "yaml" | "yml" | "jsonpath-as-json" => "use --format json".to_owned(),
        "md" => format("markdown"),
        "parquet" => "use --format parquet=FILE".to_owned(),
        "wide" => "use --details for more of each case, --format json for everything".to_owned(),
        "name" | "short" => "use --by client for names only".to_owned(),
        _ => String::new(),
    };
    // `json=out.json` has the form of `--format`, so it is not a path.
    let is_path = text == "-" || text.contains(['/', '.', std::path::MAIN_SEPARATOR]);
    if is_path && (instead.is_empty() || value.is_none()) {
        return Ok(text.into());
    }
    let file = format!("for a file of this name write -o ./{text}");
    Err(if instead.is_empty() {
        format!("-o takes a file; {file}")
    } else {
        format!("-o takes a file; {instead}; {file}")
    })
}

/// Parses the path of a file with JSON lines.
pub(super) fn json_lines(text: &str) -> Result<PathBuf, String> {
    path_with_extension(text, "JSON lines", "jsonl", &["json", "jsonl", "ndjson"])
}

/// Parses the path of a YAML file.
pub(super) fn yaml(text: &str) -> Result<PathBuf, String> {
    path_with_extension(text, "YAML", "yaml", &["yaml", "yml"])
}

/// Parses a path. The file extension of another format is an error.
fn path_with_extension(
    text: &str,
    format_name: &str,
    extension: &str,
    extensions: &[&str],
) -> Result<PathBuf, String> {
    // The error of `parse` advises flags of `scan`, so it is replaced.
    let path = parse(text).map_err(|_| {
        format!(
            "-o takes a file; this command writes {format_name}; use -o FILE.{extension}; for a file of this name write -o ./{text}"
        )
    })?;
    let own = format::ending(&path);
    if extensions.contains(&&*own) || Format::from_path(&path).is_ok_and(|one| one.format.is_text()) {
        return Ok(path);
    }
    let better = path.with_extension(extension);
    Err(format!("this command writes {format_name}, not .{own}; use -o {}", better.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_values_of_other_tools_are_errors_that_name_the_flag() {
        for (text, flag) in [
            ("json", "--format json"),
            ("JSON", "--format json"),
            ("yaml", "--format json"),
            ("wide", "--details"),
            ("top", "--by verb --top N"),
            ("top=10", "--by verb --top 10"),
            ("by=user", "--by user"),
            ("json=out.json", "--format json=out.json;"),
            ("MD=out/a.md", "--format markdown=out/a.md;"),
            ("parquet=a.parquet", "--format parquet=a.parquet;"),
            ("top=5.json", "--top 5;"),
            ("name", "--by client"),
            ("report", "-o ./report"),
            ("jsonpath={.items[*]}", "--format json"),
            ("custom-columns=A:.a/b", "--format json"),
            ("go-template={{.}}", "--format json"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(flag), "{text}: {error}");
        }
    }

    #[test]
    fn file_extension_of_another_format_is_an_error() {
        for path in ["a.jsonl", "a.JSON", "./a", "a.txt", "-", "/dev/stdout", "a.log"] {
            assert_eq!(json_lines(path), Ok(PathBuf::from(path)));
        }
        for (path, better) in [("a.csv", "-o a.jsonl"), ("d/a.html", "-o d/a.jsonl"), ("a.gz", "-o a.jsonl")]
        {
            let error = json_lines(path).expect_err(path);
            assert!(error.contains(better), "{error}");
        }
        for text in ["json", "csv", "wide", "top=10", "jsonpath={.items}"] {
            let error = json_lines(text).expect_err(text);
            assert!(error.contains("-o FILE.jsonl") && !error.contains("--"), "{text}: {error}");
        }
        assert!(yaml("policy.yml").is_ok() && yaml("./policy").is_ok() && yaml("policy.json").is_err());
    }

    #[test]
    fn output_flag_accepts_paths() {
        for path in
            ["-", "./json", "report.json", "/tmp/report", "out/report", "..", "./top=10.txt", "a=b.json"]
        {
            assert_eq!(parse(path), Ok(PathBuf::from(path)));
        }
    }
}
