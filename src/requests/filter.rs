//! Filters that select the requests to count. Names and meaning follow `kubectl-dev_tool audit`.

use std::sync::atomic::{AtomicBool, Ordering};

use regex::RegexSet;

use super::request::Request;
use crate::apiserver::Target;
use crate::k8s::built_in::BuiltIn;
use crate::k8s::identity::short_name;
use crate::k8s::{Identity, Kind, Verb, timestamp};

/// A LIST shortly before the end of the filter's period may belong to an informer. Only the WATCH after the LIST
/// shows this. So a WATCH less than this long after `before` still passes. In microseconds.
const WATCH_AFTER_LIST: i64 = 60_000_000;

/// Why a text is not a valid filter.
#[derive(Debug, thiserror::Error)]
pub enum BadFilter {
    #[error("'{0}' is not an HTTP status; write one such as 429, or a class such as 5xx")]
    Status(String),
    #[error(
        "'{0}' is not a timestamp; use RFC 3339, such as 2026-07-23T10:00:00Z, or a day such as 2026-07-23"
    )]
    Timestamp(String),
    #[error("'{0}' contains an empty name, which matches nothing; write a name, or omit the filter")]
    Empty(String),
    #[error("'{0}' is not a verb; use one of: {known}", known = Verb::ALL.map(Verb::as_str).join(", "))]
    Verb(String),
    #[error("the names '{0}' exclude each other; no request can pass")]
    Contradiction(String),
    #[error("--after is not earlier than --before; no request can pass")]
    Period,
    #[error(
        "--failed-only needs a status of 400 or above, and --http-status-code has none; no request can pass"
    )]
    NoFailure,
    #[error("the filter '{text}' is too long")]
    TooLong {
        text: String,
        #[source]
        source: regex::Error,
    },
}

/// Name patterns to include, and name patterns to exclude (`-name`). `*` matches any text.
#[derive(Debug, Default)]
pub struct NameFilter {
    wanted: RegexSet,
    unwanted: RegexSet,
    /// The patterns of `wanted` as the user wrote them.
    texts: Vec<String>,
    /// Which patterns of `wanted` matched at least one ended request.
    ended: Matches,
    /// Which patterns of `wanted` matched at least one event before the end of its request, such as a RequestReceived
    /// event.
    before_end: Matches,
}

/// Which of the included patterns matched at least one request that passed all filters.
#[derive(Debug, Default)]
struct Matches(Vec<AtomicBool>);

impl Matches {
    fn new(names: usize) -> Self {
        Self((0..names).map(|_| AtomicBool::new(false)).collect())
    }

    fn is_complete(&self) -> bool {
        self.0.iter().all(|matched| matched.load(Ordering::Relaxed))
    }
}

impl NameFilter {
    /// Parses name patterns. A text may hold several patterns, separated by commas.
    ///
    /// # Errors
    /// - [`BadFilter::TooLong`] for a pattern that is too large to compile.
    /// - [`BadFilter::Empty`] for an empty pattern.
    /// - [`BadFilter::Contradiction`] if every included pattern is also excluded.
    pub fn new(texts: &[String]) -> Result<Self, BadFilter> {
        Self::with(texts, pattern)
    }

    fn with(texts: &[String], pattern: impl Fn(&str) -> String) -> Result<Self, BadFilter> {
        let (mut wanted, mut unwanted, mut included) = (Vec::new(), Vec::new(), Vec::new());
        for text in texts {
            for name in text.split(',') {
                let (list, bare) = match name.strip_prefix('-') {
                    Some(name) => (&mut unwanted, name),
                    None => (&mut wanted, name),
                };
                if bare.trim().is_empty() {
                    return Err(BadFilter::Empty(text.clone()));
                }
                list.push(pattern(bare));
                if bare == name {
                    included.push(name.to_owned());
                }
            }
        }
        let set = |patterns: Vec<String>| {
            RegexSet::new(patterns).map_err(|source| BadFilter::TooLong { text: texts.join(","), source })
        };
        let (ended, before_end) = (Matches::new(included.len()), Matches::new(included.len()));
        let (wanted, unwanted) = (set(wanted)?, set(unwanted)?);
        let names = Self { wanted, unwanted, texts: included, ended, before_end };
        // It is a contradiction if the excluded patterns cover each included pattern, as in `kube-system` and
        // `-kube-*`. So match the excluded patterns against the texts of the included ones. In such a text, `*` is an
        // ordinary character, which only a `*` in an excluded pattern matches.
        if !names.texts.is_empty() && names.texts.iter().all(|name| names.unwanted.is_match(name)) {
            return Err(BadFilter::Contradiction(texts.join(",")));
        }
        Ok(names)
    }

