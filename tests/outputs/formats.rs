//! The formats for other programs: their content, and that text of clients is escaped.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use pulldown_cmark::{Event as Mark, Options, Parser, Tag};
use quick_xml::XmlVersion;
use quick_xml::events::Event as Xml;
use serde_json::{Value, json};

use crate::support::event::AuditEvent;

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
sources:
  - {client: ops/pager, path: ./controllers/pager.go, line: 42}
  - {client: ops/*, path: controllers/main.go}
  - {client: shop/*, path: shop/main.go}
";

/// An event as the apiserver writes it, a minute of them if `number` goes up to 60.
fn event(number: u32, user: &str, agent: &str, uri: &str) -> String {
    let received = u64::from(number) * 1_000_000;
    let id = format!("{user}-{number}");
    AuditEvent::new(&id, "list", uri).by(user, agent).ip("10.0.0.7").at(received, 750_000).line()
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
        serde_json::from_str(include_str!("../../fixtures/schemas/sarif-2.1.0.json")).expect("a schema");
    // The pattern ends with an unmatched bracket. JavaScript reads that as a literal character.
    for object in ["run", "toolComponent"] {
        schema["definitions"][object]["properties"]["language"] = json!(false);
    }
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> =
        validator.iter_errors(&log).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    log["runs"][0].clone()
}

/// An element of junit-10.xsd, the schema of Jenkins' xUnit plugin: the attributes that it must and that it may have, its
/// children, and whether it may hold text.
struct Element {
    name: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
    children: &'static [&'static str],
    has_text: bool,
}

const RESULTS: [&str; 5] = ["skipped", "error", "failure", "system-out", "system-err"];

const JUNIT: [Element; 9] = [
    Element {
        name: "testsuites",
        required: &[],
        optional: &["name", "time", "tests", "failures", "errors"],
        children: &["testsuite"],
        has_text: false,
    },
    Element {
        name: "testsuite",
        required: &["name", "tests", "failures", "errors"],
        optional: &[
            "group",
            "time",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
            "file",
            "log",
            "url",
        ],
        children: &["testsuite", "properties", "testcase", "system-out", "system-err"],
        has_text: false,
    },
    Element { name: "properties", required: &[], optional: &[], children: &["property"], has_text: false },
    Element { name: "property", required: &["name", "value"], optional: &[], children: &[], has_text: false },
    Element {
        name: "testcase",
        required: &["name"],
        optional: &["time", "classname", "group"],
        children: &RESULTS,
        has_text: false,
    },
    Element { name: "failure", required: &[], optional: &["type", "message"], children: &[], has_text: true },
    Element { name: "error", required: &[], optional: &["type", "message"], children: &[], has_text: true },
    Element { name: "skipped", required: &[], optional: &["type", "message"], children: &[], has_text: true },
    Element { name: "system-out", required: &[], optional: &[], children: &[], has_text: true },
];

/// The content of a `JUnit` XML file.
#[derive(Debug, Default)]
struct Junit {
    /// Class and name of each test case.
    cases: Vec<(String, String)>,
    failures: usize,
    /// Texts and values of attributes.
    texts: Vec<String>,
}

/// Reads `JUnit` XML and validates it against Jenkins' schema.
fn junit(text: &str) -> Junit {
    let mut reader = quick_xml::Reader::from_str(text);
    let mut junit = Junit::default();
    let mut open: Vec<&Element> = Vec::new();
    loop {
        let event = reader.read_event().expect("XML");
        match &event {
            Xml::Start(tag) | Xml::Empty(tag) => {
                let name = String::from_utf8(tag.name().as_ref().to_vec()).expect("UTF-8");
                let element = JUNIT.iter().find(|element| element.name == name);
                let element = element.unwrap_or_else(|| panic!("<{name}> is not in the schema"));
                match open.last() {
                    Some(parent) => {
                        assert!(parent.children.contains(&&*name), "<{name}> in <{}>", parent.name);
                    }
                    None => assert_eq!(name, "testsuites"),
                }
                let attributes: Vec<(String, String)> = tag
                    .attributes()
                    .map(|attribute| {
                        let attribute = attribute.expect("an attribute");
                        let value = attribute.normalized_value(XmlVersion::Explicit1_0).expect("a value");
                        let key = String::from_utf8(attribute.key.as_ref().to_vec()).expect("UTF-8");
                        (key, value.into_owned())
                    })
                    .collect();
                let value = |key: &str| attributes.iter().find(|(own, _)| own == key).map(|(_, value)| value);
                for key in element.required {
                    assert!(value(key).is_some(), "<{name}> without {key}");
                }
                for (key, _) in &attributes {
                    let is_known = element.required.iter().chain(element.optional).any(|known| known == key);
                    assert!(is_known, "<{name}> has {key}");
                }
                if name == "testcase" {
                    let part = |key: &str| value(key).cloned().unwrap_or_default();
                    junit.cases.push((part("classname"), part("name")));
                }
                junit.failures += usize::from(name == "failure");
                junit.texts.extend(attributes.into_iter().map(|(_, value)| value));
                if matches!(event, Xml::Start(_)) {
                    open.push(element);
                }
            }
            Xml::End(_) => assert!(open.pop().is_some()),
            Xml::Text(text) => {
                let text = text.decode().expect("UTF-8").into_owned();
                let may = text.trim().is_empty() || open.last().is_some_and(|element| element.has_text);
                assert!(may, "text: {text}");
                junit.texts.push(text);
            }
            Xml::Eof => break,
            _ => {}
        }
    }
    assert!(open.is_empty());
    junit
}

#[test]
fn each_format_of_a_small_log_matches_its_snapshot() {
    let dir = usual();
    for name in ["markdown", "sarif", "junit", "github"] {
        let text = format(dir.path(), name);
        assert_eq!(format(dir.path(), name), text, "{name} is the same in every run");
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn each_format_has_the_same_cases_in_the_same_order() {
    // Three ServiceAccounts that run one program are one case.
    let backups = (0..3).flat_map(|namespace| {
        let user = format!("system:serviceaccount:team-{namespace}:backup");
        (0..60).map(move |number| event(number, &user, "backup/1", "/api/v1/secrets"))
    });
    let dir = directory(&(backups.collect::<String>() + &polls(90)), "kubeVersion: 1.30.4\n");
    let report: Value = serde_json::from_str(&format(dir.path(), "json")).expect("JSON");
    let cases = report["cases"].as_array().expect("cases");
    assert!(cases.len() > 2, "{cases:?}");
    assert!(cases.iter().any(|case| case["members"]["count"] == 3), "{cases:?}");
    let run = sarif(&format(dir.path(), "sarif"));
    let results = run["results"].as_array().expect("results");
    let page = format(dir.path(), "markdown");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    let annotations = format(dir.path(), "github");
    let annotations: Vec<&str> = annotations.lines().collect();
    let tests = format(dir.path(), "junit");
    let tests: Vec<&str> = tests.split("<testcase ").skip(1).collect();
    assert_eq!((results.len(), tests.len()), (cases.len(), cases.len()));
    for (at, case) in cases.iter().enumerate() {
        let text = |name: &str| case[name].as_str().unwrap_or_default();
        let members = match case["members"]["count"].as_u64() {
            Some(3) => " (3 namespaces)",
            _ => "",
        };
        let name = case["client"].as_str().unwrap_or("log").to_owned() + members;
        let rules: Vec<&str> =
            case["rules"].as_array().expect("rules").iter().filter_map(Value::as_str).collect();
        let share = match case["load"]["share"].as_f64() {
            Some(share) if case["members"]["count"] != 0 => format!("{:.1} %", share * 100.0),
            _ => String::new(),
        };
        assert_eq!(results[at]["properties"]["client"], name);
        assert_eq!(results[at]["properties"]["load"], case["load"]);
        assert_eq!(results[at]["properties"]["rules"], case["rules"]);
        let result = results[at]["message"]["text"].as_str().expect("a text");
        let of_case = [
            ("markdown", rows[at].to_owned(), format!("| {} | {} |", case["rank"], text("severity"))),
            ("github", annotations[at].replace("%25", "%"), format!("title={}. {name}%3A", case["rank"])),
            ("junit", tests[at].to_owned(), format!("{}. {}:", case["rank"], text("severity"))),
            ("sarif", result.to_owned(), format!("Case {}, {}:", case["rank"], text("severity"))),
        ];
        for (format, shown, begin) in of_case {
            let shown = shown.replace("&quot;", "\"");
            assert!(shown.contains(&begin), "{format}: {begin}: {shown}");
            let parts = [
                case["client"].as_str().unwrap_or("log"),
                members.trim_matches([' ', '(', ')']),
                text("fix"),
            ];
            for part in parts.into_iter().chain([share.as_str()]).chain(rules.iter().copied()) {
                assert!(shown.contains(part), "{format}: {part}: {shown}");
            }
        }
    }
}

#[test]
fn sarif_has_a_result_for_each_case() {
    let dir = usual();
    let run = sarif(&format(dir.path(), "sarif"));
    let results = run["results"].as_array().expect("results");
    let ids: Vec<&str> = results.iter().filter_map(|result| result["ruleId"].as_str()).collect();
    assert_eq!(ids, ["KT101", "KT201", "MY002"], "what the policy holds back would be an open alert");
    let levels: Vec<_> = results.iter().map(|result| result["level"].as_str().expect("a level")).collect();
    assert_eq!(levels, ["error", "warning", "note"]);
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    for (rank, result) in (1..).zip(results) {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("few");
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert_eq!(result["properties"]["rank"], rank);
        assert!(result["properties"]["rules"].as_array().is_some_and(|rules| !rules.is_empty()));
        assert_eq!(result.get("suppressions"), None);
    }
    let notes = run["invocations"][0]["toolExecutionNotifications"].to_string();
    for note in
        ["expired on 2020-01-31", "holds nothing back", "held back until 9999-12-31: KT101 ops/backup"]
    {
        assert!(notes.contains(note), "{note}: {notes}");
    }
}

#[test]
fn sarif_has_the_rules_that_fired_with_their_pages() {
    let dir = directory(&polls(90), "kubeVersion: 1.30.4\n");
    let run = sarif(&format(dir.path(), "sarif"));
    let results = run["results"].as_array().expect("results");
    let mut fired: Vec<&str> = results
        .iter()
        .flat_map(|result| result["properties"]["rules"].as_array().expect("rules"))
        .map(|rule| rule.as_str().expect("an id"))
        .collect();
    fired.sort_unstable();
    fired.dedup();
    assert!(fired.len() > 2, "{fired:?}");
    let driver = &run["tool"]["driver"];
    let is_address = |value: &Value| value.as_str().is_some_and(|uri| uri.starts_with("https://"));
    assert!(is_address(&driver["informationUri"]));
    let rules = driver["rules"].as_array().expect("rules");
    let ids: Vec<&str> = rules.iter().filter_map(|rule| rule["id"].as_str()).collect();
    assert_eq!(ids, fired);
    assert!(ids.contains(&"MY002"), "a rule without references, too: {ids:?}");
    for rule in rules {
        assert!(is_address(&rule["helpUri"]), "{rule}");
    }
}

/// `count` LISTs, one per second.
fn polls(count: u32) -> String {
    let user = "system:serviceaccount:team-a:operator";
    (0..count).map(|number| event(number, user, "operator/1", "/api/v1/pods?limit=1")).collect()
}

#[test]
fn fingerprints_outlive_other_counts_severities_and_file_names() {
    let fingerprints = |count: u32, log: &str| {
        let dir = directory(&polls(count), "ignore: [KT9, MY002]\nkubeVersion: 1.30.4\n");
        fs::rename(dir.path().join("audit 1.jsonl"), dir.path().join(log)).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubetoll"));
        command.args(["scan", log, "--no-progress", "--rules", "rules", "--format", "sarif"]);
        let output = command.current_dir(dir.path()).output().expect("the binary runs");
        let run = sarif(&String::from_utf8(output.stdout).expect("UTF-8"));
        let results = run["results"].as_array().expect("results").clone();
        let print = |result: &Value| (result["ruleId"].clone(), result["partialFingerprints"].clone());
        let level = results[0]["level"].as_str().expect("a level").to_owned();
        (results.iter().map(print).collect::<Vec<_>>(), level)
    };
    let (short, level) = fingerprints(20, "audit.log");
    let (long, level_of_long) = fingerprints(3_000, "audit-2026-07-23.log");
    assert_eq!(short, long);
    assert_ne!(level, level_of_long);
    assert_eq!(short.len(), 1, "{short:?}");
    let own = short[0].1["kubetoll/v2"].as_str().expect("a fingerprint");
    assert_eq!(short[0].1["primaryLocationLineHash"], format!("{own}:1"));
}

#[test]
fn a_source_takes_results_and_annotations_to_the_repository() {
    let dir = usual();
    let run = sarif(&format(dir.path(), "sarif"));
    let place = |location: &Value| {
        let physical = &location["physicalLocation"];
        (physical["artifactLocation"]["uri"].clone(), physical["region"]["startLine"].clone())
    };
    let poller = &run["results"][0];
    assert_eq!(place(&poller["locations"][0]), (json!("audit%201.jsonl"), json!(1)), "no source is given");
    let pager = &run["results"][1];
    assert_eq!(place(&pager["locations"][0]), (json!("controllers/pager.go"), json!(42)));
    assert_eq!(place(&pager["relatedLocations"][0]), (json!("audit%201.jsonl"), json!(121)));
    let annotations = format(dir.path(), "github");
    assert!(
        annotations.contains("::warning file=controllers/pager.go,line=42,title=2. ops/pager"),
        "{annotations}"
    );
    assert!(annotations.contains("no client in this log matches: source of shop/* (shop/main.go)"));
    assert!(!annotations.contains("source of ops/*"), "it matches ops/backup");
    let report: Value = serde_json::from_str(&format(dir.path(), "json")).expect("JSON");
    assert_eq!(report["cases"][1]["source"], json!({ "path": "controllers/pager.go", "line": 42 }));
    let filtered = run_with(dir.path(), &["--user", "system:serviceaccount:ops:*"]);
    assert!(!filtered.contains("no client in this log matches"), "a filter left the others out");
}

fn run_with(dir: &Path, args: &[&str]) -> String {
    let output = run(dir, args, None);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn junit_has_a_test_case_for_each_case() {
    let dir = usual();
    let junit = self::junit(&format(dir.path(), "junit"));
    let cases: Vec<(&str, &str)> = junit.cases.iter().map(|(class, name)| (&**class, &**name)).collect();
    assert_eq!(
        cases,
        [
            ("monitoring/poller", "KT101 list-from-etcd: pods"),
            ("ops/pager", "KT201 limit-ignored: pods"),
            ("(input)", "MY002 short-log"),
            ("ops/backup", "KT101 list-from-etcd: list secrets cluster-wide"),
        ]
    );
    assert_eq!(junit.failures, 2);
    let none = directory(&polls(1), "select: [KT101]\nkubeVersion: 1.30.4\n");
    let junit = self::junit(&format(none.path(), "junit"));
    assert_eq!(junit.cases, [("all clients".to_owned(), "no findings".to_owned())]);
    assert!(!junit.texts.iter().any(|text| text.contains("nothing was judged")));
    let empty = run_with(none.path(), &["--user", "nobody", "--format", "junit"]);
    let empty = self::junit(&empty);
    assert!(empty.texts.iter().any(|text| text == "no requests, so nothing was judged"), "{empty:?}");
}

#[test]
fn formats_without_findings_name_the_judged_input() {
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

/// Cases of clients with names that are long and hostile.
fn many() -> tempfile::TempDir {
    let hostile = |number: u32| HOSTILE[number as usize % HOSTILE.len()].repeat(40);
    let log: String = (0..300)
        .map(|number| {
            let name = format!("{number} {}", hostile(number));
            event(
                number,
                &name,
                &name,
                &format!("/api/v1/namespaces/{number}/pods?x={}", hostile(number + 1)),
            )
        })
        .collect();
    directory(&log, "select: [any-list]\nkubeVersion: 1.30.4\n")
}

#[test]
fn annotations_are_of_the_ten_worst_cases() {
    let annotations = format(many().path(), "github");
    let lines: Vec<&str> = annotations.lines().collect();
    assert_eq!(lines.len(), 11, "{annotations}");
    for (rank, line) in (1..).zip(&lines[..10]) {
        assert!(line.starts_with("::warning file=audit 1.jsonl,line="), "{line}");
        assert!(line.contains(&format!("title={rank}. ")), "{line}");
    }
    assert!(lines[10].starts_with("::notice title=kubetoll::290 more of 300 cases"), "{}", lines[10]);
}

#[test]
fn markdown_fits_into_a_comment() {
    let page = format(many().path(), "markdown");
    let chars = page.chars().count();
    assert!((50_000..=60_000).contains(&chars), "{chars}");
    is_well_formed(&page);
    let rows = page.lines().filter(|line| line.contains("| warning |")).count();
    let details = page.lines().filter(|line| line.contains(". warning <code>")).count();
    let left_out = format!("{} more cases and the details of {} are left out", 300 - rows, 300 - details);
    assert!(rows > 5 && details > 5 && page.contains(&left_out), "{rows} {details} {left_out}");
    assert!(page.contains("--format json"));
    let table = page.find("| # | severity | client |").expect("a table");
    assert!(table < page.find("<details>").expect("details"));
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
    is_well_formed(&page);
}

/// Checks Markdown: its only HTML folds details and breaks lines, all tags are closed, and there are no links.
fn is_well_formed(page: &str) {
    let mut plain = String::new();
    let (mut in_code, mut depth) = (false, 0);
    for mark in Parser::new_ext(page, Options::all()) {
        match mark {
            Mark::InlineHtml(html) => assert_eq!(&*html, "<br>"),
            Mark::Html(html) => match html.trim_end() {
                "<details>" => depth += 1,
                "</details>" => depth -= 1,
                html => {
                    let summary =
                        html.strip_prefix("<summary>").and_then(|rest| rest.strip_suffix("</summary>"));
                    let summary = summary.unwrap_or_else(|| panic!("HTML: {html}"));
                    let text = summary.replace("<code>", "").replace("</code>", "");
                    assert!(!text.contains(['<', '>']), "{summary}");
                    assert_eq!(summary.matches("<code>").count(), summary.matches("</code>").count());
                }
            },
            Mark::Start(Tag::Image { dest_url, .. } | Tag::Link { dest_url, .. }) => {
                panic!("link: {dest_url}")
            }
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
        assert!((0..=1).contains(&depth), "details in details");
    }
    assert!(depth == 0 && !in_code, "something is open at the end");
    // What GitHub links in text.
    for live in ["@", "#12", "://", "www.", "GH-", ":boom:"] {
        assert!(!plain.contains(live), "{live} in {plain}");
    }
    for line in page.lines() {
        assert!(!line.trim_start().starts_with("::"), "{line}");
        assert!(!line.starts_with('|') || line.matches('|').count() == 9, "{line}");
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
    let junit = junit(&text);
    assert!(junit.cases.len() > HOSTILE.len());
    assert!(!text.contains(['\u{fffe}', '\u{ffff}']));
    assert!(junit.texts.iter().all(|text| !has_control(text)), "{:?}", junit.texts);
}

#[test]
fn hostile_names_add_no_workflow_command() {
    let dir = hostile();
    let report: Value = serde_json::from_str(&format(dir.path(), "json")).expect("JSON");
    let cases = report["cases"].as_array().expect("cases").len();
    assert!(cases > 10, "{cases}");
    let text = format(dir.path(), "github");
    assert!(!has_control(&text), "{text:?}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 11);
    assert!(lines.iter().all(|line| line.starts_with("::warning file=audit 1.jsonl,line=")
        || line.starts_with("::notice title=kubetoll::")));
}
