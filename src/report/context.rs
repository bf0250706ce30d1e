//! The inputs of a report besides the ledger.

use super::etcd_log::EtcdLogInput;
use super::ranking::Detail;
use crate::apiserver::Server;
use crate::cost::Inventory;
use crate::input::Sources;
use crate::k8s::EtcdVersion;
use crate::rules::{Policy, RuleSet};
use crate::version::Inferred;

#[derive(Debug)]
pub struct Context<'a> {
    pub sources: &'a Sources,
    /// The filters, as flags.
    pub filters: Vec<String>,
    /// The server's configuration. Its version is the best estimate.
    pub server: Server,
    /// The server's version and the evidence for it.
    pub version: &'a Inferred,
    /// A text that names the source of etcd's version.
    pub etcd_from: &'static str,
    /// The etcd versions in etcd's start lines, each with the name of its file.
    pub etcd_stated: Vec<(EtcdVersion, String)>,
    /// Notes on how the server was detected.
    pub notes: Vec<String>,
    pub etcd: Option<EtcdLogInput<'a>>,
    pub rules: &'a RuleSet,
    /// The policy file, which has suppressions and the locations of source code.
    pub policy: &'a Policy,
    pub inventory: Option<&'a Inventory>,
    /// How many findings and request shapes the report holds.
    pub detail: Detail,
}
