//! The time of all rules on 100,000 rows, and the time to load the rules.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use kubetoll::apiserver::Server;
use kubetoll::input::Block;
use kubetoll::judged::JudgedClients;
use kubetoll::k8s::KubeVersion;
use kubetoll::ledger::{Dedup, Ledger, ServerTimeline};
use kubetoll::patterns::Patterns;
use kubetoll::pipeline::{Counted, Pass, Settings, Shared, Worker};
use kubetoll::rules::{RuleSet, judge};
use kubetoll::version::Doubt;

const VERSION: KubeVersion = KubeVersion::new(30, 4);
/// Clients, and shapes of each.
const CLIENTS: usize = 2_000;
const SHAPES: usize = 50;

/// Two requests for each combination of client and shape. Each combination is a row.
fn log() -> String {
    const QUERIES: [&str; 5] =
        ["", "?limit=500", "?limit=500&resourceVersion=0", "?resourceVersion=0", "?limit=50"];
    const RESOURCES: [&str; 10] = [
        "pods",
        "configmaps",
        "secrets",
        "services",
        "endpoints",
        "nodes",
        "events",
        "namespaces",
        "serviceaccounts",
        "persistentvolumes",
    ];
    let mut log = String::new();
    for client in 0..CLIENTS {
        for shape in 0..SHAPES {
            for repeat in 0..2 {
                let (query, resource) = (QUERIES[shape % 5].replace('&', "\\u0026"), RESOURCES[shape / 5]);
                let second = (client * 7 + shape * 3 + repeat * 90) % 3_600;
                let at = format!("2026-03-02T10:{:02}:{:02}", second / 60, second % 60);
                writeln!(
                    log,
                    r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"{client}-{shape}-{repeat}","stage":"ResponseComplete","requestURI":"/api/v1/{resource}{query}","verb":"list","user":{{"username":"system:serviceaccount:team-{}:app-{client}"}},"userAgent":"app-{client}/v1.2.3 (linux/amd64) kubernetes/0123456","responseStatus":{{"code":200}},"requestReceivedTimestamp":"{at}.000000Z","stageTimestamp":"{at}.{:03}000Z"}}"#,
                    client % 40,
                    (client + shape) % 1_000,
                )
                .expect("a String takes all");
            }
        }
    }
    log
}

fn ledger() -> Ledger {
    let settings = Settings { dedup: Dedup::Off, ..Settings::default() };
    let timeline = ServerTimeline::always(VERSION);
    let shared = Shared::new(&settings, &timeline, &[]);
    let mut worker = Worker::new(&shared, &Pass::Count);
    worker.read(&Block { bytes: log().into_bytes(), first_line: 1, ..Block::default() });
    let counted: Counted = worker.into_counted();
    counted.into_ledger()
}

fn rules(criterion: &mut Criterion) {
    criterion.bench_function("rules: read and check all of them", |bencher| {
        bencher.iter(|| black_box(RuleSet::embedded()));
    });
    let rules = RuleSet::embedded().rules;
    let server = Server::with_defaults(VERSION);
    let ledger = ledger();
    let patterns = Patterns::new(ledger.histories, false);
    let servers = std::slice::from_ref(&server);
    let judged_clients =
        JudgedClients::new(ledger.clients, patterns, servers, &server, Doubt::default(), false, None);
    let rows: usize = judged_clients
        .clients
        .iter()
        .flat_map(|client| client.shapes.values())
        .map(|shape_summary| shape_summary.rows.len())
        .sum();
    assert_eq!(rows, CLIENTS * SHAPES);
    criterion.bench_function("rules: judge 100,000 rows by all of them", |bencher| {
        bencher.iter(|| black_box(judge(&judged_clients, &ledger.input, &rules, &[])));
    });
    let quick = judge(&judged_clients, &ledger.input, &rules, &[]);
    println!("{} findings, conditions run {} times", quick.findings.len(), quick.runs);
}

criterion_group!(benches, rules);
criterion_main!(benches);
