//! Products that many clusters run, and the setting of each that changes what a rule finds. Data: `rules/products/`.
//! A user agent is the client's to choose, so a product is a hint for advice and no proof.

use std::fs;
use std::path::PathBuf;
use std::sync::{LazyLock, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::read_up_to;
use crate::files::yaml::LONGEST;

/// The embedded files: name and text.
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/products.in"));

static PRODUCTS: LazyLock<Vec<Product>> = LazyLock::new(|| {
    let read = |(file, text): &(&str, &str)| {
        Product::read(text)
            .unwrap_or_else(|error| panic!("a test reads the embedded products: {file}: {error}"))
    };
    EMBEDDED.iter().map(read).collect()
});

/// A product.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Product {
    /// The name, in lower case with hyphens.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// What it is.
    pub kind: Kind,
    /// The library that it is built on, as rules name it.
    #[serde(default)]
    pub library: Option<String>,
    /// Patterns of its user agents; `*` stands for any text.
    #[serde(default)]
    pub user_agents: Vec<String>,
    /// Patterns of its ServiceAccounts by default, `namespace/name`; for products whose user agent names none.
    #[serde(default)]
    pub service_accounts: Vec<String>,
    /// A user agent that it sends. Needed where `userAgents` has patterns.
    #[serde(default)]
    pub example: Option<String>,
    /// Where the user agent, or the name of the ServiceAccount, can be checked: the source code that sets it, the file
    /// that names the program (client-go sends its name by default), or an issue as `owner/repository#number`.
    #[serde(default)]
    pub seen_in: Option<String>,
    /// Its own settings, by what rules find.
    #[serde(default)]
    pub fixes: Vec<Fix>,
}

/// A setting of a product.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fix {
    /// Names of the rules whose findings it changes.
    pub causes: Vec<String>,
    /// What to set.
    pub text: String,
    /// Where that is documented: a page, or `owner/repository#number`.
    pub source: String,
}

/// What a product is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It runs all the time.
    Controller,
    /// It runs on each node.
    NodeAgent,
    /// It copies objects away, now and then.
    Backup,
    /// It runs and ends.
    Job,
    /// It shows a cluster to many people.
    Dashboard,
    /// A person works with it.
    Tool,
}

impl Kind {
    /// The name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::NodeAgent => "node-agent",
            Self::Backup => "backup",
            Self::Job => "job",
            Self::Dashboard => "dashboard",
            Self::Tool => "tool",
        }
    }

    /// Whether it runs and ends, so that a WATCH is no use to it.
    #[must_use]
    pub fn is_job(self) -> bool {
        matches!(self, Self::Backup | Self::Job)
    }
}

/// What a client was recognized by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecognizedBy {
    /// Its user agent.
    UserAgent,
    /// The name of its ServiceAccount.
    ServiceAccount,
}

impl RecognizedBy {
    /// The name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserAgent => "user-agent",
            Self::ServiceAccount => "service-account",
        }
    }
}

impl Product {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str(text).map_err(|error| error.to_string())
    }

    /// Whether a user agent is one of its.
    #[must_use]
    pub fn sends(&self, user_agent: &str) -> bool {
        self.user_agents.iter().any(|pattern| matches(pattern, user_agent))
    }

    /// Its setting for what a rule finds.
    #[must_use]
    pub fn fix(&self, rule: &str) -> Option<&Fix> {
        self.fixes.iter().find(|fix| fix.causes.iter().any(|cause| cause == rule))
    }
}

/// The embedded products with those of a user, if there are any.
static WITH_OWN: OnceLock<Vec<Product>> = OnceLock::new();

/// All products: a user's own first, then the embedded ones by name.
#[must_use]
pub fn all() -> &'static [Product] {
    WITH_OWN.get().unwrap_or(&PRODUCTS)
}

