//! Rules and policies on the command line: `kubetoll rules`, `--rules`, `--select`, kubetoll.yaml.

use jsonschema::Validator;
use kubetoll::rules::schema;
use kubetoll::rules::{FileErrors, RuleSet, parse_rule};
use serde_json::{Value, json};

use crate::support::command::{Dir, event, events};

/// A valid rule that fires on the events of these tests.
const RULE: &str = "\
id: ACME001
name: acme-lists
summary: LISTs
match: request.verb == \"list\"
groupBy: [client]
thresholds: {some: 5}
levels:
  warning: stats.requests >= threshold.some
message: '{{ client }} listed {{ stats.requests }} times'
why: w
fix:
  any: f
";

/// LISTs of pods by two clients, read from etcd on 1.30.
fn log() -> Dir {
    let other = events(40..80).replace("monitoring:poller", "velero:backup").replace("poller/", "backup/");
    let log = events(0..40) + &other;
    Dir::with(&[("audit.log", log.as_bytes())])
}

const SCAN: [&str; 3] = ["audit.log", "--kube-version", "1.30.4"];

fn scan(dir: &Dir, more: &[&str]) -> Value {
    dir.report(&[&SCAN, more].concat())
}

/// Rule, severity and client of each finding.
fn rule_findings(report: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().expect("findings");
    let short = |client: String| client.rsplit(':').next().unwrap_or_default().to_owned();
    let one = |f: &Value| (text(&f["rule"]["id"]), text(&f["severity"]), short(text(&f["client"])));
    findings.iter().map(one).collect()
}

fn findings(of: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    of.iter().map(|(rule, severity, client)| ((*rule).into(), (*severity).into(), (*client).into())).collect()
}

/// The error message of a command that fails.
fn refused(dir: &Dir, args: &[&str]) -> String {
    let (code, out, err) = dir.run_with(args, b"");
    assert_eq!(code, Some(2), "{args:?}: {out}{err}");
    out + &err
}

fn shown(dir: &Dir, args: &[&str]) -> String {
    let (code, out, err) = dir.run_with(args, b"");
    assert_eq!((code, err.as_str()), (Some(0), ""), "{args:?}");
    out
}

#[test]
fn rules_list_names_every_rule_within_80_columns() {
    let dir = Dir::with(&[]);
    let list = shown(&dir, &["rules", "list"]);
    for rule in &RuleSet::embedded().rules {
        assert!(list.contains(&format!("{} {}", rule.id, rule.name)), "{}", rule.id);
    }
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
    let only = shown(&dir, &["rules", "list", "--select", "KT2", "--ignore", "small-pages,KT201"]);
    assert!(only.contains("KT203") && !only.contains("KT202") && !only.contains("KT201"), "{only}");
    assert!(!only.contains("KT101"), "{only}");
}

#[test]
fn rules_list_as_json_has_all_keys() {
    let dir = Dir::with(&[("kubetoll.yaml", b"rules: {KT101: {thresholds: {warning: 77}}}")]);
    let list: Value =
        serde_json::from_str(&shown(&dir, &["rules", "list", "--format", "json"])).expect("JSON");
    let list = list.as_array().expect("an array");
    assert_eq!(list.len(), RuleSet::embedded().rules.len());
    for rule in list {
        for key in &kubetoll::rules::rule_file::KEYS {
            assert!(rule.get(key.name).is_some(), "{}: {}", rule["id"], key.name);
        }
    }
    assert_eq!(list[0]["thresholds"]["warning"], 77, "as the policy sets it");
    assert!(list[0]["fix"]["helm"][0]["when"].is_string());
    assert_eq!(list[0]["groupBy"], json!(["client", "resource", "program"]));
}

