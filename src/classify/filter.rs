//! Which requests are counted: filters with the names and the meaning that users of `kubectl-dev_tool audit` know.

use regex::RegexSet;

use super::event::Request;
use crate::apiserver::Target;
use crate::k8s::{Kind, timestamp};

/// A text that is no filter.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BadFilter {
    #[error("'{0}' is no HTTP status; write one such as 429, or a class such as 5xx")]
    Status(String),
    #[error("'{0}' is no instant; write one such as 2026-07-23T10:00:00Z, or a day such as 2026-07-23")]
    Instant(String),
    #[error("the filter '{text}' is too long")]
    TooLong {
        text: String,
        #[source]
        source: regex::Error,
    },
}

/// Names that are wanted, and names that are not (`-name`). `*` stands for anything.
#[derive(Debug, Clone, Default)]
pub struct Names {
    wanted: RegexSet,
    unwanted: RegexSet,
}

impl Names {
    /// Reads names; several may stand in one text, with commas between.
    ///
    /// # Errors
    /// [`BadFilter::TooLong`] for a name that can't be compiled.
    pub fn new(texts: &[String]) -> Result<Self, BadFilter> {
        let (mut wanted, mut unwanted) = (Vec::new(), Vec::new());
        for name in texts.iter().flat_map(|text| text.split(',')).filter(|name| !name.is_empty()) {
            match name.strip_prefix('-') {
                Some(name) => unwanted.push(pattern(name)),
                None => wanted.push(pattern(name)),
            }
        }
        let set = |patterns: Vec<String>| {
            RegexSet::new(patterns).map_err(|source| BadFilter::TooLong { text: texts.join(","), source })
        };
        Ok(Self { wanted: set(wanted)?, unwanted: set(unwanted)? })
    }

    /// Whether any of a request's names passes.
    fn pass(&self, names: &[&str]) -> bool {
        let any = |set: &RegexSet| names.iter().any(|name| set.is_match(name));
        (self.wanted.is_empty() || any(&self.wanted)) && !any(&self.unwanted)
    }

    fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.unwanted.is_empty()
    }
}

/// A regular expression for a name in which `*` stands for anything.
#[must_use]
pub fn pattern(name: &str) -> String {
    let parts: Vec<String> = name.split('*').map(regex::escape).collect();
    format!("^(?s:{})$", parts.join(".*"))
}

/// HTTP statuses: single ones and classes.
#[derive(Debug, Clone, Default)]
pub struct StatusSet(Vec<(u16, u16)>);

impl StatusSet {
    /// Reads statuses such as `429` and classes such as `5xx`.
    ///
    /// # Errors
    /// [`BadFilter::Status`] for anything else.
    pub fn new(texts: &[String]) -> Result<Self, BadFilter> {
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

/// Reads an instant: RFC 3339, or a day in UTC.
///
/// # Errors
/// [`BadFilter::Instant`] for anything else.
pub fn instant(text: &str) -> Result<i64, BadFilter> {
    timestamp::parse_micros(text)
        .or_else(|| timestamp::parse_micros(&format!("{text}T00:00:00Z")))
        .ok_or_else(|| BadFilter::Instant(text.to_owned()))
}

/// All filters; a request must pass each.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// User names: who the request acts as, or who asked.
    pub users: Names,
    /// Verbs.
    pub verbs: Names,
    /// Resources: `pods`, `deployments.apps`, `pods/status`.
    pub resources: Names,
    /// Namespaces in the path.
    pub namespaces: Names,
    /// Clients: products of user agents, identities, or kinds of clients.
    pub clients: Names,
    /// Received at this instant or later, in microseconds since 1970.
    pub after: Option<i64>,
    /// Received before this instant, in microseconds since 1970.
    pub before: Option<i64>,
    /// Answered with one of these.
    pub statuses: StatusSet,
    /// Answered with 400 or above.
    pub failed_only: bool,
}

impl Filter {
    /// Whether every request passes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        [&self.users, &self.verbs, &self.resources, &self.namespaces, &self.clients]
            .into_iter()
            .all(Names::is_empty)
            && self.after.is_none()
            && self.before.is_none()
            && self.statuses.0.is_empty()
            && !self.failed_only
    }

    /// Whether a request passes.
    #[must_use]
    pub fn pass(&self, request: &Request<'_>) -> bool {
        self.concerns(request) && self.verb_and_status_pass(request)
    }

