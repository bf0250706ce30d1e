//! Requests of a client that tries to fill memory: each has another user agent or another resource.

use synth::{BEGIN, Rng};

/// The form of a hostile user agent.
const SHAPES: [&str; 5] = [
    "{name}/1.0 {noise}",
    "{name} {noise}",
    "{name}/v1.0 (x) kubernetes/{noise}",
    "\\u001b{noise}",
    "{noise}",
];

/// A request of one user with a unique user agent of 1 KB. All durations differ, so the costliest requests are
/// well defined.
pub fn agent(number: u32, rng: &mut Rng) -> String {
    let name = format!("{}-{}", rng.suffix(6), rng.hex(16));
    let agent = rng.pick(&SHAPES).replace("{name}", &name).replace("{noise}", &rng.hex(1_000));
    request(number, "/api/v1/pods?limit=500", &agent)
}

/// A request of one user and product for a resource of its own, with a query key of its own.
pub fn resource(number: u32, rng: &mut Rng) -> String {
    let uri = format!("/apis/{}.example.com/v1/{}?{}=1", rng.suffix(9), rng.suffix(9), rng.hex(90));
    request(number, &uri, "tool/1.0")
}

/// A request of a node with a unique version.
pub fn version(number: u32) -> String {
    let agent = format!("kubelet/v1.{}.{} (linux/amd64) kubernetes/x", number / 500, number % 500);
    request(number, "/api/v1/nodes/n", &agent).replace("mallory", "system:node:n")
}

fn request(number: u32, uri: &str, agent: &str) -> String {
    let received = BEGIN + i64::from(number) * 997;
    let at = kubetoll::k8s::timestamp::format_micros;
    format!(
        "{{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"level\":\"Metadata\",\"auditID\":\"{number:036}\",\
         \"stage\":\"ResponseComplete\",\"requestURI\":\"{uri}\",\"verb\":\"list\",\
         \"user\":{{\"username\":\"mallory\"}},\"userAgent\":\"{agent}\",\"responseStatus\":{{\"code\":200}},\
         \"requestReceivedTimestamp\":\"{}\",\"stageTimestamp\":\"{}\"}}\n",
        at(received),
        at(received + 1_000 + i64::from(number))
    )
}
