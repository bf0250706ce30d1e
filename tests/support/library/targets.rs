//! The fuzz targets by name: one for each envelope, and one for each other kind of input.

use kubetoll::decode::Envelope;

use super::{cost_body, envelope_bodies, etcd_body, fuzz_bodies, klog_body, reader_body, rules_body};

/// The body of a fuzz target.
type Body = fn(&[u8]);

/// The targets that do not decode an envelope.
const OTHERS: [(&str, Body); 13] = [
    ("line", fuzz_bodies::line),
    ("uri", |bytes| text(bytes, fuzz_bodies::uri)),
    ("secrets", |bytes| text(bytes, fuzz_bodies::secrets)),
    ("user_agent", |bytes| text(bytes, fuzz_bodies::user_agent)),
    ("klog", |bytes| text(bytes, klog_body::klog)),
    ("on_demand", |bytes| text(bytes, fuzz_bodies::on_demand)),
    ("json_scanner", envelope_bodies::json_scanner),
    ("reader", reader_body::reader),
    ("rule", |bytes| text(bytes, rules_body::rule)),
    ("budget", |bytes| text(bytes, rules_body::budget)),
    ("policy", |bytes| text(bytes, rules_body::policy)),
    ("etcd", etcd_body::etcd),
    ("inventory", cost_body::inventory),
];

/// The names of all targets.
pub fn names() -> impl Iterator<Item = &'static str> {
    Envelope::ALL.into_iter().map(Envelope::as_str).chain(OTHERS.iter().map(|(name, _)| *name))
}

/// Runs a target.
///
/// # Panics
/// If a property does not hold, or if no target has this name.
pub fn run(name: &str, bytes: &[u8]) {
    match Envelope::ALL.into_iter().find(|envelope| envelope.as_str() == name) {
        Some(envelope) => envelope_bodies::envelope(envelope, bytes),
        None => OTHERS.iter().find(|(other, _)| *other == name).expect("a target").1(bytes),
    }
}

fn text(bytes: &[u8], body: fn(&str)) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        body(text);
    }
}
