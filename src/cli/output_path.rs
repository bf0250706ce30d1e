//! The value of `-o`: a path. What other tools take there (`-o json`, `-o top=10`) is refused, with the flag that does
//! the same here.

use std::path::PathBuf;

use super::format::{self, Format, Page};

/// Forms of kubectl's `-o` that have a value, which may hold a `/` or a `.`.
const TEMPLATES: [&str; 7] = [
    "custom-columns",
    "custom-columns-file",
    "go-template",
    "go-template-file",
    "jsonpath",
    "template",
    "jsonpath-file",
];

/// Reads a path. A word without `/` and `.` is not taken for a file's name.
pub(super) fn parse(text: &str) -> Result<PathBuf, String> {
    let (word, value) = text.split_once(['=', ':']).map_or((text, None), |(word, value)| (word, Some(value)));
    let name = word.to_ascii_lowercase();
    if value.is_some() && TEMPLATES.contains(&&*name) {
        return Err("-o takes a file; kubetoll has no output templates: use --format json and jq".to_owned());
    }
    if text == "-" || text.contains(['/', '.']) || text.contains(std::path::MAIN_SEPARATOR) {
        return Ok(text.into());
    }
    let number = value.filter(|value| !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()));
    let instead = match &*name {
        "top" => format!(
            "for a ranked count use --by verb --top {}, for more cases --top N",
            number.unwrap_or("N")
        ),
        "by" => format!("use --by {}", value.filter(|value| !value.is_empty()).unwrap_or("verb")),
        "json" | "markdown" | "sarif" | "junit" | "github" | "csv" | "ndjson" | "text" => {
            format!("use --format {name}")
        }
        "yaml" | "yml" | "jsonpath-as-json" => "use --format json".to_owned(),
        "md" => "use --format markdown".to_owned(),
        "parquet" => "use --format parquet=FILE".to_owned(),
        "wide" => "use --details for more of each case, --format json for everything".to_owned(),
        "name" | "short" => "use --by client for names only".to_owned(),
        _ => String::new(),
    };
    let file = format!("for a file of this name write -o ./{text}");
    Err(if instead.is_empty() {
        format!("-o takes a file; {file}")
    } else {
        format!("-o takes a file; {instead}; {file}")
    })
}

/// Reads the path of a file of JSON lines.
pub(super) fn json_lines(text: &str) -> Result<PathBuf, String> {
    of_one_form(text, "JSON lines", "jsonl", &["json", "jsonl", "ndjson"])
}

/// Reads the path of a YAML file.
pub(super) fn yaml(text: &str) -> Result<PathBuf, String> {
    of_one_form(text, "YAML", "yaml", &["yaml", "yml"])
}

/// Reads a path whose ending is not that of another form.
fn of_one_form(text: &str, form: &str, ending: &str, endings: &[&str]) -> Result<PathBuf, String> {
    let path = parse(text)?;
    let own = format::ending(&path);
    if endings.contains(&&*own) || matches!(Format::of_path(&path), Ok(Format::Page(Page::Text, _))) {
        return Ok(path);
    }
    let better = path.with_extension(ending);
    Err(format!("this command writes {form}, not .{own}; use -o {}", better.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_forms_of_other_tools_are_refused_with_the_flag_to_use() {
        for (text, flag) in [
            ("json", "--format json"),
            ("JSON", "--format json"),
            ("yaml", "--format json"),
            ("wide", "--details"),
            ("top", "--by verb --top N"),
            ("top=10", "--by verb --top 10"),
            ("by=user", "--by user"),
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
    fn endings_of_other_forms_are_refused() {
        for path in ["a.jsonl", "a.JSON", "./a", "a.txt", "-", "/dev/stdout", "a.log"] {
            assert_eq!(json_lines(path), Ok(PathBuf::from(path)));
        }
        for (path, better) in [("a.csv", "-o a.jsonl"), ("d/a.html", "-o d/a.jsonl"), ("a.gz", "-o a.jsonl")]
        {
            let error = json_lines(path).expect_err(path);
            assert!(error.contains(better), "{error}");
        }
        assert!(yaml("policy.yml").is_ok() && yaml("./policy").is_ok() && yaml("policy.json").is_err());
    }

    #[test]
    fn paths_are_taken() {
        for path in ["-", "./json", "report.json", "/tmp/report", "out/report", "..", "top=10.txt"] {
            assert_eq!(parse(path), Ok(PathBuf::from(path)));
        }
    }
}
