//! Reads a budget file, and reports all its errors at once.

use std::collections::HashMap;

use super::file::{
    Budget, BudgetClient, BudgetRequest, CLIENT_KEYS, KEYS, LONGEST, MEASURED_KEYS, PerObject, REQUEST_KEYS,
    SLOPE_KEYS, Unlisted,
};
use super::number::{Slack, allowed, is_raise, plain};
use super::phase::Phase;
use crate::apiserver::ServedFrom;
use crate::files::yaml::{self, YamlNode, YamlValue};
use crate::files::{FileErrors, FilePosition, expected};
use crate::requests::filter::NameFilter;
use crate::rules::rule_file::{FileKey, Positioned, Reader};
use crate::rules::sources::compiled;

/// The largest number in a budget.
const MOST: f64 = 1e12;

impl Budget {
    /// Reads a budget file.
    ///
    /// # Errors
    /// All errors of the file, in their order.
    pub fn read(file: &str, text: &str) -> Result<Self, FileErrors> {
        let mut errors = FileErrors::default();
        let node = yaml::read(file, text, LONGEST, &mut errors);
        let mut reader = BudgetReader { reader: Reader { file, errors: &mut errors } };
        let budget = node.map(|node| reader.budget(node));
        errors.0.sort();
        errors.0.dedup();
        match budget {
            Some(budget) if errors.0.is_empty() => Ok(budget),
            _ => Err(errors),
        }
    }
}

struct BudgetReader<'a> {
    reader: Reader<'a>,
}

