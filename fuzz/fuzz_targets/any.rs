//! The target that `FUZZ_TARGET` names: one program of 130 MB where `.ci/fuzz` would have to link forty.

#![no_main]

use std::env;
use std::sync::LazyLock;

static NAME: LazyLock<String> = LazyLock::new(|| env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target"));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kubetoll_fuzz::run(&NAME, bytes));
