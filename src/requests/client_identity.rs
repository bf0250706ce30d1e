//! The client of a request, as its record describes it. Few clients make most requests, so
//! [`Classifier`](super::Classifier) caches their identities.

use super::stable::stable_hash;
use super::version_claim::VersionClaim;
use crate::decode::klog::AccessLine;
use crate::k8s::Event;
use crate::k8s::address::host;
use crate::k8s::event::{Text, User};
use crate::k8s::secrets::masked;
use crate::k8s::text::prefix;
use crate::k8s::user_agent::AgentForm;
use crate::k8s::{AddressClass, AgentProduct, Identity, Kind};

/// Length limit of a user name, in bytes. Longer names are cut. The name of a ServiceAccount has at most 338.
const MAX_NAME: usize = 512;

/// The fields that identify a client. Requests with equal fields are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ClientRef<'a> {
    pub(crate) kind: Kind,
    /// The user that the requests act as. All nodes share one identity.
    pub(crate) identity: &'a str,
    /// The authenticated user, if the request impersonates another.
    pub(crate) impersonator: Option<&'a str>,
    /// The class of the client's address. Set only for access lines, which name no user.
    pub(crate) address: Option<AddressClass>,
}

/// The client of a request, with hashes of its names.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientIdentity {
    /// The concatenated texts that the ranges point into.
    texts: String,
    kind: Kind,
    identity: TextRange,
    impersonator: Option<TextRange>,
    product: TextRange,
    form: AgentForm,
    user_agent: TextRange,
    address: Option<AddressClass>,
    node: Option<TextRange>,
    pod: Option<TextRange>,
    source: TextRange,
    /// The Kubernetes version that the user agent claims.
    pub(crate) version_claim: Option<VersionClaim>,
    /// The hash of [`ClientIdentity::client_ref`].
    pub(crate) client_hash: u64,
    /// The hash of the user agent's product name.
    pub(crate) product_hash: u64,
    /// The hash of the user agent.
    pub(crate) agent_hash: u64,
    /// The hash of the client, its product and its instance.
    pub(crate) instance_hash: u64,
    /// The hash of the node's name; 0 for none.
    pub(crate) node_hash: u64,
    /// The hash of the pod's name; 0 for none.
    pub(crate) pod_hash: u64,
}

/// A byte range of [`ClientIdentity`]'s texts.
#[derive(Debug, Clone, Copy, Default)]
struct TextRange {
    start: usize,
    end: usize,
}

