//! JSON Schemas of rule files and policy files, for editors. They are generated from the lists that the parsers use.

use serde_json::{Map, Value, json};

use super::policy;
use super::rule::{Audience, ID, NAME, Rule, RuleGroupBy, Severity};
use super::rule_file::{self, FileKey, LEVELS};
use super::rule_set::RuleSet;
use super::sources::SOURCE_KEYS;
use super::value::Kind;
use super::variables::Root;

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Returns the schema of a rule file.
#[must_use]
pub fn rule() -> Value {
    let groups = [Root::Stats, Root::Threshold, Root::Client, Root::Server];
    let value_schema = |key: &FileKey| {
        let value_schema = match key.name {
            "id" => json!({ "type": "string", "pattern": ID }),
            "name" => json!({ "type": "string", "pattern": NAME }),
            "summary" => json!({ "type": "string", "pattern": "^[^\\n]+$" }),
            "match" => condition(&Rule::ROW_ROOTS),
            "groupBy" => one_or_more(&json!({ "enum": RuleGroupBy::WORDS })),
            "thresholds" => json!({
                "type": "object", "minProperties": 1, "additionalProperties": { "type": "number", "minimum": 0 },
                "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
            }),
            "levels" => levels(&groups),
            "fix" => fix(),
            "references" => one_or_more(&text()),
            _ => text(),
        };
        let names: &[Root] = match key.name {
            "match" => &Rule::ROW_ROOTS,
            "levels" => &[Root::Stats, Root::Input],
            _ => &[],
        };
        described(value_schema, &documented(key.doc, names))
    };
    let properties = rule_file::KEYS.iter().map(|key| (key.name.to_owned(), value_schema(key)));
    let mut schema = object(properties.collect(), &rule_file::KEYS);
    schema["$defs"] = json!({ "fix": one_fix() });
    titled(schema, "A rule of kubetoll", "docs/rules/README.md explains how to write one.")
}

/// Returns the schema of a policy file. It includes the names of `rules`.
#[must_use]
pub fn policy(rules: &RuleSet) -> Value {
    let schema = keyed(&policy::KEYS, |name| match name {
        "featureGates" => json!({ "type": "object", "additionalProperties": { "type": "boolean" } }),
        "kubeVersion" | "etcdVersion" => text(),
        "failOn" => one_or_more(&json!({ "anyOf": [
            { "enum": policy::FAIL_ON },
            { "enum": rules.rules.iter().map(|rule| rule.name.as_str()).collect::<Vec<_>>() },
            { "type": "string", "pattern": "^[A-Z]{2,}[0-9]*$|^[a-z0-9]+(-[a-z0-9]+)+$" }
        ] })),
        "rules" => settings(rules),
        "suppressions" => json!({ "type": "array", "items": suppression() }),
        "sources" => json!({ "type": "array", "items": source() }),
        _ => one_or_more(&text()),
    });
    titled(schema, "A policy file of kubetoll", "docs/policy.md explains how to use one.")
}

fn text() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

fn one_or_more(item: &Value) -> Value {
    json!({ "anyOf": [item, { "type": "array", "minItems": 1, "items": item }] })
}

/// Returns the schema of an object with these keys and no others.
fn object(properties: Map<String, Value>, keys: &[FileKey]) -> Value {
    let required: Vec<&str> = keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    let mut value_schema = json!({ "type": "object", "required": required, "additionalProperties": false });
    value_schema["properties"] = properties.into();
    value_schema
}

/// Returns the schema of an object with these keys. `value_schema` returns the schema of a key's value.
fn keyed(keys: &[FileKey], value_schema: impl Fn(&str) -> Value) -> Value {
    let property = |key: &FileKey| (key.name.to_owned(), described(value_schema(key.name), key.doc));
    object(keys.iter().map(property).collect(), keys)
}

fn described(mut value_schema: Value, description: &str) -> Value {
    value_schema["description"] = description.into();
    value_schema
}

fn titled(mut schema: Value, title: &str, description: &str) -> Value {
    schema["$schema"] = DRAFT.into();
    schema["title"] = title.into();
    described(schema, description)
}

/// The variables of these roots: full name, type and description.
fn variables(roots: &[Root]) -> impl Iterator<Item = (String, Kind, &'static str)> {
    roots.iter().flat_map(|root| {
        root.names().into_iter().map(|(name, kind, doc)| (format!("{}.{name}", root.as_str()), kind, doc))
    })
}

