//! Anonymizes user agents. The verdicts and rules for the product stay the same. A version and comments stay if they
//! have known formats.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::Anonymizer;
use super::public::{self, words};
use crate::k8s::user_agent::{AgentForm, AgentProduct, stated_version};
use crate::k8s::{Library, identity};
use crate::products;
use crate::rules::programs::names_kind_or_library;

/// Everything in a user agent that affects verdicts, rules or advice.
#[derive(Debug, PartialEq, Eq)]
struct AgentTraits {
    form: AgentForm,
    library: Library,
    product: Option<&'static str>,
    is_common: bool,
}

impl AgentTraits {
    fn new(agent: &str) -> Self {
        let AgentProduct { name, form } = AgentProduct::from_user_agent(agent);
        let product = products::all().iter().find(|product| product.sends(agent));
        Self {
            form,
            library: Library::from_product(name, agent),
            product: product.map(|product| &*product.name),
            is_common: names_kind_or_library(name),
        }
    }
}

/// The prefixes of library and tool names that affect advice.
static STARTS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    words(
        "__debug_bin, .net, aiohttp, apache-httpclient, argo-cd, argocd, axios, controller-runtime,
        dotnet, fabric8, gitops-engine, got, hashicorp, hyper, java, kopf, kr8s, kube-client, kube-rs,
        kube-runtime, kubectl-, kubectl., kubernetes java client, kubernetes-client,
        kubernetes-client-javascript, kubernetes_asyncio, kubernetesclient, lightkube, node-fetch,
        okhttp, openapi-generator, opentofu, pulumi, pykube, python, reqwest, rust, swagger-codegen,
        terraform, undici",
    )
});

/// Full names of libraries, tools and Kubernetes binaries.
static NAMES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    words(
        "cloud-controller-manager, curl, flux, go-http-client, helm, helm-controller, kube-aggregator,
        kube-apiserver, kube-controller-manager, kube-proxy, kube-scheduler, kubectl, kubelet,
        kustomize-controller, manager, mozilla, oc, openshift-apiserver, python-requests, python-urllib,
        python-urllib3, source-controller, vert.x, wget, fabric8-kubernetes-client,
        terraform-provider-kubernetes, argocd-application-controller",
    )
});

/// The names of components that are part of the control plane's binaries.
static COMPONENTS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    words(
        "cloud-controller-manager, controller-discovery, kube-apiserver, leader-election,
        metadata-informers, scheduler, shared-informers, tokens-controller",
    )
});

impl Anonymizer {
    /// Anonymizes a user agent. Only a public product name stays. A private name keeps at most the prefix that affects
    /// verdicts, rules or advice.
    pub(super) fn user_agent(&self, agent: &str) -> String {
        let product = AgentProduct::from_user_agent(agent);
        if agent.is_empty() {
            return String::new();
        }
        if product.form == AgentForm::Unnamed {
            return format!("<{}>", self.word(agent));
        }
        let judged = AgentTraits::new(agent);
        let rest = agent.strip_prefix(product.name).unwrap_or_default();
        let behind = |name: &str| name.to_owned() + &self.behind_product(name, rest);
        let is_debugged = product.name.starts_with("__debug_bin");
        let is_known =
            judged.is_common || AgentProduct::from_user_agent(product.name).form == AgentForm::Known;
        if is_known && !is_debugged {
            return behind(product.name);
        }
        let word = self.word(product.name);
        let lower = product.name.to_ascii_lowercase();
        let starts = STARTS.iter().copied().chain(public::starts_of_products());
        let started =
            starts.filter(|start| lower.starts_with(&start.to_ascii_lowercase())).filter_map(|start| {
                let start = product.name.get(..start.len())?;
                let dash = if start.ends_with(['-', '.', '_']) { "" } else { "-" };
                Some(format!("{start}{dash}{word}"))
            });
        let is_public =
            STARTS.contains(&*lower) || NAMES.contains(&*lower) || public::is_in_product(product.name);
        let public_name = is_public.then(|| product.name.to_owned());
        let mut others =
            std::iter::once(word.clone()).chain(started).chain(public_name).map(|name| behind(&name));
        others.find(|other| AgentTraits::new(other) == judged).unwrap_or_else(|| behind(&word))
    }

