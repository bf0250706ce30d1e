//! Snapshots of the report on recorded traffic, in every output format.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

const LOG: &str = "fixtures/logs/mixed.jsonl";

fn scan(args: &[&str], width: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_kubetoll"))
        .arg("scan")
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("COLUMNS", width)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn text_report_of_80_columns_matches_its_snapshot() {
    insta::assert_snapshot!(scan(&[LOG], "80"));
}

#[test]
fn text_report_of_160_columns_matches_its_snapshot() {
    insta::assert_snapshot!(scan(&[LOG, "--top", "2", "--details"], "160"));
}

#[test]
fn text_never_exceeds_its_width() {
    for width in ["80", "130"] {
        let page = scan(&["fixtures/traffic", "--kube-version", "1.30.4", "--top", "50", "--details"], width);
        let room: usize = width.parse().expect("a number");
        for line in page.lines() {
            // A URI, a path or a quoted shell argument is one word. It is never wrapped, so that it can be
            // copied.
            let one_word = line.split_whitespace().count() <= 3 || line.matches('\'').count() == 2;
            assert!(line.chars().count() <= room || one_word, "{width}: {line}");
        }
    }
}

#[test]
fn json_report_matches_its_snapshot_and_schema() {
    let text = scan(&[LOG, "--format", "json"], "80");
    insta::assert_snapshot!(text);
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let schema: Value =
        serde_json::from_str(include_str!("../../docs/report.schema.json")).expect("a schema");
    let errors: Vec<String> = jsonschema::validator_for(&schema)
        .expect("a schema")
        .iter_errors(&report)
        .map(|e| e.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn csv_export_matches_its_snapshot() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("rows.csv");
    scan(&[LOG, "--format", &format!("csv={}", path.display())], "80");
    insta::assert_snapshot!(std::fs::read_to_string(path).expect("rows"));
}

#[test]
fn classify_text_matches_its_snapshot() {
    let output = Command::new(env!("CARGO_BIN_EXE_kubetoll"))
        .args(["classify", "GET /api/v1/pods?limit=500&continu=x", "--kube-version", "1.33.1"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .env("COLUMNS", "90")
        .output()
        .expect("the binary runs");
    insta::assert_snapshot!(String::from_utf8(output.stdout).expect("UTF-8"));
}

#[test]
fn totals_are_the_sums_of_their_parts() {
    let report: Value =
        serde_json::from_str(&scan(&["fixtures/traffic", "--format", "json"], "80")).expect("JSON");
    let clients = report["clients"].as_array().expect("clients");
    let number = |value: &Value| value.as_u64().expect("a number");
    let sum = |field: &str| clients.iter().map(|client| number(&client[field])).sum::<u64>();
    for field in ["requests", "etcdLists", "etcdGets", "limitIgnored", "etcdMicros"] {
        assert_eq!(sum(field), number(&report["totals"][field]), "{field}");
    }
    let shapes = || clients.iter().flat_map(|client| client["shapes"].as_array().expect("shapes"));
    assert_eq!(
        shapes().map(|shape| number(&shape["requests"])).sum::<u64>(),
        number(&report["input"]["requests"])
    );
    assert_eq!(
        shapes().map(|shape| number(&shape["events"])).sum::<u64>(),
        number(&report["input"]["events"])
    );
    assert_eq!(number(&report["input"]["lines"]), number(&report["input"]["events"]));
}
