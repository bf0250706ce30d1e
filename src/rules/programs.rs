//! Groups clients that run the same program. A rule can evaluate such clients together, in addition to each client
//! alone.
//!
//! A CronJob template in 40 namespaces is many clients, and so is a dashboard with 15 users. Each client may stay
//! below the thresholds of a rule, but the control plane has to carry their sum. A rule with `program` in its
//! `groupBy` is evaluated for each client, and for the sum over a program's clients. The sum becomes a finding only
//! if it is worse than the finding of each client.
//!
//! ServiceAccounts with the same user agent product run one program, and so do people with the same product. Many
//! programs share some products, such as kubectl or a library's default. ServiceAccounts with such a product must
//! also have the same name. Pods under the ServiceAccount `default` may run anything, so a shared product under
//! `default` is never summed.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::facts::RowFacts;
use super::figures::count;
use super::row_ids::RowIds;
use crate::judged::{ClientSummary, JudgedClients};
use crate::k8s::Library;
use crate::k8s::user_agent::is_default_name;
use crate::ledger::Merge;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ProgramName {
    /// The kind of client: `service-account` or `user`.
    pub(crate) kind: &'static str,
    /// The user agent product; `None` if the user agent names none.
    pub(crate) product: Option<String>,
    /// The name of the `ServiceAccount`. Set only if many programs share the product.
    pub(crate) service_account: Option<String>,
}

impl ProgramName {
    /// Returns the program that a client with this user agent product runs. Returns `None` unless the client is a
    /// ServiceAccount or a person. Also returns `None` for a person whose product names only a library or a kind of
    /// program.
    pub(crate) fn new(client: &ClientSummary, product: &str) -> Option<Self> {
        let library = client.library(product);
        let named = Some(product.to_owned()).filter(|product| !product.starts_with('('));
        match client.kind() {
            kind @ "service-account" => {
                let (_, name) = client.service_account()?;
                let is_named = !names_many_programs(product, library) && library != Library::ControlPlane;
                let service_account = (!is_named || named.is_none()).then(|| name.to_owned());
                Some(Self { kind, product: named, service_account })
            }
            kind @ "user" if client.key.is_some() && !names_kind_or_library(product) => {
                Some(Self { kind, product: Some(named?), service_account: None })
            }
            _ => None,
        }
    }

    /// Returns the parts of a fingerprint. An absent part is an empty string, so that a product never equals a
    /// ServiceAccount.
    pub(crate) fn fingerprint_parts(&self) -> [String; 3] {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        [format!("program {}", self.kind), part(&self.product), part(&self.service_account)]
    }

    /// Whether different programs can have this name. Then a sum over the clients is meaningless.
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.service_account.as_deref() == Some(DEFAULT)
    }

    /// Returns one word for the program: the name that all its ServiceAccounts share, else the product.
    pub(crate) fn short<'a>(&'a self, members: impl Iterator<Item = &'a ClientSummary>) -> &'a str {
        let mut names = members.map(|client| client.service_account().map(|(_, name)| name));
        let first = names.next().flatten().filter(|first| *first != DEFAULT);
        let same = first.filter(|first| names.all(|name| name == Some(*first)));
        same.or(self.product.as_deref()).or(self.service_account.as_deref()).unwrap_or_default()
    }
}

/// The `ServiceAccount` of a pod whose spec names none.
const DEFAULT: &str = "default";

/// Whether a product is the default of a library, for programs that do not set a user agent.
fn is_library_default(product: &str) -> bool {
    const DEFAULTS: [&str; 6] =
        ["OpenAPI-Generator", "Swagger-Codegen", "kubernetes-client", "kube-rs", "client-go", "curl"];
    is_default_name(product) || DEFAULTS.contains(&product)
}

/// Whether a product names only a library or a kind of program, such as `operator`.
pub(crate) fn names_kind_or_library(product: &str) -> bool {
    const KINDS: &str = "agent cli client controller controller-manager daemon default operator server service \
                         webhook worker";
    is_library_default(product) || KINDS.split(' ').any(|kind| kind == product)
}

/// Whether many programs probably share this product: a library's default, or a tool that scripts call.
fn names_many_programs(product: &str, library: Library) -> bool {
    let is_tool = matches!(
        library,
        Library::Kubectl | Library::Helm | Library::Terraform | Library::Curl | Library::Browser
    );
    // These libraries set their own name as the user agent, and programs rarely change it.
    let is_default = matches!(
        library,
        Library::Python | Library::Java | Library::JavaScript | Library::DotNet | Library::GoHttp
    );
    is_tool || is_default || names_kind_or_library(product)
}