impl ClientIdentity {
    /// The length in bytes of the texts that the identity is parsed from.
    pub(super) fn size(event: &Event<'_>) -> usize {
        let user = |user: &User<Text<'_>>| {
            let extra = user.extra.as_ref();
            user.username.len() + extra.map_or(0, |extra| extra.pod_name.len() + extra.node_name.len())
        };
        let users = event.user.iter().chain(&event.impersonated_user).map(user).sum::<usize>();
        event.user_agent.len() + event.source_ips.as_ref().map_or(0, |raw| raw.len()) + users
    }

    /// Sets all fields from an event and reuses the allocated memory.
    pub(super) fn set_from_event(&mut self, event: &Event<'_>) {
        let authenticated = event.user.as_ref();
        let real = authenticated.map_or("", |user| &*user.username);
        let acting =
            event.impersonated_user.as_ref().map(|user| &*user.username).filter(|name| !name.is_empty());
        let identity = Identity::resolve(acting.unwrap_or(real));
        let extra = authenticated.and_then(|user| user.extra.as_ref());
        let non_empty = |text: &str| !text.is_empty();
        let node = extra.map(|extra| &*extra.node_name).filter(|name| non_empty(name));
        let pod = extra.map(|extra| &*extra.pod_name).filter(|name| non_empty(name));
        let agent: &str = &event.user_agent;
        let product = AgentProduct::from_user_agent(agent);
        self.texts.clear();
        self.kind = identity.kind;
        self.identity = self.push_text(prefix(&masked(identity.name), MAX_NAME));
        self.impersonator = acting.map(|_| self.push_text(prefix(&masked(real), MAX_NAME)));
        self.address = None;
        self.node = identity.node.or(node).map(|node| self.push_text(node));
        self.pod = pod.map(|pod| self.push_text(pod));
        self.source = self.push_text(connection(event));
        // An impersonated user name does not prove which component sent the request. So the version claim of such a
        // request is ignored.
        let version_claim = || VersionClaim::from_user(real, &identity, product, agent);
        self.version_claim = if acting.is_none() { version_claim() } else { None };
        self.finish(product, agent);
    }

    /// Sets all fields from an access line, which names no user.
    pub(super) fn set_from_access_line(&mut self, line: &AccessLine<'_>) {
        let product = AgentProduct::from_user_agent(&line.user_agent);
        let address = AddressClass::parse(&line.source);
        self.texts.clear();
        self.kind = Kind::UserAgent;
        self.identity = self.push_text(&masked(product.name));
        self.impersonator = None;
        self.address = Some(address);
        self.node = None;
        self.pod = None;
        self.source = self.push_text(&line.source);
        self.version_claim = VersionClaim::from_address(&line.source, product, &line.user_agent);
        self.finish(product, &line.user_agent);
    }

    /// Sets the identity to a plain user name and clears the other fields.
    pub(super) fn set_user_name(&mut self, name: &str) {
        if !self.texts.is_empty() && self.identity() == prefix(&masked(name), MAX_NAME) {
            return;
        }
        self.texts.clear();
        self.kind = Kind::User;
        self.identity = self.push_text(prefix(&masked(name), MAX_NAME));
        let empty = TextRange { start: self.texts.len(), end: self.texts.len() };
        (self.impersonator, self.address, self.node, self.pod) = (None, None, None, None);
        (self.source, self.version_claim) = (empty, None);
        self.finish(AgentProduct::from_user_agent(""), "");
    }

    fn push_text(&mut self, text: &str) -> TextRange {
        let start = self.texts.len();
        self.texts.push_str(text);
        TextRange { start, end: self.texts.len() }
    }

    fn finish(&mut self, product: AgentProduct<'_>, agent: &str) {
        self.user_agent = self.push_text(&masked(agent));
        self.product = self.push_text(&masked(product.name));
        self.form = product.form;
        self.client_hash = stable_hash(&self.client_ref());
        self.product_hash = stable_hash(self.text(self.product));
        self.agent_hash = stable_hash(agent);
        self.node_hash = self.node().map_or(0, stable_hash);
        self.pod_hash = self.pod().map_or(0, stable_hash);
        self.instance_hash = stable_hash(&(self.client_hash, self.product_hash, self.instance()));
    }

    fn text(&self, range: TextRange) -> &str {
        &self.texts[range.start..range.end]
    }

    /// The client that the request is counted for.
    #[must_use]
    pub(crate) fn client_ref(&self) -> ClientRef<'_> {
        ClientRef {
            kind: self.kind,
            identity: self.identity(),
            impersonator: self.impersonator(),
            address: self.address,
        }
    }

    /// The user that the requests act as. All nodes share one identity.
    #[must_use]
    pub(crate) fn identity(&self) -> &str {
        self.text(self.identity)
    }

    #[must_use]
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// The authenticated user, if the request impersonates another.
    #[must_use]
    pub(crate) fn impersonator(&self) -> Option<&str> {
        self.impersonator.map(|range| self.text(range))
    }

    /// Whether authentication failed: then the event names no user.
    #[must_use]
    pub(crate) fn has_no_user(&self) -> bool {
        self.identity() == Identity::UNAUTHENTICATED
    }

    #[must_use]
    pub(crate) fn product(&self) -> AgentProduct<'_> {
        AgentProduct { name: self.text(self.product), form: self.form }
    }

    #[must_use]
    pub(crate) fn user_agent(&self) -> &str {
        self.text(self.user_agent)
    }

    /// The node that the client runs on, if the record names it.
    #[must_use]
    pub(crate) fn node(&self) -> Option<&str> {
        self.node.map(|range| self.text(range))
    }

    /// The pod that the client runs in, if the record names it.
    #[must_use]
    pub(crate) fn pod(&self) -> Option<&str> {
        self.pod.map(|range| self.text(range))
    }

    /// The instance that sent the request. The pod identifies it, else the node, else the address. The address is the
    /// last one of `sourceIPs`, because a client can choose the others.
    #[must_use]
    pub(crate) fn instance(&self) -> Instance<&str> {
        match (self.pod(), self.node()) {
            (Some(pod), _) => Instance { by: InstanceKind::Pod, name: pod },
            (None, Some(node)) => Instance { by: InstanceKind::Node, name: node },
            (None, None) => Instance { by: InstanceKind::Address, name: host(self.text(self.source)) },
        }
    }
}

/// What identifies an instance of a client. Pods may share a ServiceAccount, and replicas may share a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum InstanceKind {
    /// The pod that the token is bound to.
    Pod,
    /// The node of the kubelet, or the node that the client's token names.
    Node,
    /// The peer address of the connection. Clients behind a proxy or NAT share one address. Containers of one node
    /// may share one, too.
    Address,
}

/// One instance of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Instance<S> {
    pub(crate) by: InstanceKind,
    /// The name; empty if the record has none.
    pub(crate) name: S,
}

impl<S: AsRef<str>> Instance<S> {
    /// Borrows the name.
    pub(crate) fn as_ref(&self) -> Instance<&str> {
        Instance { by: self.by, name: self.name.as_ref() }
    }
}

impl<S> Instance<S> {
    pub(crate) fn map<T>(self, f: impl FnOnce(S) -> T) -> Instance<T> {
        Instance { by: self.by, name: f(self.name) }
    }

    /// Whether the instance is certainly one process, or a few processes in one pod.
    #[must_use]
    pub(crate) fn is_one_process(&self) -> bool {
        self.by != InstanceKind::Address
    }
}

/// The peer address of the connection: the last of `sourceIPs`.
fn connection<'e>(event: &'e Event<'_>) -> &'e str {
    event.source_ips.as_ref().map_or("", |raw| raw.rsplit('"').nth(1).unwrap_or_default())
}
