//! Turns an event or an access line into a [`Request`]: client, request shape and outcome.

pub(crate) mod access;
pub(crate) mod classifier;
pub(crate) mod client_identity;
mod confirmed_claim;
pub(crate) mod contract;
pub(crate) mod event;
mod event_fact;
pub mod filter;
pub(crate) mod fingerprint;
pub(crate) mod grouping;
mod http_method;
pub(crate) mod namespace;
mod query;
mod request;
pub(crate) mod request_spec;
pub(crate) mod row_key;
mod spec_cache;
pub(crate) mod stable;
mod status_class;
mod template;
pub(crate) mod version_claim;

pub use classifier::Classifier;
pub(crate) use client_identity::{ClientRef, Instance, InstanceKind};
pub(crate) use confirmed_claim::confirmed_claim;
pub(crate) use event_fact::{EventFact, EventFacts};
pub(crate) use fingerprint::{Fingerprints, is_same_moment, request_hash};
pub(crate) use grouping::Grouping;
pub(crate) use namespace::namespace_hash;
pub(crate) use request::{Measured, Request};
pub(crate) use row_key::{RowKey, RowKeyRef};
pub(crate) use stable::stable_hash;
pub use status_class::StatusClass;
pub(crate) use version_claim::{ClaimSource, VersionClaim};
