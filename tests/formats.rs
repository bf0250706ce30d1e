//! What the formats for other programs hold, and that nothing a client sends comes alive in one.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use pulldown_cmark::{Event as Mark, Options, Parser, Tag};
use quick_xml::XmlVersion;
use quick_xml::events::Event as Xml;
use serde_json::{Value, json};

const RULE: &str = "
id: MY001
name: any-list
summary: LISTs
match: request.verb == \"list\"
groupBy: [client, resource]
levels:
  warning: stats.requests >= 1
message: \"{{ client }} of {{ client.kind }} listed {{ resource }}\"
why: Lists `cost`.
fix:
  any: Ask `{{ client }}`, or {{ client }}, to stop.
tradeoff: None.
references: [KEP-2340]
";

const INPUT_RULE: &str = "
id: MY002
name: short-log
summary: Logs of less than an hour
groupBy: [input]
levels:
  info: input.minutes < 60
message: \"the log spans {{ input.minutes }} minutes\"
why: A day has its rhythm.
fix:
  any: Scan a day.
";

const POLICY: &str = "
kubeVersion: 1.30.4
select: [KT101, KT201, MY002]
suppressions:
  - {rule: KT101, client: ops/backup, reason: it ends with the year, expires: 9999-12-31}
  - {rule: KT101, client: ops/gone, reason: it was to end, expires: 2020-01-31}
  - {rule: KT201, client: ops/backup, reason: none, expires: 9999-12-31}
";

/// An event as the apiserver writes it, a minute of them if `number` goes up to 60.
fn event(number: u32, user: &str, agent: &str, uri: &str) -> String {
    let at = |micros: u32| format!("2026-07-23T10:{:02}:{:02}.{micros:06}Z", number / 60, number % 60);
    let event = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": format!("{user}-{number}"),
        "stage": "ResponseComplete", "requestURI": uri, "verb": "list", "user": {"username": user},
        "sourceIPs": ["10.0.0.7"], "userAgent": agent, "responseStatus": {"metadata": {}, "code": 200},
        "requestReceivedTimestamp": at(0), "stageTimestamp": at(750_000),
    });
    event.to_string() + "\n"
}

/// A log with an error, a warning, a finding that is held back, and one on the log itself.
fn usual() -> tempfile::TempDir {
    let poller = "system:serviceaccount:monitoring:poller";
    let many = (0..120).map(|number| event(number, poller, "poller/v1.2.3", "/api/v1/pods"));
    let paged = |number: u32| event(2 * number, "system:serviceaccount:ops:pager", "pager/2", PAGE);
    let held =
        |number: u32| event(3 * number, "system:serviceaccount:ops:backup", "backup/3", "/api/v1/secrets");
    let log: String = many.chain((0..40).map(paged)).chain((0..40).map(held)).collect();
    directory(&log, POLICY)
}

const PAGE: &str = "/api/v1/pods?limit=500&resourceVersion=0";

fn directory(log: &str, policy: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir(dir.path().join("rules")).expect("a directory");
    for (name, text) in [
        ("audit 1.jsonl", log),
        ("kubetoll.yaml", policy),
        ("rules/any-list.yaml", RULE),
        ("rules/short-log.yaml", INPUT_RULE),
    ] {
        fs::write(dir.path().join(name), text).expect("a file");
    }
    dir
}

fn run(dir: &Path, args: &[&str], summary: Option<&Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubetoll"));
    command.args(["scan", "audit 1.jsonl", "--no-progress", "--rules", "rules"]).args(args).current_dir(dir);
    match summary {
        Some(path) => command.env("GITHUB_STEP_SUMMARY", path),
        None => command.env_remove("GITHUB_STEP_SUMMARY"),
    };
    command.output().expect("the binary runs")
}

