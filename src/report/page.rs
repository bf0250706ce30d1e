//! A report: its public part, and the facts that only pages and gates show.

use std::ops::Deref;

use super::v1;
use crate::rules::Gates;

/// A report. It dereferences to its public part, which is the JSON contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub public: v1::PublicReport,
    pub(crate) page: PageFacts,
}

impl Deref for Report {
    type Target = v1::PublicReport;

    fn deref(&self) -> &v1::PublicReport {
        &self.public
    }
}

/// Facts that pages and gates show and the public report does not have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PageFacts {
    /// The counts that `--fail-on` checks.
    pub(crate) gates: Gates,
    pub(crate) server: ServerTexts,
    /// For each case: `what` without the client, for a table with a column for clients.
    pub(crate) actions: Vec<String>,
    /// For each client: the ranks of its cases.
    pub(crate) case_ranks: Vec<Vec<u64>>,
    /// The earliest receive time of the events, except events of long-running requests. Such a request, for example a
    /// watch, may have begun hours before the log. In microseconds since 1970.
    pub(crate) first_not_long_running: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerTexts {
    /// The source of the version, with the other possible versions.
    pub(crate) version_from: String,
    /// A few facts that together exclude as many versions as all facts do. Each entry is the text of a fact, then in
    /// parentheses the versions that this fact allows. Empty if the log shows several versions.
    pub(crate) decisive: Vec<String>,
    /// The source of etcd's version.
    pub(crate) etcd_from: &'static str,
}

impl Report {
    /// Returns `what` of a case without the client. Empty if the report omits the findings of the case.
    pub(crate) fn action(&self, case: &v1::Case) -> &str {
        let at = usize::try_from(case.rank).ok().and_then(|rank| rank.checked_sub(1));
        at.and_then(|at| self.page.actions.get(at)).map_or("", String::as_str)
    }
}
