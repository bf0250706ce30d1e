//! Budgets: a committed file with the requests that each client may send.
//!
//! [`init`] writes a budget from runs, [`judge`] compares a run with it, and [`ratchet`] lowers its limits. [`slope`]
//! shows whether requests grow with the number of objects.

mod contract;
mod file;
mod init;
mod judge;
mod measured;
mod number;
mod phase;
mod quote;
mod ratchet;
mod reader;
mod schema;
mod slope;
mod unfit;

pub use contract::SlopeReport;
pub(crate) use contract::{SlopeJudgment, SlopePhase, SlopeRow};
pub use file::Budget;
pub(crate) use file::{BudgetClient, BudgetRequest, FILE_NAME, LONGEST, Unlisted};
pub(crate) use init::init;
pub(crate) use judge::judge;
pub(crate) use measured::{MeasuredRun, UsedRequest, used};
pub(crate) use number::{Slack, allowed, plain};
pub(crate) use phase::Phase;
pub(crate) use ratchet::{Ratchet, ratchet};
pub use schema::schema;
pub(crate) use slope::{ObjectRun, slope};
pub(crate) use unfit::unfit;
