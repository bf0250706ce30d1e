//! Exported rows agree with the report, for any client text.

#![cfg(feature = "tables")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use kubetoll::apiserver::Server;
use kubetoll::input::Sources;
use kubetoll::k8s::KubeVersion;
use kubetoll::ledger::ServerTimeline;
use kubetoll::pipeline::{self, Settings};
use kubetoll::render::export::{COLUMNS, ExportError, SCHEMA_VERSION, TableFormat, check, write};
use kubetoll::report::v1::Shape;
use kubetoll::report::{self, Context, Detail, Report};
use kubetoll::rules::{Policy, RuleSet};
use kubetoll::version::Inferred;
use polars::prelude::{DataFrame, DataType, ParquetReader, SerReader};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::event::AuditEvent;

const HOSTILE_USER: &str = "=cmd|' /C calc'!A0";
const HOSTILE_URI: &str = "/api/v1/secrets?=1,2;=HYPERLINK(\"http://x\")\n@SUM(A1)\u{1b}[31m";
const NEXT_PAGE: &str =
    "/api/v1/pods?limit=9&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJhIn0";

/// An event: user, user agent, verb, URI, status, and duration in milliseconds.
fn event(id: usize, user: &str, agent: &str, (verb, uri): (&str, &str), status: u16, millis: u64) -> Value {
    let micros = millis * 1_000;
    AuditEvent::new(&format!("id-{id}"), verb, uri).by(user, agent).code(status).at(0, micros).value()
}

fn log() -> Vec<Value> {
    let operator = "system:serviceaccount:apps:operator";
    let agent = "manager/v0.0.0 (linux/amd64) kubernetes/$Format";
    let pods = ("list", "/api/v1/pods");
    let pages = ("list", "/apis/apps/v1/deployments?limit=500&resourceVersion=0");
    let mut events: Vec<Value> = [
        (operator, agent, pods, 200, 1_200),
        (operator, agent, pods, 200, 300),
        (operator, "+manager,\"x\"\n/1", pods, 200, 30),
        (operator, agent, pages, 200, 40),
        (operator, "=cmd()/1.0", pages, 200, 50),
        (operator, agent, ("get", "/api/v1/namespaces/a/configmaps/b"), 200, 3),
        (operator, agent, ("watch", "/api/v1/pods?watch=true&resourceVersion=7"), 200, 59_000),
        // The duration is a WATCH's lifetime. It is not the time of a read from etcd, though etcd feeds the
        // WATCH.
        (operator, agent, ("watch", "/api/v1/events?watch=true"), 200, 58_000),
        // A page that is likely read from an etcd without progress requests.
        (operator, agent, ("list", NEXT_PAGE), 200, 70),
        ("system:node:n1", "kubelet/v1.30.4", ("get", "/api/v1/nodes/n1?resourceVersion=0"), 200, 2),
        ("system:node:n2", "kubelet/v1.30.4", ("patch", "/api/v1/nodes/n2/status"), 409, 9),
        (HOSTILE_USER, "-2+3", ("list", HOSTILE_URI), 200, 700),
        (HOSTILE_USER, "", ("list", "/api/v1/pods?resourceVersionMatch=Exact"), 400, 1),
        ("@alice\r\n=1", "\t=1", ("get", "/healthz?a=\"b\",c"), 429, 1),
        ("system:anonymous", "curl/8", ("create", "/api/v1/namespaces/a/pods"), 403, 1),
    ]
    .into_iter()
    .enumerate()
    .map(|(id, (user, agent, uri, status, millis))| event(id, user, agent, uri, status, millis))
    .collect();
    let mut impersonated = event(100, "admin", "kubectl/v1.30.0", ("list", "/api/v1/pods"), 200, 20);
    impersonated["impersonatedUser"] = json!({"username": "=alice"});
    events.push(impersonated);
    events
}

fn report_of(directory: &Path, events: &[Value]) -> Report {
    report_for(Server::with_defaults(KubeVersion::new(30, 4)), directory, events)
}

fn report_for(server: Server, directory: &Path, events: &[Value]) -> Report {
    let path = directory.join("audit.log");
    let lines: Vec<String> = events.iter().map(|event| format!("{event}\n")).collect();
    fs::write(&path, lines.concat()).expect("a log");
    let sources = Sources::discover(&[path]).expect("a source");
    let timeline = ServerTimeline::always(server.version);
    let settings = Settings::default();
    let ledger = pipeline::run(&sources.list, &settings, &timeline, &Arc::default()).expect("a ledger");
    let version = Inferred::given(server.version);
    report::build(
        ledger,
        &Context {
            sources: &sources,
            filters: Vec::new(),
            server,
            version: &version,
            etcd_from: "as given",
            etcd_stated: Vec::new(),
            notes: vec![],
            etcd: None,
            rules: &RuleSet::embedded(),
            policy: &Policy::default(),
            inventory: None,
            detail: Detail::ALL,
        },
    )
}