    /// Whether a request is of those that are wanted, whatever its verb and its status: what comes before and after a
    /// LIST tells what it is for.
    #[must_use]
    pub fn concerns(&self, request: &Request<'_>) -> bool {
        let client = request.asker.client();
        let names = [client.identity, client.impersonator.unwrap_or(client.identity)];
        // A product of a user agent is no user's name.
        let names = if client.kind == Kind::UserAgent { [].as_slice() } else { &names };
        (self.users.is_empty() || self.users.pass(names) || self.node_passes(request))
            && (self.resources.is_empty() || self.resource_passes(request))
            && (self.namespaces.is_empty() || self.namespaces.pass(&[request.question.namespace]))
            && (self.clients.is_empty()
                || self.clients.pass(&[request.asker.product().name, client.identity, client.kind.as_str()]))
            && self.after.is_none_or(|after| request.received.is_some_and(|at| at >= after))
            && self.before.is_none_or(|before| request.received.is_some_and(|at| at < before))
    }

    /// Whether a request that is wanted by everything else is wanted by its verb and its status.
    fn verb_and_status_pass(&self, request: &Request<'_>) -> bool {
        (self.verbs.is_empty() || self.verbs.pass(&[request.question.asked.verb.as_str()]))
            && (self.statuses.0.is_empty()
                || request.status.is_some_and(|status| {
                    self.statuses.0.iter().any(|(first, last)| (*first..=*last).contains(&status))
                }))
            && (!self.failed_only || request.status.is_some_and(|status| status >= 400))
    }

    /// A node may be named by its own user name, though all nodes are counted as one.
    fn node_passes(&self, request: &Request<'_>) -> bool {
        request.asker.identity() == crate::k8s::Identity::NODES
            && request.asker.node().is_some_and(|node| self.users.pass(&[&format!("system:node:{node}")]))
    }

    fn resource_passes(&self, request: &Request<'_>) -> bool {
        let (group, resource, subresource) = match request.asked().target {
            Target::Resource { group, resource, subresource, .. } => (group, resource, subresource),
            Target::Unknown { group, resource, .. } => (group, resource, ""),
            Target::NonResource(_) | Target::Unresolvable => return self.resources.pass(&[]),
        };
        let with_group = format!("{resource}.{group}");
        let with_sub = |name: &str| {
            if subresource.is_empty() { name.to_owned() } else { format!("{name}/{subresource}") }
        };
        let (plain, grouped) = (with_sub(resource), with_sub(&with_group));
        self.resources.pass(&[resource, &with_group, &plain, &grouped])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Classifier;
    use crate::decode::klog::AccessLine;
    use crate::input::Place;

    fn names(texts: &[&str]) -> Names {
        Names::new(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).expect("names")
    }

    #[test]
    fn names_are_wanted_or_unwanted_and_may_hold_stars() {
        let filter = names(&["system:serviceaccount:*,-system:serviceaccount:kube-system:*"]);
        assert!(filter.pass(&["system:serviceaccount:a:b"]));
        assert!(!filter.pass(&["system:serviceaccount:kube-system:b"]));
        assert!(!filter.pass(&["alice"]));
        assert!(names(&["-get"]).pass(&["list"]));
        assert!(!names(&["a.c"]).pass(&["abc"]), "a dot is a dot");
        assert!(names(&[""]).is_empty());
    }

    #[test]
    fn statuses_and_instants() {
        let read = |text: &str| StatusSet::new(&[text.to_owned()]).map(|set| set.0);
        assert_eq!(read("429,5xx").expect("statuses"), [(429, 429), (500, 599)]);
        assert!(read("6xx").is_err() && read("42").is_err() && read("").is_err());
        assert_eq!(instant("1970-01-02").expect("a day"), 86_400_000_000);
        assert!(instant("tomorrow").is_err());
    }

    #[test]
    fn a_user_agent_is_no_user() {
        let filter = |users: &[&str], clients: &[&str]| Filter {
            users: names(users),
            verbs: names(&[]),
            resources: names(&[]),
            namespaces: names(&[]),
            clients: names(clients),
            after: None,
            before: None,
            statuses: StatusSet::default(),
            failed_only: false,
        };
        let line =
            AccessLine { user_agent: "kubelet/v1".into(), uri: "/api".into(), ..AccessLine::default() };
        let mut classifier = Classifier::default();
        let request = classifier.line(&line, None, Place { source: 0, offset: 0, line: 1 });
        assert!(!filter(&["kubelet"], &[]).pass(&request));
        assert!(!filter(&["*"], &[]).pass(&request));
        assert!(filter(&["-alice"], &[]).pass(&request));
        assert!(filter(&[], &["kubelet"]).pass(&request) && filter(&[], &["user-agent"]).pass(&request));
    }
}
