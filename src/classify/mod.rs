//! From a request or an event to what it asks, who asks, and how it ended.

pub mod contract;
pub mod event;
pub mod filter;
pub mod shape;
pub mod witness;

pub use event::{Client, Measured, Parts, Request, classify};
pub use shape::{Answer, Shape, ShapeRef};
pub use witness::{Statement, Witness};
