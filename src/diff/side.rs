//! One side of a comparison.

use crate::profile::RunProfile;

/// The runs of one side, each with its path.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) runs: Vec<(String, RunProfile)>,
}
