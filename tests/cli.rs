//! The commands and flags of the command line: what they print, which errors they report and how they exit.

#[allow(dead_code, reason = "other binaries use the rest")]
mod support;

mod cli {
    mod anonymize;
    mod audit_policy;
    mod budget;
    mod by;
    mod contract;
    mod diff;
    mod extract;
    mod failures;
    mod flags;
    mod gates;
    mod policy;
    mod story;
    mod upgrade;
}
