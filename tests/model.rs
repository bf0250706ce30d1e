//! The model of the server compared with real servers: verdicts, versions and costs.

#[allow(dead_code, reason = "other binaries use the rest")]
mod support;

mod model {
    mod cost;
    mod cost_doubt;
    mod cost_files;
    mod cost_measured;
    mod truth;
    mod upstream_cases;
    mod versions;
}
