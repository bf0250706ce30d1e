//! Helpers that call the library, not the command. The fuzz targets in `fuzz/` compile them too.

pub mod conservation;
pub mod cost_body;
pub mod envelope_bodies;
pub mod etcd_body;
pub mod fuzz_bodies;
pub mod json_records;
pub mod klog_body;
pub mod reader_body;
pub mod rules_body;
pub mod run;
pub mod same;
pub mod targets;