#[test]
fn a_page_explains_a_rule_by_id_and_by_name() {
    let dir = Dir::with(&[]);
    let page = shown(&dir, &["rules", "explain", "KT101"]);
    assert_eq!(page, shown(&dir, &["rules", "explain", "list-from-etcd"]));
    for part in [
        "KT101 list-from-etcd\n",
        "request.verb == \"list\" && request.fromEtcd",
        "\nlevels\n  error\n",
        "    warning: 20\n",
        "\nwhy\n",
        "  client-go\n  When `request.reason == \"uncached-resource\"`:\n    Turn the watch cache for this",
        "  When `server.minor >= 31 && !server.consistentLists`:\n    Upgrade etcd",
        "  helm, terraform\n",
        "  Otherwise:\n",
        "\ntrade-off\n",
        "\nquiet for\n  - Clients with fewer than 10 such LISTs",
        "\nverify\n",
        "  KEP-2340  https://github.com/kubernetes/enhancements/issues/2340\n",
        "      - rule: list-from-etcd\n",
        "--ignore list-from-etcd\n",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let at = |part: &str| page.find(part).expect(part);
    let order = ["\nmessage\n", "\nwhy\n", "\nfix\n", "\nverify\n", "\ncondition\n", "\nlevels\n"].map(at);
    assert!(order.is_sorted(), "conditions come last: {order:?}");
    for line in page.lines().filter(|line| !line.contains("https://")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn each_rule_has_its_page() {
    for rule in &RuleSet::embedded().rules {
        let page = kubetoll::render::rules::terminal::render(rule, 80);
        assert!(page.contains(&rule.name) && page.contains("\u{1b}["), "{}", rule.name);
        let long = |line: &&str| anstream::adapter::strip_str(line).to_string().chars().count() > 80;
        let long: Vec<&str> = page.lines().filter(long).filter(|line| !line.contains("https://")).collect();
        assert!(long.is_empty(), "{}: {long:?}", rule.name);
    }
}

#[test]
fn an_unknown_rule_is_an_error_with_a_suggestion() {
    let dir = log();
    for (args, message) in [
        (
            vec!["rules", "explain", "list-from-etc"],
            "error: no such rule 'list-from-etc'; did you mean 'list-from-etcd'?",
        ),
        (
            vec!["rules", "explain", "KT1"],
            "error: 'KT1' means several rules; `kubetoll rules list --select KT1`",
        ),
        (vec!["rules", "explain", "KT8"], "error: no such rule 'KT8'; `kubetoll rules list` shows them"),
        (vec!["rules", "list", "--select", "limits-ignored"], "did you mean 'limit-ignored'?"),
        (vec!["scan", "audit.log", "--select", "nonsense"], "error: no such rule 'nonsense'"),
        (
            vec!["scan", "audit.log", "--ignore", "KT1O1"],
            "error: no such rule 'KT1O1'; did you mean 'KT101'?",
        ),
        (vec!["rules", "list", "--rules", "missing"], "error: --rules: missing: no such directory"),
        (vec!["rules", "check", "audit.log"], "error: audit.log: not a directory"),
        (vec!["rules", "check", "."], "error: .: the directory has no rule file (*.yaml)"),
        (vec!["rules", "list", "--config", "x.yaml"], "error: x.yaml: can't be read as a policy file"),
    ] {
        let said = refused(&dir, &args);
        assert!(said.contains(message), "{args:?}: {said}");
    }
}

#[test]
fn all_errors_of_a_rule_are_reported_at_once() {
    let bad = "\
id: acme1
name: Bad Name
summary: s
sumary: s
match: >-
  request.verb == \"list\"
  && request.vreb == \"get\" && stats.requests > 3
groupBy: [resource, moon]
thresholds: {few: -1, unused: 3}
levels:
  info: stats.requests >=
  warning: stats.requests
  error: stats.requests > threshold.fwe && client.kind == 3
  fatal: 'true'
message: \"{{ clint }} sent {{ stats.request }}\"
fix:
  client-og: x
  java:
    - when: request.verb == \"list\"
      text: t
    - when: server.minor > 31
      txt: t
references: []
";
    let dir = Dir::with(&[
        ("rules/bad.yaml", bad.as_bytes()),
        ("rules/empty.yml", b""),
        ("rules/no.yaml", b"a: ["),
    ]);
    let (code, out, err) = dir.run_with(&["rules", "check", "rules"], b"");
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(format!("{out}{err}"));
    let scan = refused(&dir, &["scan", "audit.log", "--rules", "rules"]);
    assert!(out.lines().all(|line| scan.contains(line)), "a scan says the same: {scan}");
}

#[test]
fn ids_and_names_belong_to_one_rule() {
    let named = |id: &str, name: &str| RULE.replace("ACME001", id).replace("acme-lists", name);
    let dir = Dir::with(&[
        ("one/a.yaml", RULE.as_bytes()),
        ("one/below/b.yaml", named("ACME001", "other-name").as_bytes()),
        ("two/a.yaml", RULE.as_bytes()),
        ("two/b.yaml", named("ACME002", "acme-lists").as_bytes()),
        ("three/a.yaml", named("ACME003", "list-from-etcd").as_bytes()),
        ("right/a.yaml", RULE.as_bytes()),
        ("right/b.yml", named("ACME002", "acme-lists-too").as_bytes()),
        ("latin/a.yaml", b"id: \xff"),
    ]);
    for (rules, message) in [
        ("one", "one/below/b.yaml:1:5: the id ACME001 is also used in one/a.yaml; choose another\n"),
        ("two", "two/b.yaml:1:5: the name acme-lists is also the name of ACME001; choose another\n"),
        ("three", "three/a.yaml:1:5: the name list-from-etcd is also the name of KT101; choose another\n"),
        ("latin", "latin/a.yaml:1:1: not valid UTF-8\n"),
    ] {
        let said = refused(&dir, &["rules", "check", rules]);
        assert!(said.starts_with(message) && said.ends_with(&format!("error: {rules}: 1 error\n")), "{said}");
    }
    assert_eq!(shown(&dir, &["rules", "check", "right"]), "2 rules, no errors\n");
}

#[test]
fn a_directory_adds_rules_and_replaces_those_of_its_ids() {
    let dir = log();
    dir.write("a/own.yaml", RULE.as_bytes());
    let mine =
        RULE.replace("ACME001", "KT101").replace("acme-lists", "my-lists").replace("warning:", "info:");
    dir.write("b/own.yaml", mine.as_bytes());
    let added = rule_findings(&scan(&dir, &["--rules", "a", "--select", "ACME,KT101"]));
    let both = |rule, severity| [(rule, severity, "backup"), (rule, severity, "poller")];
    assert_eq!(added.iter().filter(|(rule, ..)| rule == "ACME001").count(), 2, "{added:?}");
    assert_eq!(added.len(), 4, "{added:?}");
    let replaced = scan(&dir, &["--rules", "a", "--rules", "b", "--select", "KT101"]);
    let mut names = rule_findings(&replaced);
    names.sort();
    assert_eq!(names, findings(&both("KT101", "info")));
    assert_eq!(replaced["findings"][0]["rule"]["name"], "my-lists");
    let list = shown(&dir, &["rules", "list", "--rules", "b"]);
    assert!(list.contains("KT101 my-lists") && !list.contains("list-from-etcd"), "{list}");
    assert!(shown(&dir, &["rules", "explain", "my-lists", "--rules", "b"]).starts_with("KT101 my-lists\n"));
}

#[test]
fn rules_are_selected_by_id_name_and_family() {
    let dir = log();
    for select in ["KT101", "list-from-etcd", "KT1", "KT"] {
        let actual = rule_findings(&scan(&dir, &["--select", select]));
        assert!(actual.iter().any(|(rule, ..)| rule == "KT101"), "{select}: {actual:?}");
        assert!(
            scan(&dir, &["--ignore", select])["findings"]
                .as_array()
                .is_some_and(|rest| { rest.iter().all(|finding| finding["rule"]["id"] != "KT101") })
        );
    }
    assert_eq!(rule_findings(&scan(&dir, &["--select", "KT2"])), []);
}

#[test]
fn all_errors_of_a_policy_are_reported_at_once() {
    let bad = "\
kubeVersion: 1.30
etcdVersion: new
featureGates: {WatchLits: true, WatchList: maybe}
select: [KT1, KT8]
ignore: list-from-etc
failOn: [warning, everything]
color: red
rules:
  list-from-etcd:
    severity: fatal
    thresholds: {warning: 2.5, warnin: 3, error: -1}
    fix: none
  no-such-rule: {severity: info}
suppressions:
  - rule: KT101
    reason: r
    expires: tomorrow
  - client: x
    expires: 2027-01-01
    until: 2027-01-01
sources:
  - {client: a/b, path: ../outside.go}
  - {client: a/b, path: /etc/passwd, line: 0}
  - {client: a/b, path: 'C:\\a.go', line: 1.5}
  - {client: a/b, path: a/../../b.go}
  - {client: a/b, path: controllers/}
  - {path: a.go, file: b.go}
  - {client: a/b}
  - a.go
";
    let dir = log();
    dir.write("kubetoll.yaml", bad.as_bytes());
    let said = refused(&dir, &["scan", "audit.log"]);
    insta::assert_snapshot!(said);
    assert_eq!(said, refused(&dir, &["rules", "list"]));
}

#[test]
fn a_policy_sets_thresholds_and_severities() {
    let dir = log();
    let select = ["--select", "KT101"];
    let both = |severity| findings(&[("KT101", severity, "backup"), ("KT101", severity, "poller")]);
    let actual = || {
        let mut actual = rule_findings(&scan(&dir, &select));
        actual.sort();
        actual
    };
    assert_eq!(actual(), both("warning"));
    dir.write("kubetoll.yaml", b"rules: {KT101: {severity: error}}");
    assert_eq!(actual(), both("error"));
    dir.write("kubetoll.yaml", b"rules: {KT1: {severity: error}, list-from-etcd: {severity: info}}");
    assert_eq!(actual(), both("info"), "the last goes first");
    dir.write("kubetoll.yaml", b"rules: {list-from-etcd: {thresholds: {error: 40, errorPerMinute: 40}}}");
    assert_eq!(actual(), both("error"));
    dir.write(
        "kubetoll.yaml",
        b"rules: {KT101: {severity: error, thresholds: {info: 41, warning: 41, startsPerMinute: 41, sustained: 41}}}",
    );
    assert_eq!(actual(), [], "a severity makes no finding");
    let page = shown(&dir, &["rules", "explain", "KT101"]);
    assert!(page.contains("    info: 41\n") && page.contains("the severity `error`"), "{page}");
}

#[test]
fn suppressed_findings_are_listed_separately() {
    let dir = log();
    let policy = |suppressions: &str| {
        dir.write("kubetoll.yaml", format!("select: [KT101]\nsuppressions:\n{suppressions}").as_bytes());
        scan(&dir, &[])
    };
    let entry = |what: &str| format!("  - {{reason: known, expires: 2999-12-31, {what}}}\n");
    for what in [
        "rule: KT101, client: velero/*",
        "rule: list-from-etcd, client: velero/backup",
        "rule: KT1, client: 'system:serviceaccount:velero:*'",
        "rule: KT101, client: '*backup', shape: list pods cluster-wide",
        "rule: KT101, client: '*:backup', shape: 'list * cluster-wide'",
    ] {
        let report = policy(&entry(what));
        assert_eq!(rule_findings(&report), findings(&[("KT101", "warning", "poller")]), "{what}");
        let policy = &report["policy"];
        assert_eq!(policy["file"], "kubetoll.yaml");
        assert_eq!(policy["suppressed"].as_array().map(Vec::len), Some(1), "{policy}");
        assert_eq!(policy["suppressed"][0]["client"], "system:serviceaccount:velero:backup");
        assert_eq!(policy["suppressed"][0]["reason"], "known");
        assert_eq!((&policy["expired"], &policy["unmatched"]), (&json!([]), &json!([])));
    }
    assert_eq!(rule_findings(&policy(&entry("rule: KT101"))), [], "without a client, all");
    for what in ["rule: KT101, client: velero", "rule: KT102", "rule: KT101, shape: list pods", "rule: KT2"] {
        let report = policy(&entry(what));
        assert_eq!(rule_findings(&report).len(), 2, "{what}");
        assert_eq!(report["policy"]["unmatched"].as_array().map(Vec::len), Some(1), "{what}");
        assert_eq!(report["policy"]["unmatched"][0]["line"], 3);
    }
    let report = policy("  - {rule: KT101, reason: old, expires: 2020-01-01}\n");
    assert_eq!(rule_findings(&report).len(), 2, "it does not hold any more");
    let policy = &report["policy"];
    assert_eq!(policy["expired"][0]["expires"], "2020-01-01");
    assert_eq!((&policy["unmatched"], &policy["suppressed"]), (&json!([]), &json!([])));
}

#[test]
fn flags_override_the_policy() {
    let dir = log();
    dir.write("kubetoll.yaml", b"kubeVersion: '1.29.1'\nselect: [KT2]\nignore: [KT102]\nfailOn: [etcd-list]");
    dir.write("elsewhere.yaml", b"kubeVersion: '1.28.2'\nselect: KT101");
    let version = |args: &[&str]| {
        let all = [&["scan", "audit.log", "--format", "json", "--no-progress"], args].concat();
        let (code, out, _) = dir.run_with(&all, b"");
        let report: Value = serde_json::from_str(&out).expect("JSON");
        let findings = report["findings"].as_array().expect("findings").len();
        (report["server"]["kubeVersions"][0].as_str().map(str::to_owned), findings, code)
    };
    assert_eq!(version(&[]), (Some("1.29.1".to_owned()), 0, Some(1)));
    assert_eq!(version(&["--config", "elsewhere.yaml"]), (Some("1.28.2".to_owned()), 2, Some(0)));
    assert_eq!(
        version(&["--kube-version", "1.30.4", "--select", "KT101", "--fail-on", "error"]),
        (Some("1.30.4".to_owned()), 2, Some(0))
    );
    assert_eq!(
        version(&["--select", "KT101,KT102", "--ignore", "KT101"]).1,
        0,
        "both lists of what is ignored count"
    );
}

#[test]
fn rules_match_the_schema_and_invalid_ones_do_not() {
    let schema: Value = serde_json::from_str(&shown(&Dir::with(&[]), &["rules", "schema"])).expect("JSON");
    assert_eq!(schema, schema::rule());
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    for rule in std::fs::read_dir("rules").expect("rules").map(|entry| entry.expect("an entry").path()) {
        if rule.extension().is_some_and(|extension| extension == "yaml") {
            let text = std::fs::read_to_string(&rule).expect("a rule");
            assert_eq!(invalid(&validator, &text), Vec::<String>::new(), "{}", rule.display());
        }
    }
    assert_eq!(invalid(&validator, RULE), Vec::<String>::new());
    for (from, to) in [
        ("ACME001", "acme1"),
        ("acme-lists", "Acme Lists"),
        ("summary: LISTs\n", ""),
        ("why: w", "whi: w"),
        ("[client]", "[moon]"),
        ("some: 5", "some: -5"),
        ("some: 5", "some: five"),
        ("  warning:", "  fatal:"),
        ("  any: f", "  java: f"),
        ("  any: f", "  any: f\n  cobol: f"),
        ("  any: f", "  any: [{when: 'true'}]"),
        ("  any: f", "  any: []"),
    ] {
        let wrong = RULE.replace(from, to);
        assert!(wrong != RULE && !invalid(&validator, &wrong).is_empty(), "{from} -> {to}");
        let mut mistakes = FileErrors::default();
        assert!(
            parse_rule("x.yaml", &wrong, &mut mistakes).is_none(),
            "the check says so too: {from} -> {to}"
        );
    }
}

#[test]
fn policies_match_the_schema_and_invalid_ones_do_not() {
    let schema: Value =
        serde_json::from_str(&shown(&Dir::with(&[]), &["rules", "schema", "--policy"])).expect("JSON");
    assert_eq!(schema, schema::policy(&RuleSet::embedded()));
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let page = std::fs::read_to_string("docs/policy.md").expect("docs/policy.md");
    let example =
        page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    for right in [example, "{}", "select: KT1", "rules: {ACME001: {thresholds: {any: 1}}}"] {
        assert_eq!(invalid(&validator, right), Vec::<String>::new(), "{right}");
    }
    for wrong in [
        "kubeVersion: 1.30",
        "color: red",
        "failOn: everything",
        "rules: {list-from-etcd: {thresholds: {warnin: 3}}}",
        "rules: {list-from-etcd: {severity: fatal}}",
        "suppressions: [{rule: KT101, reason: r}]",
        "suppressions: [{rule: KT101, reason: r, expires: tomorrow}]",
        "sources: [{client: a/b}]",
        "sources: [{client: a/b, path: ../a.go}]",
        "sources: [{client: a/b, path: a.go, line: 0}]",
        "featureGates: {WatchList: maybe}",
    ] {
        assert!(!invalid(&validator, wrong).is_empty(), "{wrong}");
    }
}

/// The errors of a file against a schema.
fn invalid(validator: &Validator, yaml: &str) -> Vec<String> {
    let value: Value = serde_saphyr::from_str(yaml).expect("YAML");
    validator.iter_errors(&value).map(|error| error.to_string()).collect()
}

#[test]
fn files_that_are_too_deep_or_too_long_are_rejected() {
    let quoted = |text: &str| serde_json::to_string(text).expect("a text");
    let condition = |text: &str| RULE.replace("stats.requests >= threshold.some", &quoted(text));
    let message =
        |text: &str| RULE.replace("'{{ client }} listed {{ stats.requests }} times'", &quoted(text));
    let deep = |open: &str, close: &str| format!("{}true{}", open.repeat(400), close.repeat(400));
    for (rule, said) in [
        (condition(&deep("(", ")")), "the condition is nested too deeply"),
        (condition(&deep("[", "]")), "the condition is nested too deeply"),
        (condition(&deep("!(", ")")), "the condition is nested too deeply"),
        (condition(&"{".repeat(4_000)), "the condition is nested too deeply"),
        (condition(&deep("stats.requests > 0 ? true : ", "")), "the limit is 4096"),
        (condition(&format!("1{} > 0", "-1".repeat(2_000))), "the condition is nested too deeply"),
        (condition(&format!("stats{} > 0", ".requests".repeat(200))), "the condition is nested too deeply"),
        (
            message(&format!("{{{{ {}1{} }}}}", "(".repeat(400), ")".repeat(400))),
            "the placeholder is longer than 200 bytes",
        ),
        (message(&"{% if 1 %}x{% endif %}".repeat(200)), "the text has more than 100 placeholders"),
        (message(&"x".repeat(20_000)), "the limit is 16384"),
        ("x".repeat(300_000), "the limit is 262144"),
        ("[".repeat(10_000), "not valid YAML"),
        (format!("a: &a [x, x, x]\nb: &b [{0}]\nc: [{0}]\n", "*a, ".repeat(300)), "not valid YAML"),
    ] {
        let mut mistakes = FileErrors::default();
        assert!(parse_rule("x.yaml", &rule, &mut mistakes).is_none(), "{said}");
        assert!(mistakes.to_string().contains(said), "{said}: {mistakes}");
    }
}

#[test]
fn deepest_accepted_rule_runs_on_any_thread() {
    let deepest = format!("1{} > 0", "-1".repeat(26));
    let levels = format!("{}stats.requests{} > 0 && {deepest} || true", "(".repeat(40), ")".repeat(40));
    let rule =
        RULE.replace("stats.requests >= threshold.some", &levels).replace("thresholds: {some: 5}\n", "");
    let rule =
        rule.replace("'{{ client }} listed", "'{{ 1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1 }}{{ client }} listed");
    let dir = log();
    dir.write("own/rule.yaml", rule.as_bytes());
    let report = scan(&dir, &["--rules", "own", "--select", "ACME"]);
    assert_eq!(rule_findings(&report).len(), 2);
    assert!(event(1).contains("poller"));
}

#[test]
fn first_paragraph_of_why_ends_with_a_period() {
    for rule in RuleSet::embedded().rules {
        let first = rule.why.split("\n\n").next().unwrap_or_default().trim().to_owned();
        assert!(first.ends_with('.'), "{}: {first}", rule.id);
    }
}
