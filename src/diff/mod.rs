//! Compares two sides, each of one or more runs: which requests are new, gone, more, less or served from elsewhere.

mod comparable;
mod compare;
mod compared_client;
mod contract;
mod fail_on;
mod findings;
mod names;
pub(crate) mod noise;
mod side;
mod totals;
mod unit;

pub(crate) use compare::compare;
pub use contract::DiffReport;
pub(crate) use contract::{DiffFinding, DiffSide, DiffTotal, Difference, PhaseDifference, RequestDifference};
pub(crate) use fail_on::DiffFailOn;
pub(crate) use names::{NameFolding, NameMap};
pub(crate) use side::Side;
pub(crate) use unit::Unit;
