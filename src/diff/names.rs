//! The names under which clients of different runs are compared: random suffixes are folded.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use regex::Regex;

use crate::k8s::pod_name;
use crate::profile::{ClientProfile, RunProfile};

/// An argument of `--map`: names that match the expression are compared under another name.
#[derive(Debug, Clone)]
pub(crate) struct NameMap {
    expression: Regex,
    name: String,
}

impl FromStr for NameMap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (expression, name) =
            text.rsplit_once('=').ok_or("use REGEX=NAME, such as 'e2e-[0-9a-f]+=e2e'")?;
        if expression.is_empty() {
            return Err("the expression before = is empty".to_owned());
        }
        let expression = Regex::new(expression).map_err(|error| error.to_string())?;
        Ok(Self { expression, name: name.to_owned() })
    }
}

/// How the names of clients are compared.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameFolding {
    maps: Vec<NameMap>,
    /// Names that both sides have. They are compared as they are.
    common: BTreeSet<String>,
}

impl NameFolding {
    #[must_use]
    pub(crate) fn new(maps: &[NameMap], base: BTreeSet<String>, new: BTreeSet<String>) -> Self {
        let mut folding = Self { maps: maps.to_vec(), common: BTreeSet::new() };
        let [base, new]: [BTreeSet<String>; 2] =
            [base, new].map(|names| names.iter().map(|name| folding.mapped(name)).collect());
        folding.common = base.intersection(&new).cloned().collect();
        folding
    }

    /// The name under which a client is compared. If only one side has the name, `*` replaces random suffixes of the parts
    /// between colons, such as the namespace of a test run. Each `--map` replaces its first match, in the name as it is
    /// or as it is folded.
    #[must_use]
    pub(crate) fn fold(&self, name: &str) -> String {
        let mapped = self.mapped(name);
        if self.common.contains(&mapped) {
            return mapped;
        }
        let parts: Vec<String> = mapped.split(':').map(without_suffixes).collect();
        let folded = parts.join(":");
        if mapped == name { self.mapped(&folded) } else { folded }
    }

    fn mapped(&self, name: &str) -> String {
        let replaced =
            |name: String, map: &NameMap| map.expression.replace(&name, map.name.as_str()).into_owned();
        self.maps.iter().fold(name.to_owned(), replaced)
    }

    /// The clients of a run under the names that are compared.
    #[must_use]
    pub(crate) fn fold_clients(&self, run: &RunProfile) -> BTreeMap<String, ClientProfile> {
        let mut clients: BTreeMap<String, ClientProfile> = BTreeMap::new();
        for (name, profile) in &run.clients {
            clients.entry(self.fold(name)).or_default().add_other(profile);
        }
        clients
    }
}

fn without_suffixes(part: &str) -> String {
    let mut rest = part;
    while let Some((before, _)) =
        rest.rsplit_once('-').filter(|(before, last)| !before.is_empty() && is_random(last))
    {
        rest = before;
    }
    if rest.len() == part.len() { part.to_owned() } else { format!("{rest}-*") }
}

/// Whether a suffix was chosen at random, or counts runs: three digits or more, a hexadecimal number with a digit, or
/// a suffix that Kubernetes generates.
fn is_random(text: &str) -> bool {
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let is_number = text.len() >= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_hex = text.len() >= 4 && has_digit && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_hash = has_digit && (6..=10).contains(&text.len()) && pod_name::is_generated(text);
    let is_version = text.rsplit_once('v').is_some_and(|(word, digits)| {
        all_of(word, u8::is_ascii_lowercase) && all_of(digits, u8::is_ascii_digit)
    });
    is_number || is_hex || is_hash || (pod_name::is_random(text) && text != "httpd" && !is_version)
}

fn all_of(text: &str, is: fn(&u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(|byte| is(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_suffixes_are_folded_and_words_are_not() {
        let folding = NameFolding::default();
        for (name, folded) in [
            ("system:serviceaccount:e2e-x7k2p:operator", "system:serviceaccount:e2e-*:operator"),
            ("system:serviceaccount:test-8f3a2b1c:operator", "system:serviceaccount:test-*:operator"),
            ("system:serviceaccount:e2e-1234:web-5d4f8c7b9-x2k4q", "system:serviceaccount:e2e-*:web-*"),
            ("ci-550e8400-e29b-41d4-a716-446655440000", "ci-*"),
            (
                "system:serviceaccount:kube-system:node-controller",
                "system:serviceaccount:kube-system:node-controller",
            ),
            ("system:serviceaccount:a:oauth2-proxy", "system:serviceaccount:a:oauth2-proxy"),
            ("system:serviceaccount:a:proxy-oauth2", "system:serviceaccount:a:proxy-oauth2"),
            ("system:serviceaccount:a:widgets-v1", "system:serviceaccount:a:widgets-v1"),
            ("apache-httpd", "apache-httpd"),
            ("csi-nfsv4", "csi-nfsv4"),
            ("-1234", "-1234"),
        ] {
            assert_eq!(folding.fold(name), folded);
        }
    }

    #[test]
    fn names_that_both_sides_have_stay_as_they_are() {
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
        let folding =
            NameFolding::new(&[], names(&["job-12345", "e2e-x7k2p"]), names(&["job-12345", "e2e-9dl4w"]));
        let folded = ["job-12345", "e2e-x7k2p", "e2e-9dl4w"].map(|name| folding.fold(name));
        assert_eq!(folded, ["job-12345", "e2e-*", "e2e-*"]);
    }

    #[test]
    fn maps_come_before_folding() {
        let map = |text: &str| text.parse::<NameMap>().expect("a map");
        let folding = |maps: &[NameMap]| NameFolding::new(maps, BTreeSet::new(), BTreeSet::new());
        let maps = [map("serviceaccount:pr[a-z]+:=serviceaccount:pr:"), map("^(.*)-next$=$1")];
        assert_eq!(folding(&maps).fold("system:serviceaccount:prabc:op-next"), "system:serviceaccount:pr:op");
        let folded = folding(&[map(r"e2e-\*=test")]);
        assert_eq!(folded.fold("system:serviceaccount:e2e-x7k2p:op"), "system:serviceaccount:test:op");
        for bad in ["abc", "=x", "(=x"] {
            assert!(bad.parse::<NameMap>().is_err(), "{bad}");
        }
    }
}
