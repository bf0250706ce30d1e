//! The variables of one row that rules may use: `client.*`, `request.*` and `server.*`.
//!
//! The rule reference and the JSON Schema of rule files are generated from these lists.

mod server;

pub use server::SERVER;

use super::value::{Variable, VariableValue, variables};
use crate::apiserver::options::{
    Limit, Narrows, Options, Page, PageSize, ResourceVersion, ResourceVersionMatch, Selector, Single,
};
use crate::apiserver::{RequestShape, Server, Target, resources};
use crate::cost::Cost;
use crate::judged::etcd::SlowRead;
use crate::judged::{
    Agreement, ClientSummary, Job, JudgedClients, ProductRow, RequestLoad, ShapeKey, ShapeSummary,
};
use crate::k8s::user_agent::is_default_name;
use crate::k8s::{Library, Scope, Verb};
use crate::ledger::Row;
use crate::patterns::Pattern;
use compact_str::CompactString;

/// A row: the requests of one client with one shape and one user agent product.
#[derive(Debug, Clone, Copy)]
pub struct RowFacts<'a> {
    /// All clients, for variables that depend on the whole log.
    pub(crate) judged: &'a JudgedClients,
    pub(crate) client: &'a ClientSummary,
    pub key: &'a ShapeKey,
    /// The client's requests in this shape: their verdict, and a row for each product.
    pub(crate) shape_summary: &'a ShapeSummary,
    pub product: &'a str,
    pub(crate) row: &'a Row,
    pub(crate) requests: u64,
    /// The number of measured requests that agree with the verdict, and the number that contradict it.
    pub(crate) agreement: &'a Agreement,
    /// Polls, herds, relists and other patterns over time.
    pub(crate) pattern: Option<&'a Pattern>,
    /// Slow reads in etcd's own log that match LISTs of this row.
    pub(crate) slow_reads: &'a [SlowRead],
    /// The cost of the row's requests; `None` without an inventory.
    pub(crate) cost: Option<&'a Cost>,
}

/// A function that returns the value of a variable for a row.
pub(crate) type RowGetter = for<'r, 'a> fn(&'r RowFacts<'a>) -> VariableValue<'r>;

impl<'a> RowFacts<'a> {
    #[must_use]
    pub fn new(
        judged: &'a JudgedClients,
        client: &'a ClientSummary,
        (key, shape_summary): (&'a ShapeKey, &'a ShapeSummary),
        product_row: &'a ProductRow,
    ) -> Self {
        Self {
            judged,
            client,
            key,
            shape_summary,
            product: &product_row.product,
            row: &product_row.row,
            requests: judged.requests(&product_row.row),
            agreement: &product_row.agreement,
            pattern: product_row.pattern.as_deref(),
            slow_reads: &product_row.slow_reads,
            cost: product_row.cost.as_deref(),
        }
    }
}

impl RowFacts<'_> {
    pub(crate) fn load(&self) -> RequestLoad {
        self.judged.measure.load(self.key, self.shape_summary, self.row, self.cost)
    }

    fn request(&self) -> Option<&RequestShape<CompactString>> {
        self.shape_summary.request_shape.as_deref()
    }

    /// The request's options; the default for requests beyond the limit of shapes.
    fn options(&self) -> Options {
        self.request().map(|request| request.options).unwrap_or_default()
    }

    fn server(&self) -> Server {
        Server { version: self.key.kube_version, ..self.judged.server.clone() }
    }

    fn component(&self) -> &'static str {
        let library = self.client.library(self.product);
        let in_kube_system =
            || self.client.service_account().is_some_and(|(namespace, _)| namespace == "kube-system");
        match (self.client.kind(), library) {
            ("control-plane", _) | ("user-agent", Library::ControlPlane) => "control-plane",
            ("node", _) | ("user-agent", Library::Kubelet) => "kubelet",
            (_, Library::ControlPlane) if in_kube_system() => "control-plane",
            _ => "",
        }
    }

    pub(super) fn selects_node(&self) -> bool {
        self.options().narrows == Narrows::ToNode
    }

    fn is_across_namespaces(&self) -> bool {
        let Some(RequestShape {
            target: Target::Resource { group, resource, scope: Scope::Cluster, .. },
            ..
        }) = self.request()
        else {
            return false;
        };
        match resources::is_cluster_scoped(group, resource) {
            Some(is_cluster_scoped) => !is_cluster_scoped,
            None => self.key.resource.as_ref().is_some_and(|name| self.judged.namespaced.contains(&**name)),
        }
    }
}

