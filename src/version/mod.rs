//! Finds the Kubernetes release of the server that wrote a log. Facts in the log narrow the set of possible releases; the
//! estimate is the best release in that set.

mod facts;
mod groups;
mod infer;
mod inferred;
mod measured;
mod sample;
mod several;
mod totals;

pub(crate) use facts::{Fact, VersionSource};
pub use infer::infer;
pub use inferred::{Doubt, Inferred, Relation, ServerVersion};
pub(crate) use sample::{ClaimSpans, Claims, Sighting, mixed_versions, sample};
pub(crate) use totals::{VersionTotals, totals};
