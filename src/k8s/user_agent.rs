//! Finds the product in a user agent. It is only a hint, because a client chooses its user agent.

use super::go_url::split_once;

/// How well-formed a user agent is, from best to worst. If kubetoll must limit the number of products, it drops those
/// with a later variant first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AgentForm {
    /// client-go's default, `name/version (os/arch) kubernetes/commit`, or the name of a common client.
    Known,
    /// `name/version` and any text.
    Versioned,
    /// A name without a version.
    Bare,
    /// The user agent has no valid name.
    #[default]
    Unnamed,
}

/// The product of a user agent: a short name without the version. An upgrade does not change it, and a client cannot
/// make it long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentProduct<'a> {
    /// At most [`AgentProduct::MAX_LENGTH`] bytes of printable ASCII.
    pub name: &'a str,
    /// How well-formed the user agent is.
    pub form: AgentForm,
}

/// Common products. A user agent with such a name is always [`AgentForm::Known`].
const KNOWN: [&str; 14] = [
    "kubectl",
    "kubelet",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
    "Go-http-client",
    "python-requests",
    "python-urllib3",
    "okhttp",
    "curl",
    "Helm",
    "OpenAPI-Generator",
    "Swagger-Codegen",
];

impl<'a> AgentProduct<'a> {
    /// The maximum length of a name, in bytes.
    pub const MAX_LENGTH: usize = 64;
    /// The name for an empty user agent.
    pub const ABSENT: &'static str = "(no user agent)";
    /// The name for a user agent without a valid name.
    pub const UNNAMED: &'static str = "(unnamed)";

    /// Finds the product in a user agent.
    #[must_use]
    pub fn from_user_agent(user_agent: &'a str) -> Self {
        if user_agent.is_empty() {
            return Self { name: Self::ABSENT, form: AgentForm::Known };
        }
        let (name, versioned) = match split_once(user_agent, b'/') {
            Some((name, _)) if is_name(name) => (name, true),
            _ => (user_agent.split(' ').next().unwrap_or_default(), false),
        };
        if !is_name(name) {
            return Self { name: Self::UNNAMED, form: AgentForm::Unnamed };
        }
        let form = if KNOWN.contains(&name) || names_kubernetes(user_agent) {
            AgentForm::Known
        } else if versioned {
            AgentForm::Versioned
        } else {
            AgentForm::Bare
        };
        Self { name, form }
    }
}

/// Whether a product is the default name of a library or build tool. Such a name does not identify the client.
#[must_use]
pub(crate) fn is_default_name(product: &str) -> bool {
    const DEFAULTS: [&str; 17] = [
        AgentProduct::ABSENT,
        AgentProduct::UNNAMED,
        "Go-http-client",
        "okhttp",
        "manager",
        "python-requests",
        "python-urllib3",
        "Python-urllib",
        "Java",
        "Apache-HttpClient",
        "axios",
        "node-fetch",
        "undici",
        "reqwest",
        "main",
        "app",
        "exe",
    ];
    DEFAULTS.contains(&product) || product.starts_with("__debug_bin")
}

/// Whether a user agent has client-go's default format, which ends with `) kubernetes/<commit>`.
fn names_kubernetes(user_agent: &str) -> bool {
    memchr::memchr_iter(b')', user_agent.as_bytes()).any(|at| user_agent[at..].starts_with(") kubernetes/"))
}

/// Whether the text is a product name: letters, digits, `.`, `_`, `-`, and at most three words
/// (`Kubernetes Java Client`).
fn is_name(text: &str) -> bool {
    if text.is_empty() || text.len() > AgentProduct::MAX_LENGTH {
        return false;
    }
    let (mut spaces, mut words) = (0, false);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => words = true,
            b'.' | b'_' | b'-' => {}
            b' ' => spaces += 1,
            _ => return false,
        }
    }
    words && spaces <= 2
}

/// Returns the version in the user agent of a Kubernetes binary: `v1.30.4` in
/// `kube-apiserver/v1.30.4 (linux/amd64) kubernetes/a51b3b7`.
#[must_use]
pub fn stated_version<'a>(user_agent: &'a str, product: &str) -> Option<&'a str> {
    let rest = user_agent.strip_prefix(product)?.strip_prefix('/')?;
    let end = rest.bytes().position(|byte| matches!(byte, b' ' | b'/')).unwrap_or(rest.len());
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_agents_have_products() {
        for (user_agent, name, form) in [
            ("kubectl/v1.30.0 (linux/amd64) kubernetes/7c48c2b", "kubectl", AgentForm::Known),
            ("manager/v0.0.0 (linux/amd64) kubernetes/$Format", "manager", AgentForm::Known),
            (
                "kube-controller-manager/v1.30.4 (linux/amd64) kubernetes/a/system:serviceaccount:kube-system:x",
                "kube-controller-manager",
                AgentForm::Known,
            ),
            ("Go-http-client/2.0", "Go-http-client", AgentForm::Known),
            ("OpenAPI-Generator/37.0.2/python", "OpenAPI-Generator", AgentForm::Known),
            ("Kubernetes Java Client/13.0.0-SNAPSHOT", "Kubernetes Java Client", AgentForm::Versioned),
            ("Mozilla/5.0 (X11; Linux x86_64)", "Mozilla", AgentForm::Versioned),
            ("curl", "curl", AgentForm::Known),
            ("my-agent with words", "my-agent", AgentForm::Bare),
            ("", AgentProduct::ABSENT, AgentForm::Known),
            ("\u{1b}[31mred/1.0", AgentProduct::UNNAMED, AgentForm::Unnamed),
            ("<script>/1.0", AgentProduct::UNNAMED, AgentForm::Unnamed),
            ("/1.0", AgentProduct::UNNAMED, AgentForm::Unnamed),
            (&"x".repeat(65), AgentProduct::UNNAMED, AgentForm::Unnamed),
        ] {
            assert_eq!(
                AgentProduct::from_user_agent(user_agent),
                AgentProduct { name, form },
                "{user_agent}"
            );
        }
    }

    #[test]
    fn stated_version_needs_the_same_product() {
        let agent = "kube-apiserver/v1.30.4 (linux/amd64) kubernetes/a51b3b7";
        assert_eq!(stated_version(agent, "kube-apiserver"), Some("v1.30.4"));
        assert_eq!(stated_version("kube-apiserver", "kube-apiserver"), None);
        assert_eq!(stated_version(agent, "kubelet"), None);
    }
}