    /// Anonymizes `rest`, the text after the product. Keeps only a version and comments of known formats.
    fn behind_product(&self, product: &str, rest: &str) -> String {
        let user_agent = format!("{product}{rest}");
        let version = stated_version(&user_agent, product);
        let behind = version.map_or(rest, |version| &rest[1 + version.len()..]);
        let version = version.map(|version| format!("/{}", plain_version(version)));
        let mut out = version.unwrap_or_default();
        let mut pieces = behind.split(' ');
        // The language of a generated client, such as `python` in `OpenAPI-Generator/12.0.0/python`.
        if let Some(language) =
            pieces.next().and_then(|piece| piece.strip_prefix('/')).filter(|it| is_language(it))
        {
            out.push('/');
            out.push_str(language);
        }
        let mut is_after_comment = false;
        for piece in pieces {
            if is_after_comment && piece.starts_with("kubernetes/") && !out.ends_with(')') {
                // The text `) kubernetes/` identifies a Go client, and advice depends on the library. So replace a
                // dropped comment with a fixed one.
                out.push_str(" (linux/amd64)");
            }
            is_after_comment = piece.ends_with(')');
            let anonymous = if is_platform(piece) {
                piece.to_owned()
            } else if let Some(commit) = piece.strip_prefix("kubernetes/") {
                self.commit(commit, Library::from_product(product, "") == Library::ControlPlane)
            } else if let Some((name, version)) =
                piece.split_once('/').filter(|(name, _)| public::is_in_product(name))
            {
                format!("{name}/{}", plain_version(version))
            } else {
                continue;
            };
            out.push(' ');
            out.push_str(&anonymous);
        }
        out
    }

    /// Anonymizes the text after `kubernetes/`: the commit of a Go program, and sometimes the component that sends
    /// the request. Keeps the component only for the control plane.
    fn commit(&self, text: &str, is_control_plane: bool) -> String {
        let (commit, component) = text.split_once('/').unwrap_or((text, ""));
        // client-go shortens a commit to seven characters.
        let is_hex = commit.len() <= 8 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let commit = if is_hex || matches!(commit, "$Format" | "unknown") { commit } else { "0" };
        match component {
            component if !is_control_plane || component.is_empty() => format!("kubernetes/{commit}"),
            component if identity::service_account(component).is_some() => {
                format!("kubernetes/{commit}/{}", self.user(component))
            }
            component if COMPONENTS.contains(component) || public::is_name(component) => {
                format!("kubernetes/{commit}/{component}")
            }
            _ => format!("kubernetes/{commit}"),
        }
    }
}

/// Returns the version's numbers with suffixes of known formats: `v1.30.4-eks-036c24b`, `1.2.0-rc.1`. Drops all other
/// text.
fn plain_version(version: &str) -> &str {
    static VERSION: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = concat!(
            r"^v?[0-9]{1,5}(\.[0-9]{1,5}){0,3}",
            r"(-eks-[0-9a-f]{7,10}|-gke\.[0-9]{1,7}|[+-]k3s[0-9]{1,2}|\+rke2r[0-9]{1,2}|\+k0s(\.[0-9]{1,2})?",
            r"|-(rc|alpha|beta)[.-]?[0-9]{1,3}(\.[0-9]{1,4})?|-(aliyun|tke|vke)\.[0-9]{1,3}|\+vmware\.[0-9]{1,2}(-fips\.[0-9]{1,2})?",
            r"|\+[0-9a-f]{7}([0-9a-f]{7})?\b|-dirty|-SNAPSHOT)*",
        );
        Regex::new(pattern).expect("a pattern")
    });
    let Some(matched) = VERSION.find(version) else { return "0" };
    let is_whole = version[matched.end()..].is_empty();
    // A suffix is known only if no other text follows it.
    if is_whole { version } else { numbers(version) }
}

/// Returns the numbers at the start of a version.
fn numbers(version: &str) -> &str {
    static NUMBERS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^v?[0-9]{1,5}(\.[0-9]{1,5}){0,3}\b").expect("a pattern"));
    NUMBERS.find(version).map_or("0", |matched| matched.as_str())
}

fn is_platform(piece: &str) -> bool {
    let inner = piece.strip_prefix('(').and_then(|piece| piece.strip_suffix(')'));
    inner.and_then(|inner| inner.split_once('/')).is_some_and(|(system, machine)| {
        matches!(system, "linux" | "darwin" | "windows" | "freebsd")
            && matches!(
                machine,
                "amd64" | "arm64" | "arm" | "386" | "s390x" | "ppc64le" | "riscv64" | "loong64" | "mips64le"
            )
    })
}

fn is_language(text: &str) -> bool {
    matches!(
        text,
        "python" | "java" | "javascript" | "typescript" | "csharp" | "dotnet" | "go" | "ruby" | "node"
    )
}

#[cfg(test)]
mod tests {
    use super::super::Key;
    use super::*;

