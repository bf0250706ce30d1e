//! Compares the model with upstream's own test tables, extended over versions, gates and etcd
//! (`fixtures/truth/upstream-cases.json.gz`).

use std::fs::File;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::read::MultiGzDecoder;
use kubetoll::apiserver::{Gate, LimitVerdict, ParsedTarget, RequestShape, ServedFrom, Server, judge};
use kubetoll::k8s::request_info::Method;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Cases {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

struct Case<'a> {
    columns: &'a [String],
    row: &'a [Value],
}

impl Case<'_> {
    fn get(&self, column: &str) -> &Value {
        let index = self.columns.iter().position(|name| name == column).expect("a column");
        &self.row[index]
    }

    fn text(&self, column: &str) -> &str {
        self.get(column).as_str().unwrap_or_default()
    }

    fn flag(&self, column: &str) -> Option<bool> {
        self.get(column).as_bool()
    }

    fn server(&self) -> Server {
        let version = self.text("version");
        // "1.33.0-1.33.2", "1.33.3+" and "1.37 (beta.0)" are ranges; their first release stands for them.
        let first = version.split(['-', '+', ' ']).next().expect("a version");
        let mut server = Server::with_defaults(first.parse().expect("a version"));
        for setting in self.text("gates").split(',').filter(|setting| !setting.is_empty()) {
            let (name, value) = setting.split_once('=').expect("Name=value");
            let value = value == "true";
            if let Some(gate) = Gate::by_name(name) {
                server.gates.set(gate, value);
            } else {
                assert_eq!(name, "etcdRequestWatchProgress");
                server.etcd = Some(if value { "3.6.0" } else { "3.4.23" }.parse().expect("a version"));
            }
        }
        server
    }

    fn uri(&self) -> String {
        let kind = self.text("kind");
        let single = self.flag("recursive") == Some(false);
        let mut query = Vec::new();
        let mut path = "/api/v1/pods".to_owned();
        match kind {
            "get" => "/api/v1/namespaces/n/pods/x".clone_into(&mut path),
            _ if single => {
                "/api/v1/namespaces/n/pods".clone_into(&mut path);
                query.push("fieldSelector=metadata.name%3Dx".to_owned());
            }
            _ => {}
        }
        if kind == "watch" {
            query.push("watch=true".to_owned());
        }
        for (column, key) in [("rv", "resourceVersion"), ("rvm", "resourceVersionMatch")] {
            if !self.text(column).is_empty() {
                query.push(format!("{key}={}", self.text(column)));
            }
        }
        if let Some(limit) = self.get("limit").as_i64().filter(|limit| *limit > 0) {
            query.push(format!("limit={limit}"));
        }
        if let Some(revision) = self.text("continue").strip_prefix("rv=") {
            let token = format!(r#"{{"v":"meta.k8s.io/v1","rv":{revision},"start":"n/x\u0000"}}"#);
            query.push(format!("continue={}", URL_SAFE_NO_PAD.encode(token)));
        }
        if let Some(wanted) =
            Some(self.text("send_initial_events")).filter(|v| matches!(*v, "true" | "false"))
        {
            query.push(format!("sendInitialEvents={wanted}"));
        }
        format!("{path}?{}", query.join("&"))
    }

    /// Upstream also tests its functions with inputs that no request has, and without the checks of validation.
    fn is_a_request(&self) -> bool {
        let decided = self.flag("bypass").is_some() || self.get("http_error").is_u64();
        // Upstream's watch test skips the defaulting of a server with WatchList.
        let behind_defaulting = self.text("kind") == "watch"
            && self.flag("derived") == Some(false)
            && self.server().enabled(Gate::WatchList);
        self.flag("reachable_via_rest") != Some(false)
            && self.text("continue") != "a"
            && decided
            && !behind_defaulting
    }

    fn disagrees(&self) -> Option<String> {
        let (server, uri) = (self.server(), self.uri());
        let target = ParsedTarget::parse(&uri).expect("a target");
        let shape = RequestShape::new(Method::Get, &target.path, &target.options);
        let verdict = judge(&server, &shape, None);
        let rejected = self.get("http_error").as_u64().and_then(|status| u16::try_from(status).ok());
        let agrees = if rejected.is_some() {
            verdict.rejected == rejected
        } else {
            let from = match (self.flag("bypass"), self.flag("etcd_revision_read")) {
                (Some(true), _) => ServedFrom::Etcd,
                (_, Some(true)) => ServedFrom::WatchCacheAfterRevisionCheck,
                _ => ServedFrom::WatchCache,
            };
            let source = verdict.served_from == from || verdict.served_from == ServedFrom::Depends;
            let limit = match (self.flag("limit_honored"), verdict.limit) {
                _ if verdict.served_from == ServedFrom::Depends => true,
                // A result of at most one object honors every limit.
                (Some(false), LimitVerdict::Honored) => self.flag("recursive") == Some(false),
                (Some(honored), limit) => honored == (limit == LimitVerdict::Honored),
                (None, _) => true,
            };
            verdict.rejected.is_none() && source && limit
        };
        (!agrees).then(|| {
            format!(
                "{} [{}] {uri}: {:?}; got {verdict:?}",
                self.text("version"),
                self.text("gates"),
                self.row
            )
        })
    }
}

#[test]
fn model_matches_the_upstream_test_cases() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/truth/upstream-cases.json.gz");
    let file = MultiGzDecoder::new(File::open(path).expect("a fixture"));
    let cases: Cases = serde_json::from_reader(file).expect("the cases");
    let cases = cases.rows.iter().map(|row| Case { columns: &cases.columns, row });
    let requests: Vec<Case<'_>> = cases.filter(Case::is_a_request).collect();
    assert!(requests.len() > 7_000, "only {} cases are requests", requests.len());
    let wrong: Vec<String> = requests.iter().filter_map(Case::disagrees).collect();
    let shown = &wrong[..wrong.len().min(20)];
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), requests.len(), shown.join("\n"));
}
