//! The language of the rules' texts: who does what how often, in short and plain sentences. `conventions.rs`
//! checks their words.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::command::Dir;

/// Most words of a sentence.
const LONGEST_SENTENCE: usize = 20;
/// Most characters of a message beside the resource, without what is in parentheses or after the first semicolon.
const LONGEST_MESSAGE: usize = 110;
/// Most characters of the first step of a fix.
const LONGEST_STEP: usize = 80;

/// The verbs of messages.
const VERBS: &[&str] = &[
    "CREATEs",
    "DELETEs",
    "GETs",
    "LISTs",
    "PATCHes",
    "UPDATEs",
    "WATCHes",
    "asks",
    "gets",
    "holds",
    "misspells",
    "opens",
    "pages",
    "reads",
    "renews",
    "requests",
    "sends",
    "starts",
    "uses",
    "waits",
    "writes",
];

/// Rules that judge the log itself or all clients together name no client. Messages on a budget have no template.
fn has_a_client(rule: &Value) -> bool {
    let is_one = |key: &Value| key == "input" || key == "budget";
    let is_on_input = rule["groupBy"].as_array().is_some_and(|keys| keys.iter().any(is_one));
    !is_on_input && !text(&rule["id"]).starts_with("KT9")
}

/// The rules as written in their files.
fn rules() -> Vec<Value> {
    let (code, out, err) = Dir::with(&[]).run_with(&["rules", "list", "--format", "json"], b"");
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let rules: Vec<Value> = serde_json::from_str(&out).expect("JSON");
    assert!(rules.len() > 40, "{} rules", rules.len());
    rules
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A text without its placeholders: a value is one word, a condition ends a sentence.
fn without_placeholders(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['{']) {
        let (before, inside) = rest.split_at(start);
        out.push_str(before);
        let (close, stands_for) = match inside.get(..2) {
            Some("{{") => ("}}", "X"),
            Some("{%") => ("%}", "\n\n"),
            _ => ("{", "{"),
        };
        let end = inside.find(close).expect("a placeholder ends") + close.len();
        out.push_str(stands_for);
        rest = &inside[end..];
    }
    out + rest
}

/// The sentences of a text, each item of a list for itself.
fn sentences(text: &str) -> Vec<String> {
    let text = without_placeholders(text).replace("\n- ", "\n\n");
    let mut sentences = Vec::new();
    for paragraph in text.split("\n\n") {
        let words: Vec<&str> = paragraph.trim_start_matches("- ").split_whitespace().collect();
        let mut sentence: Vec<&str> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            sentence.push(word);
            let next = words.get(at + 1).and_then(|next| next.chars().next());
            if word.ends_with(['.', '?', '!']) && next.is_none_or(|c| !c.is_lowercase()) {
                sentences.push(std::mem::take(&mut sentence).join(" "));
            }
        }
        if !sentence.is_empty() {
            sentences.push(sentence.join(" "));
        }
    }
    sentences
}

/// The texts of a rule, each with its key. Several libraries may share one.
fn texts(rule: &Value) -> Vec<(String, &str)> {
    let keys = ["message", "summary", "why", "tradeoff", "quietFor", "verify"];
    let mut texts: Vec<(String, &str)> = keys.map(|key| (key.to_owned(), text(&rule[key]))).into();
    texts.extend(fixes(rule));
    texts
}

/// The texts of `fix`, each with its library.
fn fixes(rule: &Value) -> Vec<(String, &str)> {
    let libraries = rule["fix"].as_object().expect("libraries");
    libraries
        .iter()
        .flat_map(|(library, cases)| {
            let cases = cases.as_array().map_or(std::slice::from_ref(cases), Vec::as_slice);
            cases.iter().map(move |case| {
                let one = if case.is_string() { case } else { &case["text"] };
                (format!("fix.{library}"), text(one))
            })
        })
        .collect()
}

