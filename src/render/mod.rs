//! One file for each format of a report.

pub mod export;
pub(crate) mod file;
mod input;
pub mod json;
pub mod plain;
pub mod request;
mod table;
pub mod text;
mod traces;
