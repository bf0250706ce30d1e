//! The model of kube-apiserver from 1.19 on: what it refuses, where it serves a request from, and whether it honors
//! `limit`. Each function follows an upstream function branch by branch. Its comment names the upstream function.

mod configured;
pub(crate) mod features;
mod get;
pub mod judge;
mod list;
pub(crate) mod options;
pub(crate) mod reason;
mod reject;
pub(crate) mod releases;
pub(crate) mod request_shape;
pub(crate) mod resources;
pub(crate) mod seats;
pub(crate) mod server;
pub(crate) mod storage_key;
pub(crate) mod verdict;
mod watch;

pub(crate) use configured::ConfiguredNames;
pub use features::{FeatureGates, Gate};
pub(crate) use judge::{VersionRange, across_versions_with, certainty_within};
pub use judge::{across_versions, certainty, judge};
pub use reason::Reason;
pub use releases::Releases;
pub(crate) use releases::{epochs, have_equal_verdicts};
pub use request_shape::{Configured, ParsedTarget, RequestShape, Target};
pub use server::Server;
pub use verdict::{Certainty, LimitVerdict, ServedFrom, Verdict};
