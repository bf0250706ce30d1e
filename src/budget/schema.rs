//! The JSON Schema of a budget file, for editors. It is generated from the keys that the parser uses.

use serde_json::{Map, Value, json};

use super::file::{CLIENT_KEYS, KEYS, MEASURED_KEYS, REQUEST_KEYS, SLOPE_KEYS, Unlisted};
use crate::apiserver::ServedFrom;
use crate::rules::rule_file::FileKey;

/// Returns the schema of a budget file.
#[must_use]
pub fn schema() -> Value {
    let mut schema = object(&KEYS, |key| match key {
        "version" => json!({ "const": 1 }),
        "unlisted" => unlisted(),
        "slack" => json!({ "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)? *%$" }),
        "users" => one_or_more(&text()),
        _ => json!({ "type": "array", "items": client() }),
    });
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "A budget of kubetoll".into();
    schema["description"] =
        "The requests that clients may send. docs/budget.md explains how to use it.".into();
    schema
}

fn client() -> Value {
    object(&CLIENT_KEYS, |key| match key {
        "client" => text(),
        "unlisted" => unlisted(),
        _ => json!({ "type": "array", "items": request() }),
    })
}

fn request() -> Value {
    object(&REQUEST_KEYS, |key| match key {
        "request" | "reason" => text(),
        "perMinute" => number(),
        "servedFrom" => sources(),
        "measured" => object(&MEASURED_KEYS, |key| match key {
            "servedFrom" => sources(),
            "perMinute" => number(),
            _ => whole(),
        }),
        "perObject" => object(&SLOPE_KEYS, |key| if key == "maxSlope" { number() } else { whole() }),
        _ => whole(),
    })
}

/// The schema of an object with these keys and no others.
fn object(keys: &[FileKey], value: impl Fn(&str) -> Value) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| {
            let mut schema = value(key.name);
            schema["description"] = key.doc.into();
            (key.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<&str> = keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    json!({ "type": "object", "required": required, "additionalProperties": false, "properties": properties })
}

fn text() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

fn number() -> Value {
    json!({ "type": "number", "minimum": 0 })
}

fn whole() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn unlisted() -> Value {
    json!({ "enum": Unlisted::ALL.map(Unlisted::as_str) })
}

fn sources() -> Value {
    one_or_more(&json!({ "enum": ServedFrom::ALL.map(ServedFrom::as_str) }))
}

fn one_or_more(item: &Value) -> Value {
    json!({ "anyOf": [item, { "type": "array", "minItems": 1, "items": item }] })
}
