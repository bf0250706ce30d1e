//! A budget file that is read and checked.

use std::collections::HashMap;

use regex::Regex;

use super::number::Slack;
use super::phase::Phase;
use crate::diff::NameFolding;
use crate::files::FilePosition;
use crate::named::named;
use crate::requests::filter::NameFilter;
use crate::rules::rule_file::{FileKey, Positioned, optional, required};

/// The default file name, in the working directory.
pub(crate) const FILE_NAME: &str = "kubetoll-budget.yaml";
/// The maximum size of a budget file in bytes, enough for about 10,000 request shapes.
pub(crate) const LONGEST: usize = 4 << 20;

/// The keys of a budget file. The JSON Schema is generated from this list.
pub(super) const KEYS: [FileKey; 5] = [
    required("version", "The version of the format: 1."),
    optional(
        "unlisted",
        "How kubetoll reports a request without an entry: `fail` (an error), `warn` (a warning) or `allow` (not at \
         all). Default: fail.",
    ),
    optional(
        "slack",
        "How far a limit may be above `measured` without a reason, such as 20%. Default: 20%. `kubetoll budget ratchet` \
         adds it to what it measures.",
    ),
    optional(
        "users",
        "The users whose clients the budget judges, as in `--user`; * matches any text. Default: all clients.",
    ),
    required("clients", "The clients, with the requests that they may send."),
];

/// The keys of an entry of `clients`.
pub(super) const CLIENT_KEYS: [FileKey; 3] = [
    required(
        "client",
        "The client's identity, such as system:serviceaccount:shop:operator; * matches any text, such as a random \
         suffix. Clients that match one entry count together.",
    ),
    optional("unlisted", "As the key of the file, for the requests of this client."),
    required("requests", "The requests that the client may send, by request shape."),
];

/// The keys of an entry of `requests`.
pub(super) const REQUEST_KEYS: [FileKey; 8] = [
    required("request", "The request shape as reports name it, such as list pods cluster-wide ?limit=500."),
    optional(
        "perStart",
        "The most requests for each start: first LISTs of informers, and requests that the client sends only in its \
         first minute. Default: 0.",
    ),
    optional("perMinute", "The most other requests per minute, in steady state. Default: 0."),
    optional("watches", "The most watches of one start that are open at the same time. Default: 0."),
    optional(
        "servedFrom",
        "Where the server may serve the requests from: a source, or a list. Default: anywhere.",
    ),
    optional("measured", "What `kubetoll budget init` or `ratchet` measured."),
    optional(
        "reason",
        "Why a limit is above `measured` plus slack, or why a source was added. Required for such a raise.",
    ),
    optional(
        "perObject",
        "How requests may grow with the number of objects. `kubetoll budget slope` judges two runs by it.",
    ),
];

/// The keys of `measured`.
pub(super) const MEASURED_KEYS: [FileKey; 4] = [
    optional("perStart", "The largest number of requests for each start, over all runs."),
    optional("perMinute", "The largest rate in steady state, over all runs."),
    optional("watches", "The largest number of open watches, over all runs."),
    optional("servedFrom", "Where the server served the requests from."),
];

/// The keys of `perObject`.
pub(super) const SLOPE_KEYS: [FileKey; 3] = [
    required("from", "The number of objects in the first run, such as 10."),
    required("to", "The number of objects in the second run, such as 100."),
    required(
        "maxSlope",
        "The most additional requests for each additional object, per minute or for each start. Also the most \
         additional watches.",
    ),
];

named! {
    /// How requests without an entry are reported.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Unlisted {
        Allow = "allow",
        Warn = "warn",
        Fail = "fail",
    }
    pub(crate) fn as_str;
    pub(crate) const ALL;
}

