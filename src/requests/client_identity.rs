//! Who makes a request: all that its record says of the client. Few clients make many requests, so that what is found
//! out of one is remembered (see [`Classifier`](super::Classifier)).

use super::instance::{By, Instance};
use super::stable::stable_hash;
use super::version_claim::VersionClaim;
use crate::decode::klog::AccessLine;
use crate::k8s::address::host;
use crate::k8s::event::{Caller, User};
use crate::k8s::secrets::masked;
use crate::k8s::text::prefix;
use crate::k8s::user_agent::AgentForm;
use crate::k8s::{AddressClass, AgentProduct, Identity, Kind};

/// The longest user name that is told apart, in bytes. A ServiceAccount's has at most 338.
const MAX_NAME: usize = 512;

/// Whose requests are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientRef<'a> {
    /// What kind of client.
    pub kind: Kind,
    /// The identity that the requests act as; for a node that of all nodes.
    pub identity: &'a str,
    /// Who asked, where the request impersonates.
    pub impersonator: Option<&'a str>,
    /// Where it calls from, where that is what tells clients apart: there is no user.
    pub address: Option<AddressClass>,
}

/// The client of a request, with hashes of what names it.
#[derive(Debug, Clone)]
pub struct ClientIdentity {
    /// All texts, behind each other.
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
    /// What its user agent says of the server's version.
    pub version_claim: Option<VersionClaim>,
    /// The hash of [`ClientIdentity::client_ref`].
    pub client_hash: u64,
    /// The hash of the product's name.
    pub product_hash: u64,
    /// The hash of the user agent.
    pub agent_hash: u64,
    /// The hash of the client, the product and the instance.
    pub instance_hash: u64,
    /// The hashes of the names of its node and its pod.
    pub node_hash: u64,
    /// See [`ClientIdentity::node_hash`].
    pub pod_hash: u64,
}

/// A part of the texts.
#[derive(Debug, Clone, Copy, Default)]
struct TextRange {
    start: usize,
    end: usize,
}

impl Default for ClientIdentity {
    fn default() -> Self {
        let empty = TextRange::default();
        Self {
            texts: String::new(),
            kind: Kind::Anonymous,
            identity: empty,
            impersonator: None,
            product: empty,
            form: AgentForm::Unnamed,
            user_agent: empty,
            address: None,
            node: None,
            pod: None,
            source: empty,
            version_claim: None,
            client_hash: 0,
            product_hash: 0,
            agent_hash: 0,
            instance_hash: 0,
            node_hash: 0,
            pod_hash: 0,
        }
    }
}

impl ClientIdentity {
    /// How long the texts are that it is found out from, in bytes.
    pub(super) fn size(caller: &Caller<'_>) -> usize {
        let user = |user: &User<'_>| {
            let extra = user.extra.as_ref();
            user.username.len() + extra.map_or(0, |extra| extra.pod_name.0.len() + extra.node_name.0.len())
        };
        let users = caller.user.iter().chain(&caller.impersonated_user).map(user).sum::<usize>();
        caller.user_agent.len() + caller.source_ips.map_or(0, |raw| raw.0.len()) + users
    }

    /// Becomes that of an event, in the memory that it has.
    pub(super) fn set_from_caller(&mut self, caller: &Caller<'_>) {
        let asking = caller.user.as_ref();
        let real = asking.map_or("", |user| &*user.username);
        let acting =
            caller.impersonated_user.as_ref().map(|user| &*user.username).filter(|name| !name.is_empty());
        let identity = Identity::resolve(acting.unwrap_or(real));
        let extra = asking.and_then(|user| user.extra.as_ref());
        let said = |text: &str| !text.is_empty();
        let node = extra.map(|extra| &*extra.node_name.0).filter(|name| said(name));
        let pod = extra.map(|extra| &*extra.pod_name.0).filter(|name| said(name));
        let agent: &str = &caller.user_agent;
        let product = AgentProduct::from_user_agent(agent);
        self.texts.clear();
        self.kind = identity.kind;
        self.identity = self.push_text(prefix(&masked(identity.name), MAX_NAME));
        self.impersonator = acting.map(|_| self.push_text(prefix(&masked(real), MAX_NAME)));
        self.address = None;
        self.node = identity.node.or(node).map(|node| self.push_text(node));
        self.pod = pod.map(|pod| self.push_text(pod));
        self.source = self.push_text(connection(caller));
        // Whoever impersonates a node chooses its user agent.
        let version_claim = || VersionClaim::from_user(real, &identity, product, agent);
        self.version_claim = if acting.is_none() { version_claim() } else { None };
        self.finish(product, agent);
    }

    /// Becomes that of a line of an access log, which names no user.
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

    /// Becomes a user with a name of its own, and nothing else.
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

    /// Whose requests are counted with its own.
    #[must_use]
    pub fn client_ref(&self) -> ClientRef<'_> {
        ClientRef {
            kind: self.kind,
            identity: self.identity(),
            impersonator: self.impersonator(),
            address: self.address,
        }
    }

    /// The identity that the requests act as; for a node that of all nodes.
    #[must_use]
    pub fn identity(&self) -> &str {
        self.text(self.identity)
    }

    /// What kind of client it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Who asked, where the request impersonates.
    #[must_use]
    pub fn impersonator(&self) -> Option<&str> {
        self.impersonator.map(|range| self.text(range))
    }

    /// Whether authentication failed, so that the event names no user.
    #[must_use]
    pub fn has_no_user(&self) -> bool {
        self.identity() == Identity::UNAUTHENTICATED
    }

    /// The product of the user agent.
    #[must_use]
    pub fn product(&self) -> AgentProduct<'_> {
        AgentProduct { name: self.text(self.product), form: self.form }
    }

    /// The user agent.
    #[must_use]
    pub fn user_agent(&self) -> &str {
        self.text(self.user_agent)
    }

    /// The node that the client runs on, if the record says it.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        self.node.map(|range| self.text(range))
    }

    /// The pod that the client runs in, if the record says it.
    #[must_use]
    pub fn pod(&self) -> Option<&str> {
        self.pod.map(|range| self.text(range))
    }

    /// The instance that makes the request. Of the addresses that a record names only the last is no choice of the
    /// client.
    #[must_use]
    pub fn instance(&self) -> Instance<&str> {
        match (self.pod(), self.node()) {
            (Some(pod), _) => Instance { by: By::Pod, name: pod },
            (None, Some(node)) => Instance { by: By::Node, name: node },
            (None, None) => Instance { by: By::Address, name: host(self.text(self.source)) },
        }
    }
}

/// The address of the connection's other end: the last of those that an event names.
fn connection<'e>(caller: &Caller<'e>) -> &'e str {
    caller.source_ips.map_or("", |raw| raw.0.rsplit('"').nth(1).unwrap_or_default())
}
