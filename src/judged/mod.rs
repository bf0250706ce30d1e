//! The ledger's rows with their verdicts, grouped by client. Rules and the report read these.

mod agreement;
mod client_name;
mod client_summary;
pub(crate) mod etcd;
mod impersonation;
mod judged_clients;
mod load;
mod pagination;
mod shape_key;
mod shape_summary;
pub(crate) mod shape_text;

pub(crate) use agreement::Agreement;
pub(crate) use client_name::ClientName;
pub(crate) use client_summary::{Agent, ClientSummary, Job};
pub use judged_clients::JudgedClients;
pub(crate) use load::{LoadUnit, Measure, RequestLoad};
pub(crate) use shape_key::{RequestKey, ShapeKey};
pub(crate) use shape_summary::{ProductRow, ShapeSummary};
