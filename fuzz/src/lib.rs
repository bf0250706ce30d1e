//! Shared by all fuzz targets: each runs the body with its own name.

#[path = "../../tests/support/conservation.rs"]
mod conservation;
#[path = "../../tests/support/cost_body.rs"]
mod cost_body;
#[path = "../../tests/support/envelope_bodies.rs"]
mod envelope_bodies;
#[path = "../../tests/support/etcd_body.rs"]
mod etcd_body;
#[path = "../../tests/support/fuzz_bodies.rs"]
mod fuzz_bodies;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/support/fuzz_targets.rs"]
mod fuzz_targets;
#[path = "../../tests/support/klog_body.rs"]
mod klog_body;
#[path = "../../tests/support/reader_body.rs"]
mod reader_body;
#[path = "../../tests/support/rules_body.rs"]
mod rules_body;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/support/run.rs"]
mod run;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/support/same.rs"]
mod same;

pub use fuzz_targets::run;

/// The target whose name the binary has.
#[macro_export]
macro_rules! target {
    () => {
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::run(env!("CARGO_BIN_NAME"), bytes));
    };
}
