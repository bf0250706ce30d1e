//! The fuzz targets' bodies on stable Rust. Each test run tries some thousand inputs; a fuzzer tries millions
//! (`FUZZ_TARGET=line cargo +nightly fuzz run any fuzz/corpus/line`).

use std::collections::HashSet;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::strange;
use crate::support::cases;
use crate::support::library::{cost_body, fuzz_bodies};

/// Lines of a log. The first ones belong to requests with three lines, so two lines of one request are often
/// adjacent.
static LINES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut lines: Vec<String> = synth::Log::new(7, 60).take(6_000).collect();
    let id = |line: &str| line.split("\"auditID\":\"").nth(1).map(|rest| rest[..36].to_owned());
    let long: HashSet<_> =
        lines.iter().filter(|line| line.contains("ResponseStarted")).map(|line| id(line)).collect();
    let ended = |line: &String| line.contains("ResponseComplete") && long.contains(&id(line));
    let few: HashSet<_> = lines.iter().filter(|line| ended(line)).take(4).map(|line| id(line)).collect();
    lines.sort_by_key(|line| !few.contains(&id(line)));
    lines.truncate(600);
    lines
});

fn line() -> impl Strategy<Value = &'static str> {
    let line = |at: prop::sample::Index, of: usize| &*LINES[at.index(of)];
    prop_oneof![
        any::<prop::sample::Index>().prop_map(move |at| line(at, LINES.len())),
        any::<prop::sample::Index>().prop_map(move |at| line(at, 12)),
    ]
}

/// One way to damage a line.
#[derive(Debug, Clone)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Replace(prop::sample::Index, String),
    CutEnd(prop::sample::Index),
    CutStart(prop::sample::Index),
    Splice(prop::sample::Index, prop::sample::Index, prop::sample::Index),
    Swap(&'static str, &'static str),
}

/// Valid JSON values with the wrong type for their field.
const SWAPS: [(&str, &str); 15] = [
    ("ResponseComplete", "Panic"),
    ("ResponseComplete", "ResponseStarted"),
    ("\"code\":200", "\"code\":-1"),
    ("\"code\":200", "\"code\":99999999999"),
    ("\"code\":200", "\"code\":null"),
    ("\"code\":200", "\"code\":503"),
    ("2026-07-01T08", "2026-02-30T08"),
    ("2026-07-01T08", "9999-12-31T23"),
    ("2026-07-01T08", "0000-01-01T00"),
    ("\"requestURI\":\"", "\"requestURI\":\"https://[::1]"),
    ("\"requestURI\":\"", "\"x\":\""),
    ("\"verb\":\"list\"", "\"verb\":null"),
    ("\"user\":{", "\"user\":null,\"impersonatedUser\":{"),
    ("ms\"", "h\""),
    ("\"userAgent\":\"", "\"userAgent\":\"\\ud83d"),
];

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        (index(), 0_u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        (index(), "[\\PC\\u{0}\"\\\\{}\\[\\],:%&=?/\n]{1,3}")
            .prop_map(|(at, text)| Damage::Replace(at, text)),
        index().prop_map(Damage::CutEnd),
        index().prop_map(Damage::CutStart),
        (index(), index(), index()).prop_map(|(line, from, to)| Damage::Splice(line, from, to)),
        prop::sample::select(&SWAPS[..]).prop_map(|(from, to)| Damage::Swap(from, to)),
    ]
}

impl Damage {
    fn apply(&self, line: &mut Vec<u8>) {
        if line.is_empty() {
            return;
        }
        match self {
            Self::Flip(at, bit) => {
                let at = at.index(line.len());
                line[at] ^= 1 << bit;
            }
            Self::Replace(at, text) => {
                let at = at.index(line.len());
                line.splice(at..=at, text.bytes());
            }
            Self::CutEnd(at) => line.truncate(at.index(line.len())),
            Self::CutStart(at) => drop(line.drain(..at.index(line.len()))),
            Self::Splice(other, from, to) => {
                let other = LINES[other.index(LINES.len())].as_bytes();
                line.truncate(from.index(line.len()));
                line.extend_from_slice(&other[to.index(other.len())..]);
            }
            Self::Swap(from, to) => {
                if let Some(at) = memchr::memmem::find(line, from.as_bytes()) {
                    line.splice(at..at + from.len(), to.bytes());
                }
            }
        }
    }
}

/// Parts of inventories in each format, and foreign text.
fn inventory_part() -> impl Strategy<Value = String> {
    const PARTS: [&str; 16] = [
        "resource,objects,bytesPerObject\n",
        "pods,100000,20000\n",
        "deployments.apps,5,\r\n",
        "\"pods\",1,\"2\"\n",
        "pods: {objects: 1000000000, bytesPerObject: 100000000}\n",
        "nodes:\n  objects: 5\n",
        "- {resource: pods, objects: 3}\n",
        "resources:\n",
        "apiserver_storage_objects{resource=\"pods\"} 5\n",
        "apiserver_resource_objects{group=\"apps\",resource=\"deployments\"} 1e+300 7\n",
        "apiserver_resource_size_estimate_bytes{group=\"\",resource=\"pods\"} 9e14\n",
        "etcd_object_counts{resource=\"no\\\"des\"} -1\n",
        "# TYPE x gauge\n",
        "events,1,1\n",
        "\u{feff}",
        "events: {objects: 7}\n",
    ];
    prop_oneof![
        4 => prop::sample::select(&PARTS[..]).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
        1 => "[a-z,:{}\"\n -]{0,9}",
    ]
}

proptest! {
    #![proptest_config(cases::cases(1_500))]

    #[test]
    fn line_invariants_hold_for_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz_bodies::line(&bytes);
    }

    #[test]
    fn line_invariants_hold_for_damaged_lines(
        lines in prop::collection::vec((line(), prop::collection::vec(damage(), 0..3)), 1..6),
    ) {
        let mut text = Vec::new();
        for (line, damage) in lines {
            let mut line = line.as_bytes().to_vec();
            for damage in damage {
                damage.apply(&mut line);
            }
            if let Ok(line) = std::str::from_utf8(&line) {
                fuzz_bodies::on_demand(line);
            }
            text.append(&mut line);
            text.push(b'\n');
        }
        fuzz_bodies::line(&text);
    }

    #[test]
    fn target_invariants_hold_for_any_text(text in "\\PC{0,60}") {
        fuzz_bodies::uri(&text);
    }

    #[test]
    fn target_invariants_hold_for_likely_targets(text in strange::target()) {
        fuzz_bodies::uri(&text);
        fuzz_bodies::secrets(&text);
    }

    #[test]
    fn masking_invariants_hold_for_likely_secrets(text in "([?&;=%:/@. …]|%3[BbDdFf]|%2[56]|eyJ|://|token|[a-zA-Z0-9]{1,40}|\\PC){0,20}") {
        fuzz_bodies::secrets(&text);
    }

    #[test]
    fn inventory_invariants_hold_for_any_inventory(parts in prop::collection::vec(inventory_part(), 0..6)) {
        cost_body::inventory(parts.concat().as_bytes());
    }

    #[test]
    fn user_agent_invariants_hold_for_any_text(text in prop_oneof!["\\PC{0,100}", "[a-zA-Z0-9./ ()_-]{0,90}", any::<String>()]) {
        fuzz_bodies::user_agent(&text);
    }
}
