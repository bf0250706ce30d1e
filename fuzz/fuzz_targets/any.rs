//! Runs the fuzz target that `FUZZ_TARGET` names: all targets are one table in `tests/support/library/targets.rs`, and
//! one program, because each program takes a minute to link.

#![no_main]

use std::env;
use std::sync::LazyLock;

static NAME: LazyLock<String> = LazyLock::new(|| env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target"));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| library::targets::run(&NAME, bytes));
