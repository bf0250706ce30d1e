//! The model of kube-apiserver from 1.19 on: what it refuses, where it serves a request from, and whether it honors
//! `limit`. Each function follows an upstream function branch by branch. Its comment names the upstream function.

mod configured;
pub mod features;
mod get;
pub mod judge;
mod list;
pub mod options;
pub mod reason;
mod reject;
pub mod releases;
pub mod request_shape;
pub mod resources;
pub mod seats;
pub mod server;
pub mod storage_key;
pub mod verdict;
mod watch;

pub use configured::ConfiguredNames;
pub use features::{FeatureGates, Gate};
pub use judge::{
    VersionRange, across_versions, across_versions_with, certainty, certainty_within, epochs,
    have_equal_verdicts, judge,
};
pub use reason::Reason;
pub use releases::Releases;
pub use request_shape::{Configured, ParsedTarget, RequestShape, Target};
pub use server::Server;
pub use verdict::{Certainty, LimitVerdict, ServedFrom, Verdict};
