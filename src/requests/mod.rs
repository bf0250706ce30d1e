//! Turns an event or an access line into a [`Request`]: client, request shape and outcome.

pub mod access;
mod cache;
pub mod classifier;
pub mod client_identity;
mod confirmed_claim;
pub mod contract;
pub mod event;
pub mod filter;
pub mod fingerprint;
pub mod grouping;
mod http_method;
pub mod instance;
pub mod namespace;
mod query;
mod request;
pub mod request_spec;
pub mod row_key;
mod spec_cache;
pub mod stable;
mod status_class;
mod template;
pub mod version_claim;

pub use classifier::Classifier;
pub use client_identity::{ClientIdentity, ClientRef};
pub use confirmed_claim::confirmed_claim;
pub use fingerprint::{Fingerprints, is_same_moment, request_hash};
pub use grouping::Grouping;
pub use instance::{Instance, InstanceKind};
pub use namespace::namespace_hash;
pub use request::{Measured, Request};
pub use request_spec::RequestSpec;
pub use row_key::{RowKey, RowKeyRef};
pub use stable::stable_hash;
pub use status_class::StatusClass;
pub use version_claim::{ClaimSource, VersionClaim};
