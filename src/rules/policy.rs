//! The user's policy file `kubetoll.yaml`: the server, the rules to run, their settings, and suppressions.

use std::path::Path;

use chrono::NaiveDate;
use regex::Regex;

use super::error::{FileErrors, FilePosition, expected};
use super::facts::RowFacts;
use super::rule::{Rule, Severity};
use super::rule_file::{FileKey, Positioned, Reader, optional, required};
use super::rule_set::RuleSet;
use super::sources::{self, ClientSource, compiled, matches_client};
use super::value::Kind;
use super::variables::threshold_kind;
use super::yaml::{self, YamlNode, YamlValue};
use crate::apiserver::features::known_names;
use crate::k8s::{EtcdVersion, KubeVersion};

/// The default file name, in the working directory.
pub(crate) const FILE_NAME: &str = "kubetoll.yaml";

/// The keys of a policy file. The JSON Schema is generated from this list.
pub const KEYS: [FileKey; 11] = [
    optional("kubeVersion", "Version of kube-apiserver; default for --kube-version."),
    optional("etcdVersion", "Version of etcd; default for --etcd-version."),
    optional("featureGates", "Feature gates that differ from the version's defaults: name to true or false."),
    optional("uncached", "Resources without a watch cache, besides events."),
    optional("aggregated", "API groups that an aggregated server serves, besides the metrics APIs."),
    optional("select", "Only these rules: ids, names, or families such as KT1. --select replaces it."),
    optional("ignore", "Not these rules. --ignore adds to it."),
    optional(
        "failOn",
        "What a scan fails on: a severity, a rule, or a kind of request. --fail-on replaces it.",
    ),
    optional("rules", "By id or name: the severity of a rule's findings, and its thresholds."),
    optional(
        "suppressions",
        "Accepted findings: by rule, client and shape, with a reason and the last day on which the suppression is valid.",
    ),
    optional(
        "sources",
        "Where the code of clients is in the repository: by client, a path and a line. SARIF and GitHub annotations point \
         there.",
    ),
];

/// The keys of an entry of `suppressions`.
pub const SUPPRESSION_KEYS: [FileKey; 5] = [
    required("rule", "Id, name or family."),
    optional(
        "client",
        "The client's identity, or a ServiceAccount's namespace/name; * stands for anything. Without it, every client.",
    ),
    optional(
        "shape",
        "The shape as the report names it, such as 'list pods cluster-wide'; * stands for anything. Without it, every shape.",
    ),
    required("reason", "Why the findings are accepted."),
    required("expires", "The last day on which it is valid: 2027-03-31."),
];

/// The keys of an entry of `rules`.
pub(crate) const SETTING_KEYS: [FileKey; 2] = [
    optional("severity", "The severity of all its findings."),
    optional("thresholds", "Its thresholds, by name. They replace the rule's own values."),
];

/// The words that `failOn` accepts besides rules: minimum severities, and kinds of requests.
pub(crate) const FAIL_ON: [&str; 6] = ["info", "warning", "error", "etcd-list", "etcd-get", "limit-ignored"];

/// Checks a word of `failOn`: one of [`FAIL_ON`], or a rule's id, name or family.
/// The error lists the expected words.
pub(crate) fn check_fail_on(word: &str, rules: &RuleSet) -> Result<(), String> {
    if FAIL_ON.contains(&word) || rules.check_word(word).is_ok() {
        return Ok(());
    }
    let names = rules.rules.iter().flat_map(|rule| [rule.id.as_str(), rule.name.as_str()]);
    let hint = expected(word, FAIL_ON.into_iter().chain(names));
    let all = || format!("; use {} or a rule (`kubetoll rules list` shows them)", FAIL_ON.join(", "));
    let hint = if hint.starts_with("; known") { all() } else { hint };
    Err(format!("cannot fail on '{word}'{hint}"))
}