    #[test]
    fn anonymized_user_agent_is_judged_the_same_without_private_parts() {
        let anonymizer = Anonymizer::new(Key::from_text("a"), &[]);
        for (agent, is_kept) in [
            ("kubectl/v1.30.0 (linux/amd64) kubernetes/7c48c2b", true),
            ("kubelet/v1.30.4-eks-036c24b (linux/amd64) kubernetes/a51b3b7", true),
            ("kube-controller-manager/v1.30.4 (linux/amd64) kubernetes/a51b3b7/leader-election", true),
            ("Go-http-client/2.0", true),
            ("OpenAPI-Generator/37.0.2/python", true),
            ("HashiCorp/1.0 Terraform/1.7.0", true),
            ("velero-server/v1.16.0 (linux/amd64) 1.16.0", false),
            ("acme-operator/v0.0.0 (illumos/amd64)", false),
            ("acme-operator/v0.0.0 (acme/amd64) kubernetes/$Format", false),
            ("acme-operator/v1.2.0 (linux/amd64; acme) kubernetes/abcdef0", false),
            ("acme-operator/v1.2-acme (linux/amd64) kubernetes/abcdef0/acme", false),
            ("acme/secret-token someone@acme.com", false),
            ("python-acme/1.0", false),
            ("kubectl-acme/v1.0", false),
            ("argocd-acme/v2", false),
            ("my agent acme", false),
            ("\u{1b}[31macme/1.0", false),
            ("manager/v0.0.0 (linux/amd64) kubernetes/$Format", true),
            ("operator/v0.0.0 (linux/amd64) kubernetes/$Format/acme", false),
            ("Mozilla/5.0 (X11; acme)", false),
            ("", true),
        ] {
            let other = anonymizer.user_agent(agent);
            assert_eq!(AgentTraits::new(&other), AgentTraits::new(agent), "{agent} {other}");
            assert!(!other.contains("acme") && !other.contains("secret"), "{agent} {other}");
            if is_kept {
                assert_eq!(other, agent);
            }
        }
    }

    #[test]
    fn private_text_in_a_known_user_agent_is_dropped() {
        let anonymizer = Anonymizer::new(Key::from_text("a"), &[]);
        for (agent, expected) in [
            ("axios/ghp_tokenABC123", "axios/0"),
            ("curl/acme-bank", "curl/0"),
            ("curl/4915112345678", "curl/0"),
            ("curl/8.5.4915112345678", "curl/8.5"),
            ("Go-http-client/acme.prod.internal", "Go-http-client/0"),
            ("kubelet/v1.30.4-secretcorp-prod", "kubelet/v1.30.4"),
            ("kubelet/v1.30.4-eks-036c24b-secretcorp", "kubelet/v1.30.4"),
            ("kubelet/v1.30.4-eks-secretc", "kubelet/v1.30.4"),
            ("OpenAPI-Generator/secretx/python", "OpenAPI-Generator/0/python"),
            (
                "kube-controller-manager/v1.30.4 (linux/amd64) kubernetes/a51/secret-corp-tenant",
                "kube-controller-manager/v1.30.4 (linux/amd64) kubernetes/a51",
            ),
            (
                "kubectl/v1.30.4 (linux/secretco) kubernetes/a51b3b7",
                "kubectl/v1.30.4 (linux/amd64) kubernetes/a51b3b7",
            ),
            (
                "manager/v0.0.0 (illumos/amd64) kubernetes/$Format",
                "manager/v0.0.0 (linux/amd64) kubernetes/$Format",
            ),
            (
                "kubectl/v1.30.4 (linux/amd64) kubernetes/deadbeef0123456789deadbeef",
                "kubectl/v1.30.4 (linux/amd64) kubernetes/0",
            ),
        ] {
            assert_eq!(anonymizer.user_agent(agent), expected, "{agent}");
        }
        for agent in [
            "pythonacme/1.0",
            "terraformacme/1.0",
            "acmecorp kubernetes-client/1.0",
            "__debug_binacme/1.0",
            "veleroacme/1.0",
            "kubernetes java client acme/1.0",
        ] {
            let other = anonymizer.user_agent(agent);
            assert!(!other.contains("acme"), "{agent} {other}");
            let library =
                |agent: &str| Library::from_product(AgentProduct::from_user_agent(agent).name, agent);
            assert_eq!(library(&other), library(agent), "{agent} {other}");
        }
    }

    #[test]
    fn versions_keep_suffixes_of_known_forms() {
        for version in [
            "v1.30.4",
            "37.0.2",
            "v1.30.4-eks-036c24b",
            "v1.30.2-gke.1587003",
            "v1.30.4+k3s1",
            "v1.31.0-rc.1+rke2r1",
            "v1.37.0-alpha.0.12+036c24bdeadbe1-dirty",
            "v1.25.8+27e744f",
            "13.0.0-SNAPSHOT",
        ] {
            assert_eq!(plain_version(version), version);
        }
    }
}