    /// Parses name patterns for a property that every request has, such as the verb.
    ///
    /// # Errors
    /// The errors of [`NameFilter::new`], and [`BadFilter::Contradiction`] if the patterns exclude every name.
    pub(crate) fn for_required(texts: &[String]) -> Result<Self, BadFilter> {
        Self::new(texts)?.some_wanted(texts)
    }

    /// Returns `self`, or an error if the excluded patterns match every name, so that no request could pass.
    fn some_wanted(self, texts: &[String]) -> Result<Self, BadFilter> {
        if self.unwanted.is_match("*") {
            return Err(BadFilter::Contradiction(texts.join(",")));
        }
        Ok(self)
    }

    /// Parses patterns for user names. Names as reports show them work too. `namespace/name` also matches a
    /// ServiceAccount, and `user bob` matches the user `bob`.
    ///
    /// # Errors
    /// The errors of [`NameFilter::new`].
    pub(crate) fn for_users(texts: &[String]) -> Result<Self, BadFilter> {
        Self::with(texts, |name| {
            let user = name.strip_prefix("user ").map(pattern);
            let service_account = name.split_once('/').filter(|(_, name)| !name.contains('/'));
            let service_account = service_account
                .map(|(namespace, name)| pattern(&format!("system:serviceaccount:{namespace}:{name}")));
            std::iter::once(pattern(name)).chain(user).chain(service_account).collect::<Vec<_>>().join("|")
        })
    }

    /// Parses patterns for client names. Names as reports show them work too. `40 nodes` matches all nodes. `…`
    /// matches the part of a long name that the report cuts.
    ///
    /// # Errors
    /// The errors of [`NameFilter::for_required`].
    pub(crate) fn for_clients(texts: &[String]) -> Result<Self, BadFilter> {
        let names = Self::with(texts, |name| match name.split_once(' ') {
            Some((count, "node" | "nodes")) if count.bytes().all(|byte| byte.is_ascii_digit()) => {
                pattern(Kind::Node.as_str())
            }
            _ => pattern(&name.replace('…', "*")),
        })?;
        names.some_wanted(texts)
    }

    /// Parses resource names. Case does not matter. As in kubectl, `po`, `Pod` and `Pods` mean `pods`.
    ///
    /// # Errors
    /// The errors of [`NameFilter::new`].
    pub(crate) fn for_resources(texts: &[String]) -> Result<Self, BadFilter> {
        Self::with(texts, |name| {
            let (base, subresource) =
                name.split_once('/').map_or((name, None), |(base, sub)| (base, Some(sub)));
            // A custom resource may use the short name of a built-in one, so the text itself matches too.
            let built_in = BuiltIn::named(base).map(|BuiltIn { plural, group, .. }| {
                let group = if base.contains('.') { format!(".{group}") } else { String::new() };
                let subresource = subresource.map(|name| format!("/{name}")).unwrap_or_default();
                format!("{plural}{group}{subresource}")
            });
            let all = std::iter::once(pattern(name)).chain(built_in.as_deref().map(pattern));
            format!("(?i:{})", all.collect::<Vec<_>>().join("|"))
        })
    }

    /// Parses verbs. Case does not matter.
    ///
    /// # Errors
    /// The errors of [`NameFilter::for_required`], and [`BadFilter::Verb`] for an included pattern that matches no
    /// verb.
    pub(crate) fn for_verbs(texts: &[String]) -> Result<Self, BadFilter> {
        let texts: &[String] = &texts.iter().map(|text| text.to_ascii_lowercase()).collect::<Vec<_>>();
        let names = Self::for_required(texts)?;
        let has_verb = |name: &str| {
            RegexSet::new([pattern(name)])
                .is_ok_and(|set| Verb::ALL.iter().any(|verb| set.is_match(verb.as_str())))
        };
        if let Some(name) = names.texts.iter().find(|name| !has_verb(name)) {
            return Err(BadFilter::Verb(name.clone()));
        }
        if !Verb::ALL.iter().any(|verb| names.pass(&[verb.as_str()])) {
            return Err(BadFilter::Contradiction(texts.join(",")));
        }
        Ok(names)
    }