/// `client.*`. Each value depends only on the client and the product.
pub const CLIENT: &[Variable<RowGetter>] = variables! { |row|
    /// The user name that the requests act as; `system:node:*` for all nodes.
    identity: Text = row.client.identity();
    /// `service-account`, `node`, `control-plane`, `user`, `anonymous` or `user-agent` (access lines name no user).
    kind: Text = row.client.kind();
    /// `control-plane` for kube-proxy and components of the control plane, `kubelet`, or empty. The user name decides.
    /// For access lines without a user, the user agent decides, which a client can choose.
    component: Text = row.component();
    /// `namespace/name`, or empty.
    serviceAccount: Text = match row.client.service_account() {
        Some((namespace, name)) => format!("{namespace}/{name}"),
        None => String::new(),
    };
    /// The user that impersonates, for requests that impersonate another user; else empty.
    impersonatedBy: Text = row.client.impersonated_by().unwrap_or_default();
    /// The product of the user agent: `kubectl`, `Go-http-client`, `(no user agent)`, `(unnamed)`.
    product: Text = row.product;
    /// The library, as far as the user agent shows it: `client-go`, `controller-runtime`, `kubectl`, `kubelet`,
    /// `control-plane`, `helm`, `argo-cd`, `flux`, `terraform`, `java`, `python`, `javascript`, `kube-rs`, `dotnet`,
    /// `go-http`, `curl`, `browser` or `unknown`.
    library: Text = row.client.library(row.product).as_str();
    /// The client runs once and ends. Examples are `kubectl`, `helm`, `terraform`, and the backup tools and jobs in
    /// docs/products.md. Pods with names of a CronJob count too, and so do instances that start one after another and
    /// end after a bounded time. A WATCH does not help such a client.
    job: Bool = row.client.job(row.product) >= Job::Likely;
    /// The client shows objects to people: a dashboard, K9s, Lens, a browser. Its users cannot change its code.
    viewer: Bool = is_viewer(row);
    /// The user agent is absent, or is the default of a library: `Go-http-client`, `okhttp`, `manager`,
    /// `python-requests` …
    anonymous: Bool = is_default_name(row.product);
    /// Distinct user agent products of this identity.
    products: Int = row.client.agents.len() as u64;
    /// Distinct workloads of this identity: names of pods without their generated suffixes.
    workloads: Int = row.client.workloads.count().0;
    /// Distinct pods that tokens of this identity are bound to.
    pods: Int = row.client.pods.count().0;
    /// Distinct nodes that the client ran on. For kubelets, the nodes themselves.
    nodes: Int = row.client.nodes.count().0;
    /// Distinct namespaces that the client's requests name. Requests for Leases do not count. In a ServiceAccount's own
    /// namespace, GETs do not count either, nor requests for ConfigMaps, Secrets, Events, Endpoints and EndpointSlices.
    /// Such requests do not show where the client works.
    namespaces: Int = row.client.namespaces.count().0;
};

