//! The project's own sources, docs and benchmarks.

#[allow(dead_code, reason = "other binaries use the rest")]
mod support;

mod project {
    mod compare;
    mod conventions;
    mod docs;
    mod language;
    mod modules;
    mod prose;
}
