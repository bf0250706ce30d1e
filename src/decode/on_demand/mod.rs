//! An audit event, taken from its line on demand: the dozen fields that are needed are found, and all else is skipped
//! without being read, bodies above all.
//!
//! The naive twin is `serde_json` with the `Deserialize` of [`Event`](crate::k8s::Event). What that reads is read the
//! same here, or not at all: [`Fields::find`] gives `None`, and it is asked. Of what is skipped only brackets and
//! strings are looked at, so that damage within a body does not lose the event.

mod arrivals;
mod fields;
mod masks;
mod objects;
mod recent;
mod scan;

pub use arrivals::{Answered, Arrivals};
pub use fields::Fields;
pub(in crate::decode) use fields::START;
pub use recent::RecentClients;

#[cfg(test)]
mod tests;