fn format(dir: &Path, format: &str) -> String {
    let output = run(dir, &["--format", format], None);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn sarif(text: &str) -> Value {
    let log: Value = serde_json::from_str(text).expect("JSON");
    let mut schema: Value =
        serde_json::from_str(include_str!("../fixtures/schemas/sarif-2.1.0.json")).expect("a schema");
    // Their pattern ends with a bracket that none begins; JavaScript takes that for a character.
    for object in ["run", "toolComponent"] {
        schema["definitions"][object]["properties"]["language"] = json!(false);
    }
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> =
        validator.iter_errors(&log).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    log["runs"][0].clone()
}

/// The names of elements, texts and values of attributes.
fn xml(text: &str) -> (Vec<String>, Vec<String>) {
    let mut reader = quick_xml::Reader::from_str(text);
    let (mut names, mut texts) = (Vec::new(), Vec::new());
    loop {
        match reader.read_event().expect("XML") {
            Xml::Start(tag) | Xml::Empty(tag) => {
                names.push(String::from_utf8(tag.name().as_ref().to_vec()).expect("UTF-8"));
                texts.extend(tag.attributes().map(|attribute| {
                    let attribute = attribute.expect("an attribute");
                    attribute.normalized_value(XmlVersion::Explicit1_0).expect("a value").into_owned()
                }));
            }
            Xml::Text(text) => texts.push(text.decode().expect("UTF-8").into_owned()),
            Xml::Eof => return (names, texts),
            _ => {}
        }
    }
}

#[test]
fn each_format_on_a_small_log() {
    let dir = usual();
    for name in ["markdown", "sarif", "junit", "github"] {
        let text = format(dir.path(), name);
        assert_eq!(format(dir.path(), name), text, "{name} is the same in every run");
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn a_run_of_sarif_is_valid_and_whole() {
    let dir = usual();
    let run = sarif(&format(dir.path(), "sarif"));
    let results = run["results"].as_array().expect("results");
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    let ids: Vec<&str> = results.iter().filter_map(|result| result["ruleId"].as_str()).collect();
    assert_eq!(ids, ["MY002", "KT101", "KT201", "KT101"]);
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("few");
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(rules[index]["help"]["markdown"].is_string());
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "audit%201.jsonl");
    }
    let levels: Vec<_> = results.iter().map(|result| result["level"].as_str().expect("a level")).collect();
    assert_eq!(levels, ["note", "error", "warning", "warning"]);
    assert_eq!(results[3]["suppressions"][0]["kind"], "external");
    assert_eq!(results[0]["suppressions"], json!([]));
    let notes = run["invocations"][0]["toolExecutionNotifications"].to_string();
    assert!(notes.contains("expired on 2020-01-31") && notes.contains("holds nothing back"), "{notes}");
}

#[test]
fn a_fingerprint_outlives_another_count() {
    let fingerprints = |count: u32| {
        let log: String =
            (0..count).map(|number| event(number, "alice", "tool/1", "/api/v1/pods?limit=1")).collect();
        let dir = directory(&log, "select: [any-list]\nkubeVersion: 1.30.4\n");
        let run = sarif(&format(dir.path(), "sarif"));
        let results = run["results"].as_array().expect("results").clone();
        results.iter().map(|result| result["partialFingerprints"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(fingerprints(3), fingerprints(90));
    assert_eq!(fingerprints(1).len(), 1);
}

#[test]
fn without_findings_it_is_said_what_was_judged() {
    let dir =
        directory(&event(0, "alice", "tool/1", "/api/v1/pods"), "select: [KT101]\nkubeVersion: 1.30.4\n");
    for name in ["markdown", "github", "junit", "sarif"] {
        let text = format(dir.path(), name);
        assert!(text.contains("no findings in 1 request, judged by 1 rule"), "{name}: {text}");
        assert!(!text.contains("clean"), "{name}: {text}");
    }
}

#[test]
fn several_formats_in_one_run_and_one_of_them_to_standard_output() {
    let dir = usual();
    let summary = dir.path().join("summary");
    fs::write(&summary, "before\n").expect("a file");
    let args = ["--format", "sarif=a.sarif", "--format", "junit=a.xml", "--format", "markdown"];
    let output = run(dir.path(), &args, Some(&summary));
    assert_eq!(output.status.code(), Some(0));
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).expect("a file");
    assert_eq!(String::from_utf8(output.stdout).expect("UTF-8"), format(dir.path(), "markdown"));
    assert_eq!(read("a.sarif"), format(dir.path(), "sarif"));
    assert_eq!(read("a.xml"), format(dir.path(), "junit"));
    assert_eq!(read("summary"), "before\n", "only annotations come with a summary");

    let output = run(dir.path(), &["--format", "github"], Some(&summary));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(read("summary"), format!("before\n{}", format(dir.path(), "markdown")));

    let output = run(dir.path(), &["--format", "sarif", "--format", "junit"], None);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("both go to standard output"));
}

#[test]
fn pages_end_where_github_would_drop_them() {
    let user = |number: u32| event(number % 3_600, &format!("user-{number}"), "tool/1", "/api/v1/pods");
    let log: String = (0..900).map(user).collect();
    let dir = directory(&log, "select: [any-list]\nkubeVersion: 1.30.4\n");
    let annotations = format(dir.path(), "github");
    assert_eq!(annotations.lines().count(), 51);
    assert!(annotations.lines().last().expect("a line").starts_with("::notice title=kubetoll::850 more"));
    let page = format(dir.path(), "markdown");
    assert!((880_000..=900_200).contains(&page.len()), "{}", page.len());
    let sections = page.lines().filter(|line| line.starts_with("### warning")).count();
    let rows = page.lines().filter(|line| line.starts_with("| warning")).count();
    assert_eq!(rows, sections);
    assert!(page.contains(&format!("\n{} more findings are left out", 900 - rows)), "{rows}");
    assert!(page.ends_with("/issues/2340).\n"));
}

const HOSTILE: [&str; 14] = [
    "</script><img src=x onerror=alert(1)>",
    "a | b \\| c |",
    "`` ` ```",
    "[click](javascript:alert(1)) ![x](http://e.vil/x.png)",
    "::error::pwned",
    "x\n::error file=a,line=1::pwned",
    "x%0A::error::pwned",
    "bell\u{7} bidi\u{202e} nul\u{0} \u{fffe}\u{ffff}",
    "]]> <!-- &lt;b&gt; <b>b</b> &amp;",
    "@team #12 GH-1 a@b.c https://e.vil www.e.vil $x$ :boom:",
    "- [ ] a\n\n# b\n\n<details>",
    "\u{1b}]8;;http://e.vil\u{7}x\u{1b}]8;;\u{7} **b** _i_ ~~s~~",
    "1. a",
    "\\",
];

fn hostile() -> tempfile::TempDir {
    let mut log = String::new();
    for (number, text) in (0..).zip(HOSTILE) {
        let path = format!("/api/v1/namespaces/a/pods?x={text}");
        log += &event(number, text, text, &path);
        log += &event(number, "system:serviceaccount:a:b", text, &path);
        log += &event(number, &format!("system:serviceaccount:{text}:{text}"), text, "/api/v1/pods");
        log += &event(number, "bob", "curl/8", &format!("/apis/{text}/v1/{text}"));
    }
    directory(&log, "select: [any-list]\nkubeVersion: 1.30.4\n")
}

fn has_control(text: &str) -> bool {
    text.contains(|c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c))
}

#[test]
fn hostile_names_stay_text_in_markdown() {
    let page = format(hostile().path(), "markdown");
    assert!(!has_control(&page), "{page:?}");
    assert!(page.len() > 10_000);
    let mut plain = String::new();
    let mut in_code = false;
    for mark in Parser::new_ext(&page, Options::all()) {
        match mark {
            Mark::Html(html) | Mark::InlineHtml(html) => panic!("HTML: {html}"),
            Mark::Start(Tag::Image { dest_url, .. }) => panic!("image: {dest_url}"),
            Mark::Start(Tag::Link { dest_url, .. }) => assert!(
                dest_url.starts_with("#my001-") || dest_url.starts_with("https://github.com/kubernetes/"),
                "{dest_url}"
            ),
            Mark::Start(Tag::Heading { .. }) => plain.push('\n'),
            Mark::Start(Tag::Emphasis | Tag::Strikethrough) => panic!("emphasis in {plain}"),
            Mark::TaskListMarker(_) | Mark::Rule | Mark::InlineMath(_) | Mark::DisplayMath(_) => {
                panic!("{mark:?}")
            }
            Mark::Start(Tag::CodeBlock(_)) => in_code = true,
            Mark::End(pulldown_cmark::TagEnd::CodeBlock) => in_code = false,
            Mark::Text(text) if !in_code => plain.push_str(&text),
            _ => {}
        }
    }
    // What GitHub links in text.
    for live in ["@", "#", "://", "www.", "GH-", ":boom:"] {
        assert!(!plain.contains(live), "{live} in {plain}");
    }
    for line in page.lines() {
        assert!(!line.trim_start().starts_with("::"), "{line}");
        assert!(!line.starts_with('|') || line.matches('|').count() == 6, "{line}");
    }
}

#[test]
fn hostile_names_stay_text_in_sarif() {
    let text = format(hostile().path(), "sarif");
    let run = sarif(&text);
    assert!(!has_control(&text), "{text:?}");
    for result in run["results"].as_array().expect("results") {
        let text = result["message"]["text"].as_str().expect("a text");
        assert!(!text.replace("\\]", "").contains("]("), "{text}");
    }
}

#[test]
fn hostile_names_stay_text_in_junit() {
    let text = format(hostile().path(), "junit");
    let (names, texts) = xml(&text);
    let known = ["testsuites", "testsuite", "properties", "property", "testcase", "failure", "system-out"];
    assert!(names.iter().all(|name| known.contains(&name.as_str())), "{names:?}");
    assert!(!text.contains(['\u{fffe}', '\u{ffff}']));
    assert!(texts.iter().all(|text| !has_control(text)), "{texts:?}");
}

#[test]
fn hostile_names_add_no_workflow_command() {
    let dir = hostile();
    let report: Value = serde_json::from_str(&format(dir.path(), "json")).expect("JSON");
    let findings = report["findings"].as_array().expect("findings").len();
    assert!(findings > HOSTILE.len(), "{findings}");
    let text = format(dir.path(), "github");
    assert!(!has_control(&text), "{text:?}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), findings.min(50) + usize::from(findings > 50));
    assert!(lines.iter().all(|line| line.starts_with("::warning file=audit 1.jsonl,line=")
        || line.starts_with("::notice title=kubetoll::")));
}