/// Joins a description and one line for each variable of these roots.
fn documented(doc: &str, roots: &[Root]) -> String {
    let lines = variables(roots).map(|(name, kind, doc)| format!("\n- {name} ({kind}): {doc}"));
    let lines: String = lines.collect();
    if lines.is_empty() { doc.to_owned() } else { format!("{doc}\n{lines}") }
}

/// Returns the schema of a CEL condition, or of YAML's `true`. It has an example for each variable, for completion in
/// editors.
fn condition(roots: &[Root]) -> Value {
    let examples: Vec<String> = variables(roots).map(|(name, kind, _)| example(&name, kind)).collect();
    json!({ "type": ["string", "boolean"], "minLength": 1, "examples": examples })
}

fn example(name: &str, kind: Kind) -> String {
    match kind {
        Kind::Bool => name.to_owned(),
        Kind::Int => format!("{name} >= 20"),
        Kind::Double => format!("{name} >= 2.5"),
        Kind::Text => format!("{name} == \"…\""),
        Kind::Texts => format!("size({name}) > 0"),
    }
}

fn levels(groups: &[Root]) -> Value {
    let input = [Root::Input];
    let roots: Vec<Root> = groups.iter().chain(&input).copied().collect();
    let level = |level: &str| {
        let value_schema = condition(&roots);
        (
            level.to_owned(),
            described(value_schema, &format!("When a group is a finding of severity {level}: CEL.")),
        )
    };
    let mut value_schema = object(LEVELS.into_iter().map(level).collect(), &[]);
    value_schema["minProperties"] = 1.into();
    value_schema
}

fn fix() -> Value {
    let one = || json!({ "$ref": "#/$defs/fix" });
    let audiences = Audience::all().map(Audience::as_str);
    json!({
        "type": "object", "properties": audiences.map(|name| (name.to_owned(), one())).collect::<Map<_, _>>(),
        "required": ["any"], "additionalProperties": false,
    })
}

fn one_fix() -> Value {
    let when = described(condition(&Rule::ROW_ROOTS), "When the text is used: CEL.");
    let case = json!({
        "type": "object", "properties": { "when": when, "text": text() },
        "required": ["text"], "additionalProperties": false,
    });
    json!({ "anyOf": [text(), { "type": "array", "minItems": 1, "items": case }] })
}

/// Returns the schema of settings by rule. It lists known rules with their thresholds, and allows other keys.
fn settings(rules: &RuleSet) -> Value {
    let number = || json!({ "type": "number", "minimum": 0 });
    let setting = |thresholds: Value| {
        keyed(&policy::SETTING_KEYS, |name| match name {
            "severity" => json!({ "enum": Severity::ALL.map(Severity::as_str) }),
            _ => thresholds.clone(),
        })
    };
    let settings = rules.rules.iter().map(|rule| {
        let own = rule.threshold_values().map(|(name, value)| {
            let mut value_schema = number();
            value_schema["default"] = value.to_json();
            (name.to_owned(), value_schema)
        });
        let thresholds = json!({
            "type": "object", "properties": own.collect::<Map<_, _>>(), "additionalProperties": false,
        });
        (rule.name.clone(), described(setting(thresholds), &format!("{}: {}", rule.id, rule.summary)))
    });
    json!({
        "type": "object", "properties": settings.collect::<Map<_, _>>(),
        "additionalProperties": setting(json!({ "type": "object", "additionalProperties": number() })),
    })
}

fn suppression() -> Value {
    keyed(&policy::SUPPRESSION_KEYS, |name| match name {
        "expires" => json!({ "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" }),
        _ => text(),
    })
}

fn source() -> Value {
    keyed(&SOURCE_KEYS, |name| match name {
        "line" => json!({ "type": "integer", "minimum": 1 }),
        "path" => {
            json!({ "type": "string", "minLength": 1, "not": { "pattern": "^/|(^|/)\\.\\.(/|$)|[\\\\:]" } })
        }
        _ => text(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::condition::Condition;
    use crate::rules::variables::VariableScope;

    #[test]
    fn schema_examples_compile() {
        let roots = [Root::Client, Root::Request, Root::Server, Root::Stats, Root::Input];
        let value_schema = condition(&roots);
        let examples = value_schema["examples"].as_array().expect("examples");
        assert!(examples.len() > 80);
        for example in examples.iter().filter_map(Value::as_str) {
            let compiled = Condition::compile(example, &VariableScope { roots: &roots, thresholds: &[] });
            assert!(compiled.is_ok(), "{example}: {:?}", compiled.err());
        }
    }
}