    /// Records which patterns match `names`, the names of a request that passed all filters.
    fn note(&self, names: &[&str], is_before_end: bool) {
        let matches = self.matches(is_before_end);
        if !matches.is_complete() {
            names
                .iter()
                .flat_map(|name| self.wanted.matches(name))
                .for_each(|at| matches.0[at].store(true, Ordering::Relaxed));
        }
    }

    fn matches(&self, is_before_end: bool) -> &Matches {
        if is_before_end { &self.before_end } else { &self.ended }
    }

    /// The included patterns that no ended request matched. With `received_only`, events before the end of a request
    /// are checked instead.
    fn unmatched(&self, received_only: bool) -> impl Iterator<Item = &str> {
        let matched = self.texts.iter().zip(&self.matches(received_only).0);
        matched.filter(|(_, is_matched)| !is_matched.load(Ordering::Relaxed)).map(|(name, _)| name.as_str())
    }

    /// Whether a request with these names passes: one of them is included, and none is excluded.
    pub(crate) fn pass(&self, names: &[&str]) -> bool {
        let any = |set: &RegexSet| names.iter().any(|name| set.is_match(name));
        (self.wanted.is_empty() || any(&self.wanted)) && !any(&self.unwanted)
    }

    fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.unwanted.is_empty()
    }
}

/// The regular expression of a name pattern, in which `*` matches any text.
#[must_use]
pub(crate) fn pattern(name: &str) -> String {
    let parts: Vec<String> = name.split('*').map(regex::escape).collect();
    format!("^(?s:{})$", parts.join(".*"))
}

/// HTTP statuses, as inclusive ranges.
#[derive(Debug, Clone, Default)]
pub struct StatusSet(Vec<(u16, u16)>);

impl StatusSet {
    /// Parses statuses such as `429` and classes such as `5xx`.
    ///
    /// # Errors
    /// [`BadFilter::Status`] for any other text.
    pub(crate) fn new(texts: &[String]) -> Result<Self, BadFilter> {
        let read = |text: &str| match text.parse::<u16>() {
            Ok(status) if (100..600).contains(&status) => Ok((status, status)),
            _ if matches!(text.as_bytes(), [b'1'..=b'5', b'x', b'x']) => {
                let first = u16::from(text.as_bytes()[0] - b'0') * 100;
                Ok((first, first + 99))
            }
            _ => Err(BadFilter::Status(text.to_owned())),
        };
        texts.iter().flat_map(|text| text.split(',')).map(read).collect::<Result<_, _>>().map(Self)
    }
}

/// Parses a timestamp: RFC 3339, or a day in UTC. Returns microseconds since 1970.
///
/// # Errors
/// [`BadFilter::Timestamp`] for any other text.
pub(crate) fn parse_timestamp(text: &str) -> Result<i64, BadFilter> {
    timestamp::parse_micros(text)
        .or_else(|| timestamp::parse_micros(&format!("{text}T00:00:00Z")))
        .ok_or_else(|| BadFilter::Timestamp(text.to_owned()))
}

/// All filters. A counted request must pass each of them.
#[derive(Debug, Default)]
pub struct Filter {
    /// User names. They match the impersonated user or the authenticated user.
    pub users: NameFilter,
    pub verbs: NameFilter,
    /// Resources, such as `pods`, `deployments.apps` or `pods/status`.
    pub resources: NameFilter,
    /// Namespaces in the path.
    pub namespaces: NameFilter,
    /// Clients: user agent products, identities, or kinds of clients.
    pub clients: NameFilter,
    /// Received at this time or later, in microseconds since 1970.
    pub after: Option<i64>,
    /// Received before this time, in microseconds since 1970.
    pub before: Option<i64>,
    pub statuses: StatusSet,
    /// Only responses with status 400 or above.
    pub failed_only: bool,
}

