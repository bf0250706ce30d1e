//! Texts of rules, such as messages and fixes: minijinja templates whose placeholders are the variables of
//! [`super::variables`].

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use minijinja::value::{Enumerator, Object, ObjectRepr};
use minijinja::{Environment, UndefinedBehavior, Value};

use super::error::expected;
use super::figures;
use super::type_check::CheckError;
use super::value::{Kind, VariableValue};
use super::variables::{Root, VariableScope};

/// The placeholders that a text can use in addition to the variables.
const PLAIN: [&str; 6] = ["client", "resource", "product", "shape", "permission", "rivals"];

/// The limits for a text and for a placeholder, in bytes: several times what embedded rules need.
const LONGEST: usize = 16 << 10;
const LONGEST_PLACEHOLDER: usize = 200;
const MOST_PLACEHOLDERS: usize = 100;
/// The maximum number of minijinja instructions that a text runs.
const MOST_STEPS: u64 = 20_000;
/// The maximum number of digits of a number in a placeholder. A larger number could pad a text to any size.
const MOST_DIGITS: usize = 9;
/// The template tags that a text can use. Tags with loops or assignments are not allowed.
const STATEMENTS: [&str; 4] = ["if", "elif", "else", "endif"];
/// Filters whose result can have any size. The environment does not have them.
const UNBOUNDED: [&str; 5] = ["indent", "format", "slice", "batch", "replace"];

/// A checked text. It is compiled on first use, because most rules find nothing. It is compiled only once, because
/// some rules have thousands of findings.
#[derive(Debug)]
pub(crate) struct TextTemplate {
    source: String,
    compiled: OnceLock<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    environment: Environment<'static>,
    /// The name of each placeholder, up to its first dot.
    names: HashSet<String>,
}

/// The name of an environment's only template.
const ONLY: &str = "text";

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(MOST_STEPS));
    for filter in UNBOUNDED {
        environment.remove_filter(filter);
    }
    environment.remove_global("range");
    figures::add_to(&mut environment);
    environment
});

impl TextTemplate {
    /// Checks a text and its placeholders. If `plain`, the text may also use [`PLAIN`], whose values clients choose.
    pub(crate) fn compile(
        source: &str,
        scope: &VariableScope<'_>,
        plain: bool,
    ) -> Result<Self, Vec<CheckError>> {
        if let Some(wrong) = too_long(source, scope) {
            return Err(vec![wrong]);
        }
        let template = ENVIRONMENT.template_from_str(source).map_err(|error| {
            let line = error.line().map_or(0, |line| line - 1);
            let offset = source.split_inclusive('\n').take(line).map(str::len).sum();
            let what = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
            vec![CheckError { offset, message: format!("not a valid template: {what}") }]
        })?;
        let mut named: Vec<String> = template.undeclared_variables(true).into_iter().collect();
        named.sort_unstable();
        let wrong: Vec<CheckError> = named
            .into_iter()
            .filter_map(|name| {
                let message = unknown(&name, scope, plain)?;
                Some(CheckError { offset: source.find(&name).unwrap_or(0), message })
            })
            .collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let text = Self::compile_trusted(source);
        // Unknown filters and operations with wrong types fail only on rendering. So the check renders the text with
        // sample values.
        match text.render(&samples(scope)) {
            Ok(_) => Ok(text),
            Err(error) => Err(vec![CheckError {
                offset: 0,
                message: format!("kubetoll cannot fill in the text: {error}"),
            }]),
        }
    }

