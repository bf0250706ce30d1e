//! Rules: files of data that judge accounts. A rule never sees an event.
//!
//! `rules/<name>.yaml` ([`rule_file`]) is checked ([`rule`]: CEL conditions, texts with placeholders, every mistake at
//! once), rules are gathered ([`set`]), what they may name is listed ([`names`]), and they judge ([`judge`]).

mod checked;
pub mod condition;
mod deprecations;
pub mod facts;
pub mod figures;
mod finding;
mod gates;
pub mod group;
pub mod hits;
pub mod input;
pub mod job_advice;
mod judge;
mod matching;
pub mod names;
mod native;
mod over_time;
pub mod permission;
pub mod policy;
pub mod programs;
pub mod rivals;
mod rows;
pub mod rule;
pub mod rule_file;
pub mod schema;
pub mod set;
pub mod sources;
pub mod stats;
pub mod text;
mod types;
pub mod value;
mod write;

pub use crate::files::error::{self, FileError, FileErrors};
use crate::files::yaml;
pub use finding::{Finding, FindingVerdict, OnProgram};
pub use gates::{GateRequests, Gates, RuleFindings, Worst};
pub use judge::{FindingsOnClient, RuleResults, judge, judge_some};
pub use policy::{Policy, Suppression};
pub use rule::{Rule, Severity};
pub use set::{BadRules, RuleSet};
pub use write::client_name;
