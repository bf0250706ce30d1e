//! Groups requests by one property, for `--by`. Each value of the property becomes a client with one request shape.

use std::borrow::Cow;
use std::sync::Arc;

use compact_str::CompactString;

use super::client_identity::ClientIdentity;
use super::request::Request;
use crate::apiserver::options::Options;
use crate::apiserver::request_shape::NonResource;
use crate::apiserver::{RequestShape, Target};
use crate::k8s::{Identity, Kind, Verb};
use crate::named::named;

named! {
    /// A property to group by. The command line shows the descriptions.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
    pub enum RequestProperty {
        Verb = "verb",
        /// The authenticated user; each node counts separately.
        User = "user",
        /// The resource with its group; subresources count with their resource.
        Resource = "resource",
        /// The HTTP status code.
        Code = "code",
        /// The namespace.
        Namespace = "namespace",
        /// The client as in the report: the user that the requests act as, with all nodes together.
        Client = "client",
    }
    pub(crate) fn as_str;
}

/// The property value of requests without a user.
pub(crate) const NO_USER: &str = "(an access log names no user)";
/// The property value of requests without a namespace.
pub(crate) const NO_NAMESPACE: &str = "(no namespace)";

impl RequestProperty {
    /// The value of the property for this request. For `Code`, the value is always empty: one row counts all
    /// requests, and counts each status code separately.
    fn value<'r>(self, request: &'r Request<'_>) -> Cow<'r, str> {
        let client = request.client.client_ref();
        match self {
            Self::Verb => request.spec.shape.verb.as_str().into(),
            Self::Resource => resource(&request.spec.shape.target),
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

/// Replaces the client of each request with the value of one property, such as the verb.
#[derive(Debug)]
pub(crate) struct Grouping {
    by: RequestProperty,
    /// The property value of the last request, as the name of a client.
    client: ClientIdentity,
    /// The one request shape that every regrouped request gets.
    shape: Arc<RequestShape<CompactString>>,
}

impl Grouping {
    /// Creates a grouping by this property.
    #[must_use]
    pub(crate) fn new(by: RequestProperty) -> Self {
        let target = Target::NonResource(NonResource::Discovery);
        let shape = RequestShape { verb: Verb::Get, target, options: Options::default() };
        Self { by, client: ClientIdentity::default(), shape: Arc::new(shape) }
    }

    /// Returns the request with its property value as the client.
    pub(crate) fn regroup<'g>(&'g mut self, request: &Request<'g>) -> Request<'g> {
        self.client.set_user_name(&self.by.value(request));
        request.regrouped(&self.client, &self.shape)
    }
}
