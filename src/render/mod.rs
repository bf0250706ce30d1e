//! One file for each format of a report.

pub mod export;