impl Filter {
    /// Whether no filter is set, so that every request passes.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        [&self.users, &self.verbs, &self.resources, &self.namespaces, &self.clients]
            .into_iter()
            .all(NameFilter::is_empty)
            && self.after.is_none()
            && self.before.is_none()
            && self.statuses.0.is_empty()
            && !self.failed_only
    }

    /// Checks that a request can pass all filters.
    ///
    /// # Errors
    /// If two filters contradict each other.
    pub(crate) fn check(&self) -> Result<(), BadFilter> {
        if let (Some(after), Some(before)) = (self.after, self.before)
            && after >= before
        {
            return Err(BadFilter::Period);
        }
        let has_failure = self.statuses.0.is_empty() || self.statuses.0.iter().any(|(_, last)| *last >= 400);
        if self.failed_only && !has_failure { Err(BadFilter::NoFailure) } else { Ok(()) }
    }

    /// Whether a request passes.
    #[must_use]
    pub(crate) fn pass(&self, request: &Request<'_>) -> bool {
        let passes = self.concerns(request) && self.verb_and_status_pass(request);
        if passes {
            self.note(request);
        }
        passes
    }

    /// Records which patterns matched a request that passed.
    fn note(&self, request: &Request<'_>) {
        let all = [&self.users, &self.verbs, &self.resources, &self.namespaces, &self.clients];
        // Matched patterns are recorded separately for ended requests and for earlier events. A RequestReceived event
        // may not name the impersonated user, so a pattern for that user matches only later events.
        let is_before_end = request.is_before_end();
        if all.into_iter().all(|names| names.matches(is_before_end).is_complete()) {
            return;
        }
        let client = request.client.client_ref();
        if client.kind != Kind::UserAgent {
            self.users
                .note(&[client.identity, client.impersonator.unwrap_or(client.identity)], is_before_end);
        }
        if let Some(node) = request.client.node().filter(|_| client.identity == Identity::NODES) {
            self.users.note(&[&format!("system:node:{node}")], is_before_end);
        }
        self.verbs.note(&[request.spec.shape.verb.as_str()], is_before_end);
        self.namespaces.note(&[request.spec.namespace], is_before_end);
        if !self.clients.is_empty() {
            with_client_names(request, |names| self.clients.note(names, is_before_end));
        }
        with_resource_names(request, |names| self.resources.note(names, is_before_end));
    }

    /// The included patterns that matched no counted request, each with the name of its command-line flag. With
    /// `received_only`, the log contains only RequestReceived events, so kubetoll checks these events instead of
    /// ended requests.
    #[must_use]
    pub(crate) fn unmatched(&self, received_only: bool) -> Vec<(&'static str, &str)> {
        let all = [
            ("user", &self.users),
            ("verb", &self.verbs),
            ("resource", &self.resources),
            ("namespace", &self.namespaces),
            ("client", &self.clients),
        ];
        let mut unmatched = Vec::new();
        for (flag, names) in all {
            unmatched.extend(names.unmatched(received_only).map(|name| (flag, name)));
        }
        unmatched
    }

    /// Whether a request passes the filters that also apply to the detection of informers, polling and herds. The
    /// verb filter and the status filters do not apply, because the detection needs other verbs and statuses too. A
    /// WATCH less than `WATCH_AFTER_LIST` after `before` passes: it may follow the LIST of an informer.
    #[must_use]
    pub(crate) fn concerns(&self, request: &Request<'_>) -> bool {
        let client = request.client.client_ref();
        let names = [client.identity, client.impersonator.unwrap_or(client.identity)];
        // The identity of this client is a product from a user agent, not a user name. So user patterns do not match
        // it.
        let names = if client.kind == Kind::UserAgent { [].as_slice() } else { &names };
        (self.users.is_empty() || self.users.pass(names) || self.node_passes(request))
            && (self.resources.is_empty() || self.resource_passes(request))
            && (self.namespaces.is_empty() || self.namespaces.pass(&[request.spec.namespace]))
            && (self.clients.is_empty() || with_client_names(request, |names| self.clients.pass(names)))
            && self.after.is_none_or(|after| request.received.is_some_and(|at| at >= after))
            && self.before.is_none_or(|before| {
                let is_watch = request.spec.shape.verb == Verb::Watch;
                let end = if is_watch { before.saturating_add(WATCH_AFTER_LIST) } else { before };
                request.received.is_some_and(|at| at < end)
            })
    }

    /// Whether the verb filter and the status filters pass.
    fn verb_and_status_pass(&self, request: &Request<'_>) -> bool {
        (self.verbs.is_empty() || self.verbs.pass(&[request.spec.shape.verb.as_str()]))
            && (self.statuses.0.is_empty()
                || request.status.is_some_and(|status| {
                    self.statuses.0.iter().any(|(first, last)| (*first..=*last).contains(&status))
                }))
            && (!self.failed_only || request.status.is_some_and(|status| status >= 400))
    }

    /// Whether the node's own user name passes the user filter. All nodes share one identity, so the identity does
    /// not name the node.
    fn node_passes(&self, request: &Request<'_>) -> bool {
        request.client.identity() == Identity::NODES
            && request.client.node().is_some_and(|node| self.users.pass(&[&format!("system:node:{node}")]))
    }

    fn resource_passes(&self, request: &Request<'_>) -> bool {
        with_resource_names(request, |names| self.resources.pass(names))
    }
}