/// Returns the singular noun for the clients of a program.
pub(crate) fn noun<'a>(members: impl Iterator<Item = &'a ClientSummary>) -> &'static str {
    let mut namespaces: Vec<&str> = Vec::new();
    for client in members {
        match client.service_account() {
            Some((namespace, _)) => namespaces.push(namespace),
            None => return "person",
        }
    }
    let all = namespaces.len();
    namespaces.sort_unstable();
    namespaces.dedup();
    if namespaces.len() == all { "namespace" } else { "client" }
}

/// A program and the clients that run it.
#[derive(Debug)]
pub(crate) struct Program {
    /// The parts that all members have in common.
    pub(crate) name: ProgramName,
    /// The clients merged into one, with all nodes, pods and user agents but without requests.
    pub(crate) client: ClientSummary,
}

/// All programs that several clients run.
#[derive(Debug, Default)]
pub(super) struct Programs {
    pub(super) all: Vec<Program>,
    /// The rows of the clients of these programs.
    pub(super) rows: Vec<ProgramRow>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ProgramRow {
    pub(super) program: u32,
    /// A number that equal shapes of different clients share.
    pub(super) shape: u32,
    pub(super) row: u32,
}

impl Programs {
    pub(super) fn new(
        judged: &JudgedClients,
        facts: &[RowFacts<'_>],
        ids: &[RowIds],
        client_rows: &[u32],
    ) -> Self {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let mut named: BTreeMap<ProgramName, Vec<(usize, u32)>> = BTreeMap::new();
        for (client_id, row) in (0..).zip(client_rows) {
            let one = &facts[*row as usize];
            let name = ProgramName::new(one.client, one.product).filter(|name| !name.is_ambiguous());
            if let Some(name) = name {
                named.entry(name).or_default().push((ids[*row as usize].client as usize, client_id));
            }
        }
        let mut all = Vec::new();
        let mut by_client_id: HashMap<u32, u32, FxBuildHasher> = HashMap::default();
        for (name, client_ids) in named {
            let mut members: Vec<usize> = client_ids.iter().map(|(client, _)| *client).collect();
            members.sort_by_key(|client| &judged.clients[*client].key);
            members.dedup();
            if members.len() > 1 {
                by_client_id.extend(client_ids.iter().map(|(_, client_id)| (*client_id, number(all.len()))));
                let client = merged(&name, &members, judged);
                all.push(Program { name, client });
            }
        }
        let mut shapes: BTreeMap<_, u32> = BTreeMap::new();
        let mut rows = Vec::new();
        for ((row, ids), one) in (0..).zip(ids).zip(facts) {
            if let Some(program) = by_client_id.get(&ids.client_id) {
                let next = number(shapes.len());
                let shape = *shapes.entry(one.key).or_insert(next);
                rows.push(ProgramRow { program: *program, shape, row });
            }
        }
        Self { all, rows }
    }
}

/// Names the program for use in a sentence: `backup in 40 namespaces`.
pub(crate) fn in_a_sentence<'a>(
    name: &'a ProgramName,
    members: impl Iterator<Item = &'a ClientSummary> + Clone,
) -> String {
    let short = name.short(members.clone());
    let counted = count(members.clone().count() as u64);
    match noun(members) {
        "person" => format!("{short} used by {counted} people"),
        "namespace" => format!("{short} in {counted} namespaces"),
        _ => format!("{short} under {counted} names"),
    }
}

fn merged(name: &ProgramName, members: &[usize], judged: &JudgedClients) -> ClientSummary {
    let all = || members.iter().map(|index| &judged.clients[*index]);
    let first = &judged.clients[members[0]];
    let mut client = ClientSummary {
        key: first.key.clone(),
        nodes: first.nodes.clone(),
        kubelets: Vec::new(),
        pods: first.pods.clone(),
        workloads: first.workloads.clone(),
        namespaces: first.namespaces.clone(),
        agents: BTreeMap::new(),
        shapes: BTreeMap::new(),
    };
    for member in all() {
        for (product, agent) in &member.agents {
            if name.product.as_ref().is_none_or(|named| named == product) {
                client.agents.entry(product.clone()).or_insert_with(|| agent.clone());
            }
        }
    }
    for member in all().skip(1) {
        client.nodes.merge(member.nodes.clone());
        client.pods.merge(member.pods.clone());
        client.workloads.merge(member.workloads.clone());
        client.namespaces.merge(member.namespaces.clone());
    }
    client
}
