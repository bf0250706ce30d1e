//! Resources and groups that the server's configuration names: beside the model, only these names decide a verdict.

use std::collections::HashSet;

use compact_str::CompactString;

use super::{RequestShape, Server, Target};

/// The names in a server's configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfiguredNames {
    /// Resources without a watch cache, as (group, resource).
    uncached: HashSet<(CompactString, CompactString)>,
    /// Groups that an aggregated server answers.
    aggregated: HashSet<CompactString>,
}

/// What the configuration says of a resource. The first that holds decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Configured {
    /// An aggregated server answers its group.
    Aggregated,
    /// It has no watch cache.
    Uncached,
    /// Nothing.
    #[default]
    Nothing,
}

impl ConfiguredNames {
    /// The names in a server's configuration.
    #[must_use]
    pub fn new(server: &Server) -> Self {
        let uncached = server.uncached.iter().map(|named| {
            let (resource, group) = named.split_once('.').unwrap_or((named, ""));
            (group.into(), resource.into())
        });
        Self {
            uncached: uncached.collect(),
            aggregated: server.aggregated.iter().map(CompactString::new).collect(),
        }
    }

    /// What the configuration says of a request's resource.
    #[must_use]
    pub fn config_of(&self, asked: &RequestShape<CompactString>) -> Configured {
        let (Target::Resource { group, resource, .. } | Target::Unknown { group, resource, .. }) =
            &asked.target
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
