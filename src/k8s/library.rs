//! The client library or tool behind a user agent. The advice of a finding depends on it.

use crate::named::named;

named! {
    /// A client library or tool. It is only a hint, because a client chooses its user agent.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub(crate) enum Library {
        ClientGo = "client-go",
        ControllerRuntime = "controller-runtime",
        Kubectl = "kubectl",
        Kubelet = "kubelet",
        ControlPlane = "control-plane",
        Helm = "helm",
        ArgoCd = "argo-cd",
        Flux = "flux",
        Terraform = "terraform",
        Java = "java",
        Python = "python",
        JavaScript = "javascript",
        KubeRs = "kube-rs",
        DotNet = "dotnet",
        /// A Go program without client-go.
        GoHttp = "go-http",
        Curl = "curl",
        Browser = "browser",
        Unknown = "unknown",
    }
    /// Returns the name in rules.
    pub(crate) fn as_str;
    pub(crate) const ALL;
}

impl Library {
    /// Whether the library is a command-line tool that runs once and exits.
    #[must_use]
    pub(crate) fn is_command(self) -> bool {
        matches!(self, Self::Kubectl | Self::Helm | Self::Terraform)
    }

    /// Determines the library or tool from the name of a product and one of the product's user agents.
    #[must_use]
    pub(crate) fn from_product(product: &str, user_agent: &str) -> Self {
        let name = product.to_ascii_lowercase();
        let is = |names: &[&str]| names.contains(&&*name);
        let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        let says = |words: &[&str]| {
            let agent = user_agent.to_ascii_lowercase();
            words.iter().any(|word| agent.contains(word))
        };
        match () {
            () if is(&["kubectl", "oc"]) || begins(&["kubectl-", "kubectl."]) => Self::Kubectl,
            () if is(&["kubelet"]) => Self::Kubelet,
            () if is(&["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"])
                || is(&["cloud-controller-manager", "kube-aggregator", "openshift-apiserver"]) =>
            {
                Self::ControlPlane
            }
            () if is(&["helm"]) => Self::Helm,
            () if begins(&["argocd", "argo-cd", "gitops-engine"]) => Self::ArgoCd,
            () if is(&["kustomize-controller", "helm-controller", "source-controller", "flux"]) => Self::Flux,
            () if begins(&["terraform", "hashicorp", "opentofu", "pulumi"]) => Self::Terraform,
            () if begins(&[
                "okhttp",
                "fabric8",
                "kubernetes java client",
                "java",
                "apache-httpclient",
                "vert.x",
            ]) =>
            {
                Self::Java
            }
            () if begins(&[
                "python",
                "kubernetes_asyncio",
                "lightkube",
                "pykube",
                "kr8s",
                "kopf",
                "aiohttp",
            ]) =>
            {
                Self::Python
            }
            () if begins(&["node-fetch", "axios", "undici", "got", "kubernetes-client-javascript"]) => {
                Self::JavaScript
            }
            // A generated client has its language in the user agent, after the generator's version.
            () if begins(&["openapi-generator", "swagger-codegen", "kubernetes-client"]) => match () {
                () if says(&["python"]) => Self::Python,
                () if says(&["java/", "/java"]) && !says(&["javascript"]) => Self::Java,
                () if says(&["javascript", "typescript", "node"]) => Self::JavaScript,
                () if says(&["csharp", "dotnet"]) => Self::DotNet,
                () => Self::Unknown,
            },
            () if begins(&["kube-rs", "kube-runtime", "kube-client", "rust", "reqwest", "hyper"]) => {
                Self::KubeRs
            }
            () if begins(&["kubernetesclient", "dotnet", ".net"]) => Self::DotNet,
            () if is(&["go-http-client"]) => Self::GoHttp,
            () if is(&["curl", "wget"]) => Self::Curl,
            () if is(&["mozilla"]) => Self::Browser,
            // The kubebuilder template names the binary `manager`.
            () if is(&["manager"]) || begins(&["controller-runtime"]) => Self::ControllerRuntime,
            () if says(&[") kubernetes/"]) => Self::ClientGo,
            () => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::AgentProduct;
    use super::*;

    #[test]
    fn user_agents_map_to_libraries() {
        for (user_agent, library) in [
            ("kubectl/v1.32.4 (linux/amd64) kubernetes/59526cd", Library::Kubectl),
            ("kubelet/v1.30.4 (linux/amd64) kubernetes/a51b3b7", Library::Kubelet),
            (
                "kube-controller-manager/v1.30.4 (linux/amd64) kubernetes/a51b3b7/leader-election",
                Library::ControlPlane,
            ),
            ("Helm/3.14.0", Library::Helm),
            ("argocd-application-controller/v0.0.0 (linux/amd64) kubernetes/$Format", Library::ArgoCd),
            ("HashiCorp/1.0 Terraform/1.7.0", Library::Terraform),
            ("okhttp/4.12.0", Library::Java),
            ("Kubernetes Java Client/19.0.0", Library::Java),
            ("fabric8-kubernetes-client/6.9.2", Library::Java),
            ("OpenAPI-Generator/29.0.0/python", Library::Python),
            ("OpenAPI-Generator/19.0.0/java", Library::Java),
            ("OpenAPI-Generator/1.0.0/javascript", Library::JavaScript),
            ("kube-rs/0.88", Library::KubeRs),
            ("Go-http-client/2.0", Library::GoHttp),
            ("curl/8.5.0", Library::Curl),
            ("manager/v0.0.0 (linux/amd64) kubernetes/$Format", Library::ControllerRuntime),
            ("my-operator/v1.2.3 (linux/amd64) kubernetes/abcdef0", Library::ClientGo),
            ("my-agent/1.0", Library::Unknown),
            ("", Library::Unknown),
        ] {
            assert_eq!(
                Library::from_product(AgentProduct::from_user_agent(user_agent).name, user_agent),
                library,
                "{user_agent}"
            );
        }
    }
}