#[derive(Debug, Default)]
pub struct Policy {
    /// The path of the file; empty if there is none.
    pub(crate) file: String,
    // The defaults of the flags with the same names, until `fail_on`.
    pub(crate) kube_version: Option<String>,
    pub(crate) etcd_version: Option<String>,
    /// Such as `Name=true`.
    pub(crate) feature_gates: Vec<String>,
    pub(crate) uncached: Vec<String>,
    pub(crate) aggregated: Vec<String>,
    pub select: Vec<String>,
    /// The rules to ignore, in addition to those of `--ignore`.
    pub ignore: Vec<String>,
    pub(crate) fail_on: Vec<Positioned<String>>,
    settings: Vec<Setting>,
    /// All suppressions, including expired ones.
    pub(crate) suppressions: Vec<Suppression>,
    /// The locations of the clients' code. If several entries match a client, the first entry applies.
    pub(crate) sources: Vec<ClientSource>,
}

#[derive(Debug)]
struct Setting {
    rule: String,
    severity: Option<Severity>,
    thresholds: Vec<(String, f64)>,
}

/// An entry of `suppressions`: findings that the user accepts.
#[derive(Debug, Clone)]
pub struct Suppression {
    /// The id, name or family of the rule.
    pub(crate) rule: String,
    /// The pattern of the client, as in the file.
    pub(crate) client: Option<String>,
    /// The pattern of the shape, as in the file.
    pub(crate) shape: Option<String>,
    pub(crate) reason: String,
    /// The last day on which the suppression applies.
    pub(crate) expires: NaiveDate,
    pub(crate) is_expired: bool,
    /// The position of the entry in the file.
    pub(crate) at: FilePosition,
    client_pattern: Option<Regex>,
    shape_pattern: Option<Regex>,
}

impl Suppression {
    pub(crate) fn covers(&self, rule: &Rule, facts: &RowFacts<'_>) -> bool {
        let client = |pattern: &Regex| matches_client(pattern, facts.client);
        !self.is_expired
            && rule.is_selected_by(&self.rule)
            && self.client_pattern.as_ref().is_none_or(client)
            && self.shape_pattern.as_ref().is_none_or(|pattern| pattern.is_match(&facts.key.name()))
    }

    /// Whether the suppression covers a finding of a budget. `names` are the names of its client.
    pub(crate) fn covers_names(&self, rule: &Rule, names: &[&str], shape: Option<&str>) -> bool {
        let is_any = |pattern: &Option<Regex>, names: &[&str]| {
            pattern.as_ref().is_none_or(|pattern| names.iter().any(|name| pattern.is_match(name)))
        };
        !self.is_expired
            && rule.is_selected_by(&self.rule)
            && is_any(&self.client_pattern, names)
            && is_any(&self.shape_pattern, shape.as_slice())
    }

    pub(crate) fn covers_input(&self, rule: &Rule) -> bool {
        !self.is_expired && rule.is_selected_by(&self.rule) && self.client.is_none() && self.shape.is_none()
    }
}

impl Policy {
    /// Reads a policy file. A suppression whose last day is before `today` has expired.
    pub fn read(path: &Path, text: &str, rules: &RuleSet, today: NaiveDate) -> Result<Self, FileErrors> {
        let file = path.display().to_string();
        let mut errors = FileErrors::default();
        let mut policy = Self { file: file.clone(), ..Self::default() };
        if let Some(node) = yaml::read(&file, text, yaml::LONGEST, &mut errors) {
            let mut reading =
                PolicyReader { reader: Reader { file: &file, errors: &mut errors }, rules, today };
            // An empty file is an empty policy.
            if node.content != YamlValue::Null {
                reading.policy(node, &mut policy);
            }
        }
        errors.0.sort();
        if errors.0.is_empty() { Ok(policy) } else { Err(errors) }
    }

    /// Applies the policy's severities and thresholds to the rules.
    pub fn apply(&self, rules: &mut RuleSet) {
        for setting in &self.settings {
            for rule in rules.rules.iter_mut().filter(|rule| rule.is_selected_by(&setting.rule)) {
                rule.fixed_severity = setting.severity.or(rule.fixed_severity);
                for (name, value) in &setting.thresholds {
                    if let Some(own) = rule.thresholds.iter_mut().find(|(own, _)| own == name) {
                        own.1 = *value;
                    }
                }
            }
        }
    }
}