/// The messages and fixes that a rule's fixtures cause.
fn rendered(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules").join(name).join("findings.snap");
    let snapshot = fs::read_to_string(path).expect("a snapshot");
    let json = snapshot.splitn(3, "---\n").nth(2).expect("a snapshot has a header");
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn a_message_begins_with_the_client_and_what_it_does() {
    let mut wrong = Vec::new();
    for rule in rules().into_iter().filter(has_a_client) {
        let message = text(&rule["message"]);
        if !message.starts_with("{{ client }} ") {
            wrong.push(format!("{}: {message}", rule["id"]));
        }
        for finding in rendered(text(&rule["name"])) {
            let message = text(&finding["message"]);
            // Names of one word, `user carol`, and `backup in 40 namespaces`.
            let verb = message.split(' ').skip(1).take(4).find(|word| VERBS.contains(word));
            if verb.is_none() {
                wrong.push(format!("{}: no verb of VERBS in the present tense: {message}", rule["id"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rendered_messages_are_short_and_well_formed() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for rule in rules() {
        for finding in rendered(text(&rule["name"])) {
            let message = text(&finding["message"]);
            count += 1;
            let essential = message.split([';', '(']).find(|part| !part.is_empty()).unwrap_or_default();
            if has_a_client(&rule)
                && essential.chars().count() > LONGEST_MESSAGE + text(&finding["resource"]).len()
            {
                wrong.push(format!("long: {message}"));
            }
            for fault in
                ["  ", " ,", "( ", " )", "()", " ;", "(,", "(;", ",,", " 1 times ", " 0 times", ".0 times"]
            {
                if message.contains(fault) {
                    wrong.push(format!("'{fault}': {message}"));
                }
            }
            // A number has two decimals at most.
            let digits = |word: &str| {
                word.split_once('.').is_some_and(|(_, decimals)| {
                    decimals.len() > 2 && decimals.bytes().all(|byte| byte.is_ascii_digit())
                })
            };
            if message.split([' ', '(', ')', ',']).any(digits) {
                wrong.push(format!("a number is too exact: {message}"));
            }
        }
    }
    assert!(count > 50, "{count} messages");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sentences_are_short() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for rule in rules() {
        for (key, source) in texts(&rule) {
            for sentence in sentences(source) {
                count += 1;
                let words = sentence.split(' ').filter(|word| word.contains(char::is_alphanumeric)).count();
                if words > LONGEST_SENTENCE {
                    wrong.push(format!("{} {key}: {words} words: {sentence}", rule["id"]));
                }
            }
        }
    }
    assert!(count > 1_000, "{count} sentences");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// In a template, a condition ends a sentence. A rendered text has its sentences whole.
#[test]
fn rendered_sentences_are_short() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for rule in rules() {
        for finding in rendered(text(&rule["name"])) {
            for key in ["message", "fix"] {
                // A semicolon ends a statement as a full stop does.
                for sentence in sentences(&text(&finding[key]).replace("; ", ".\n\n")) {
                    count += 1;
                    let words =
                        sentence.split(' ').filter(|word| word.contains(char::is_alphanumeric)).count();
                    if words > LONGEST_SENTENCE {
                        wrong.push(format!("{} {key}: {words} words: {sentence}", rule["id"]));
                    }
                }
            }
        }
    }
    assert!(count > 100, "{count} sentences");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_first_sentence_of_a_fix_is_a_short_step() {
    let mut wrong = Vec::new();
    for rule in rules() {
        for (key, source) in fixes(&rule) {
            // The first sentence of a text that begins with a condition depends on it.
            if source.starts_with("{%") {
                continue;
            }
            let step = sentences(source).into_iter().next().unwrap_or_default();
            if step.chars().count() > LONGEST_STEP {
                wrong.push(format!("{} {key}: {} characters: {step}", rule["id"], step.chars().count()));
            }
            if !step.ends_with(['.', 'X']) || !step.starts_with(char::is_uppercase) {
                wrong.push(format!("{} {key}: no sentence: {step}", rule["id"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
