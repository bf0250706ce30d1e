//! Bodies of requests and responses, as the audit level `RequestResponse` records them: Kubernetes objects with
//! nested maps, lists, JSON within strings, and text with escapes.

use std::fmt::Write;

use super::event::{Object, Request, Stages, quote, status_fields};
use super::rng::Rng;

/// The smallest body, in bytes.
const SMALLEST: usize = 2_000;
/// The maximum number of doublings from the smallest body to the body of a single object.
const FEW: u32 = 3;
/// Objects with files of users: the maximum number of doublings, and one in how many such objects has them.
const MANY: u32 = 8;
const FILES_EVERY: u64 = 20;
/// The smallest list, in bytes, and the doublings to the largest: 1 MB, with the last item.
const SMALLEST_LIST: usize = 15_000;
const LIST_DOUBLINGS: u32 = 6;
/// The smallest list item, in bytes, and the largest increase.
const ITEM: usize = 1_000;
const ITEM_SPREAD: usize = 6_000;

/// The bodies of a request and its response; `None` if the server records none.
#[derive(Default)]
pub struct Bodies {
    /// `requestObject`, as JSON.
    pub request: Option<String>,
    /// `responseObject`, as JSON.
    pub response: Option<String>,
}

impl Bodies {
    /// The bodies of a request, the same for the same state of `rng`.
    ///
    /// Source: k8s.io/apiserver `pkg/audit/request.go`: `LogRequestObject`, `LogRequestPatch`, `LogResponseObject`.
    pub fn new(request: &Request, rng: &mut Rng) -> Self {
        let Some(object) = &request.object else { return Self::default() };
        // The server records no body for watches, logs and connections. It records one for each other failed
        // request.
        if matches!(request.stages, Stages::Three) {
            return Self::default();
        }
        let size = size(object, rng);
        // Authentication, flow control and authorization reject a request before the server reads its body.
        let is_read = !matches!(request.status, 401 | 403 | 429);
        let sent = match request.verb {
            "create" | "update" | "patch" if is_read => Some(whole(object, size, false, rng)),
            "delete" if is_read => Some(
                r#"{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/__internal","propagationPolicy":"Background"}"#
                    .to_owned(),
            ),
            _ => None,
        };
        let received = match (request.status, request.verb) {
            // Flow control responds in plain text.
            (429, _) => None,
            (400.., _) => Some(failed(request)),
            (_, "list" | "deletecollection") => Some(list(object, rng)),
            _ => Some(whole(object, size, true, rng)),
        };
        Self { request: sent, response: received }
    }

    /// The existing bodies with their field names.
    pub fn with_keys(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let [sent, received] = [&self.request, &self.response].map(Option::as_deref);
        let sent = sent.map(|body| ("requestObject", body));
        sent.into_iter().chain(received.map(|body| ("responseObject", body)))
    }
}

/// A random size from the smallest up to some doublings of it. Each doubling is equally likely.
fn drawn(smallest: usize, doublings: u32, rng: &mut Rng) -> usize {
    let low = smallest << rng.below(u64::from(doublings));
    low + rng.index(low)
}

fn size(object: &Object, rng: &mut Rng) -> usize {
    let holds_files = matches!(object.resource, "configmaps" | "secrets" | "widgets");
    let doublings = if holds_files && rng.below(FILES_EVERY) == 0 { MANY } else { FEW };
    drawn(SMALLEST, doublings, rng)
}

