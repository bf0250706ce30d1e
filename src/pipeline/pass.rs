//! A pass over the sources, and its counts.

use crate::ledger::merge::merge_fields;
use crate::ledger::{Additions, EtcdLines, Index, Ledger, Merge};

/// What a pass over the sources does with their records.
#[derive(Debug)]
pub enum Pass<'a> {
    /// Counts all records. Requests of access logs are counted separately.
    Count,
    /// Counts nothing. Records in the index which row counted each request. The key is a hash of audit ID and path.
    Index(&'a Index),
    /// Finds the row of each access line's request in the index, and adds the line's data to the row. Counts the
    /// access lines whose request is not in the index.
    Join(&'a Index),
    /// Reads etcd's log.
    Etcd,
}

/// The counts of a pass.
#[derive(Debug, Default)]
pub struct Counted {
    /// Requests of audit logs, and counts of all input.
    pub ledger: Ledger,
    /// Requests of access logs.
    pub(crate) access: Ledger,
    /// Facts from access lines and traces about requests of audit logs.
    pub(crate) additions: Additions,
    /// Lines of etcd's log.
    pub etcd: EtcdLines,
}

impl Counted {
    /// Merges all requests into one ledger.
    #[must_use]
    pub fn into_ledger(self) -> Ledger {
        let mut ledger = self.ledger;
        ledger.merge(self.access);
        ledger.clients.add(self.additions);
        ledger
    }
}

merge_fields!(Counted: ledger, access, additions, etcd);
