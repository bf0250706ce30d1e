//! A user agent, from its text to a product.

#![no_main]

#[allow(dead_code, reason = "one target checks reports")]
#[path = "../../tests/support/conservation.rs"]
mod conservation;
#[allow(dead_code, reason = "the other targets use the rest")]
#[path = "../../tests/support/fuzz_bodies.rs"]
mod fuzz_bodies;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/support/run.rs"]
mod run;

libfuzzer_sys::fuzz_target!(|text: &str| fuzz_bodies::user_agent(text));
