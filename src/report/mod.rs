//! The report: everything that renderers show, and the public JSON contract.

mod added;
pub(crate) mod advice;
mod build;
mod case_requests;
mod case_texts;
pub mod cases;
mod clients;
mod context;
mod contradictions;
mod cost;
mod etcd_log;
mod files;
mod findings;
mod input;
mod minutes;
mod page;
mod patterns;
mod ranked;
mod ranking;
mod server_log;
pub(crate) mod summary_rows;
mod sums;
mod text_cache;
pub mod v1;
mod version;

pub(crate) use added::{AddedFinding, add_findings};
pub use build::{build, build_with_cases};
pub(crate) use case_requests::{CaseCache, CaseFilter};
pub use context::Context;
pub(crate) use etcd_log::EtcdLogInput;
pub(crate) use input::unknown_files;
pub use page::Report;
pub(crate) use ranked::Ranked;
pub use ranking::Detail;
