//! An audit policy as kube-apiserver reads, validates and applies it. The types are those of upstream's
//! k8s.io/apiserver `pkg/apis/audit/v1/types.go`. The checks are those of
//! `pkg/apis/audit/validation/validation.go` and `pkg/audit/policy/reader.go`. The match is that of
//! `pkg/audit/policy/checker.go`.

use std::collections::BTreeMap;

use serde::Deserialize;

/// `Policy`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Policy {
    pub api_version: String,
    pub kind: String,
    #[serde(default)]
    #[expect(dead_code, reason = "upstream allows it and looks at none of it")]
    pub metadata: BTreeMap<String, serde_json::Value>,
    pub rules: Vec<PolicyRule>,
    #[serde(default)]
    pub omit_stages: Vec<Stage>,
    #[serde(default)]
    pub omit_managed_fields: bool,
}

/// `PolicyRule`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PolicyRule {
    pub level: Level,
    #[serde(default)]
    pub users: Vec<String>,
    #[serde(default)]
    pub user_groups: Vec<String>,
    #[serde(default)]
    pub verbs: Vec<String>,
    #[serde(default)]
    pub resources: Vec<GroupResources>,
    #[serde(default)]
    pub namespaces: Vec<String>,
    #[serde(default, rename = "nonResourceURLs")]
    pub non_resource_urls: Vec<String>,
    #[serde(default)]
    pub omit_stages: Vec<Stage>,
    pub omit_managed_fields: Option<bool>,
}

/// `GroupResources`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GroupResources {
    #[serde(default)]
    pub group: String,
    #[serde(default)]
    pub resources: Vec<String>,
    #[serde(default)]
    pub resource_names: Vec<String>,
}

/// `Level`: how much of a request is logged, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Level {
    None,
    Metadata,
    Request,
    RequestResponse,
}

/// `Stage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Stage {
    RequestReceived,
    ResponseStarted,
    ResponseComplete,
    Panic,
}

/// A request as the policy sees it: upstream's `authorizer.Attributes`.
#[derive(Debug, Clone, Default)]
pub struct Request<'r> {
    /// The user; none before authentication.
    pub user: Option<&'r str>,
    pub groups: Vec<&'r str>,
    pub verb: &'r str,
    /// None for paths outside the API's resources.
    pub resource: Option<Object<'r>>,
    /// Without the query.
    pub path: &'r str,
}

/// The object that a request names.
#[derive(Debug, Clone, Default)]
pub struct Object<'r> {
    pub group: &'r str,
    pub resource: &'r str,
    pub subresource: &'r str,
    pub namespace: &'r str,
    pub name: &'r str,
}

impl Policy {
    /// Reads a policy. The error is the reason for which upstream rejects it.
    pub fn load(yaml: &str) -> Result<Self, String> {
        let policy: Self = serde_saphyr::from_str(yaml).map_err(|error| error.to_string())?;
        if (policy.api_version.as_str(), policy.kind.as_str()) != ("audit.k8s.io/v1", "Policy") {
            return Err("it must be a Policy of audit.k8s.io/v1".to_owned());
        }
        if policy.rules.is_empty() {
            return Err("it has no rules".to_owned());
        }
        policy.rules.iter().try_for_each(PolicyRule::validate)?;
        Ok(policy)
    }

    /// The level and the omitted stages, by the first rule that matches.
    pub fn level_and_stages(&self, request: &Request) -> (Level, Vec<Stage>) {
        let rule = self.rules.iter().find(|rule| rule.matches(request));
        let mut omitted = self.omit_stages.clone();
        omitted.extend(rule.iter().flat_map(|rule| &rule.omit_stages));
        (rule.map_or(Level::None, |rule| rule.level), omitted)
    }
}

impl PolicyRule {
    fn validate(&self) -> Result<(), String> {
        for url in self.non_resource_urls.iter().filter(|url| *url != "*") {
            if !url.starts_with('/') {
                return Err(format!("{url}: a non-resource URL begins with '/'"));
            }
            if url[..url.len() - 1].contains('*') {
                return Err(format!("{url}: '*' must be the last character"));
            }
        }
        for group in &self.resources {
            if !group.group.is_empty() && !is_dns_subdomain(&group.group) {
                return Err(format!("{}: no name of a group; a version does not belong to it", group.group));
            }
            if !group.resource_names.is_empty() && group.resources.is_empty() {
                return Err("resourceNames need at least one resource".to_owned());
            }
        }
        let for_resources = !self.resources.is_empty() || !self.namespaces.is_empty();
        if for_resources && !self.non_resource_urls.is_empty() {
            return Err("a rule is for resources or for non-resource URLs".to_owned());
        }
        Ok(())
    }

    fn matches(&self, request: &Request) -> bool {
        let has = |list: &[String], value: &str| list.iter().any(|item| item == value);
        let user = self.users.is_empty() || request.user.is_some_and(|user| has(&self.users, user));
        let group = self.user_groups.is_empty()
            || request.user.is_some() && request.groups.iter().any(|group| has(&self.user_groups, group));
        let verb = self.verbs.is_empty() || has(&self.verbs, request.verb);
        if !(user && group && verb) {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return request.resource.as_ref().is_some_and(|resource| {
                (self.namespaces.is_empty() || has(&self.namespaces, resource.namespace))
                    && (self.resources.is_empty()
                        || self.resources.iter().any(|group| group.matches(resource)))
            });
        }
        if !self.non_resource_urls.is_empty() {
            return request.resource.is_none()
                && self.non_resource_urls.iter().any(|url| path_matches(request.path, url));
        }
        true
    }
}

impl GroupResources {
    fn matches(&self, object: &Object) -> bool {
        if self.group != object.group {
            return false;
        }
        if self.resources.is_empty() {
            return true;
        }
        if !self.resource_names.is_empty() && !self.resource_names.iter().any(|name| name == object.name) {
            return false;
        }
        let combined = match object.subresource {
            "" => object.resource.to_owned(),
            subresource => format!("{}/{subresource}", object.resource),
        };
        self.resources.iter().any(|pattern| {
            *pattern == combined
                || pattern == "*"
                || !object.subresource.is_empty() && pattern.strip_prefix("*/") == Some(object.subresource)
                || pattern.strip_suffix("/*") == Some(object.resource)
        })
    }
}

fn path_matches(path: &str, pattern: &str) -> bool {
    pattern == "*"
        || pattern == path
        || pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*'))
}

/// RFC 1123's subdomain, as k8s.io/apimachinery `pkg/util/validation/validation.go` has it.
fn is_dns_subdomain(name: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= 253
        && name.split('.').all(|label| {
            label.starts_with(alphanumeric)
                && label.ends_with(alphanumeric)
                && label.chars().all(|c| alphanumeric(c) || c == '-')
        })
}
