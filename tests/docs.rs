//! Documentation that is generated, and documentation that must not drift. `UPDATE_DOCS=1 cargo test --test docs`
//! writes it anew.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use kubetoll::apiserver::Reason;

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