/// Calls `with` with all names of the request's client: product, identity, kind, and the name in reports.
fn with_client_names<T>(request: &Request<'_>, with: impl FnOnce(&[&str]) -> T) -> T {
    let client = request.client.client_ref();
    let printed = short_name(client.kind.as_str(), client.identity);
    let by = client.impersonator.map(|real| format!("{printed} (by {real})"));
    let node = request.client.node().filter(|_| client.identity == Identity::NODES).unwrap_or_default();
    let user = if node.is_empty() { String::new() } else { format!("system:node:{node}") };
    let others = [by.as_deref().unwrap_or_default(), node, &user].into_iter().filter(|name| !name.is_empty());
    let mut names = vec![request.client.product().name, client.identity, client.kind.as_str(), &printed];
    names.extend(others);
    with(&names)
}

/// Calls `with` with all names of the request's resource.
fn with_resource_names<T>(request: &Request<'_>, with: impl FnOnce(&[&str]) -> T) -> T {
    let (group, resource, subresource) = match request.shape().target {
        Target::Resource { group, resource, subresource, .. } => (group, resource, subresource),
        Target::Unknown { group, resource, .. } => (group, resource, ""),
        Target::NonResource(_) | Target::Unresolvable => return with(&[]),
    };
    let with_group = format!("{resource}.{group}");
    let with_sub = |name: &str| {
        if subresource.is_empty() { name.to_owned() } else { format!("{name}/{subresource}") }
    };
    let (plain, grouped) = (with_sub(resource), with_sub(&with_group));
    with(&[resource, &with_group, &plain, &grouped])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::klog::AccessLine;
    use crate::input::SourcePosition;
    use crate::requests::Classifier;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn names(of: &[&str]) -> NameFilter {
        NameFilter::new(&texts(of)).expect("names")
    }

    #[test]
    fn names_include_or_exclude_and_stars_match_any_text() {
        let filter = names(&["system:serviceaccount:*,-system:serviceaccount:kube-system:*"]);
        assert!(filter.pass(&["system:serviceaccount:a:b"]));
        assert!(!filter.pass(&["system:serviceaccount:kube-system:b"]));
        assert!(!filter.pass(&["alice"]));
        assert!(names(&["-get"]).pass(&["list"]));
        assert!(!names(&["a.c"]).pass(&["abc"]), "a dot is a dot");
    }

    #[test]
    fn names_that_no_request_can_match_are_errors() {
        for bad in [[""].as_slice(), &["a,"], &["-"], &[" "], &["a", "-a"], &["a,ab*,-a*"], &["-*", "b"]] {
            assert!(NameFilter::new(&texts(bad)).is_err(), "{bad:?}");
        }
        for good in [[].as_slice(), &["a*,-ab*"], &["*,-a"], &["-*"], &["a,b,-a"]] {
            assert!(NameFilter::new(&texts(good)).is_ok(), "{good:?}");
        }
        assert!(
            NameFilter::for_required(&texts(&["-*"])).is_err()
                && NameFilter::for_required(&texts(&["-a*"])).is_ok()
        );
        for bad in ["gett", "get,-g*", "get*,-get", "-*"] {
            assert!(NameFilter::for_verbs(&texts(&[bad])).is_err(), "{bad}");
        }
        for good in ["get*", "LIST", "*,-list", "-watch", "delete*,-delete"] {
            assert!(NameFilter::for_verbs(&texts(&[good])).is_ok(), "{good}");
        }
    }

    #[test]
    fn resources_match_by_kubectl_names() {
        let resources = |text: &str| NameFilter::for_resources(&[text.to_owned()]).expect("names");
        for (text, name) in [
            ("Pods", "pods"),
            ("po", "pods"),
            ("Pod", "pods"),
            ("Deployment", "deployments"),
            ("deploy.apps", "deployments.apps"),
            ("PO/Status", "pods/status"),
            ("*sets", "replicasets"),
            ("limits", "limits"),
        ] {
            assert!(resources(text).pass(&[name]), "{text}");
            assert!(!resources(&format!("-{text}")).pass(&[name]), "-{text}");
        }
        assert!(!resources("po").pass(&["podtemplates"]) && !resources("po/log").pass(&["pods"]));
        assert!(NameFilter::for_resources(&["po,-Po*".to_owned()]).is_err());
        let verbs = NameFilter::for_verbs(&["LIST,-WATCH".to_owned()]).expect("names");
        assert!(verbs.pass(&["list"]) && !verbs.pass(&["watch"]));
    }

    #[test]
    fn filters_that_no_request_passes_are_errors() {
        let at = |after, before| Filter { after, before, ..Filter::default() };
        assert!(at(Some(1), Some(1)).check().is_err() && at(Some(2), Some(1)).check().is_err());
        assert!(at(Some(1), Some(2)).check().is_ok() && at(Some(1), None).check().is_ok());
        let failed = |codes: &[&str]| {
            let statuses = StatusSet::new(&texts(codes)).expect("statuses");
            Filter { statuses, failed_only: true, ..Filter::default() }
        };
        assert!(failed(&["2xx,304"]).check().is_err());
        assert!(failed(&["2xx,404"]).check().is_ok() && failed(&[]).check().is_ok());
    }

    #[test]
    fn names_that_reports_print_match() {
        let user = |text: &str| NameFilter::for_users(&texts(&[text])).expect("names");
        assert!(user("monitoring/poller").pass(&["system:serviceaccount:monitoring:poller"]));
        assert!(!user("monitoring/poller").pass(&["system:serviceaccount:monitoring:poller2"]));
        assert!(user("user bob").pass(&["bob"]) && !user("user bob").pass(&["bobby"]));
        assert!(!user("user").pass(&["bob"]) && !user("-user bob").pass(&["bob"]));
        let client = |text: &str| NameFilter::for_clients(&texts(&[text])).expect("names");
        assert!(client("40 nodes").pass(&["kubelet", "node"]) && !client("40 nodes").pass(&["user"]));
        assert!(client("kube-system/gene…ollector").pass(&["kube-system/generic-garbage-collector"]));
        assert!(NameFilter::for_clients(&texts(&["-*"])).is_err());
    }

    #[test]
    fn statuses_and_timestamps_parse() {
        let read = |text: &str| StatusSet::new(&[text.to_owned()]).map(|set| set.0);
        assert_eq!(read("429,5xx").expect("statuses"), [(429, 429), (500, 599)]);
        assert!(read("6xx").is_err() && read("42").is_err() && read("").is_err());
        assert_eq!(parse_timestamp("1970-01-02").expect("a day"), 86_400_000_000);
        assert!(parse_timestamp("tomorrow").is_err());
    }

    #[test]
    fn user_filter_ignores_user_agents() {
        let filter = |users: &[&str], clients: &[&str]| Filter {
            users: names(users),
            clients: names(clients),
            ..Filter::default()
        };
        let line =
            AccessLine { user_agent: "kubelet/v1".into(), uri: "/api".into(), ..AccessLine::default() };
        let mut classifier = Classifier::default();
        let request = classifier.line(&line, None, SourcePosition { source: 0, offset: 0, line: 1 });
        assert!(!filter(&["kubelet"], &[]).pass(&request));
        assert!(!filter(&["*"], &[]).pass(&request));
        assert!(filter(&["-alice"], &[]).pass(&request));
        assert!(filter(&[], &["kubelet"]).pass(&request) && filter(&[], &["user-agent"]).pass(&request));
    }
}
