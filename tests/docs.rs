//! Documentation that is generated, and documentation that must not drift. `UPDATE_DOCS=1 cargo test --test docs`
//! writes it anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use kubetoll::apiserver::Reason;
use kubetoll::decode::Envelope;

/// Formats of the input, as the report and `--input-format` name them.
fn formats() -> [&'static str; Envelope::ALL.len()] {
    Envelope::ALL.map(Envelope::as_str)
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn generated(name: &str, text: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path(name), text).expect("the docs can be written");
    }
    let found = fs::read_to_string(path(name)).unwrap_or_default();
    assert!(found == text, "{name} is not what the code says; run UPDATE_DOCS=1 cargo test --test docs");
}

#[test]
fn the_command_line_reference() {
    let mut text = "# The command line\n\nGenerated from the program itself.\n".to_owned();
    let mut command = kubetoll::cli::command().term_width(100);
    command.build();
    for subcommand in command.get_subcommands_mut().filter(|sub| sub.get_name() != "help") {
        let name = subcommand.get_name().to_owned();
        let help = subcommand.clone().render_long_help();
        let lines: Vec<&str> = help.to_string().leak().lines().map(str::trim_end).collect();
        write!(text, "\n## kubetoll {name}\n\n```text\n{}\n```\n", lines.join("\n")).expect("a String");
    }
    generated("docs/cli.md", &text);
}

#[test]
fn the_schema_of_the_report() {
    let schema = schemars::schema_for!(kubetoll::report::Report);
    let text = serde_json::to_string_pretty(&schema).expect("a schema") + "\n";
    generated("docs/report.schema.json", &text);
}

#[test]
fn the_reasons() {
    let current = fs::read_to_string(path("docs/classify.md")).expect("docs/classify.md");
    let (head, _) = current.split_once("## Reasons\n").expect("the heading of the reasons");
    let mut text = format!("{head}## Reasons\n\n| code | meaning |\n|---|---|\n");
    for reason in Reason::all() {
        writeln!(text, "| `{}` | {} |", reason.code(), reason.sentence()).expect("a String");
    }
    generated("docs/classify.md", &text);
}

/// What stands between backticks, outside of code blocks.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(str::lines).flat_map(|line| line.split('`').skip(1).step_by(2))
}

#[test]
fn the_inputs_name_each_format_once() {
    let text = fs::read_to_string(path("docs/inputs.md")).expect("docs/inputs.md");
    let (head, _) = text.split_once("\n## ").expect("a heading");
    let rows: Vec<&str> = head.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    let mut named: BTreeMap<&str, usize> = formats().into_iter().map(|format| (format, 0)).collect();
    for span in rows.iter().flat_map(|row| code_spans(row)) {
        if let Some(times) = named.get_mut(span) {
            *times += 1;
        }
    }
    assert!(named.values().all(|times| *times == 1), "{named:?}");
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let format = cells.get(2).and_then(|cell| code_spans(cell).next());
        assert!(cells.len() == 4 && format.is_some_and(|format| formats().contains(&format)), "{row}");
    }
}

#[test]
fn the_inputs_wrap_only_formats_that_there_are() {
    let text = fs::read_to_string(path("docs/inputs.md")).expect("docs/inputs.md");
    let wrapped = text.split(|c: char| !c.is_ascii_alphanumeric() && !"-/.".contains(c));
    let mut found = 0;
    for word in
        wrapped.filter(|word| word.split_once('/').is_some_and(|(outer, _)| formats().contains(&outer)))
    {
        assert!(word.split('/').all(|layer| formats().contains(&layer)), "{word}");
        found += 1;
    }
    assert!(found > 0);
}

#[test]
fn links_within_the_inputs_lead_somewhere() {
    let text = fs::read_to_string(path("docs/inputs.md")).expect("docs/inputs.md");
    let anchor = |heading: &str| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -".contains(*c));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    let anchors: Vec<String> = text.lines().filter_map(|line| line.strip_prefix("## ")).map(anchor).collect();
    for link in text.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(anchors.iter().any(|anchor| anchor == link), "#{link} is none of {anchors:?}");
    }
}
