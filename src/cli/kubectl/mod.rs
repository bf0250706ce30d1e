//! The requests that a kubectl command sends.
//!
//! Source: k8s.io/kubectl v0.34 `pkg/cmd/get/get.go`, `pkg/cmd/describe/describe.go`, `pkg/describe/describe.go`,
//! `pkg/cmd/delete/delete.go` and `pkg/cmd/util/helpers.go` (`--chunk-size`).

use anyhow::{Context, bail};

use crate::apiserver::resources::is_cluster_scoped;
use crate::k8s::built_in::BuiltIn;
use crate::render::escape::{escaped, percent_encoded};

/// An HTTP method, and the path and query of a URL.
type MethodAndTarget = (String, String);

/// The requests of a command, and notes on them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SentRequests {
    pub(crate) requests: Vec<MethodAndTarget>,
    pub(crate) notes: Vec<String>,
}

/// Options with a value that do not change the requests. The options in [`WITH_VALUE`] change them.
const IGNORED_WITH_VALUE: &str = "\
    output template label-columns context cluster user kubeconfig as as-group as-uid server token \
    request-timeout certificate-authority client-certificate client-key tls-server-name cache-dir profile \
    profile-output v vmodule grace-period timeout kuberc";
const WITH_VALUE: &str = "namespace selector field-selector chunk-size raw sort-by subresource";
/// Options without a value that do not change the requests.
const FLAGS: &str = "\
    no-headers show-labels show-kind show-managed-fields ignore-not-found server-print output-watch-events \
    recursive insecure-skip-tls-verify match-server-version now force interactive \
    allow-missing-template-keys warnings-as-errors disable-compression cascade use-openapi-print-columns";
/// Short options with their long forms.
const SHORT: [(char, &str); 10] = [
    ('n', "namespace"),
    ('l', "selector"),
    ('o', "output"),
    ('L', "label-columns"),
    ('s', "server"),
    ('v', "v"),
    ('A', "all-namespaces"),
    ('w', "watch"),
    ('R', "recursive"),
    ('i', "interactive"),
];
/// The resources that `kubectl get all` lists.
const ALL: &str = "\
    pods replicationcontrollers services daemonsets deployments replicasets statefulsets \
    horizontalpodautoscalers cronjobs jobs";
/// An example resourceVersion for a WATCH after a LIST. The command does not show the real one.
const LISTED_REVISION: &str = "123456";

/// Whether a list of words, separated by spaces, has this word.
fn is_in(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

/// An example request for the error message about a command that [`sent`] does not read, such as `kubectl logs`.
/// `None` if the command sends no request or is unknown.
fn example(verb: &str) -> Option<&'static str> {
    Some(match verb {
        "logs" => "GET /api/v1/namespaces/default/pods/NAME/log",
        "exec" => "POST /api/v1/namespaces/default/pods/NAME/exec",
        "attach" => "POST /api/v1/namespaces/default/pods/NAME/attach",
        "port-forward" => "POST /api/v1/namespaces/default/pods/NAME/portforward",
        "top" => "LIST /apis/metrics.k8s.io/v1beta1/pods",
        "create" | "run" => "POST /api/v1/namespaces/default/pods",
        "expose" => "POST /api/v1/namespaces/default/services",
        "autoscale" => "POST /apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
        "replace" => "PUT /apis/apps/v1/namespaces/default/deployments/NAME",
        "apply" | "patch" | "edit" | "label" | "annotate" | "set" | "rollout" => {
            "PATCH /apis/apps/v1/namespaces/default/deployments/NAME"
        }
        "scale" => "PATCH /apis/apps/v1/namespaces/default/deployments/NAME/scale",
        "cordon" | "uncordon" | "taint" => "PATCH /api/v1/nodes/NAME",
        "drain" => "POST /api/v1/namespaces/default/pods/NAME/eviction",
        "auth" => "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "wait" => "WATCH /api/v1/namespaces/default/pods?fieldSelector=metadata.name%3DNAME",
        "api-resources" | "api-versions" => "GET /apis",
        "version" => "GET /version",
        _ => return None,
    })
}

/// Reads the arguments of a `kubectl` command.
pub(super) fn sent(words: &[String]) -> anyhow::Result<SentRequests> {
    let command = KubectlCommand::read(words)?;
    if let Some(target) = command.value("raw") {
        return command.raw(target);
    }
    let objects = command.objects()?;
    let mut sent = SentRequests::default();
    for (resource, names) in &objects {
        command.requests(*resource, names, &mut sent)?;
    }
    command.notes(&objects, &mut sent);
    Ok(sent)
}

