//! Shared by all fuzz targets: each runs the body with its own name.

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/support/library/mod.rs"]
mod library;

pub use library::targets::run;

/// The target whose name the binary has.
#[macro_export]
macro_rules! target {
    () => {
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::run(env!("CARGO_BIN_NAME"), bytes));
    };
}
