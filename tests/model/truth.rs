//! Compares verdicts with the behavior of real kube-apiservers (`fixtures/truth/`).

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use kubetoll::apiserver::{
    LimitVerdict, ParsedTarget, Reason, RequestShape, ServedFrom, Server, Verdict, judge,
};
use kubetoll::input::{SourcePosition, Sources};
use kubetoll::k8s::request_info::Method;
use kubetoll::k8s::{Event, KubeVersion, Stage};
use kubetoll::ledger::ServerTimeline;
use kubetoll::pipeline::{self, Settings};
use kubetoll::requests::{Classifier, StatusClass};
use kubetoll::version::{self, Inferred};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Probe {
    #[serde(rename = "auditID")]
    audit_id: String,
    k8s: String,
    etcd: String,
    kind: String,
    method: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    status: u16,
    served_from: String,
    backend: String,
    limit_honored: Option<bool>,
}

/// The expected verdict.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    /// Served from this source.
    From(ServedFrom),
    /// Rejected with this status before any read.
    Rejected(u16),
    /// The outcome depended on the server's state: revisions that are compacted or in the future. The server
    /// read from etcd or from the cache.
    EtcdOrDepends,
    NotRejected,
}

impl Probe {
    fn expected(&self) -> Expected {
        match self.served_from.as_str() {
            _ if self.kind == "deletecollection" => Expected::From(ServedFrom::Write),
            "cache" => Expected::From(ServedFrom::WatchCache),
            "cache+etcd-rv-check" => Expected::From(ServedFrom::WatchCacheAfterRevisionCheck),
            "etcd" => Expected::From(ServedFrom::Etcd),
            "error" => self.expected_of_error(),
            other => panic!("unknown served_from {other}"),
        }
    }

    fn expected_of_error(&self) -> Expected {
        match (self.status, self.backend.as_str()) {
            // The watch cache writes the error into a stream with status 200.
            (200, "etcd") => Expected::From(ServedFrom::Etcd),
            (200, _) => Expected::From(ServedFrom::WatchCache),
            // The object is missing: the server looked in one of the two.
            (404, "etcd") => Expected::From(ServedFrom::Etcd),
            (404, _) if self.kind == "get" => Expected::From(ServedFrom::WatchCache),
            (504, "none-seen") => Expected::NotRejected,
            (410 | 500 | 504, "etcd") => Expected::EtcdOrDepends,
            // The server reads an uncached object from etcd before it rejects the GET for its resourceVersion.
            (status, "none-seen") | (status @ 400, "etcd") => Expected::Rejected(status),
            other => panic!("unknown error {other:?} of {}", self.request_uri),
        }
    }

    fn server(&self) -> Server {
        Server {
            etcd: Some(self.etcd.parse().expect("etcd's version")),
            ..Server::with_defaults(self.k8s.parse().expect("Kubernetes' version"))
        }
    }

    /// The error in a verdict on the probe, if any.
    fn disagrees(&self, verdict: Verdict) -> Option<String> {
        let expected = self.expected();
        let agrees = match expected {
            Expected::From(from) => {
                verdict.rejected.is_none()
                    && (verdict.served_from == from
                        || (verdict.served_from == ServedFrom::Depends && is_cache_or_etcd(from)))
            }
            Expected::Rejected(status) => {
                verdict.rejected == Some(status) && verdict.served_from == ServedFrom::Rejected
            }
            Expected::EtcdOrDepends => {
                matches!(verdict.served_from, ServedFrom::Etcd | ServedFrom::Depends)
                    && verdict.rejected.is_none()
            }
            Expected::NotRejected => verdict.rejected.is_none(),
        };
        // If the source is `depends`, the limit may depend too; the reason says how.
        let limit = match (self.limit_honored, verdict.limit) {
            _ if verdict.served_from == ServedFrom::Depends => true,
            (Some(honored), LimitVerdict::Honored) => honored,
            (Some(honored), LimitVerdict::Ignored) => !honored,
            // `??limit=5` has a parameter named `?limit`, so the request has no limit.
            (Some(honored), LimitVerdict::Absent) => !honored && self.request_uri.contains("??"),
            (None, _) => true,
        };
        (!agrees || !limit).then(|| {
            format!(
                "{} etcd {} {} {}: expected {expected:?}, limit honored {:?}; got {verdict:?}",
                self.k8s, self.etcd, self.method, self.request_uri, self.limit_honored
            )
        })
    }
}

fn is_cache_or_etcd(from: ServedFrom) -> bool {
    matches!(from, ServedFrom::WatchCache | ServedFrom::Etcd)
}

fn lines_of(path: &PathBuf) -> impl Iterator<Item = String> {
    let file = File::open(path).expect("a fixture");
    BufReader::new(MultiGzDecoder::new(file)).lines().map(|line| line.expect("a line"))
}

/// The fixtures with this name prefix, with the rest of their names.
fn fixtures(prefix: &str) -> BTreeMap<String, PathBuf> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/truth");
    let entries = fs::read_dir(directory).expect("fixtures/truth");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_prefix(prefix)?.to_owned();
            Some((name, path))
        })
        .collect()
}

