//! Kubernetes verbs and HTTP methods.

use std::fmt;

/// A Kubernetes verb. For a path without a resource, this is the HTTP method. `Other` is any unknown verb or method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
    Post,
    Put,
    Head,
    Options,
    Connect,
    Proxy,
    Other,
}

impl Verb {
    /// All verbs in declaration order.
    pub(crate) const ALL: [Self; 15] = [
        Self::Get,
        Self::List,
        Self::Watch,
        Self::Create,
        Self::Update,
        Self::Patch,
        Self::Delete,
        Self::DeleteCollection,
        Self::Post,
        Self::Put,
        Self::Head,
        Self::Options,
        Self::Connect,
        Self::Proxy,
        Self::Other,
    ];

    /// Returns the verb as audit events write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Post => "post",
            Self::Put => "put",
            Self::Head => "head",
            Self::Options => "options",
            Self::Connect => "connect",
            Self::Proxy => "proxy",
            Self::Other => "other",
        }
    }

    /// Parses a verb of an audit event. An unknown verb is [`Verb::Other`].
    #[must_use]
    pub(crate) fn from_audit(text: &str) -> Self {
        match text {
            "get" => Self::Get,
            "list" => Self::List,
            "watch" => Self::Watch,
            "create" => Self::Create,
            "update" => Self::Update,
            "patch" => Self::Patch,
            "delete" => Self::Delete,
            "deletecollection" => Self::DeleteCollection,
            "post" => Self::Post,
            "put" => Self::Put,
            "head" => Self::Head,
            "options" => Self::Options,
            "connect" => Self::Connect,
            "proxy" => Self::Proxy,
            _ => Self::Other,
        }
    }

    /// Returns the HTTP method for a logged verb. An audit log does not distinguish HEAD from GET.
    #[must_use]
    pub(crate) fn method(self) -> Method {
        match self {
            Self::Get | Self::List | Self::Watch | Self::Proxy => Method::Get,
            Self::Head => Method::Head,
            Self::Create | Self::Post => Method::Post,
            Self::Update | Self::Put => Method::Put,
            Self::Patch => Method::Patch,
            Self::Delete | Self::DeleteCollection => Method::Delete,
            Self::Options => Method::Options,
            Self::Connect => Method::Connect,
            Self::Other => Method::Other,
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
    Connect,
    Other,
}

impl Method {
    /// Parses a method in any case. Returns `None` unless the text consists of ASCII letters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_alphabetic()) {
            return None;
        }
        Some(match text.to_ascii_uppercase().as_str() {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "PATCH" => Self::Patch,
            "DELETE" => Self::Delete,
            "OPTIONS" => Self::Options,
            "CONNECT" => Self::Connect,
            _ => Self::Other,
        })
    }

    pub(super) fn non_resource_verb(self) -> Verb {
        match self {
            Self::Get => Verb::Get,
            Self::Head => Verb::Head,
            Self::Post => Verb::Post,
            Self::Put => Verb::Put,
            Self::Patch => Verb::Patch,
            Self::Delete => Verb::Delete,
            Self::Options => Verb::Options,
            Self::Connect => Verb::Connect,
            Self::Other => Verb::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_parses_back() {
        for verb in Verb::ALL {
            assert_eq!(Verb::from_audit(verb.as_str()), verb);
        }
        assert_eq!(Verb::from_audit("impersonate"), Verb::Other);
    }
}