/// `request.*`. Each value depends only on the request shape and its verdict; `matching` relies on this.
pub const REQUEST: &[Variable<RowGetter>] = variables! { |row|
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, `connect`, `proxy` or
    /// `other`.
    verb: Text = row.key.verb.map_or("other", Verb::as_str);
    /// `pods`, `deployments.apps`, or the class of another path: `(discovery)`, `(openapi)`, `(health)`, `(metrics)`,
    /// `(version)`, `(profile)`, `(other path)`.
    resource: Text = row.key.resource.as_deref().unwrap_or_default();
    /// `status`, `scale`, `eviction`, `token`, `log` …, or empty.
    subresource: Text = row.key.subresource.as_deref().unwrap_or_default();
    /// How much the path names: `cluster`, `namespace` or `object`; empty for paths that are not resources.
    scope: Text = row.key.scope.map_or("", Scope::as_str);
    /// The request is for a collection of a namespaced resource, across all namespaces. kubetoll knows that a custom
    /// resource is namespaced if the log has a request for it in a namespace.
    allNamespaces: Bool = row.is_across_namespaces();
    /// The list options, with their values in classes, such as `limit=500&resourceVersion=0`.
    parameters: Text = &*row.key.parameters;
    /// `watch-cache`, `watch-cache-after-revision-check`, `etcd`, `depends`, `write`, `no-storage`, `aggregated`,
    /// `rejected` or `not-observable`.
    servedFrom: Text = row.key.served_from.as_str();
    /// The server reads the request from etcd. With `depends`, it does so in most cases.
    fromEtcd: Bool = row.key.is_from_etcd();
    /// The effect of the limit: `absent`, `honored` or `ignored`.
    limit: Text = row.key.limit.as_str();
    /// The requested limit. A size that few clients use is rounded up to the next usual size. 0 without a limit.
    pageSize: Int = match row.options().limit {
        Limit::Page(PageSize::Exactly(size) | PageSize::UpTo(size)) => i64::from(size),
        Limit::Page(PageSize::More) => 100_000,
        _ => 0,
    };
    /// `unset`, `0`, `number` or `invalid`.
    resourceVersion: Text = match row.options().resource_version {
        ResourceVersion::Unset => "unset",
        ResourceVersion::Zero | ResourceVersion::ZeroAlias => "0",
        ResourceVersion::Number => "number",
        ResourceVersion::Garbage => "invalid",
    };
    /// `NotOlderThan`, `Exact`, `invalid`, or empty.
    resourceVersionMatch: Text = match row.options().resource_version_match {
        ResourceVersionMatch::Unset => "",
        ResourceVersionMatch::NotOlderThan => "NotOlderThan",
        ResourceVersionMatch::Exact => "Exact",
        ResourceVersionMatch::Unknown => "invalid",
    };
    /// The continue token: `first` (none), `continue`, `inconsistent` (continues at the newest revision after the first
    /// page's revision had expired) or `invalid`.
    page: Text = match row.options().page {
        Page::First => "first",
        Page::AtRevision => "continue",
        Page::Inconsistent => "inconsistent",
        Page::Invalid => "invalid",
    };
    /// The request has a label selector.
    labelSelector: Bool = row.options().label_selector != Selector::Everything;
    /// `metadata.name` (alone or with other fields), `other`, `invalid`, or empty.
    fieldSelector: Text = match row.options().field_selector {
        Selector::Everything => "",
        Selector::Invalid => "invalid",
        Selector::Some if row.options().selects_name => "metadata.name",
        Selector::Some => "other",
    };
    /// The request is for the pods of one node (`spec.nodeName` in the field selector). The watch cache has an index
    /// for this, and etcd has none.
    selectsNode: Bool = row.selects_node();
    /// The field selector narrows the read to one object's key; the server does this within a namespace.
    readsOneKey: Bool = match row.options().single {
        Single::No => false,
        Single::Key => true,
        Single::KeyIfClusterScoped => !row.is_across_namespaces(),
        Single::KeyBySelectedNamespace => row.key.kube_version.at_least(27, 0),
    };
    /// The request has `sendInitialEvents=true`.
    sendInitialEvents: Bool = row.options().send_initial_events == Some(true);
    /// The request is a write with `dryRun=All`: the server checks it but does not store it.
    dryRun: Bool = row.options().dry_run;
    /// The list options that the client probably meant, if it misspelled parameters. The server ignores misspelled
    /// parameters.
    misspelled: Texts = row.key.misspelled.iter().map(|key| key.as_str().into()).collect::<Vec<_>>();
    /// The status with which the server rejects the request because of its parameters or path, or 0.
    rejected: Int = i64::from(row.key.rejected.unwrap_or(0));
    /// The verdict's code, such as `list-any-ignores-limit` (docs/classify.md).
    reason: Text = row.key.reason;
    /// What the verdict depends on: `certain` (nothing else), `by-version` or `by-config`.
    certainty: Text = row.shape_summary.certainty().as_str();
    /// The request is a watch, a log, or a connection. Its duration is a lifetime, not a cost.
    longRunning: Bool = row.shape_summary.long_running;
};

/// Whether a client shows objects to people, such as a dashboard.
pub(crate) fn is_viewer(row: &RowFacts<'_>) -> bool {
    const VIEWERS: &str = "aptakube dashboard freelens headlamp headlamp-server k9s kubernetes-dashboard \
                           kubernetes-dashboard-api lens monokle octant openlens";
    let product = row.product.to_ascii_lowercase();
    VIEWERS.split(' ').any(|viewer| viewer == product) || row.client.library(row.product) == Library::Browser
}
