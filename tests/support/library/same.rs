//! Compares reports and shows where they differ. A failure message with two whole reports would be unreadable.

use kubetoll::report::Report;
use serde_json::Value;

/// A report as JSON, which is its public contract.
pub fn json(report: &Report) -> Value {
    let mut text = Vec::new();
    kubetoll::render::json::write(report, &mut text).expect("memory takes everything");
    let written: Value = serde_json::from_slice(&text).expect("a report is JSON");
    let complete = serde_json::to_value(&**report).expect("a report is JSON");
    assert_eq!(difference(&written, &complete), Vec::<String>::new(), "left is what is written");
    written
}

/// The report as JSON without these keys, at any depth.
pub fn json_without(report: &Report, keys: &[&str]) -> Value {
    let mut value = json(report);
    remove(&mut value, keys);
    value
}

fn remove(value: &mut Value, keys: &[&str]) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !keys.contains(&key.as_str()));
            map.values_mut().for_each(|value| remove(value, keys));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| remove(value, keys)),
        _ => {}
    }
}

/// The first few places at which the JSON of two reports differs. Comparing reports is faster than writing both.
pub fn report_difference(left: &Report, right: &Report) -> Vec<String> {
    let written = json(right);
    if left == right { Vec::new() } else { difference(&json(left), &written) }
}

/// The first few places at which two values differ; empty if they are the same.
pub fn difference(left: &Value, right: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    walk("", left, right, &mut differences);
    differences.truncate(8);
    differences
}

fn walk(path: &str, left: &Value, right: &Value, differences: &mut Vec<String>) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left.keys().chain(right.keys().filter(|key| !left.contains_key(*key))) {
                let side = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                walk(&format!("{path}/{key}"), &side(left), &side(right), differences);
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            for index in 0..left.len().max(right.len()) {
                let side = |values: &[Value]| values.get(index).cloned().unwrap_or_default();
                walk(&format!("{path}/{index}"), &side(left), &side(right), differences);
            }
        }
        _ if left == right => {}
        _ => differences.push(format!("{path}: {left:.200} and {right:.200}")),
    }
}