/// A budget.
#[derive(Debug)]
pub struct Budget {
    /// The path of the file.
    pub(crate) file: String,
    pub(crate) unlisted: Unlisted,
    pub(crate) slack: Slack,
    /// The patterns of `users`, as in the file.
    pub(crate) users: Vec<String>,
    /// The position of the key `clients`.
    pub(crate) clients_at: FilePosition,
    pub(crate) clients: Vec<BudgetClient>,
    pub(super) user_filter: Option<NameFilter>,
    /// The first entry of each name.
    pub(super) by_name: HashMap<String, usize>,
    /// The entries whose name has `*`.
    pub(super) patterns: Vec<usize>,
}

/// The entry of a client.
#[derive(Debug)]
pub(crate) struct BudgetClient {
    /// The name or pattern, as in the file.
    pub(crate) client: String,
    /// The position of the name.
    pub(crate) at: FilePosition,
    pub(crate) unlisted: Option<Unlisted>,
    /// The position of the key `requests`.
    pub(crate) requests_at: FilePosition,
    pub(crate) requests: Vec<BudgetRequest>,
    pub(super) pattern: Regex,
}

/// The entry of a request shape.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BudgetRequest {
    /// The request shape.
    pub(crate) request: String,
    /// The position of the shape's name.
    pub(crate) at: FilePosition,
    /// By [`Phase`]. Without a limit, no request is allowed.
    pub(crate) limits: [Option<Positioned<f64>>; 3],
    /// Empty: anywhere.
    pub(crate) served_from: Vec<Positioned<String>>,
    pub(crate) measured: [Option<Positioned<f64>>; 3],
    pub(crate) measured_from: Vec<String>,
    pub(crate) reason: Option<String>,
    pub(crate) per_object: Option<PerObject>,
}

/// How requests may grow with the number of objects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PerObject {
    pub(crate) at: FilePosition,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) max_slope: f64,
}

impl BudgetRequest {
    pub(crate) fn limit(&self, phase: Phase) -> f64 {
        self.limits[phase as usize].as_ref().map_or(0.0, |limit| limit.value)
    }

    pub(crate) fn measured(&self, phase: Phase) -> Option<f64> {
        self.measured[phase as usize].as_ref().map(|measured| measured.value)
    }

    /// Whether the requests belong to the steady state, even if a short run shows them only at its start.
    pub(super) fn is_steady(&self) -> bool {
        self.limit(Phase::Minute) > 0.0 || self.measured(Phase::Minute).is_some_and(|rate| rate > 0.0)
    }
}

impl Budget {
    /// Whether the budget judges a client, by its name in a profile. An entry of the client, or `users`, decides.
    pub(super) fn is_about(&self, name: &str) -> bool {
        let Some(users) = &self.user_filter else { return true };
        match name.strip_suffix(')').and_then(|name| name.split_once(" (by ")) {
            Some((user, by)) => users.pass(&[user, by]),
            None => users.pass(&[name]),
        }
    }

    /// The indices of the entries that a name means: the name in the file, a name that a pattern matches, or
    /// `namespace/name` of a ServiceAccount.
    pub(crate) fn named(&self, name: &str) -> Vec<usize> {
        let long =
            name.split_once('/').map(|(namespace, name)| format!("system:serviceaccount:{namespace}:{name}"));
        let is_meant = |client: &BudgetClient| {
            let names = std::iter::once(name).chain(long.as_deref());
            names.into_iter().any(|name| client.client == name || client.pattern.is_match(name))
        };
        let all = self.clients.iter().enumerate().filter(|(_, client)| is_meant(client));
        all.map(|(index, _)| index).collect()
    }

    /// The index of the client's entry: the entry with its exact name, or else the first entry that matches.
    pub(super) fn entry_of(&self, name: &str, folding: &NameFolding) -> Option<usize> {
        let folded = folding.fold(name);
        let exact = self.by_name.get(name).or_else(|| self.by_name.get(&folded));
        exact.copied().or_else(|| {
            let matches = |at: &&usize| {
                let pattern = &self.clients[**at].pattern;
                pattern.is_match(name) || pattern.is_match(&folded)
            };
            self.patterns.iter().find(matches).copied()
        })
    }
}
