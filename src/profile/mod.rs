//! What each client sends in one run, read from the JSON report: at its start, and per minute after it.
//!
//! `kubetoll diff` compares such profiles. Budgets limit them.

mod run;
mod saved_report;

pub use run::{ClientProfile, RunFinding, RunProfile, ShapeProfile};
pub(crate) use saved_report::is_report;
