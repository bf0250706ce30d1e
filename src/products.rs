//! Common products, and their settings that fix a finding. The data is in `rules/products/`.
//! A product is only a hint, because a client chooses its user agent.

use std::fs;
use std::path::PathBuf;
use std::sync::{LazyLock, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::read_up_to;
use crate::files::yaml::LONGEST;
use crate::named::named;

/// The name and the text of each embedded product file.
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/products.in"));

static PRODUCTS: LazyLock<Vec<Product>> = LazyLock::new(|| {
    let read = |(file, text): &(&str, &str)| {
        Product::read(text).unwrap_or_else(|error| {
            panic!("embedded products are valid, because a test parses them: {file}: {error}")
        })
    };
    EMBEDDED.iter().map(read).collect()
});

/// A product that many clusters run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Product {
    /// The product's name, in lower case with hyphens.
    pub(crate) name: String,
    /// The product's name in texts for people.
    pub(crate) title: String,
    pub(crate) kind: Kind,
    /// The client library of the product, as named in rules.
    #[serde(default)]
    pub(crate) library: Option<String>,
    /// The patterns of the product's user agents; `*` matches any text.
    #[serde(default)]
    pub(crate) user_agents: Vec<String>,
    /// The patterns of the product's default ServiceAccounts, `namespace/name`. Used for products whose user agent does
    /// not identify them.
    #[serde(default)]
    pub(crate) service_accounts: Vec<String>,
    /// An example of the product's user agent. Required if `userAgents` is not empty.
    #[serde(default)]
    pub(crate) example: Option<String>,
    /// The evidence for the user agent or the ServiceAccount. It is the source code that sets the user agent, or an
    /// issue as `owner/repository#number`. It can also be the file that names the program, because client-go sends
    /// the program's name by default.
    #[serde(default)]
    pub(crate) seen_in: Option<String>,
    /// The product's settings that fix findings.
    #[serde(default)]
    pub(crate) fixes: Vec<Fix>,
}

/// A setting of a product that fixes findings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fix {
    /// The names of the rules whose findings the setting fixes.
    pub(crate) causes: Vec<String>,
    /// The instruction for the user.
    pub(crate) text: String,
    /// The documentation of the setting: a URL, or `owner/repository#number`.
    pub(crate) source: String,
}

named! {
    /// How a product runs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub(crate) enum Kind {
        /// The product runs permanently.
        Controller = "controller",
        /// The product runs on each node.
        NodeAgent = "node-agent",
        /// The product backs up objects from time to time.
        Backup = "backup",
        /// The product runs once and ends.
        Job = "job",
        /// The product shows the cluster to many people.
        Dashboard = "dashboard",
        /// A person uses the product interactively.
        Tool = "tool",
    }
    /// Returns the name of this kind in product files, such as `node-agent`.
    pub(crate) fn as_str;
}

impl Kind {
    /// Whether each run of the product ends, as for a backup. A WATCH does not help such a product.
    #[must_use]
    pub(crate) fn is_job(self) -> bool {
        matches!(self, Self::Backup | Self::Job)
    }
}

named! {
    /// How a product was recognized.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum RecognizedBy {
        /// By the user agent.
        UserAgent = "user-agent",
        /// By the name of the ServiceAccount.
        ServiceAccount = "service-account",
    }
    /// Returns the name of this variant, as reports show it.
    pub(crate) fn as_str;
}

impl Product {
    /// Parses a product file.
    ///
    /// # Errors
    /// Returns the first error in the file.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str(text).map_err(|error| error.to_string())
    }

    /// Whether the product sends this user agent.
    #[must_use]
    pub(crate) fn sends(&self, user_agent: &str) -> bool {
        self.user_agents.iter().any(|pattern| matches(pattern, user_agent))
    }

    /// Returns the setting of the product that fixes the findings of this rule. `rule` is the rule's name.
    #[must_use]
    pub(crate) fn fix(&self, rule: &str) -> Option<&Fix> {
        self.fixes.iter().find(|fix| fix.causes.iter().any(|cause| cause == rule))
    }
}

/// The user's products and the embedded products. Set only if the user has products.
static WITH_OWN: OnceLock<Vec<Product>> = OnceLock::new();

/// Returns all products: first the user's products, then the embedded products by name.
#[must_use]
pub fn all() -> &'static [Product] {
    WITH_OWN.get().unwrap_or(&PRODUCTS)
}

/// Adds the products in `products/` of the user's rule directories. Later directories override earlier ones, and all
/// override embedded products of the same name. Call it before [`all`].
///
/// # Errors
/// Returns an error if a file cannot be read or is not a valid product.
pub(crate) fn add(directories: &[PathBuf]) -> Result<(), String> {
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
            own.retain(|other| other.name != product.name);
            own.insert(0, product);
        }
    }
    if own.is_empty() {
        return Ok(());
    }
    let others = PRODUCTS.iter().filter(|embedded| own.iter().all(|product| product.name != embedded.name));
    let others: Vec<Product> = others.cloned().collect();
    own.extend(others);
    // set() fails only on a second call, and each run adds products once.
    let _ = WITH_OWN.set(own);
    Ok(())
}

#[must_use]
pub(crate) fn find(name: &str) -> Option<&'static Product> {
    all().iter().find(|product| product.name == name)
}

/// Recognizes the product of a client from its user agent, or else from its ServiceAccount (namespace and name).
#[must_use]
pub(crate) fn recognize(
    user_agent: &str,
    service_account: Option<(&str, &str)>,
) -> Option<(&'static Product, RecognizedBy)> {
    if let Some(product) = all().iter().find(|product| product.sends(user_agent)) {
        return Some((product, RecognizedBy::UserAgent));
    }
    let (namespace, name) = service_account?;
    let name = format!("{namespace}/{name}");
    let is_own = |product: &&Product| product.service_accounts.iter().any(|pattern| matches(pattern, &name));
    all().iter().find(is_own).map(|product| (product, RecognizedBy::ServiceAccount))
}

/// Whether a text matches a pattern. In the pattern, `*` matches any text.
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
    fn a_star_in_a_pattern_matches_any_text() {
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

    /// Whether the text is a URL, or an issue as `owner/repository#number`.
    fn is_source(text: &str) -> bool {
        let is_issue = text.rsplit_once('#').is_some_and(|(repository, number)| {
            repository.split('/').count() == 2 && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        is_issue || text.starts_with("https://")
    }

    #[test]
    fn each_product_is_recognized_and_has_valid_rules_and_sources() {
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
    fn an_unknown_key_in_a_product_is_an_error() {
        let product = |more: &str| format!("name: a\ntitle: A\nkind: tool\nexample: a\n{more}");
        assert!(Product::read(&product("")).is_ok());
        assert!(Product::read(&product("userAgent: [a]\n")).is_err());
    }
}