#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent options")]
struct KubectlCommand {
    verb: String,
    operands: Vec<String>,
    values: Vec<(&'static str, String)>,
    all_namespaces: bool,
    all: bool,
    watch: bool,
    no_events: bool,
    no_wait: bool,
}

impl KubectlCommand {
    fn read(words: &[String]) -> anyhow::Result<Self> {
        let is_known =
            |word: &String| matches!(word.as_str(), "get" | "describe" | "delete" | "create" | "replace");
        let is_raw = words.iter().any(|word| word.starts_with("--raw"));
        let verb = words.iter().find(|word| is_known(word)).map_or("", String::as_str);
        if !is_raw && !matches!(verb, "get" | "describe" | "delete") {
            let verb = words.iter().find(|word| !word.starts_with('-')).map_or(verb, String::as_str);
            let such_as = example(verb).map_or(String::new(), |request| format!(", such as '{request}'"));
            bail!(
                "kubectl {}: kubetoll reads get, describe, delete and --raw; type the request instead{such_as}",
                escaped(verb)
            );
        }
        let mut command = Self::default();
        let is_end =
            |word: &&String| matches!(word.as_str(), "|" | "||" | "&&" | "&" | ";") || word.contains('>');
        let mut words = words.iter().take_while(|word| !is_end(word)).map(String::as_str);
        let mut operands = Vec::new();
        while let Some(word) = words.next() {
            if let Some(long) = word.strip_prefix("--") {
                let (name, attached) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
                command.option(name, attached, &mut words)?;
            } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                command.short(letters, &mut words)?;
            } else {
                operands.push(word.to_owned());
            }
        }
        let mut operands = operands.into_iter();
        command.verb = operands.next().unwrap_or_default();
        command.operands = operands.collect();
        if !is_known(&command.verb) {
            bail!("kubectl {:?}: type the command first, such as kubectl get pods", command.verb);
        }
        Ok(command)
    }