/// The report of the log, and a file of its rows.
fn exported(format: TableFormat, events: &[Value]) -> (TempDir, Report, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let report = report_of(directory.path(), events);
    let path = directory.path().join("rows");
    write(&report, format, &path).expect("a file of rows");
    (directory, report, path)
}

fn shapes(report: &Report) -> usize {
    report.clients.iter().map(|client| client.shapes.len()).sum()
}

const SUMMED: [&str; 9] = [
    "requests",
    "etcd_lists",
    "etcd_gets",
    "limit_ignored",
    "etcd_micros",
    "status_2xx",
    "status_4xx",
    "status_409",
    "status_none",
];

fn totals(report: &Report) -> Vec<u64> {
    let totals = &report.totals.counts;
    let statuses = totals.statuses;
    vec![
        totals.requests,
        totals.etcd_lists,
        totals.etcd_gets,
        totals.limit_ignored,
        totals.etcd_micros,
        statuses.success,
        statuses.client_error,
        statuses.conflict,
        statuses.none,
    ]
}

fn sums(table: &DataFrame) -> Vec<u64> {
    let sum = |name: &&str| {
        let column = table.column(name).expect("a summed column").as_materialized_series();
        column.sum::<u64>().expect("a column of numbers")
    };
    SUMMED.iter().map(sum).collect()
}

fn texts(table: &DataFrame, name: &str) -> BTreeSet<String> {
    let column = table.column(name).expect("a column of text").str().expect("text");
    column.iter().flatten().map(str::to_owned).collect()
}

fn identities(report: &Report) -> BTreeSet<String> {
    report.clients.iter().map(|client| client.identity.clone()).collect()
}

fn read_parquet(path: &Path) -> DataFrame {
    ParquetReader::new(File::open(path).expect("the file")).finish().expect("Parquet")
}

/// The names of the columns, and the rows as maps from name to cell.
fn read_csv(path: &Path) -> (Vec<String>, Vec<BTreeMap<String, String>>) {
    let mut reader = csv::Reader::from_path(path).expect("the file");
    let names = reader.headers().expect("a header").iter().map(str::to_owned).collect();
    (names, reader.deserialize().map(|row| row.expect("a row")).collect())
}

#[test]
fn parquet_holds_the_totals_and_escapes_control_characters() {
    let visible = |text: &str| {
        let text = text.replace('\r', "\\u{d}").replace('\n', "\\u{a}");
        text.replace('\u{1b}', "\\u{1b}")
    };
    let (_directory, report, path) = exported(TableFormat::Parquet, &log());
    let totals = totals(&report);
    assert!(
        totals.iter().take(8).all(|total| *total > 0),
        "a log that shows nothing proves nothing: {totals:?}"
    );
    let table = read_parquet(&path);
    assert_eq!(table.height(), shapes(&report));
    assert_eq!(sums(&table), totals);
    let clients: BTreeSet<String> = identities(&report).iter().map(|name| visible(name)).collect();
    assert_eq!(texts(&table, "client"), clients);
    assert!(texts(&table, "client").contains(HOSTILE_USER));
    assert!(texts(&table, "example_request_uri").contains(&visible(HOSTILE_URI)));
    assert!(texts(&table, "impersonated_by").contains("admin"));
    assert_columns(&table);
}

#[test]
fn likely_reads_from_etcd_count_as_in_the_totals() {
    let directory = tempfile::tempdir().expect("a directory");
    let etcd = Some("3.5.0".parse().expect("a version"));
    let server = Server { etcd, ..Server::with_defaults(KubeVersion::new(36, 0)) };
    let report = report_for(server, directory.path(), &log());
    let likely = |shape: &Shape| shape.likely == Some("etcd");
    assert!(
        report.clients.iter().any(|client| client.shapes.iter().any(likely)),
        "the log shows no such list"
    );
    let path = directory.path().join("rows");
    write(&report, TableFormat::Parquet, &path).expect("a file of rows");
    assert_eq!(sums(&read_parquet(&path)), totals(&report));
}

/// Checks that the table has the documented columns and types.
fn assert_columns(table: &DataFrame) {
    assert_eq!(table.width(), COLUMNS.len());
    for (name, column) in table.schema().iter().zip(COLUMNS) {
        let expected = match column.value.type_name() {
            "text" => DataType::String,
            "list of text" => DataType::List(Box::new(DataType::String)),
            "integer" => DataType::Int64,
            "float" => DataType::Float64,
            "boolean" => DataType::Boolean,
            other => panic!("{other} is no documented type"),
        };
        assert_eq!((name.0.as_str(), name.1), (column.name, &expected));
        let nulls = table.column(column.name).expect("the column").null_count();
        assert!(nulls == 0 || column.value.may_be_null(), "{} has nulls", column.name);
    }
}

