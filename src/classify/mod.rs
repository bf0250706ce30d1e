//! From a request, an event or an access line to what it asks, who asks, and how it ended.

pub mod access;
pub mod contract;
pub mod event;
pub mod filter;
pub mod fingerprint;
pub mod instance;
pub mod namespace;
pub mod shape;
pub mod witness;

pub use access::classify_access;
pub use event::{Client, Measured, Parts, Request, classify};
pub use fingerprint::{Fingerprints, request_hash};
pub use instance::{By, Instance};
pub use namespace::namespace_hash;
pub use shape::{Answer, Shape, ShapeRef};
pub use witness::{Statement, Witness};
