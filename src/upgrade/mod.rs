//! What the recorded requests would do on another version of the server: which requests the server would read from
//! etcd, whose limit it would honor, which it would refuse, and which APIs it would no longer serve.

mod change;
mod compare;
mod contract;

pub(crate) use compare::{Comparison, compare};
pub use contract::UpgradeReport;
pub(crate) use contract::{ClientChanges, GateChange, ServerState, ShapeChange, UpgradeHop, UpgradeTotals};
