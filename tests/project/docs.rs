//! Generated documentation, and documentation that must match the code. `UPDATE_DOCS=1 cargo test --test project docs`
//! regenerates it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use kubetoll::apiserver::Reason;
use kubetoll::decode::Envelope;
use kubetoll::render::{products, rules::markdown};
use kubetoll::rules::{FileErrors, Policy, RuleSet, parse_rule, schema};

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
    let actual = fs::read_to_string(path(name)).unwrap_or_default();
    assert!(
        actual == text,
        "{name} is not what the code says; run UPDATE_DOCS=1 cargo test --test project docs"
    );
}

/// The help of each subcommand, and of those below it.
fn help(command: &mut clap::Command, parent: &str, text: &mut String) {
    for subcommand in command.get_subcommands_mut().filter(|sub| sub.get_name() != "help") {
        let name = format!("{parent} {}", subcommand.get_name());
        let help = subcommand.clone().render_long_help();
        let lines: Vec<&str> = help.to_string().leak().lines().map(str::trim_end).collect();
        write!(text, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n")).expect("a String");
        self::help(subcommand, &name, text);
    }
}

#[test]
fn command_line_reference_is_up_to_date() {
    let mut text = "# The command line\n\nGenerated from the program itself.\n".to_owned();
    let mut command = kubetoll::cli::command().term_width(100);
    command.build();
    help(&mut command, "kubetoll", &mut text);
    generated("docs/cli.md", &text);
}

#[test]
fn report_schema_is_up_to_date() {
    let schema = schemars::schema_for!(kubetoll::report::v1::PublicReport);
    let text = serde_json::to_string_pretty(&schema).expect("a schema") + "\n";
    generated("docs/report.schema.json", &text);
}

#[test]
fn upgrade_schema_is_up_to_date() {
    let schema = schemars::schema_for!(kubetoll::upgrade::UpgradeReport);
    let text = serde_json::to_string_pretty(&schema).expect("a schema") + "\n";
    generated("docs/upgrade.schema.json", &text);
}

#[test]
fn diff_schema_is_up_to_date() {
    let schema = schemars::schema_for!(kubetoll::diff::DiffReport);
    let text = serde_json::to_string_pretty(&schema).expect("a schema") + "\n";
    generated("docs/diff.schema.json", &text);
}

#[test]
fn budget_schemas_are_up_to_date() {
    let text = serde_json::to_string_pretty(&kubetoll::budget::schema()).expect("a schema") + "\n";
    generated("docs/budget.schema.json", &text);
    let schema = schemars::schema_for!(kubetoll::budget::SlopeReport);
    let text = serde_json::to_string_pretty(&schema).expect("a schema") + "\n";
    generated("docs/slope.schema.json", &text);
}

#[test]
fn rule_and_policy_schemas_are_up_to_date() {
    for (name, schema) in [
        ("docs/rule.schema.json", schema::rule()),
        ("docs/policy.schema.json", schema::policy(&RuleSet::embedded())),
    ] {
        generated(name, &(serde_json::to_string_pretty(&schema).expect("a schema") + "\n"));
    }
}

#[test]
fn products_page_is_up_to_date() {
    generated("docs/products.md", &products::markdown(kubetoll::products::all()));
    let schema = schemars::schema_for!(kubetoll::products::Product);
    let text = serde_json::to_string_pretty(&schema).expect("a schema") + "\n";
    generated("docs/product.schema.json", &text);
}

#[test]
fn rule_pages_are_up_to_date() {
    let rules = RuleSet::embedded();
    for rule in &rules.rules {
        generated(&format!("docs/rules/{}.md", rule.name), &markdown::page(rule));
    }
    generated("docs/rules/names.md", &markdown::names());
    for entry in fs::read_dir(path("docs/rules")).expect("docs/rules") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        let is_known = name.strip_suffix(".md").is_some_and(|name| {
            ["README", "names"].contains(&name) || rules.rules.iter().any(|rule| rule.name == name)
        });
        assert!(is_known, "docs/rules/{name} belongs to no rule; delete it");
    }
}

const INDEX: (&str, &str) =
    ("<!-- rules: written by `UPDATE_DOCS=1 cargo test --test project docs` -->\n", "<!-- end -->\n");

#[test]
fn rule_index_is_up_to_date() {
    let current = fs::read_to_string(path("docs/rules/README.md")).expect("docs/rules/README.md");
    let (head, rest) = current.split_once(INDEX.0).expect("the mark before the table");
    let (_, tail) = rest.split_once(INDEX.1).expect("the mark behind the table");
    let table = markdown::index(&RuleSet::embedded());
    generated("docs/rules/README.md", &format!("{head}{}{table}\n{}{tail}", INDEX.0, INDEX.1));
}

const SECRET_KEYS: (&str, &str) =
    ("<!-- keys: written by `UPDATE_DOCS=1 cargo test --test project docs` -->\n", "<!-- end -->\n");