fn failed(request: &Request) -> String {
    let mut json = String::from(r#"{"kind":"Status","apiVersion":"v1","metadata":{}"#);
    status_fields(&mut json, request);
    json
}

fn list(object: &Object, rng: &mut Rng) -> String {
    let size = drawn(SMALLEST_LIST, LIST_DOUBLINGS, rng);
    let mut json = String::with_capacity(size + 10_000);
    begin(&mut json, object, "List");
    push(
        &mut json,
        format_args!(r#","metadata":{{"resourceVersion":"{}"}},"items":["#, 480_000 + rng.below(90_000)),
    );
    // The items of one list have similar sizes.
    let usual = ITEM + rng.index(ITEM_SPREAD);
    let mut comma = "";
    while json.len() < size {
        json.push_str(comma);
        json.push('{');
        let end = json.len() + usual / 2 + rng.index(usual / 2);
        fields(&mut json, object, end, true, rng);
        json.push('}');
        comma = ",";
    }
    json.push_str("]}");
    json
}

/// One object of at least that size; `stored` with what the server adds.
fn whole(object: &Object, size: usize, stored: bool, rng: &mut Rng) -> String {
    let mut json = String::with_capacity(size + 4_000);
    begin(&mut json, object, "");
    json.push(',');
    fields(&mut json, object, size, stored, rng);
    json.push('}');
    json
}

fn begin(json: &mut String, object: &Object, list: &str) {
    let slash = if object.group.is_empty() { "" } else { "/" };
    let (kind, group, version) = (kind(object.resource), object.group, object.version);
    push(json, format_args!(r#"{{"kind":"{kind}{list}","apiVersion":"{group}{slash}{version}""#));
}

fn kind(resource: &str) -> &'static str {
    match resource {
        "pods" => "Pod",
        "nodes" => "Node",
        "services" => "Service",
        "serviceaccounts" => "ServiceAccount",
        "configmaps" => "ConfigMap",
        "secrets" => "Secret",
        "events" => "Event",
        "deployments" => "Deployment",
        "replicasets" => "ReplicaSet",
        "cronjobs" => "CronJob",
        "leases" => "Lease",
        "endpointslices" => "EndpointSlice",
        _ => "Widget",
    }
}

/// An object's fields after its kind, until the text is `end` bytes long.
fn fields(json: &mut String, object: &Object, end: usize, stored: bool, rng: &mut Rng) {
    metadata(json, object, stored, rng);
    match object.resource {
        "configmaps" => fill(json, end, r#","data":{"#, "}", rng, file),
        "secrets" => fill(json, end, r#","data":{"#, r#"},"type":"Opaque""#, rng, secret),
        "pods" => {
            fill(json, end, r#","spec":{"containers":["#, r#"],"restartPolicy":"Always"}"#, rng, container);
        }
        "deployments" | "replicasets" | "cronjobs" => {
            let open = r#","spec":{"replicas":3,"template":{"spec":{"containers":["#;
            fill(json, end, open, r#"],"dnsPolicy":"ClusterFirst"}}}"#, rng, container);
        }
        "endpointslices" | "services" => fill(json, end, r#","endpoints":["#, "]", rng, endpoint),
        "nodes" => fill(json, end, r#","status":{"images":["#, "]}", rng, image),
        _ => fill(json, end, r#","spec":{"rules":["#, "]}", rng, rule),
    }
    // A node's filler is in its status.
    if stored && object.resource != "nodes" {
        json.push_str(r#","status":{"observedGeneration":7,"conditions":["#);
        for (number, name) in ["Ready", "Available", "Progressing"].into_iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            let minute = rng.below(60);
            push(
                json,
                format_args!(
                    r#"{comma}{{"type":"{name}","status":"True","lastTransitionTime":"2026-07-01T07:{minute:02}:11Z","reason":"Minimum","message":"\"{name}\" holds \u003c1m\u003e \u0026 more"}}"#
                ),
            );
        }
        json.push_str("]}");
    }
}

/// Writes units between `open` and `close` until the text is `end` bytes long; at least one.
fn fill(
    json: &mut String,
    end: usize,
    open: &str,
    close: &str,
    rng: &mut Rng,
    unit: fn(&mut String, usize, &mut Rng),
) {
    json.push_str(open);
    let mut number = 0;
    while number == 0 || json.len() < end {
        if number > 0 {
            json.push(',');
        }
        unit(json, number, rng);
        number += 1;
    }
    json.push_str(close);
}

fn metadata(json: &mut String, object: &Object, stored: bool, rng: &mut Rng) {
    let name = if object.name.is_empty() {
        format!("app-{}-{}", rng.below(300), rng.suffix(5))
    } else {
        object.name.clone()
    };
    json.push_str(r#""metadata":{"name":"#);
    quote(json, &name);
    if !object.namespace.is_empty() {
        json.push_str(r#","namespace":"#);
        quote(json, &object.namespace);
    }
    if stored {
        let (uid, revision) = (rng.uuid(), 480_000 + rng.below(90_000));
        push(
            json,
            format_args!(
                r#","uid":"{uid}","resourceVersion":"{revision}","generation":7,"creationTimestamp":"2026-06-30T07:{:02}:33Z""#,
                rng.below(60)
            ),
        );
    }
    push(
        json,
        format_args!(
            r#","labels":{{"app.kubernetes.io/name":"{name}","app.kubernetes.io/managed-by":"Helm","pod-template-hash":"{}"}},"annotations":{{"checksum/config":"{}","kubectl.kubernetes.io/last-applied-configuration":"#,
            rng.suffix(9),
            rng.hex(64)
        ),
    );
    // JSON in a string, as `kubectl apply` writes it: each quote is escaped once more.
    let applied = format!(
        "{{\"apiVersion\":\"v1\",\"kind\":\"{}\",\"metadata\":{{\"annotations\":{{}},\"name\":\"{name}\"}},\
         \"verb\":\"list\",\"stage\":\"ResponseComplete\",\"requestURI\":\"/api/v1/pods?limit=5&resourceVersion=0\"}}\n",
        kind(object.resource)
    );
    quote(json, &applied);
    json.push('}');
    if stored {
        json.push_str(concat!(
            r#","managedFields":[{"manager":"helm","operation":"Update","apiVersion":"apps/v1","time":"2026-06-30T07:03:33Z","#,
            r#""fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{}},"#,
            r#""f:labels":{".":{},"f:app.kubernetes.io/name":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"#,
            r#""f:env":{".":{},"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:name":{}}}}}}]"#
        ));
    }
    json.push('}');
}

fn container(json: &mut String, number: usize, rng: &mut Rng) {
    push(
        json,
        format_args!(
            r#"{{"name":"c-{number}","image":"registry.example.com/team/app@sha256:{}","args":["--listen=:{}","--filter={{\"a\":\"b\"}}"],"env":["#,
            rng.hex(64),
            8_000 + rng.below(1_000)
        ),
    );
    for variable in 0..4 + rng.below(6) {
        let comma = if variable > 0 { "," } else { "" };
        push(
            json,
            format_args!(
                r#"{comma}{{"name":"SETTING_{variable}","value":"{}\\{}\"x\""}}"#,
                rng.suffix(12),
                rng.hex(8)
            ),
        );
    }
    push(
        json,
        format_args!(
            r#"],"resources":{{"limits":{{"memory":"{}Mi"}},"requests":{{"cpu":"{}m"}}}},"livenessProbe":{{"httpGet":{{"path":"/healthz?verbose=1\u0026x=2","port":8080,"scheme":"HTTP"}},"timeoutSeconds":1,"periodSeconds":10,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","imagePullPolicy":"IfNotPresent"}}"#,
            64 + rng.below(512),
            rng.below(900)
        ),
    );
}

/// A file with lines, as in the ConfigMaps of charts.
fn file(json: &mut String, number: usize, rng: &mut Rng) {
    push(json, format_args!(r#""file-{number:04}.yaml":"#));
    let mut text = String::with_capacity(1_600);
    for line in 0..8 + rng.below(16) {
        push(
            &mut text,
            format_args!("  key-{line}: \"{}\"\t# <{}> & more, größer\n", rng.suffix(20), rng.hex(12)),
        );
    }
    quote(json, &text);
}

fn secret(json: &mut String, number: usize, rng: &mut Rng) {
    let length = 200 + rng.index(800);
    push(json, format_args!(r#""key-{number:04}":"{}==""#, rng.hex(length)));
}

fn endpoint(json: &mut String, number: usize, rng: &mut Rng) {
    push(
        json,
        format_args!(
            r#"{{"addresses":["10.{}.{}.{}"],"conditions":{{"ready":true,"serving":true,"terminating":false}},"targetRef":{{"kind":"Pod","name":"app-{number}-{}","uid":"{}"}},"nodeName":"node-{}","zone":null}}"#,
            rng.below(9),
            rng.below(250),
            rng.below(250),
            rng.suffix(5),
            rng.uuid(),
            rng.below(500)
        ),
    );
}

fn image(json: &mut String, number: usize, rng: &mut Rng) {
    push(
        json,
        format_args!(
            r#"{{"names":["registry.example.com/team/app-{number}@sha256:{}"],"sizeBytes":{}}}"#,
            rng.hex(64),
            rng.below(900_000_000)
        ),
    );
}

fn rule(json: &mut String, number: usize, rng: &mut Rng) {
    push(
        json,
        format_args!(
            r#"{{"name":"rule-{number}","expr":"rate(http_requests_total{{job=\"{}\"}}[5m]) \u003e {}.5","weight":{}.25,"enabled":true,"tags":["{}","ü",null]}}"#,
            rng.suffix(8),
            rng.below(100),
            rng.below(10),
            rng.hex(8)
        ),
    );
}

fn push(json: &mut String, text: std::fmt::Arguments<'_>) {
    json.write_fmt(text).expect("a string takes everything");
}
