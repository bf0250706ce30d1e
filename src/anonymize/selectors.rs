//! Anonymizes label and field selectors. Their structure and field names stay; labels and values do not.

use super::{Anonymizer, public};
use crate::apiserver::resources::{FieldLabel, field_label, is_built_in_group};
use crate::k8s::selector::{field_terms, label_selector_is_valid};

impl Anonymizer {
    /// Anonymizes a label selector. A valid selector stays valid.
    pub(super) fn label_selector(&self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        if !label_selector_is_valid(text) {
            return format!("={}", self.word(text));
        }
        let is_mark = |c: char| matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<');
        let (mut out, mut word, mut last) = (String::new(), String::new(), ' ');
        for c in text.chars().chain(std::iter::once('\n')) {
            if !is_mark(c) && !c.is_whitespace() {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                let is_number = matches!(last, '>' | '<');
                let is_operator = matches!(&*word, "in" | "notin");
                out.push_str(&match () {
                    () if is_number => self.integer(&word).to_string(),
                    () if is_operator => word.clone(),
                    () => self.word(&word),
                });
                word.clear();
                last = ' ';
            }
            if is_mark(c) {
                (out, last) = (out + c.encode_utf8(&mut [0; 4]), c);
            } else if c != '\n' {
                out.push(' ');
            }
        }
        // An unusual key, such as `in`, may make the result invalid.
        if label_selector_is_valid(&out) { out } else { self.word(text) }
    }

    /// Anonymizes a field selector. Field names that the server supports stay. Values become pseudonyms, unless the
    /// API defines them.
    pub(super) fn field_selector(&self, text: &str, group: &str, resource: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let Some(terms) = field_terms(text) else { return self.word(text) };
        let term = |(at, term): (usize, crate::k8s::selector::FieldTerm<'_>)| {
            let is_known = matches!(term.label, "metadata.name" | "metadata.namespace" | "spec.nodeName")
                || (is_built_in_group(group)
                    && field_label(group, resource, term.label) == FieldLabel::Supported);
            let label = if is_known { term.label.to_owned() } else { self.word(term.label) };
            match &term.equals {
                Some(value) => {
                    let is_pod = term.label == "metadata.name" && group.is_empty() && resource == "pods";
                    format!("{label}={}", self.field_value(value, is_pod))
                }
                // A term with `!=` has no parsed value. Hash the whole selector instead, so that different selectors
                // stay different.
                None => format!("{label}!={}", self.word(&format!("{at} {text}"))),
            }
        };
        terms.enumerate().map(term).collect::<Vec<String>>().join(",")
    }

    fn field_value(&self, value: &str, is_pod: bool) -> String {
        if value.is_empty() || matches!(value, "." | "..") || public::is_field_value(value) {
            return value.to_owned();
        }
        // An object's name cannot contain `/` or `%`, so the server ignores such a name in the selector. The result
        // contains a `/`, so the server ignores it, too.
        match value {
            value if value.contains(['/', '%']) => format!("{}/x", self.word(value)),
            value if is_pod => self.pod(value),
            value => self.name(value),
        }
    }
}
