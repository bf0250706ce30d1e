//! User agents: a product that kubetoll judges the same, its version, and comments of known forms.

use super::{Anonymizer, public};
use crate::k8s::user_agent::{Form, Product, stated_version};
use crate::k8s::{Library, identity};
use crate::products;
use crate::rules::programs::names_kind_or_library;

/// What verdicts, rules and advice depend on.
#[derive(Debug, PartialEq, Eq)]
struct Judged {
    form: Form,
    library: Library,
    product: Option<&'static str>,
    is_common: bool,
}

impl Judged {
    fn of(agent: &str) -> Self {
        let Product { name, form } = Product::of(agent);
        let product = products::all().iter().find(|product| product.sends(agent));
        Self {
            form,
            library: Library::of(name, agent),
            product: product.map(|product| &*product.name),
            is_common: names_kind_or_library(name),
        }
    }
}

impl Anonymizer {
    /// A user agent. The product is kept only if another name would be judged differently.
    pub(super) fn user_agent(&self, agent: &str) -> String {
        let product = Product::of(agent);
        if agent.is_empty() {
            return String::new();
        }
        if product.form == Form::Unnamed {
            return format!("<{}>", self.word(agent));
        }
        let judged = Judged::of(agent);
        let is_known = judged.is_common || Product::of(product.name).form == Form::Known;
        let rest = agent.strip_prefix(product.name).unwrap_or_default();
        let word = self.word(product.name);
        let first = product.name.split(['-', '.', '_', ' ']).next().unwrap_or_default();
        let others = if is_known { Vec::new() } else { vec![word.clone(), format!("{first}-{word}")] };
        for name in others {
            let other = name + &self.behind_product(product.name, rest, false);
            if Judged::of(&other) == judged {
                return other;
            }
        }
        product.name.to_owned() + &self.behind_product(product.name, rest, true)
    }

    /// Version and comments. Of a known product the whole version is kept.
    fn behind_product(&self, product: &str, rest: &str, is_known: bool) -> String {
        let whole = format!("{product}{rest}");
        let version = stated_version(&whole, product);
        let behind = version.map_or(rest, |version| &rest[1 + version.len()..]);
        let version = version.map(|version| format!("/{}", plain_version(version, is_known)));
        let mut out = version.unwrap_or_default();
        let mut pieces = behind.split(' ');
        // The language of a generated client.
        if let Some(language) =
            pieces.next().and_then(|piece| piece.strip_prefix('/')).filter(|it| is_language(it))
        {
            out.push('/');
            out.push_str(language);
        }
        for piece in pieces {
            let kept = if is_platform(piece) {
                piece.to_owned()
            } else if let Some(commit) = piece.strip_prefix("kubernetes/") {
                self.commit(commit, is_known && Library::of(product, "") == Library::ControlPlane)
            } else if let Some((name, version)) =
                piece.split_once('/').filter(|(name, _)| public::is_in_product(name))
            {
                format!("{name}/{}", plain_version(version, false))
            } else {
                continue;
            };
            out.push(' ');
            out.push_str(&kept);
        }
        out
    }

    /// The commit of a Go program, and of the control plane the component that asks.
    fn commit(&self, text: &str, is_control_plane: bool) -> String {
        let (commit, component) = text.split_once('/').unwrap_or((text, ""));
        let is_commit = commit == "$Format"
            || (commit.len() <= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let commit = if is_commit { commit } else { "0" };
        let is_component = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        match component {
            component if !is_control_plane || component.is_empty() => format!("kubernetes/{commit}"),
            component if identity::service_account(component).is_some() => {
                format!("kubernetes/{commit}/{}", self.user(component))
            }
            component if is_component(component) => format!("kubernetes/{commit}/{component}"),
            _ => format!("kubernetes/{commit}"),
        }
    }
}

/// A version: of a known product with what is behind its numbers.
fn plain_version(version: &str, is_known: bool) -> &str {
    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let start = usize::from(version.starts_with('v'));
    let length = version[start..].bytes().take_while(|byte| is_number(*byte)).count();
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+' | b'_' | b'$');
    match length {
        _ if is_known && version.len() <= 64 && version.bytes().all(is_plain) => version,
        0 => "0",
        _ => &version[..start + length],
    }
}

fn is_platform(piece: &str) -> bool {
    let inner = piece.strip_prefix('(').and_then(|piece| piece.strip_suffix(')'));
    let parts = inner.and_then(|inner| inner.split_once('/'));
    parts.is_some_and(|(system, machine)| {
        matches!(system, "linux" | "darwin" | "windows" | "freebsd")
            && machine.len() <= 8
            && machine.bytes().all(|byte| byte.is_ascii_alphanumeric())
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
    fn user_agents_are_judged_the_same_and_lose_what_is_private() {
        let anonymizer = Anonymizer::new(Key::of_text("a"), &[]);
        for (agent, is_kept) in [
            ("kubectl/v1.30.0 (linux/amd64) kubernetes/7c48c2b", true),
            ("kubelet/v1.30.4-eks-036c24b (linux/amd64) kubernetes/a51b3b7", true),
            ("kube-controller-manager/v1.30.4 (linux/amd64) kubernetes/a51b3b7/leader-election", true),
            ("Go-http-client/2.0", true),
            ("OpenAPI-Generator/37.0.2/python", true),
            ("HashiCorp/1.0 Terraform/1.7.0", true),
            ("velero-server/v1.16.0 (linux/amd64) 1.16.0", false),
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
            assert_eq!(Judged::of(&other), Judged::of(agent), "{agent} {other}");
            assert!(!other.contains("acme") && !other.contains("secret"), "{agent} {other}");
            if is_kept {
                assert_eq!(other, agent);
            }
        }
    }
}