impl BudgetReader<'_> {
    fn budget(&mut self, node: YamlNode) -> Budget {
        let mut budget = Budget {
            file: self.reader.file.to_owned(),
            unlisted: Unlisted::Fail,
            slack: Slack::DEFAULT,
            users: Vec::new(),
            clients_at: node.at,
            clients: Vec::new(),
            user_filter: None,
            by_name: HashMap::new(),
            patterns: Vec::new(),
        };
        let at = node.at;
        let (mut seen, mut clients) = (Vec::new(), None);
        let is_map = matches!(node.content, YamlValue::Map(_));
        for (key, node) in self.reader.map("a budget", node) {
            match key.value.as_str() {
                "version" => self.version(&node),
                "unlisted" => budget.unlisted = self.unlisted(node).unwrap_or(Unlisted::Fail),
                "slack" => budget.slack = self.slack(node).unwrap_or(Slack::DEFAULT),
                "users" => self.users(node, &mut budget),
                "clients" => {
                    budget.clients_at = key.at;
                    clients = Some(node);
                }
                _ => {
                    self.reader.unknown(&key, KEYS.iter().map(|key| key.name));
                    continue;
                }
            }
            seen.push(key.value);
        }
        if is_map {
            self.missing("a budget", at, &KEYS, &seen);
        }
        // The slack decides which limits need a reason, and it may be below `clients` in the file.
        let nodes = clients.map_or_else(Vec::new, |node| self.reader.list("clients", node));
        for node in nodes {
            let client = self.client(node, budget.slack);
            budget.clients.extend(client);
        }
        let names = budget.clients.iter().map(|client| (&*client.client, client.at));
        self.duplicates(names, "the client");
        for (index, entry) in budget.clients.iter().enumerate() {
            budget.by_name.entry(entry.client.clone()).or_insert(index);
            if entry.client.contains('*') {
                budget.patterns.push(index);
            }
        }
        budget
    }

    fn missing(&mut self, what: &str, at: FilePosition, keys: &[FileKey], seen: &[String]) {
        for key in keys.iter().filter(|key| key.required && !seen.iter().any(|seen| seen == key.name)) {
            self.reader.say(at, format!("{what} needs '{}': {}", key.name, key.doc));
        }
    }

    fn duplicates<'n>(&mut self, names: impl Iterator<Item = (&'n str, FilePosition)>, what: &str) {
        let mut first: HashMap<&str, FilePosition> = HashMap::new();
        for (name, at) in names {
            match first.get(name) {
                Some(first) => {
                    let line = first.line;
                    self.reader
                        .say(at, format!("{what} '{name}' already has an entry in line {line}; remove one"));
                }
                None => {
                    first.insert(name, at);
                }
            }
        }
    }

    fn version(&mut self, node: &YamlNode) {
        if node.content != YamlValue::Int(1) {
            self.reader.say(node.at, "version must be 1; this kubetoll reads no other version");
        }
    }

    fn unlisted(&mut self, node: YamlNode) -> Option<Unlisted> {
        let word = self.reader.text("unlisted", node)?;
        let known = Unlisted::ALL.into_iter().find(|unlisted| unlisted.as_str() == word.value);
        if known.is_none() {
            let hint = expected(&word.value, Unlisted::ALL.map(Unlisted::as_str));
            self.reader.say(word.at, format!("unlisted cannot be '{}'{hint}", word.value));
        }
        known
    }

    fn slack(&mut self, node: YamlNode) -> Option<Slack> {
        let text = self.reader.text("slack", node)?;
        match text.value.parse() {
            Ok(slack) => Some(slack),
            Err(error) => {
                self.reader.say(text.at, format!("slack: {error}"));
                None
            }
        }
    }

    fn users(&mut self, node: YamlNode, budget: &mut Budget) {
        let at = node.at;
        let users: Vec<String> =
            self.reader.texts("users", node).into_iter().map(|user| user.value).collect();
        if users.is_empty() {
            self.reader.say(at, "users is empty; name users, or remove the key for all clients");
            return;
        }
        match NameFilter::for_users(&users) {
            Ok(filter) => budget.user_filter = Some(filter),
            Err(error) => self.reader.say(at, format!("users: {error}")),
        }
        budget.users = users;
    }

    fn client(&mut self, node: YamlNode, slack: Slack) -> Option<BudgetClient> {
        let at = node.at;
        let is_map = matches!(node.content, YamlValue::Map(_));
        let (mut name, mut unlisted) = (None, None);
        let (mut requests, mut requests_at) = (Vec::new(), at);
        let mut seen = Vec::new();
        for (key, node) in self.reader.map("an entry of clients", node) {
            match key.value.as_str() {
                "client" => name = self.reader.text("client", node),
                "unlisted" => unlisted = self.unlisted(node),
                "requests" => {
                    requests_at = key.at;
                    let nodes = self.reader.list("requests", node);
                    requests = nodes.into_iter().filter_map(|node| self.request(node, slack)).collect();
                }
                _ => {
                    self.reader.unknown(&key, CLIENT_KEYS.iter().map(|key| key.name));
                    continue;
                }
            }
            seen.push(key.value);
        }
        if is_map {
            self.missing("an entry of clients", at, &CLIENT_KEYS, &seen);
        }
        let shapes = requests.iter().map(|request: &BudgetRequest| (&*request.request, request.at));
        self.duplicates(shapes, "the request");
        let name = name?;
        let pattern = compiled(&name, &mut self.reader)?;
        Some(BudgetClient { at: name.at, client: name.value, unlisted, requests_at, requests, pattern })
    }

    fn request(&mut self, node: YamlNode, slack: Slack) -> Option<BudgetRequest> {
        let at = node.at;
        let is_map = matches!(node.content, YamlValue::Map(_));
        let mut name = None;
        let mut request = BudgetRequest {
            request: String::new(),
            at,
            limits: [const { None }; 3],
            served_from: Vec::new(),
            measured: [const { None }; 3],
            measured_from: Vec::new(),
            reason: None,
            per_object: None,
        };
        let mut seen = Vec::new();
        let mut has_reason = false;
        for (key, node) in self.reader.map("an entry of requests", node) {
            match key.value.as_str() {
                "request" => name = self.reader.text("request", node),
                "servedFrom" => request.served_from = self.sources(node),
                "measured" => self.measured(node, &mut request),
                "reason" => {
                    has_reason = true;
                    request.reason = self.reader.text("reason", node).map(|reason| reason.value);
                }
                "perObject" => request.per_object = self.per_object(key.at, node),
                other => {
                    let Some(phase) = Phase::ALL.into_iter().find(|phase| phase.as_str() == other) else {
                        self.reader.unknown(&key, REQUEST_KEYS.iter().map(|key| key.name));
                        continue;
                    };
                    let number = self.number(phase.as_str(), &node, phase.is_whole());
                    request.limits[phase as usize] = number;
                }
            }
            seen.push(key.value);
        }
        if is_map {
            self.missing("an entry of requests", at, &REQUEST_KEYS, &seen);
        }
        if !has_reason {
            self.raises(&request, slack);
        }
        let name = name?;
        Some(BudgetRequest { request: name.value, at: name.at, ..request })
    }

    /// Reports limits above what was measured, and sources that were not measured.
    fn raises(&mut self, request: &BudgetRequest, slack: Slack) {
        for phase in Phase::ALL {
            let Some(limit) = &request.limits[phase as usize] else { continue };
            let key = phase.as_str();
            let measured = request.measured(phase);
            if !is_raise(phase, limit.value, measured.unwrap_or(0.0), slack) {
                continue;
            }
            let most = plain(allowed(phase, measured.unwrap_or(0.0), slack));
            let limit_text = plain(limit.value);
            self.reader.say(
                limit.at,
                match measured {
                    Some(measured) => format!(
                        "{key}: {limit_text} is above the measured {} plus {slack}, which is {most}; add a 'reason', or \
                         write {key}: {most}",
                        plain(measured)
                    ),
                    None => format!(
                        "{key}: {limit_text} has no measured number; add a 'reason', or add {key} to 'measured'"
                    ),
                },
            );
        }
        let is_new = |source: &&Positioned<String>| !request.measured_from.contains(&source.value);
        for source in request.served_from.iter().filter(is_new) {
            self.reader.say(
                source.at,
                format!(
                    "servedFrom: '{}' was not measured; add a 'reason', or add it to servedFrom in 'measured'",
                    source.value
                ),
            );
        }
    }

    fn number(&mut self, what: &str, node: &YamlNode, is_whole: bool) -> Option<Positioned<f64>> {
        let number = self.reader.number(what, node)?;
        if number > MOST {
            self.reader.say(node.at, format!("{what} must be at most {MOST}"));
            return None;
        }
        if is_whole && number.fract() != 0.0 {
            self.reader.say(node.at, format!("{what} must be a whole number"));
            return None;
        }
        Some(Positioned { value: number, at: node.at })
    }

    fn sources(&mut self, node: YamlNode) -> Vec<Positioned<String>> {
        let at = node.at;
        let sources = self.reader.texts("servedFrom", node);
        if sources.is_empty() {
            self.reader.say(at, "servedFrom has no source; name one, or remove the key");
        }
        let names = ServedFrom::ALL.map(ServedFrom::as_str);
        for source in sources.iter().filter(|source| !names.contains(&&*source.value)) {
            let hint = expected(&source.value, names);
            self.reader.say(source.at, format!("no such source '{}'{hint}", source.value));
        }
        sources
    }

    fn measured(&mut self, node: YamlNode, request: &mut BudgetRequest) {
        for (key, node) in self.reader.map("measured", node) {
            let what = key.value.as_str();
            match Phase::ALL.into_iter().find(|phase| phase.as_str() == what) {
                Some(phase) => request.measured[phase as usize] = self.number(what, &node, phase.is_whole()),
                None if what == "servedFrom" => {
                    request.measured_from =
                        self.sources(node).into_iter().map(|source| source.value).collect();
                }
                None => self.reader.unknown(&key, MEASURED_KEYS.iter().map(|key| key.name)),
            }
        }
    }

    fn per_object(&mut self, at: FilePosition, node: YamlNode) -> Option<PerObject> {
        let is_map = matches!(node.content, YamlValue::Map(_));
        let [mut from, mut to, mut max_slope] = [const { None::<Positioned<f64>> }; 3];
        let mut seen = Vec::new();
        for (key, node) in self.reader.map("perObject", node) {
            let what = key.value.as_str();
            match what {
                "from" => from = self.number(what, &node, true),
                "to" => to = self.number(what, &node, true),
                "maxSlope" => max_slope = self.number(what, &node, false),
                _ => {
                    self.reader.unknown(&key, SLOPE_KEYS.iter().map(|key| key.name));
                    continue;
                }
            }
            seen.push(key.value);
        }
        if is_map {
            self.missing("perObject", at, &SLOPE_KEYS, &seen);
        }
        let (from, to) = (from?, to?);
        if from.value >= to.value {
            self.reader
                .say(to.at, format!("to: {} must be more than from: {}", plain(to.value), plain(from.value)));
            return None;
        }
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`number` checks the range"
        )]
        Some(PerObject { at, from: from.value as u64, to: to.value as u64, max_slope: max_slope?.value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(text: &str) -> Vec<String> {
        let errors = Budget::read("b.yaml", text).expect_err("a bad budget");
        errors.to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_error_has_its_position_and_all_are_reported() {
        let text = "\
version: 2
unlisted: fail2
slack: 20
usrs: [a]
clients:
  - client: a
    unlisted: never
    requests:
      - request: list pods
        perStart: -1
        perMinute: 12
        watches: 1.5
        servedFrom: watch-cash
        measured: {perMinute: 1, perHour: 3}
        perObject: {from: 100, to: 10, maxSlope: 1}
      - request: list pods
        perObject: {from: 1}
  - client: a
    requests: all
  - requests: []
";
        let found = errors(text);
        let expected = [
            "b.yaml:1:10: version must be 1; this kubetoll reads no other version",
            "b.yaml:2:11: unlisted cannot be 'fail2'; did you mean 'fail'?",
            "b.yaml:3:8: slack: '20' is not a slack; write a percentage from 0% to 10000%, such as 20%",
            "b.yaml:4:1: no such key 'usrs'; did you mean 'users'?",
            "b.yaml:7:15: unlisted cannot be 'never'; known: allow, warn, fail",
            "b.yaml:10:19: perStart must be a number of 0 or more",
            "b.yaml:11:20: perMinute: 12 is above the measured 1 plus 20%, which is 1.2; add a 'reason', or write \
             perMinute: 1.2",
            "b.yaml:12:18: watches must be a whole number",
            "b.yaml:13:21: no such source 'watch-cash'; did you mean 'watch-cache'?",
            "b.yaml:13:21: servedFrom: 'watch-cash' was not measured; add a 'reason', or add it to servedFrom in \
             'measured'",
            "b.yaml:14:34: no such key 'perHour'; known: perStart, perMinute, watches, servedFrom",
            "b.yaml:15:36: to: 10 must be more than from: 100",
            "b.yaml:16:18: the request 'list pods' already has an entry in line 9; remove one",
            "b.yaml:17:9: perObject needs 'maxSlope': The most additional requests for each additional object, per \
             minute or for each start. Also the most additional watches.",
            "b.yaml:17:9: perObject needs 'to': The number of objects in the second run, such as 100.",
            "b.yaml:18:13: the client 'a' already has an entry in line 6; remove one",
            "b.yaml:19:15: requests must be a list, not a string",
            "b.yaml:20:5: an entry of clients needs 'client': The client's identity, such as \
             system:serviceaccount:shop:operator; * matches any text, such as a random suffix. Clients that match \
             one entry count together.",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_raise_needs_a_reason() {
        let entry = |lines: &str| {
            format!("version: 1\nclients:\n- client: a\n  requests:\n  - request: list pods\n{lines}")
        };
        let reason = "    reason: a release doubles it\n";
        for raise in [
            "    perMinute: 3\n",
            "    perMinute: 3\n    measured: {perMinute: 1}\n",
            "    watches: 2\n    measured: {watches: 1}\n",
            "    servedFrom: etcd\n    measured: {servedFrom: watch-cache}\n",
        ] {
            assert_eq!(errors(&entry(raise)).len(), 1, "{raise}");
            assert!(Budget::read("b.yaml", &entry(&format!("{raise}{reason}"))).is_ok(), "{raise}");
            // An empty reason is an error of its own.
            assert_eq!(errors(&entry(&format!("{raise}    reason: ''\n"))).len(), 1, "{raise}");
        }
        for same in [
            "    perMinute: 1.2\n    measured: {perMinute: 1}\n",
            "    watches: 1\n    measured: {watches: 1}\n    servedFrom: [etcd]\n",
            "    perStart: 0\n",
        ] {
            let same = same.replace("servedFrom: [etcd]\n", "reason: x\n");
            assert!(Budget::read("b.yaml", &entry(&same)).is_ok(), "{same}");
        }
    }

    #[test]
    fn strange_files_are_errors() {
        for (text, error) in [
            ("", "a budget must be a map, not null"),
            ("[]", "a budget must be a map, not a list"),
            ("a: [", "not valid YAML"),
            ("version: 1", "a budget needs 'clients'"),
            ("version: 1\nclients: []\nusers: []", "users is empty"),
            ("version: 1\nclients: []\nusers: [a, -a]", "exclude each other"),
            ("version: 1\nclients: []\nclients: []", "occurs twice"),
        ] {
            let found = errors(text);
            assert!(found.len() == 1 && found[0].contains(error), "{text}: {found:?}");
        }
    }
}
