//! The resources and groups that the server's configuration names. A verdict depends on the name of a resource only
//! if the configuration or the model treats the resource specially.

use std::collections::HashSet;

use compact_str::CompactString;

use super::request_shape::{Configured, RequestShape, Target};
use super::server::Server;

/// Resources and groups in a server's configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ConfiguredNames {
    /// Resources without a watch cache, as (group, resource).
    uncached: HashSet<(CompactString, CompactString)>,
    /// Groups of aggregated API servers.
    aggregated: HashSet<CompactString>,
}

impl ConfiguredNames {
    #[must_use]
    pub(crate) fn new(server: &Server) -> Self {
        let uncached = server.uncached.iter().map(|named| {
            let (resource, group) = named.split_once('.').unwrap_or((named, ""));
            (group.into(), resource.into())
        });
        Self {
            uncached: uncached.collect(),
            aggregated: server.aggregated.iter().map(CompactString::new).collect(),
        }
    }

    /// Returns the configuration of a request's resource.
    #[must_use]
    pub(crate) fn config_of(&self, shape: &RequestShape<CompactString>) -> Configured {
        let (Target::Resource { group, resource, .. } | Target::Unknown { group, resource, .. }) =
            &shape.target
        else {
            return Configured::Nothing;
        };
        if self.aggregated.contains(group) {
            Configured::Aggregated
        } else if !self.uncached.is_empty() && self.uncached.contains(&(group.clone(), resource.clone())) {
            Configured::Uncached
        } else {
            Configured::Nothing
        }
    }
}