struct PolicyReader<'a> {
    reader: Reader<'a>,
    rules: &'a RuleSet,
    today: NaiveDate,
}

impl PolicyReader<'_> {
    fn policy(&mut self, node: YamlNode, policy: &mut Policy) {
        for (key, node) in self.reader.map("a policy", node) {
            let what = key.value.as_str();
            match what {
                "kubeVersion" => {
                    policy.kube_version = self.checked(what, node, |text| {
                        let version = text.parse::<KubeVersion>().map_err(|error| error.to_string())?;
                        crate::requests::contract::supported(version).map_err(|error| error.to_string())
                    });
                }
                "etcdVersion" => {
                    policy.etcd_version = self.checked(what, node, |text| {
                        text.parse::<EtcdVersion>().map_err(|error| error.to_string())
                    });
                }
                "featureGates" => {
                    for (gate, node) in self.reader.map(what, node) {
                        self.gate(&gate);
                        match node.content {
                            YamlValue::Bool(value) => {
                                policy.feature_gates.push(format!("{}={value}", gate.value));
                            }
                            _ => self.reader.say(
                                node.at,
                                format!("the feature gate {} must be true or false", gate.value),
                            ),
                        }
                    }
                }
                "uncached" => policy.uncached = self.texts(what, node),
                "aggregated" => policy.aggregated = self.texts(what, node),
                "select" => policy.select = self.rule_words(what, node),
                "ignore" => policy.ignore = self.rule_words(what, node),
                "failOn" => {
                    policy.fail_on = self.reader.texts(what, node);
                    for word in &policy.fail_on {
                        if let Err(error) = check_fail_on(&word.value, self.rules) {
                            self.reader.say(word.at, error);
                        }
                    }
                }
                "rules" => {
                    for (rule, node) in self.reader.map(what, node) {
                        let setting = self.setting(&rule, node);
                        policy.settings.extend(setting);
                    }
                }
                "suppressions" => {
                    let nodes = self.reader.list(what, node).into_iter();
                    policy.suppressions = nodes.filter_map(|node| self.suppression(node)).collect();
                }
                "sources" => policy.sources = sources::read(node, &mut self.reader),
                _ => self.reader.unknown(&key, KEYS.iter().map(|key| key.name)),
            }
        }
    }

    /// Rejects an unknown feature gate if its name is close to a known gate. Accepts other unknown gates, because
    /// kubetoll knows only the gates that affect verdicts.
    fn gate(&mut self, gate: &Positioned<String>) {
        let name = &gate.value;
        let near = known_names().find(|gate| strsim::osa_distance(gate, name) <= 3);
        if let Some(near) = near.filter(|_| known_names().all(|gate| gate != name)) {
            self.reader.say(gate.at, format!("no such feature gate '{name}'; did you mean '{near}'?"));
        }
    }

    fn checked<T>(
        &mut self,
        what: &str,
        node: YamlNode,
        check: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<String> {
        if let YamlValue::Double(_) = node.content {
            self.reader.say(
                node.at,
                format!("{what} must be a string; put it in quotes, because YAML reads 1.30 as 1.3"),
            );
            return None;
        }
        let text = self.reader.text(what, node)?;
        match check(&text.value) {
            Ok(_) => Some(text.value),
            Err(error) => {
                self.reader.say(text.at, error);
                None
            }
        }
    }

    fn texts(&mut self, what: &str, node: YamlNode) -> Vec<String> {
        self.reader.texts(what, node).into_iter().map(|text| text.value).collect()
    }

    fn rule_words(&mut self, what: &str, node: YamlNode) -> Vec<String> {
        let words = self.reader.texts(what, node);
        words.into_iter().filter_map(|word| self.rule_word(&word).then_some(word.value)).collect()
    }

    fn rule_word(&mut self, word: &Positioned<String>) -> bool {
        let checked = self.rules.check_word(&word.value);
        if let Err(error) = &checked {
            self.reader.say(word.at, error.clone());
        }
        checked.is_ok()
    }

    fn setting(&mut self, rule: &Positioned<String>, node: YamlNode) -> Option<Setting> {
        let is_known = self.rule_word(rule);
        let mut setting = Setting { rule: rule.value.clone(), severity: None, thresholds: Vec::new() };
        for (key, node) in self.reader.map("a rule's settings", node) {
            match key.value.as_str() {
                "severity" => {
                    let text = self.reader.text("severity", node);
                    match text.map(|text| (text.value.parse(), text.at)) {
                        Some((Ok(severity), _)) => setting.severity = Some(severity),
                        Some((Err(error), at)) => self.reader.say(at, error),
                        None => {}
                    }
                }
                "thresholds" => {
                    for (name, node) in self.reader.map("thresholds", node) {
                        let number = self.reader.number("a threshold", &node);
                        if let Some(number) = number.filter(|_| is_known)
                            && self.fits(rule, &name, number, node.at)
                        {
                            setting.thresholds.push((name.value, number));
                        }
                    }
                }
                _ => self.reader.unknown(&key, SETTING_KEYS.iter().map(|key| key.name)),
            }
        }
        is_known.then_some(setting)
    }

    /// Whether the rule has this threshold, and the number has the threshold's type. If not, adds an error.
    fn fits(
        &mut self,
        rule: &Positioned<String>,
        name: &Positioned<String>,
        number: f64,
        at: FilePosition,
    ) -> bool {
        let selected: Vec<&Rule> =
            self.rules.rules.iter().filter(|one| one.is_selected_by(&rule.value)).collect();
        let all = || selected.iter().flat_map(|rule| &rule.thresholds);
        let Some((_, default)) = all().find(|(own, _)| *own == name.value) else {
            let names: Vec<&str> = all().map(|(own, _)| own.as_str()).collect();
            let hint =
                if names.is_empty() { "; it has none".to_owned() } else { expected(&name.value, names) };
            self.reader.say(name.at, format!("{} has no threshold '{}'{hint}", rule.value, name.value));
            return false;
        };
        let fits = threshold_kind(*default) == Kind::Double || threshold_kind(number) == Kind::Int;
        if !fits {
            self.reader.say(at, format!("threshold '{}' must be a whole number", name.value));
        }
        fits
    }

    fn suppression(&mut self, node: YamlNode) -> Option<Suppression> {
        let start = node.at;
        let [mut rule, mut client, mut shape, mut reason, mut expires] =
            [const { None::<Positioned<String>> }; 5];
        for (key, node) in self.reader.map("a suppression", node) {
            let what = key.value.as_str();
            let slot = match what {
                "rule" => &mut rule,
                "client" => &mut client,
                "shape" => &mut shape,
                "reason" => &mut reason,
                "expires" => &mut expires,
                _ => {
                    self.reader.unknown(&key, SUPPRESSION_KEYS.iter().map(|key| key.name));
                    continue;
                }
            };
            *slot = self.reader.text(what, node);
        }
        let there = [("rule", &rule), ("reason", &reason), ("expires", &expires)];
        for (name, _) in there.into_iter().filter(|(_, value)| value.is_none()) {
            let doc = SUPPRESSION_KEYS.iter().find(|key| key.name == name).map_or("", |key| key.doc);
            self.reader.say(start, format!("a suppression needs '{name}': {doc}"));
        }
        let day = expires.and_then(|text| {
            let day = NaiveDate::parse_from_str(&text.value, "%Y-%m-%d").ok();
            if day.is_none() {
                self.reader.say(text.at, format!("'{}' is not a date; write it as 2027-03-31", text.value));
            }
            day
        });
        let rule = rule.filter(|rule| self.rule_word(rule))?;
        let client_pattern = client.as_ref().and_then(|text| compiled(text, &mut self.reader));
        let shape_pattern = shape.as_ref().and_then(|text| compiled(text, &mut self.reader));
        let expires = day?;
        Some(Suppression {
            rule: rule.value,
            client_pattern,
            shape_pattern,
            client: client.map(|text| text.value),
            shape: shape.map(|text| text.value),
            reason: reason?.value,
            expires,
            is_expired: expires < self.today,
            at: start,
        })
    }
}