    /// Creates a text without checks. A test has checked the text.
    pub(super) fn compile_trusted(source: &str) -> Self {
        Self { source: source.trim_end().to_owned(), compiled: OnceLock::new() }
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Whether the text has no placeholders.
    pub(crate) fn is_plain(&self) -> bool {
        !self.source.contains('{')
    }

    /// Renders the text with `values` for its placeholders.
    /// Fails if a filter or operation fails on a value.
    pub(crate) fn render(&self, values: &Value) -> Result<String, String> {
        let template = self.compiled().environment.get_template(ONLY).expect("it was added");
        template.render(values).map_err(|error| error.to_string())
    }

    /// Whether the text has the placeholder `name`, or a placeholder for a variable with this root: for `client`,
    /// also `client.kind`.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.compiled().names.contains(name)
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let mut environment = ENVIRONMENT.clone();
            environment.add_template_owned(ONLY, self.source.clone()).expect("the text was checked");
            let template = environment.get_template(ONLY).expect("it was added just now");
            let names = template.undeclared_variables(false);
            Compiled { environment, names }
        })
    }
}

/// Checks limits that minijinja does not have. They are necessary, because minijinja parses recursively and accepts
/// operator chains of any length.
///
/// Placeholders must not contain braces. So this check finds the end of a placeholder without parsing strings.
fn too_long(source: &str, scope: &VariableScope<'_>) -> Option<CheckError> {
    let wrong = |offset, message| Some(CheckError { offset, message });
    if source.len() > LONGEST {
        let message = format!("the text has {} bytes; the limit is {LONGEST}", source.len());
        return Some(CheckError { offset: 0, message });
    }
    let mut starts: Vec<(usize, &str)> =
        source.match_indices("{{").chain(source.match_indices("{%")).collect();
    starts.sort_unstable();
    if let Some((offset, _)) = starts.get(MOST_PLACEHOLDERS) {
        let message = format!("the text has more than {MOST_PLACEHOLDERS} placeholders; remove some");
        return Some(CheckError { offset: *offset, message });
    }
    for (offset, start) in starts {
        let rest = &source[offset + 2..];
        let length = rest.find(['{', '}']).unwrap_or(rest.len());
        let close =
            if start == "{{" { rest[length..].starts_with("}}") } else { rest[..length].ends_with('%') };
        if length > LONGEST_PLACEHOLDER {
            let message = format!("the placeholder is longer than {LONGEST_PLACEHOLDER} bytes; shorten it");
            return wrong(offset, message);
        }
        let inside = &rest[..length];
        if let Some(message) = unbounded(inside, start == "{%", scope) {
            return wrong(offset, message);
        }
        let quotes = ['\'', '"'].map(|quote| inside.matches(quote).count());
        let is_plain =
            quotes.iter().all(|count| count % 2 == 0) && quotes.contains(&0) && !inside.contains('\\');
        if length < rest.len() && !(close && is_plain) {
            return wrong(
                offset,
                "a placeholder cannot have braces, a backslash or two kinds of quotes".to_owned(),
            );
        }
    }
    None
}

/// Rejects a placeholder that could take unlimited time or memory.
fn unbounded(inside: &str, is_statement: bool, scope: &VariableScope<'_>) -> Option<String> {
    let inside = inside.trim_matches(['-', '+', '%']).trim();
    let word = inside.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    if is_statement && !STATEMENTS.contains(&word) {
        return Some(format!("'{{% {word} %}}' is not available here; use {}", STATEMENTS.join(", ")));
    }
    if !multiplies_numbers(inside, scope) {
        return Some("only numbers can be multiplied; put them in parentheses".to_owned());
    }
    let digits = inside.split(|c: char| !c.is_ascii_digit()).map(str::len).max();
    (digits > Some(MOST_DIGITS)).then(|| format!("a number has at most {MOST_DIGITS} digits"))
}

/// Whether every multiplication in a placeholder has only numbers as operands. Otherwise, the text could become very
/// long, because minijinja repeats a string that is multiplied. Checks only the text in the parentheses around the
/// multiplication, so a filter outside of them is allowed.
fn multiplies_numbers(inside: &str, scope: &VariableScope<'_>) -> bool {
    let is_text = |word: &str| {
        let (root, name) = word.split_once('.').unwrap_or((word, ""));
        let root = scope.roots.iter().copied().find(|own| own.as_str() == root);
        let kind = root.and_then(|root| scope.find(root, name)).map(|(_, kind)| kind);
        matches!(kind, Some(Kind::Text | Kind::Texts)) || PLAIN.contains(&word)
    };
    inside.match_indices('*').all(|(at, _)| {
        let part = in_parentheses(inside, at);
        let mut words = part.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.'));
        !part.contains(['|', '~', '[', '"', '\'']) && !words.any(is_text)
    })
}