    fn short<'a>(&mut self, letters: &str, words: &mut impl Iterator<Item = &'a str>) -> anyhow::Result<()> {
        for (at, letter) in letters.char_indices() {
            let Some((_, long)) = SHORT.iter().find(|(short, _)| *short == letter) else {
                return Err(unknown_option(&format!("-{letter}")));
            };
            let rest = &letters[at + letter.len_utf8()..];
            if is_in(IGNORED_WITH_VALUE, long) || is_in(WITH_VALUE, long) {
                let attached = (!rest.is_empty()).then(|| rest.strip_prefix('=').unwrap_or(rest));
                return self.option(long, attached, words);
            }
            if let Some(value) = rest.strip_prefix('=') {
                return self.option(long, Some(value), words);
            }
            self.option(long, None, words)?;
        }
        Ok(())
    }

    fn option<'a>(
        &mut self,
        name: &str,
        attached: Option<&str>,
        words: &mut impl Iterator<Item = &'a str>,
    ) -> anyhow::Result<()> {
        let mut value = || {
            let value = attached.or_else(|| words.next());
            value.map(str::to_owned).with_context(|| format!("kubectl --{name} needs a value"))
        };
        if is_in(IGNORED_WITH_VALUE, name) {
            value()?;
            return Ok(());
        }
        if let Some(option) = WITH_VALUE.split(' ').find(|option| *option == name) {
            self.values.push((option, value()?));
            return Ok(());
        }
        let is_on = attached.is_none_or(|value| !matches!(value, "false" | "0" | "f"));
        match name {
            "all-namespaces" => self.all_namespaces = is_on,
            "all" => self.all = is_on,
            "watch" | "watch-only" => self.watch = is_on,
            "show-events" => self.no_events = !is_on,
            "wait" => self.no_wait = !is_on,
            _ if is_in(FLAGS, name) => {}
            _ => return Err(unknown_option(&format!("--{name}"))),
        }
        Ok(())
    }

    fn value(&self, name: &str) -> Option<&str> {
        // If an option is given several times, the last value counts, as in kubectl.
        self.values.iter().rev().find(|(option, _)| *option == name).map(|(_, value)| value.as_str())
    }

    fn raw(&self, target: &str) -> anyhow::Result<SentRequests> {
        if !target.starts_with('/') {
            bail!("kubectl --raw takes a path, such as --raw /api/v1/pods, not {target:?}");
        }
        let method = match self.verb.as_str() {
            "create" => "POST",
            "replace" => "PUT",
            "delete" => "DELETE",
            _ => "GET",
        };
        Ok(SentRequests { requests: vec![(method.to_owned(), target.to_owned())], notes: Vec::new() })
    }

    /// The resources of the command, each with its object names.
    fn objects(&self) -> anyhow::Result<Vec<(BuiltIn, Vec<String>)>> {
        let Some((first, names)) = self.operands.split_first() else {
            bail!("kubectl {} needs a resource, such as kubectl {} pods", self.verb, self.verb);
        };
        if self.operands.iter().any(|operand| operand.contains('/')) {
            return self.operands.iter().map(|operand| self.typed_name(operand)).collect();
        }
        let mut objects = Vec::new();
        for word in first.split(',') {
            for word in if word == "all" { ALL } else { word }.split(' ') {
                objects.push((built_in(word)?, names.to_vec()));
            }
        }
        Ok(objects)
    }

    fn typed_name(&self, operand: &str) -> anyhow::Result<(BuiltIn, Vec<String>)> {
        match operand.split_once('/') {
            Some((resource, name)) if !resource.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok((built_in(resource)?, vec![name.to_owned()]))
            }
            _ => bail!("kubectl {}: {operand:?} is not TYPE/NAME, such as pods/web-1", self.verb),
        }
    }

    /// The namespace for the path of a resource; `None` if the resource is cluster-scoped.
    fn namespace(&self, resource: BuiltIn) -> Option<&str> {
        let is_clusters = is_cluster_scoped(resource.group, resource.plural) == Some(true);
        (!is_clusters).then(|| self.value("namespace").unwrap_or("default"))
    }

    fn requests(&self, resource: BuiltIn, names: &[String], sent: &mut SentRequests) -> anyhow::Result<()> {
        let namespace = self.namespace(resource);
        if names.is_empty() {
            return self.collection_requests(resource, sent);
        }
        if self.all_namespaces && namespace.is_some() {
            bail!("kubectl gets no object by its name across all namespaces; leave out -A, or the name");
        }
        let path = collection(resource, namespace)?;
        let subresource = self.value("subresource").map(segment).transpose()?;
        let subresource = subresource.map(|name| format!("/{name}")).unwrap_or_default();
        for name in names {
            let encoded_name = segment(name)?;
            let target = format!("{path}/{encoded_name}{subresource}");
            match self.verb.as_str() {
                "delete" => sent.add("DELETE", target),
                "describe" => self.describe(resource, namespace, name, sent)?,
                _ => {
                    sent.add("GET", target);
                    if self.watch {
                        let name = encoded(&format!("fieldSelector=metadata.name={name}"));
                        sent.add("GET", format!("{path}?{name}&resourceVersion=0&watch=true"));
                    }
                }
            }
        }
        Ok(())
    }

    fn collection_requests(&self, resource: BuiltIn, sent: &mut SentRequests) -> anyhow::Result<()> {
        let namespace = self.namespace(resource);
        let path = collection(resource, namespace.filter(|_| !self.all_namespaces))?;
        let mut selectors = Vec::new();
        for (option, key) in [("field-selector", "fieldSelector"), ("selector", "labelSelector")] {
            if let Some(value) = self.value(option) {
                selectors.push(encoded(&format!("{key}={value}")));
            }
        }
        let with = |more: Vec<String>| {
            let pairs: Vec<String> = selectors.iter().cloned().chain(more).collect();
            if pairs.is_empty() { path.clone() } else { format!("{path}?{}", pairs.join("&")) }
        };
        // kubectl lists the objects that it deletes. This LIST has no limit.
        if self.verb == "delete" {
            if !self.all && selectors.is_empty() {
                bail!("kubectl delete {} needs a name, --all or a selector", resource.plural);
            }
            sent.add("GET", with(Vec::new()));
            let namespace = namespace.map(|name| if self.all_namespaces { "NAMESPACE" } else { name });
            sent.add("DELETE", format!("{}/NAME", collection(resource, namespace)?));
            return Ok(());
        }
        let size = self.chunk_size()?;
        sent.add("GET", with(size.map(|size| format!("limit={size}")).into_iter().collect()));
        if self.verb == "describe" {
            let namespace = namespace.map(|name| if self.all_namespaces { "NAMESPACE" } else { name });
            self.describe(resource, namespace, "NAME", sent)?;
        } else if self.watch {
            sent.add(
                "GET",
                with(vec![format!("resourceVersion={LISTED_REVISION}"), "watch=true".to_owned()]),
            );
        }
        Ok(())
    }

    /// The limit of a LIST; `None` means no limit.
    fn chunk_size(&self) -> anyhow::Result<Option<u64>> {
        let text = self.value("chunk-size").unwrap_or("500");
        let size: u64 = text.parse().ok().with_context(|| {
            format!("kubectl --chunk-size: {text:?} is not a number; use one such as 500")
        })?;
        // kubectl reads the whole collection to sort it.
        Ok(Some(size).filter(|size| *size > 0 && self.value("sort-by").is_none()))
    }

    /// Adds the requests of `kubectl describe` for one object. They read the object, its events and, if the object is
    /// a node, the pods on it.
    fn describe(
        &self,
        resource: BuiltIn,
        namespace: Option<&str>,
        name: &str,
        sent: &mut SentRequests,
    ) -> anyhow::Result<()> {
        sent.add("GET", format!("{}/{}", collection(resource, namespace)?, segment(name)?));
        if resource.plural == "nodes" {
            let fields = format!("spec.nodeName={name},status.phase!=Failed,status.phase!=Succeeded");
            let fields = encoded(&format!("fieldSelector={fields}"));
            sent.add("GET", format!("/api/v1/pods?{fields}&limit=500"));
        }
        if !self.no_events {
            let events = BuiltIn { plural: "events", group: "", version: "v1" };
            let of_namespace = namespace.map(|name| format!(",involvedObject.namespace={name}"));
            let fields = format!(
                "fieldSelector=involvedObject.name={name}{},involvedObject.uid=UID",
                of_namespace.unwrap_or_default()
            );
            sent.add("GET", format!("{}?{}&limit=500", collection(events, namespace)?, encoded(&fields)));
        }
        Ok(())
    }

    fn notes(&self, objects: &[(BuiltIn, Vec<String>)], sent: &mut SentRequests) {
        let mut note = |text: &str| sent.notes.push(text.to_owned());
        let lacks_namespace = self.value("namespace").is_none() && !self.all_namespaces;
        if lacks_namespace && objects.iter().any(|(resource, _)| self.namespace(*resource).is_some()) {
            note("without -n kubectl takes the namespace of its context; this is the namespace default");
        }
        let is_collection = objects.iter().any(|(_, names)| names.is_empty());
        if self.watch && is_collection {
            note(&format!("resourceVersion={LISTED_REVISION} is an example; kubectl sends the LIST's own"));
        }
        if self.verb == "delete" {
            if is_collection {
                note("kubectl sends one DELETE for each object of the LIST");
            }
            if !self.no_wait {
                note("kubectl then waits for the end of each object; --wait=false does not");
            }
        }
        if self.verb == "describe" {
            if is_collection {
                note("kubectl sends the requests with NAME for each object of the LIST");
            }
            note(
                "describe also reads what belongs to some kinds of objects, such as a Deployment's ReplicaSets",
            );
        }
    }
}