fn probes(path: &PathBuf) -> Vec<Probe> {
    lines_of(path).map(|line| serde_json::from_str(&line).expect("a probe")).collect()
}

/// Request shapes whose verdict does not follow from the request and the version; `docs/depends.md` lists them.
const DEPENDING: [Reason; 5] = [
    Reason::ListExactSnapshot,
    Reason::ListLimitMeansExactSnapshot,
    Reason::ListContinueSnapshot,
    Reason::ListContinueSnapshotIgnoresLimit,
    Reason::ListContinueOldEtcd,
];

#[test]
fn verdicts_match_recorded_servers() {
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut likely = (0_u32, 0_u32);
    for path in fixtures("probes-").values() {
        for probe in probes(path) {
            let target = ParsedTarget::parse(&probe.request_uri).expect("a target");
            let method = Method::parse(&probe.method).expect("a method");
            let shape = RequestShape::new(method, &target.path, &target.options);
            let verdict = judge(&probe.server(), &shape, None);
            wrong.extend(probe.disagrees(verdict));
            if verdict.served_from == ServedFrom::Depends {
                assert!(DEPENDING.contains(&verdict.reason), "{:?} is not listed", verdict.reason);
                if let Expected::From(from) = probe.expected() {
                    likely.0 += u32::from(verdict.likely == Some(from));
                    likely.1 += 1;
                }
            }
            // The prober treats a path in capitals as a LIST; the server does not have such a path.
            if probe.status != 404 {
                assert_eq!(shape.verb.as_str(), probe.kind, "{}", probe.request_uri);
            }
            count += 1;
        }
    }
    assert!(count > 9_000, "only {count} probes were found");
    // The rest are revisions from before the cache's start. The prober sampled a tenth of them.
    assert!(likely.1 > 200 && likely.0 * 100 >= likely.1 * 85, "likely in {} of {}", likely.0, likely.1);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn scan_gives_the_same_verdicts_on_a_recorded_audit_log() {
    let audits = fixtures("audit-");
    let mut wrong = Vec::new();
    let mut joined = 0;
    for (name, path) in fixtures("probes-") {
        let probes: HashMap<String, Probe> =
            probes(&path).into_iter().map(|probe| (probe.audit_id.clone(), probe)).collect();
        for text in lines_of(&audits[&name]) {
            let event: Event<'_> = serde_json::from_str(&text).expect("an event");
            let stage = event.stage().expect("a stage");
            let (Some(probe), Stage::ResponseComplete) = (probes.get(&*event.audit_id), stage) else {
                continue;
            };
            let mut classifier = Classifier::default();
            let request = classifier.event(&event, stage, SourcePosition { source: 0, offset: 0, line: 1 });
            assert_eq!(request.shape().verb.as_str(), &*event.verb, "{}", probe.request_uri);
            let class = StatusClass::from_status(&request.shape(), request.status);
            let verdict = judge(&probe.server(), &request.shape(), class.status());
            wrong.extend(probe.disagrees(verdict));
            joined += 1;
        }
    }
    assert!(joined > 9_000, "only {joined} events were joined");
    assert!(wrong.is_empty(), "{} of {joined}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The server's version as inferred from a log.
fn inferred(path: &PathBuf) -> Inferred {
    let sources = Sources::discover(std::slice::from_ref(path)).expect("a source");
    let settings = Settings { patterns: false, ..Settings::default() };
    let server = Server::with_defaults(KubeVersion::NEWEST);
    let timeline = ServerTimeline::always(server.version);
    let mut ledger = pipeline::run(&sources.list, &settings, &timeline, &Arc::default()).expect("a ledger");
    version::infer(&mut ledger, &server, None, &|_| String::new())
}

#[test]
fn the_possible_versions_include_the_true_one() {
    let audits = fixtures("audit-");
    let mut widths = 0;
    for (name, path) in fixtures("probes-") {
        let version: KubeVersion =
            probes(&path).first().expect("a probe").k8s.parse().expect("Kubernetes' version");
        let inferred = inferred(&audits[&name]);
        assert!(inferred.candidates.contains(version), "{name}: {}", inferred.candidates);
        assert_eq!(inferred.notes, [] as [String; 0], "{name}");
        let (oldest, newest) = inferred.candidates.hull().expect("a set that is not empty");
        widths += newest.minor - oldest.minor;
    }
    assert!(widths <= 16, "six logs leave {widths} minors beside the true ones");
    let traffic = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/traffic");
    let inferred = inferred(&traffic);
    assert!(inferred.timeline.kube_versions().eq([KubeVersion::new(36, 2)]), "{:?}", inferred.timeline);
}

#[test]
fn docs_list_every_reason_of_a_depends_verdict() {
    let docs = include_str!("../../docs/depends.md");
    for reason in DEPENDING {
        assert!(docs.contains(reason.code()), "docs/depends.md does not list {}", reason.code());
    }
}