/// Returns the text in the innermost parentheses around a position.
fn in_parentheses(text: &str, at: usize) -> &str {
    let edge = |step: fn(char) -> i32| {
        let mut depth = 0;
        move |c: char| {
            depth += step(c);
            depth < 0
        }
    };
    let behind = |c| i32::from(c == '(') - i32::from(c == ')');
    let before = |c| i32::from(c == ')') - i32::from(c == '(');
    let end = text[at..].find(edge(behind)).map_or(text.len(), |end| at + end);
    let start = text[..at].rfind(edge(before)).map_or(0, |start| start + 1);
    &text[start..end]
}

/// Returns a sample value of the right type for each placeholder.
fn samples(scope: &VariableScope<'_>) -> Value {
    let sample = |kind: Kind| match kind {
        Kind::Bool => Value::from(true),
        Kind::Int => Value::from(1),
        Kind::Double => Value::from(1.5),
        Kind::Text => Value::from("text"),
        Kind::Texts => Value::from(vec!["text"]),
    };
    let root = |root: &Root| {
        let names = scope.words(*root).into_iter();
        let values = names
            .map(|name| (name, scope.find(*root, name).map_or(Value::UNDEFINED, |(_, kind)| sample(kind))));
        (root.as_str(), Value::from_pairs(values.collect::<Vec<_>>()))
    };
    let roots: Vec<(&str, Value)> = scope.roots.iter().map(root).collect();
    let is_root = |name: &str| scope.roots.iter().any(|root| root.as_str() == name);
    let plain = PLAIN.into_iter().filter(|name| !is_root(name)).map(|name| (name, Value::from("text")));
    Value::from_pairs(roots.into_iter().chain(plain).collect::<Vec<_>>())
}

/// Returns the error message for an unknown placeholder, or `None` if it is known.
fn unknown(name: &str, scope: &VariableScope<'_>, plain: bool) -> Option<String> {
    if plain && PLAIN.contains(&name) {
        return None;
    }
    let roots = || scope.roots.iter().map(|root| root.as_str());
    let placeholders = || roots().chain(PLAIN.into_iter().filter(|_| plain));
    let (root, rest) = name.split_once('.').unwrap_or((name, ""));
    let Some(root) = scope.roots.iter().copied().find(|own| own.as_str() == root) else {
        return Some(format!("no such placeholder '{name}'{}", expected(root, placeholders())));
    };
    if rest.is_empty() {
        return Some(format!("'{name}' is not a value; use one of its names, such as {name}.…"));
    }
    if scope.find(root, rest).is_some() {
        return None;
    }
    Some(format!("no such placeholder '{name}'{}", expected(rest, scope.words(root))))
}

pub(crate) type NamedValues = Vec<(&'static str, VariableValue<'static>)>;

/// A root in a template, such as `client`. `{{ client }}` renders as `name`. The variables of the root are
/// attributes, such as `{{ client.kind }}`.
#[derive(Debug)]
pub(crate) struct TemplateObject {
    pub(crate) name: String,
    pub(crate) root: Root,
    /// The values that are not zero, false or empty.
    pub(crate) facts: Arc<NamedValues>,
    /// The function that escapes strings in the values, because clients choose them.
    pub(crate) escape: fn(&str) -> String,
}