#[test]
fn parquet_states_its_version() {
    let (_directory, report, path) = exported(TableFormat::Parquet, &log());
    let mut reader = ParquetReader::new(File::open(&path).expect("the file"));
    let metadata = reader.get_metadata().expect("metadata").key_value_metadata().clone().unwrap_or_default();
    let value = |key: &str| metadata.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
    assert_eq!(value("kubetoll.rows.schema_version"), Some(SCHEMA_VERSION.to_string()));
    assert_eq!(value("kubetoll.version"), Some(report.kubetoll_version.clone()));
}

#[test]
fn csv_holds_the_totals_and_no_formula() {
    let (_directory, report, path) = exported(TableFormat::Csv, &log());
    let (names, rows) = read_csv(&path);
    assert_eq!(names, COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>());
    assert_eq!(rows.len(), shapes(&report));
    let sum = |name: &&str| rows.iter().map(|row| row[*name].parse::<u64>().expect("a number")).sum::<u64>();
    assert_eq!(SUMMED.iter().map(sum).collect::<Vec<_>>(), totals(&report));
    for cell in rows.iter().flat_map(BTreeMap::values) {
        assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']), "{cell:?}");
        assert!(!cell.contains(|c: char| c.is_control() && !"\t\r\n".contains(c)), "{cell:?}");
    }
    let texts = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<BTreeSet<_>>();
    let clients = texts("client");
    assert!(clients.contains(&format!("'{HOSTILE_USER}")), "{clients:?}");
    assert!(clients.contains("'@alice\r\n'=1"), "{clients:?}");
    let uri = "/api/v1/secrets?=1,2;'=HYPERLINK(\"http://x\")\n'@SUM(A1)\\u{1b}[31m";
    assert!(texts("example_request_uri").contains(uri));
    let text = fs::read_to_string(&path).expect("the file");
    assert!(text.contains(&format!("\"{}\"", uri.replace('"', "\"\""))), "quoted, and quotes in it doubled");
}

/// CSV distinguishes texts from nulls and numbers from each other, as the other formats do.
#[test]
fn csv_cells_equal_ndjson_cells() {
    let (directory, report, path) = exported(TableFormat::Csv, &log());
    let (_, cells) = read_csv(&path);
    let ndjson = directory.path().join("rows.ndjson");
    write(&report, TableFormat::Ndjson, &ndjson).expect("a file of rows");
    let ndjson = fs::read_to_string(ndjson).expect("the file");
    let rows: Vec<Value> = ndjson.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(cells.len(), rows.len());
    for (name, cell, value) in cells
        .iter()
        .zip(&rows)
        .flat_map(|(cells, row)| cells.iter().map(|(name, cell)| (name, cell, &row[name])))
    {
        match value {
            Value::Null => assert_eq!(cell, "", "{name}"),
            Value::Number(_) | Value::Bool(_) => assert_eq!(*cell, value.to_string(), "{name}"),
            Value::String(text) => assert_eq!(cell.is_empty(), text.is_empty(), "{name}"),
            Value::Array(items) => assert_eq!(cell.is_empty(), items.is_empty(), "{name}"),
            Value::Object(_) => panic!("{name} is an object"),
        }
    }
    let text = fs::read_to_string(&path).expect("the file");
    assert!(text.contains(",,") && text.contains(",\"\","), "nulls, and texts that are empty");
}

