//! Rules: YAML files with CEL conditions over judged clients. A rule never sees an event.
//!
//! [`rule_file`] reads `rules/<name>.yaml`, and [`rule`] is the checked rule. [`rule_set`] collects the rules of a run.
//! [`variables`] lists the variables that rules may use. [`judge`] evaluates the rules.
//!
//! Imports go one way. Judging uses findings, findings use policies and rules, and rules use conditions and texts.
//! Conditions and texts use variables, variables use groups of rows, and groups use the facts of a row.

pub(crate) mod condition;
pub mod facts;
pub(crate) mod figures;
mod finding;
mod finding_texts;
mod gates;
pub mod group;
pub(crate) mod input;
pub(crate) mod job_advice;
mod judge;
mod matching;
mod native;
mod over_time;
pub mod permission;
pub mod policy;
pub mod programs;
pub(crate) mod rivals;
mod row_ids;
mod rows;
pub(crate) mod rule;
mod rule_checker;
pub mod rule_file;
pub(crate) mod rule_set;
pub mod schema;
pub(crate) mod sources;
pub mod stats;
pub(crate) mod text_template;
mod type_check;
pub mod value;
pub mod variables;

pub use crate::files::error::{self, FileError, FileErrors};
use crate::files::yaml;
pub(crate) use finding::{Finding, FindingVerdict, HitRef, OnProgram};
pub(crate) use gates::{GateRequests, Gates, Worst};
pub use judge::judge;
pub(crate) use judge::{Hits, RuleInput, RuleResults};
pub use policy::{Policy, Suppression};
pub use rule::{Rule, Severity};
pub use rule_checker::parse_rule;
pub use rule_set::{BadRules, RuleSet};