impl Object for TemplateObject {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        let value = self.facts.iter().find(|(name, _)| *name == key).map(|(_, value)| value);
        let Some(value) = value else {
            let (_, kind) = VariableScope { roots: &Root::ALL, thresholds: &[] }.find(self.root, key)?;
            return Some(kind.unset().to_template());
        };
        Some(match value {
            VariableValue::Text(text) => (self.escape)(text).into(),
            VariableValue::Texts(texts) => {
                texts.iter().map(|text| Value::from((self.escape)(text))).collect()
            }
            other => other.to_template(),
        })
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let names = self.root.names().into_iter();
        Enumerator::Values(names.map(|(name, ..)| Value::from(name)).collect())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::variables::Root;
    use minijinja::context;

    fn compile(source: &str) -> Result<TextTemplate, Vec<CheckError>> {
        let scope = VariableScope { roots: &[Root::Client, Root::Stats], thresholds: &[] };
        TextTemplate::compile(source, &scope, true)
    }

    #[test]
    fn placeholders_are_filled_in() {
        let text = compile("{{ client }} ({{ client.kind }}{{ client.serviceAccount }}): {{ stats.requests }} of {{ resource }}")
            .expect("a text");
        let facts = Arc::new(vec![("kind", VariableValue::Text("user".into()))]);
        let client = Value::from_object(TemplateObject {
            name: "a/b".to_owned(),
            root: Root::Client,
            facts,
            escape: str::to_owned,
        });
        let values = context! { client => client, stats => context! { requests => 3 }, resource => "pods" };
        assert_eq!(text.render(&values).as_deref(), Ok("a/b (user): 3 of pods"));
    }

    const BRACES: &str = "a placeholder cannot have braces, a backslash or two kinds of quotes";
    const PRODUCT: &str = "only numbers can be multiplied; put them in parentheses";
    const SET: &str = "'{% set %}' is not available here; use if, elif, else, endif";

    #[test]
    fn invalid_placeholders_are_rejected() {
        for (source, offset, message) in [
            ("x {{ stats.reqests }}", 5, "no such placeholder 'stats.reqests'; did you mean 'requests'?"),
            ("{{ clients }}", 3, "no such placeholder 'clients'; did you mean 'client'?"),
            ("{{ stats }}", 3, "'stats' is not a value; use one of its names, such as stats.…"),
            (
                "{{ server.minor }}",
                3,
                "no such placeholder 'server.minor'; known: client, stats, client, resource, product, shape, permission, rivals",
            ),
        ] {
            let wrong = compile(source).expect_err(source);
            assert_eq!(wrong, [CheckError { offset, message: message.to_owned() }], "{source}");
        }
        for (source, message) in [
            (
                format!("{{{{ 1{} }}}}", "+1".repeat(100)),
                "the placeholder is longer than 200 bytes; shorten it",
            ),
            ("{{ '}}' ~ client }}".to_owned(), BRACES),
            (r#"{{ "'" ~ '}}' ~ client }}"#.to_owned(), BRACES),
            ("{% if {} %}{% endif %}".to_owned(), BRACES),
            ("{{ client.kind * 999999999 }}".to_owned(), PRODUCT),
            ("{{ 999999999 * stats.requests|count }}".to_owned(), PRODUCT),
            ("{% set a = client.kind %}".to_owned(), SET),
            ("{{ 9999999999 }}".to_owned(), "a number has at most 9 digits"),
            ("a".repeat(LONGEST + 1), "the text has 16385 bytes; the limit is 16384"),
        ] {
            let wrong = compile(&source).expect_err("too long");
            assert_eq!(wrong, [CheckError { offset: 0, message: message.to_owned() }], "{source}");
        }
        assert!(compile("{{ (100 * stats.requests / stats.requests)|count }}").is_ok());
        for source in ["{{ client.kind|nofilter }}", "{{ client.kind - 1 }}"] {
            let wrong = compile(source).expect_err(source);
            assert!(wrong[0].message.starts_with("kubetoll cannot fill in the text: "), "{wrong:?}");
        }
        let wrong = compile("a\n{{ client ").expect_err("no end");
        assert!(wrong[0].message.starts_with("not a valid template: "), "{wrong:?}");
        assert_eq!(wrong[0].offset, 2);
    }
}