/// If the only output is rows, kubetoll builds less of the report.
#[test]
fn rows_do_not_depend_on_other_outputs() {
    let directory = tempfile::tempdir().expect("a directory");
    // Enough requests for a finding.
    let more = (1_000..1_100).map(|id| event(id, "alice", "curl/8", ("list", "/api/v1/pods"), 200, 600));
    let lines: Vec<String> = log().into_iter().chain(more).map(|event| format!("{event}\n")).collect();
    fs::write(directory.path().join("audit.log"), lines.concat()).expect("a log");
    let formats = ["csv", "ndjson", "parquet"];
    let scan = |name: &str, more: &[&str]| {
        let tables = formats.map(|format| format!("--format={format}={name}.{format}"));
        let output = Command::new(env!("CARGO_BIN_EXE_kubetoll"))
            .args(["scan", "audit.log", "--no-progress", "--fail-on=info,etcd-list"])
            .args(tables)
            .args(more)
            .current_dir(directory.path())
            .output()
            .expect("the binary runs");
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    let read = |name: &str| fs::read(directory.path().join(name)).expect("a file");
    let (alone, beside) = (scan("alone", &[]), scan("beside", &["--format=json=report.json"]));
    assert_eq!(alone, beside);
    assert_eq!(alone.0, Some(1), "{}", alone.1);
    for format in formats {
        assert!(read(&format!("alone.{format}")) == read(&format!("beside.{format}")), "{format}");
    }
    let report: Value = serde_json::from_slice(&read("report.json")).expect("JSON");
    assert!(report["findings"].as_array().is_some_and(|findings| !findings.is_empty()));
}

#[test]
fn ndjson_holds_the_totals_and_the_text_as_it_was() {
    let (_directory, report, path) = exported(TableFormat::Ndjson, &log());
    let text = fs::read_to_string(&path).expect("the file");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows.len(), shapes(&report));
    let sum = |name: &&str| rows.iter().map(|row| row[*name].as_u64().expect("a number")).sum::<u64>();
    assert_eq!(SUMMED.iter().map(sum).collect::<Vec<_>>(), totals(&report));
    let clients: BTreeSet<String> =
        rows.iter().map(|row| row["client"].as_str().expect("text").to_owned()).collect();
    assert_eq!(clients, identities(&report));
    assert!(rows.iter().any(|row| row["example_request_uri"] == HOSTILE_URI));
    assert!(rows.iter().any(|row| row["products"] == json!(["(unnamed)", "manager"])), "{text}");
    let names: BTreeSet<&str> = COLUMNS.iter().map(|column| column.name).collect();
    for row in &rows {
        let keys: BTreeSet<&str> = row.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(keys, names);
    }
}

#[test]
fn a_report_without_clients_has_a_table_without_rows() {
    let (_directory, report, path) = exported(TableFormat::Parquet, &[]);
    assert!(report.clients.is_empty());
    let table = read_parquet(&path);
    assert_eq!(table.height(), 0);
    assert_columns(&table);

    let (_directory, _, path) = exported(TableFormat::Csv, &[]);
    let header: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    assert_eq!(fs::read_to_string(&path).expect("the file"), header.join(",") + "\n");

    let (_directory, _, path) = exported(TableFormat::Ndjson, &[]);
    assert_eq!(fs::read_to_string(&path).expect("the file"), "");
}

#[test]
fn an_invalid_output_path_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let report = report_of(directory.path(), &log());
    let missing = directory.path().join("missing/rows.csv");
    let message = write(&report, TableFormat::Csv, &missing).expect_err("no directory").to_string();
    assert!(message.starts_with(&format!("{}: ", missing.display())), "{message}");
    assert_eq!(check(&missing).expect_err("no directory").to_string(), message);
    assert!(check(directory.path()).is_err());
    let fine = directory.path().join("rows.csv");
    check(&fine).expect("a place for a file");
    assert!(!fine.exists());
}

#[test]
#[cfg(target_os = "linux")]
fn write_to_a_full_device_is_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let report = report_of(directory.path(), &log());
    for format in [TableFormat::Parquet, TableFormat::Csv, TableFormat::Ndjson] {
        check(Path::new("/dev/full")).expect("a device may be written to");
        let error = write(&report, format, Path::new("/dev/full")).expect_err("no room");
        assert!(matches!(error, ExportError::Write { .. }), "{error}");
        assert!(error.to_string().starts_with("/dev/full: "), "{error}");
    }
}

#[test]
fn columns_are_named_once_and_in_snake_case() {
    let names: BTreeSet<&str> = COLUMNS.iter().map(|column| column.name).collect();
    assert_eq!(names.len(), COLUMNS.len());
    let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    assert!(names.iter().all(|name| name.chars().all(snake)), "{names:?}");
}

const BEGIN: &str = "by `UPDATE_DOCS=1 cargo test --test outputs export` -->\n";
const END: &str = "<!-- end of columns -->";

#[test]
fn the_documentation_lists_the_columns() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rows.md");
    let page = fs::read_to_string(&path).expect("docs/rows.md");
    let (before, rest) = page.split_once(BEGIN).expect("the beginning of the columns");
    let (_, after) = rest.split_once(END).expect("the end of the columns");
    let mut table = "| column | type | null | unit | meaning |\n|---|---|---|---|---|\n".to_owned();
    for column in COLUMNS {
        let null = if column.value.may_be_null() { "yes" } else { "" };
        let (name, kind, unit, meaning) =
            (column.name, column.value.type_name(), column.unit, column.meaning);
        writeln!(table, "| `{name}` | {kind} | {null} | {unit} | {meaning} |")
            .expect("a String takes all text");
    }
    let expected = format!("{before}{BEGIN}{table}{END}{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &expected).expect("docs/rows.md");
    }
    let page = fs::read_to_string(&path).expect("docs/rows.md");
    assert!(page == expected, "docs/rows.md is old; run `UPDATE_DOCS=1 cargo test --test outputs export`");
    assert!(page.contains(&format!("Version {SCHEMA_VERSION}.")));
}
