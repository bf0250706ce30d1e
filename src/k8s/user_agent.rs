//! What a client says that it is. A user agent is the client's to choose: a hint for advice, never a proof.

use super::go_url::split_once;

/// How far a user agent follows a known form. In this order, products are kept where their number must be bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AgentForm {
    /// client-go's default, `name/version (os/arch) kubernetes/commit`, or a name that many clusters see.
    Known,
    /// `name/version` and anything.
    Versioned,
    /// A first word only.
    Bare,
    /// Nothing that can be named: empty, or not words.
    Unnamed,
}

/// The product of a user agent: a short name without its version, so that a client's upgrade does not make another
/// client of it, and no client can make a key as long as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentProduct<'a> {
    /// At most [`AgentProduct::MAX_LENGTH`] bytes of printable ASCII.
    pub name: &'a str,
    /// How it was recognized.
    pub form: AgentForm,
}

/// Products that are known by their name alone.
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
    /// The longest name that is kept, in bytes.
    pub const MAX_LENGTH: usize = 64;
    /// The name of an empty user agent.
    pub const ABSENT: &'static str = "(no user agent)";
    /// The name of a user agent that holds no name.
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

/// Whether a product is what a library or a build tool calls every client that does not name itself.
#[must_use]
pub fn names_no_client(product: &str) -> bool {
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

/// Whether a user agent has client-go's default form, which ends with `) kubernetes/<commit>`.
fn names_kubernetes(user_agent: &str) -> bool {
    memchr::memchr_iter(b')', user_agent.as_bytes()).any(|at| user_agent[at..].starts_with(") kubernetes/"))
}

/// Letters, digits and the punctuation of product names; a few words at most (`Kubernetes Java Client`).
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

/// The version that a user agent of Kubernetes' own binaries states: `v1.30.4` in
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
    fn products() {
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
    fn versions() {
        let agent = "kube-apiserver/v1.30.4 (linux/amd64) kubernetes/a51b3b7";
        assert_eq!(stated_version(agent, "kube-apiserver"), Some("v1.30.4"));
        assert_eq!(stated_version("kube-apiserver", "kube-apiserver"), None);
        assert_eq!(stated_version(agent, "kubelet"), None);
    }
}
