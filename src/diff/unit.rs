//! What the requests of a run are divided by before a comparison.

use std::fmt;
use std::str::FromStr;

use crate::profile::{ClientProfile, RunProfile};

/// The unit of a rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unit {
    /// The minutes from a client's first request to the end of the run.
    Minute,
    /// The same minutes, times the number of nodes.
    Node,
    /// The run as a whole.
    Run,
    /// The requests that a selector names, such as one update of a status for each reconcile.
    RequestOf(RequestSelector),
}

/// Selects the requests of a verb and resource, of all clients or of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestSelector {
    client: Option<String>,
    verb: String,
    resource: String,
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "minute" | "minutes" => Ok(Self::Minute),
            "node" => Ok(Self::Node),
            "run" => Ok(Self::Run),
            _ => text.strip_prefix("request-of=").map_or_else(
                || Err("use minute, node, run, or request-of=SELECTOR".to_owned()),
                |selector| selector.parse().map(Self::RequestOf),
            ),
        }
    }
}

impl FromStr for RequestSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "a selector is a verb and a resource, such as 'patch widgets.example.com/status', with the client's \
             identity before them if only its requests count"
                .to_owned()
        };
        let mut words = text.trim().rsplitn(3, char::is_whitespace);
        let (Some(resource), Some(verb)) = (words.next(), words.next()) else { return Err(wrong()) };
        if resource.is_empty() || !verb.bytes().all(|byte| byte.is_ascii_alphabetic()) || verb.is_empty() {
            return Err(wrong());
        }
        let client = words.next().map(str::trim).filter(|client| !client.is_empty()).map(str::to_owned);
        Ok(Self { client, verb: verb.to_ascii_lowercase(), resource: resource.to_ascii_lowercase() })
    }
}

impl fmt::Display for RequestSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(client) = &self.client {
            write!(f, "{client} ")?;
        }
        write!(f, "{} {}", self.verb, self.resource)
    }
}

impl RequestSelector {
    /// The number of selected requests. `fold` gives the name under which a client is compared.
    fn count(&self, run: &RunProfile, fold: impl Fn(&str) -> String) -> u64 {
        let is_wanted = |name: &str| {
            self.client.as_deref().is_none_or(|wanted| wanted == name || fold(wanted) == fold(name))
        };
        let clients = run.clients.iter().filter(|(name, _)| is_wanted(name));
        let shapes = clients.flat_map(|(_, client)| &client.shapes);
        let selected = shapes.filter(|(name, shape)| {
            let resource = name.split(' ').nth(1).unwrap_or_default();
            shape.verb == self.verb && resource == self.resource
        });
        selected.map(|(_, shape)| shape.requests()).sum()
    }
}

impl Unit {
    /// Whether rates are over time.
    pub(super) fn is_over_time(&self) -> bool {
        matches!(self, Self::Minute | Self::Node)
    }

    /// The unit as `--per` names it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Minute => "minute".to_owned(),
            Self::Node => "node".to_owned(),
            Self::Run => "run".to_owned(),
            Self::RequestOf(selector) => format!("request-of={selector}"),
        }
    }

    /// The unit in texts, after a number: `3.1 per minute`.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Minute => "per minute".to_owned(),
            Self::Node => "per node and minute".to_owned(),
            Self::Run => "per run".to_owned(),
            Self::RequestOf(selector) => format!("per {selector}"),
        }
    }

    /// The short form in tables, after a number: `3.1/min`.
    pub(crate) fn short(&self) -> &'static str {
        match self {
            Self::Minute => "/min",
            Self::Node => "/node·min",
            Self::Run => "/run",
            Self::RequestOf(_) => "/request",
        }
    }

    /// The number of units of a run, for one client or, with `None`, for a client without requests.
    ///
    /// # Errors
    /// The run does not show the unit.
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub(super) fn size(
        &self,
        run: &RunProfile,
        client: Option<&ClientProfile>,
        fold: impl Fn(&str) -> String,
    ) -> Result<f64, String> {
        let minutes = || match (client, run.minutes) {
            (_, None) => Err("its log has no timestamps; use --per run".to_owned()),
            (None, Some(minutes)) => Ok(minutes),
            (Some(client), Some(_)) => Ok(client.minutes),
        };
        match self {
            Self::Run => Ok(1.0),
            Self::Minute => minutes(),
            Self::Node if run.nodes == 0 => {
                Err("its log shows no nodes: no kubelet, and no pod with a node in its token".to_owned())
            }
            Self::Node => Ok(minutes()? * run.nodes as f64),
            Self::RequestOf(selector) => match selector.count(run, fold) {
                0 => Err(format!("it has no request of '{selector}'")),
                count => Ok(count as f64),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_parse() {
        let unit = |text: &str| text.parse::<Unit>();
        assert_eq!(unit("minute"), Ok(Unit::Minute));
        assert_eq!(unit("node"), Ok(Unit::Node));
        let of = |client: Option<&str>, verb: &str, resource: &str| {
            Unit::RequestOf(RequestSelector {
                client: client.map(str::to_owned),
                verb: verb.to_owned(),
                resource: resource.to_owned(),
            })
        };
        assert_eq!(unit("request-of=PATCH widgets.a.b/status"), Ok(of(None, "patch", "widgets.a.b/status")));
        assert_eq!(
            unit("request-of=system:serviceaccount:a:b create pods"),
            Ok(of(Some("system:serviceaccount:a:b"), "create", "pods"))
        );
        for bad in ["", "hour", "request-of=", "request-of=pods", "request-of=1 pods"] {
            assert!(unit(bad).is_err(), "{bad}");
        }
    }
}