impl SentRequests {
    fn add(&mut self, method: &str, target: String) {
        let request = (method.to_owned(), target);
        if !self.requests.contains(&request) {
            self.requests.push(request);
        }
    }
}

/// The path of a resource's collection.
fn collection(resource: BuiltIn, namespace: Option<&str>) -> anyhow::Result<String> {
    Ok(resource.path(namespace.map(segment).transpose()?.as_deref()))
}

/// `name=value` with the value percent-encoded.
pub(super) fn encoded(pair: &str) -> String {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    format!("{name}={}", percent_encoded(value, b"-._~%"))
}

/// Returns a name as a percent-encoded segment of a URL path.
/// Returns an error for a name that kubectl refuses to send. Source: `IsValidPathSegmentName` of k8s.io/apimachinery.
fn segment(name: &str) -> anyhow::Result<String> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '%']) {
        bail!("'{}' is not a name that kubectl sends; a name has no / and no %", escaped(name));
    }
    Ok(percent_encoded(name, b"-._~:"))
}

fn built_in(word: &str) -> anyhow::Result<BuiltIn> {
    BuiltIn::named(word).with_context(|| {
        let (plural, group) = word.split_once('.').unwrap_or((word, "GROUP"));
        format!(
            "{word:?} is not a built-in resource; type the request instead, such as \
             'GET /apis/{group}/VERSION/namespaces/default/{plural}?limit=500'"
        )
    })
}

fn unknown_option(option: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "kubetoll does not know kubectl's option {option:?}; leave it out, or type the request instead"
    )
}

#[cfg(test)]
mod tests;
