//! The formats of audit logs: one file and one row in `table.rs` for each. An envelope only extracts its
//! content. The decoder then detects the format of the content, because envelopes nest.

pub(crate) mod audit;
pub(crate) mod aws_logs_tail;
pub(crate) mod azure_admin;
pub(crate) mod azure_parsed;
pub(crate) mod azure_record;
pub(crate) mod azure_records;
pub(crate) mod azure_table;
pub(crate) mod cloudwatch_export;
pub(crate) mod cloudwatch_subscription;
pub(crate) mod collector;
mod content;
pub(crate) mod cri;
pub(crate) mod docker;
pub(crate) mod event_list;
pub(crate) mod firehose;
pub(crate) mod gke;
pub(crate) mod grep;
pub(crate) mod json;
pub(crate) mod json_array;
pub(crate) mod legacy;
mod line;
pub(crate) mod logs_insights;
pub(crate) mod node_logs;
pub(crate) mod otlp;
pub(crate) mod syslog;
mod table;
pub(crate) mod viaq;
pub(crate) mod yaml;

pub(crate) use content::{Content, Inner, JsonObject};
pub(crate) use line::{CriLine, Prefixed, Stripped, after_timestamp};
pub use table::Envelope;
pub(crate) use table::{Property, open, strip};
