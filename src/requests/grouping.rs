//! Requests by one of their properties, for a ranked count (`--by`): each value of the property is counted as if it
//! were a client with one request shape.

use std::borrow::Cow;
use std::sync::Arc;

use compact_str::CompactString;

use super::client_identity::ClientIdentity;
use super::event::Request;
use crate::apiserver::options::Options;
use crate::apiserver::request_shape::NonResource;
use crate::apiserver::{RequestShape, Target};
use crate::k8s::{Identity, Kind, Verb};

/// A property of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The verb, such as `list`.
    Verb,
    /// The user who authenticated, not the one that is impersonated; each node counts alone.
    User,
    /// The resource with its group, such as `deployments.apps`; a subresource counts with its resource.
    Resource,
    /// The HTTP status code.
    Code,
    /// The namespace in the path.
    Namespace,
    /// The client, as the report names it.
    Client,
}

/// The value of requests that have none.
pub const NO_USER: &str = "(an access log names no user)";
/// The value of requests for no namespace.
pub const NO_NAMESPACE: &str = "(no namespace)";

impl By {
    /// The request's value. All codes are counted together: a row holds them apart.
    fn value<'r>(self, request: &'r Request<'_>) -> Cow<'r, str> {
        let client = request.client.client_ref();
        match self {
            Self::Verb => request.spec.asked.verb.as_str().into(),
            Self::Resource => resource(&request.spec.asked.target),
            Self::Code => "".into(),
            Self::Namespace if request.spec.namespace.is_empty() => NO_NAMESPACE.into(),
            Self::Namespace => request.spec.namespace.into(),
            Self::User if client.kind == Kind::UserAgent => NO_USER.into(),
            Self::User => match (client.impersonator, request.client.node()) {
                (Some(user), _) => user.into(),
                (None, Some(node)) if client.identity == Identity::NODES => {
                    format!("system:node:{node}").into()
                }
                (None, _) => client.identity.into(),
            },
            Self::Client => match client.address {
                Some(address) => format!("{} ({address} address)", client.identity).into(),
                None => client.identity.into(),
            },
        }
    }
}

fn resource(target: &Target<CompactString>) -> Cow<'_, str> {
    match target {
        Target::Unknown { resource, .. } if resource.is_empty() => "(unknown)".into(),
        Target::Resource { group, resource, .. } | Target::Unknown { group, resource, .. } => {
            if group.is_empty() { (&**resource).into() } else { format!("{resource}.{group}").into() }
        }
        Target::NonResource(class) => class.as_str().into(),
        Target::Unresolvable => "(unresolvable path)".into(),
    }
}

/// Makes clients of values.
#[derive(Debug)]
pub struct Grouping {
    by: By,
    /// The value of the last request, as a client.
    client: ClientIdentity,
    /// The request shape of all requests.
    asked: Arc<RequestShape<CompactString>>,
}

impl Grouping {
    /// By this property.
    #[must_use]
    pub fn new(by: By) -> Self {
        let target = Target::NonResource(NonResource::Discovery);
        let asked = RequestShape { verb: Verb::Get, target, options: Options::default() };
        Self { by, client: ClientIdentity::default(), asked: Arc::new(asked) }
    }

    /// The request as one of its value.
    pub fn of<'g>(&'g mut self, request: &Request<'g>) -> Request<'g> {
        self.client.set_user_name(&self.by.value(request));
        request.regrouped(&self.client, &self.asked)
    }
}
