//! The report in every output format.

#[allow(dead_code, reason = "other binaries use the rest")]
mod support;

mod outputs {
    mod export;
    mod formats;
    mod hostile;
    mod page;
    mod report;
}