#[test]
fn secret_keys_are_up_to_date() {
    let current = fs::read_to_string(path("docs/secrets.md")).expect("docs/secrets.md");
    let (head, rest) = current.split_once(SECRET_KEYS.0).expect("the mark before the keys");
    let (_, tail) = rest.split_once(SECRET_KEYS.1).expect("the mark behind the keys");
    let codes = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let keys = format!(
        "- as a part: {}\n- as the whole: {}\n",
        codes(&kubetoll::k8s::secrets::PARTS_OF_KEYS),
        codes(&kubetoll::k8s::secrets::KEYS)
    );
    generated("docs/secrets.md", &format!("{head}{}\n{keys}\n{}{tail}", SECRET_KEYS.0, SECRET_KEYS.1));
}

const PAGE: (&str, &str) =
    ("<!-- page: written by `UPDATE_DOCS=1 cargo test --test project docs` -->\n", "<!-- end -->\n");

/// The README shows what its first command prints.
#[test]
fn page_in_the_readme_is_up_to_date() {
    let scan = Command::new(env!("CARGO_BIN_EXE_kubetoll"))
        .args(["scan", "fixtures/traffic", "--no-progress"])
        .current_dir(path(""))
        .env_remove("COLUMNS")
        .output()
        .expect("kubetoll runs");
    let page = String::from_utf8(scan.stdout).expect("UTF-8");
    let current = fs::read_to_string(path("README.md")).expect("README.md");
    let (head, rest) = current.split_once(PAGE.0).expect("the mark before the page");
    let (_, tail) = rest.split_once(PAGE.1).expect("the mark behind the page");
    let readme = format!("{head}{}```text\n{page}```\n{}{tail}", PAGE.0, PAGE.1);
    assert!(page.lines().count() <= 40 && page.lines().all(|line| line.chars().count() <= 100), "{page}");
    assert!(readme.lines().count() < 120, "a README for 3 a.m. has under 120 lines");
    generated("README.md", &readme);
}

/// The blocks of YAML in a page.
fn yaml(page: &str) -> Vec<String> {
    let text = fs::read_to_string(path(page)).expect(page);
    let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.map(str::to_owned).collect()
}

#[test]
fn example_rule_is_valid() {
    let example =
        yaml("docs/rules/README.md").into_iter().find(|block| block.contains("\nid: ")).expect("a rule");
    let mut errors = FileErrors::default();
    let rule = parse_rule("docs/rules/README.md", &example, &mut errors);
    assert!(rule.is_some(), "{errors}");
    let rule = rule.expect("it is");
    let rules = RuleSet::embedded();
    assert!(rules.rules.iter().all(|own| own.id != rule.id && own.name != rule.name), "it adds a rule");
}

#[test]
fn example_policies_are_valid() {
    let day = chrono::NaiveDate::from_ymd_opt(2026, 11, 1).expect("a day");
    let rules = RuleSet::embedded();
    let blocks = yaml("docs/policy.md");
    assert!(!blocks.is_empty());
    for block in &blocks {
        let read = Policy::read("docs/policy.md".as_ref(), block, &rules, day);
        assert!(read.is_ok(), "{block}{}", read.expect_err("errors"));
    }
    for key in kubetoll::rules::policy::KEYS.iter().chain(&kubetoll::rules::policy::SUPPRESSION_KEYS) {
        assert!(blocks[0].contains(&format!("{}:", key.name)), "the example does not show '{}'", key.name);
    }
}

#[test]
fn reasons_table_is_up_to_date() {
    let current = fs::read_to_string(path("docs/classify.md")).expect("docs/classify.md");
    let (head, _) = current.split_once("## Reasons\n").expect("the heading of the reasons");
    let mut text = format!("{head}## Reasons\n\n| code | meaning |\n|---|---|\n");
    for reason in Reason::ALL {
        writeln!(text, "| `{}` | {} |", reason.code(), reason.sentence()).expect("a String");
    }
    generated("docs/classify.md", &text);
}

/// The text between backticks, outside of code blocks.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(str::lines).flat_map(|line| line.split('`').skip(1).step_by(2))
}

#[test]
fn inputs_page_names_each_format_once() {
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
fn inputs_page_names_only_existing_formats() {
    let text = fs::read_to_string(path("docs/inputs.md")).expect("docs/inputs.md");
    let wrapped = text.split(|c: char| !c.is_ascii_alphanumeric() && !"-/.".contains(c));
    let mut formats_named = 0;
    for word in
        wrapped.filter(|word| word.split_once('/').is_some_and(|(outer, _)| formats().contains(&outer)))
    {
        assert!(word.split('/').all(|layer| formats().contains(&layer)), "{word}");
        formats_named += 1;
    }
    assert!(formats_named > 0);
}

#[test]
fn links_within_the_inputs_page_resolve() {
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
