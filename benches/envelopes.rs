//! The cost of envelopes: the same events plain, after prefixes, as strings in JSON, and as access lines:
//! `cargo bench --bench envelopes`. Throughput is in events, so the rows are comparable.

use criterion::Throughput;
use kubetoll::decode::detect;
use kubetoll::input::Block;
use kubetoll::k8s::Event;

mod support;

use support::{counted, settings, timeline};

fn main() {
    let mut criterion = support::criterion();
    let log = String::from_utf8(support::log()).expect("JSON is UTF-8");
    let lines: Vec<&str> = log.lines().collect();
    let mut group = support::group(&mut criterion, "envelopes", Throughput::Elements(lines.len() as u64));
    let (settings, timeline) = (settings(1), timeline());
    for (name, wrap) in WRAPS {
        let bytes = lines.iter().map(|line| wrap(line) + "\n").collect::<String>().into_bytes();
        let framing = detect::framing(&bytes);
        let block = Block { first_line: 1, lines: lines.len() as u64, bytes, framing, ..Block::default() };
        group.bench_function(*name, |bencher| {
            bencher.iter_with_large_drop(|| counted(&block, &settings, &timeline));
        });
    }
    group.finish();
    criterion.final_summary();
}

/// A name and how an event is wrapped.
type Wrap = (&'static str, fn(&str) -> String);

const WRAPS: &[Wrap] = &[
    ("plain", str::to_owned),
    ("cri", |line| format!("2026-11-20T20:35:54.665582123Z stdout F {line}")),
    ("aws-logs-tail", |line| {
        format!(
            "2026-11-20T20:35:54.665000+00:00 kube-apiserver-audit-900118300c7497e54b1f844e21ac4f7b {line}"
        )
    }),
    ("docker", |line| {
        let log = quoted(&format!("{line}\n"));
        format!(r#"{{"log":{log},"stream":"stdout","time":"2026-11-20T20:35:54.665582123Z"}}"#)
    }),
    ("azure-record", |line| {
        let log = quoted(&format!("{line}\n"));
        format!(
            r#"{{"operationName":"Microsoft.ContainerService/managedClusters/diagnosticLogs/Read","category":"kube-audit","ccpNamespace":"5e9bf4b2","resourceId":"/SUBSCRIPTIONS/X/RESOURCEGROUPS/Y/PROVIDERS/MICROSOFT.CONTAINERSERVICE/MANAGEDCLUSTERS/Z","properties":{{"log":{log},"stream":"stdout","pod":"kube-apiserver-79599f95c7-qn557"}},"time":"2026-11-20T20:35:54.0000000Z"}}"#
        )
    }),
    ("cloudwatch-subscription", |line| {
        let message = quoted(line);
        format!(
            r#"{{"messageType":"DATA_MESSAGE","owner":"123456789012","logGroup":"/aws/eks/x/cluster","logStream":"kube-apiserver-audit-9a","subscriptionFilters":["all"],"logEvents":[{{"id":"1","timestamp":1763670954665,"message":{message}}}]}}"#
        )
    }),
    ("otlp", |line| {
        let body = quoted(line);
        format!(
            r#"{{"resourceLogs":[{{"resource":{{"attributes":[]}},"scopeLogs":[{{"scope":{{}},"logRecords":[{{"timeUnixNano":"1763670954665582123","body":{{"stringValue":{body}}}}}]}}]}}]}}"#
        )
    }),
    ("collector", |line| {
        format!(r#"{{"@timestamp":"2026-11-20T20:35:54.665Z","message":{}}}"#, quoted(line))
    }),
    ("http-log", access_line),
];

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string is JSON")
}

/// The line that a server of 1.36 writes into its own log for the same request.
fn access_line(line: &str) -> String {
    let event: Event<'_> = serde_json::from_str(line).expect("an event");
    format!(
        r#"I1120 20:35:54.665582    4065 httplog.go:134] "HTTP" verb="GET" URI="{}" latency="11.141918ms" userAgent="{}" audit-ID="{}{}" srcIP="127.0.0.1:43964" apf_pl="workload-low" apf_fs="service-accounts" apf_iseats=1 apf_fseats=0 apf_additionalLatency="0s" apf_execution_time="10.454293ms" resp={}"#,
        &*event.request_uri,
        &*event.user_agent,
        &*event.audit_id,
        &event.stage_name[..9],
        event.status().unwrap_or(200),
    )
}