/// Adds the products of `products/` in a user's rule directories. One of the same name replaces; one of a later
/// directory goes first. To be called before the first product is asked for.
///
/// # Errors
/// A file that can't be read, or that is no product.
pub fn add(directories: &[PathBuf]) -> Result<(), String> {
    let mut own: Vec<Product> = Vec::new();
    for directory in directories.iter().map(|directory| directory.join("products")) {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(format!("{}: {error}", directory.display())),
        };
        let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
        let is_yaml = |path: &PathBuf| path.extension().is_some_and(|end| end == "yaml" || end == "yml");
        let mut paths: Vec<PathBuf> = paths.filter(is_yaml).collect();
        paths.sort();
        for path in paths {
            let failed = |error: String| format!("{}: {error}", path.display());
            let bytes = read_up_to(&path, LONGEST).map_err(|error| failed(error.to_string()))?;
            let text = String::from_utf8(bytes).map_err(|error| failed(error.to_string()))?;
            let product = Product::read(&text).map_err(failed)?;
            own.retain(|known| known.name != product.name);
            own.insert(0, product);
        }
    }
    if own.is_empty() {
        return Ok(());
    }
    let kept = PRODUCTS.iter().filter(|known| own.iter().all(|product| product.name != known.name));
    let kept: Vec<Product> = kept.cloned().collect();
    own.extend(kept);
    // A run reads its rules once.
    let _ = WITH_OWN.set(own);
    Ok(())
}

/// The product of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Product> {
    all().iter().find(|product| product.name == name)
}

/// The product that a client is, as its user agent or its ServiceAccount (namespace and name) shows.
#[must_use]
pub fn recognize(
    user_agent: &str,
    service_account: Option<(&str, &str)>,
) -> Option<(&'static Product, RecognizedBy)> {
    if let Some(known) = all().iter().find(|known| known.sends(user_agent)) {
        return Some((known, RecognizedBy::UserAgent));
    }
    let (namespace, name) = service_account?;
    let name = format!("{namespace}/{name}");
    let is_own = |known: &&Product| known.service_accounts.iter().any(|pattern| matches(pattern, &name));
    all().iter().find(is_own).map(|known| (known, RecognizedBy::ServiceAccount))
}

/// Whether a text fits a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = text.find(piece) else { return false };
        text = &text[at + piece.len()..];
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleSet;

    #[test]
    fn patterns_stand_for_any_text_where_a_star_is() {
        for (pattern, text, fits) in [
            ("velero/*", "velero/v1.16.0 (linux/amd64)", true),
            ("velero/*", "velero-plugin/v1", false),
            ("*argo-workflows/*", "workflow-controller/v0 argo-workflows/v3", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c", false),
            ("opencost", "opencost", true),
            ("opencost", "opencost2", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }

    /// Whether it is a page or an issue.
    fn is_source(text: &str) -> bool {
        let is_issue = text.rsplit_once('#').is_some_and(|(repository, number)| {
            repository.split('/').count() == 2 && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        is_issue || text.starts_with("https://")
    }

    #[test]
    fn each_product_is_recognized_and_names_rules_and_sources_that_exist() {
        let rules = RuleSet::embedded();
        assert!(all().len() >= 40, "{}", all().len());
        for (product, (file, _)) in all().iter().zip(EMBEDDED) {
            assert_eq!(*file, format!("{}.yaml", product.name));
            assert!(!product.user_agents.is_empty() || !product.service_accounts.is_empty(), "{file}");
            let has_agents = !product.user_agents.is_empty();
            assert!(!has_agents || (product.example.is_some() && product.seen_in.is_some()), "{file}");
            if let Some(example) = &product.example {
                let senders = all().iter().filter(|other| other.sends(example)).map(|other| &*other.name);
                let expected: &[&str] = if has_agents { &[&product.name] } else { &[] };
                assert_eq!(senders.collect::<Vec<_>>(), expected, "{example}");
            }
            assert!(product.seen_in.as_deref().is_none_or(is_source), "{file}: {:?}", product.seen_in);
            for fix in &product.fixes {
                assert!(!fix.causes.is_empty(), "{file}");
                for cause in &fix.causes {
                    assert!(rules.rules.iter().any(|rule| rule.name == *cause), "{file}: {cause}");
                }
                assert!(is_source(&fix.source), "{file}: {}", fix.source);
                assert!(fix.text.ends_with('.'), "{file}: {}", fix.text);
            }
        }
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let product = |more: &str| format!("name: a\ntitle: A\nkind: tool\nexample: a\n{more}");
        assert!(Product::read(&product("")).is_ok());
        assert!(Product::read(&product("userAgent: [a]\n")).is_err());
    }
}
