//! The owned report: all that a renderer knows, and the public JSON contract.

pub mod advice;
mod build;
mod cost;
mod findings;
mod gather;
mod input;
mod server_log;
mod sums;
pub mod v1;

pub use build::{Context, VersionSource, build};
pub use v1::Report;
