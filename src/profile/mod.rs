//! What each client sends in one run, read from the JSON report: at its start, and per minute after it.
//!
//! `kubetoll diff` compares such profiles. Budgets limit them.

#![allow(dead_code, reason = "budgets and diff come next")]

mod report_file;
mod run;

pub(crate) use report_file::{NotAReport, is_report};
pub use run::{ClientProfile, RunFinding, RunProfile, ShapeProfile};
