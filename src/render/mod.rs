//! One file for each format of a report.

mod cases;
mod clients;
mod cost;
pub mod escape;
mod etcd_log;
pub mod export;
mod facts;
pub(crate) mod file;
mod findings;
pub mod github;
pub mod input;
pub mod json;
pub mod junit;
pub mod markdown;
mod over_time;
mod patterns;
pub mod plain;
pub mod products;
mod prose;
pub mod request;
pub mod rules;
pub mod sarif;
mod span;
mod sparkline;
mod table;
pub mod text;
mod traces;
