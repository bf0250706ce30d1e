//! Kubernetes verbs and HTTP methods.

use std::fmt;

use crate::named::named;

named! {
    /// A Kubernetes verb. For a path without a resource, this is the HTTP method. `Other` is any unknown verb or
    /// method.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Verb {
        Get = "get",
        List = "list",
        Watch = "watch",
        Create = "create",
        Update = "update",
        Patch = "patch",
        Delete = "delete",
        DeleteCollection = "deletecollection",
        Post = "post",
        Put = "put",
        Head = "head",
        Options = "options",
        Connect = "connect",
        Proxy = "proxy",
        Other = "other",
    }
    /// Returns the verb as audit events write it.
    pub fn as_str;
    pub(crate) const ALL;
}

impl Verb {
    /// Parses a verb of an audit event. An unknown verb is [`Verb::Other`].
    #[must_use]
    pub(crate) fn from_audit(text: &str) -> Self {
        Self::ALL.into_iter().find(|verb| verb.as_str() == text).unwrap_or(Self::Other)
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

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Method {
        Get = "GET",
        Head = "HEAD",
        Post = "POST",
        Put = "PUT",
        Patch = "PATCH",
        Delete = "DELETE",
        Options = "OPTIONS",
        Connect = "CONNECT",
        /// Any other method.
        Other = "(other)",
    }
    fn as_str;
    const ALL;
}

impl Method {
    /// Parses a method in any case. Returns `None` unless the text consists of ASCII letters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_alphabetic()) {
            return None;
        }
        let known = Self::ALL.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(text));
        Some(known.unwrap_or(Self::Other))
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
