//! How the project writes, as patterns that a test can find: each has a plainer form.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// A regular expression over prose in lower case, and what to write instead.
const PATTERNS: [(&str, &str); 50] = [
    // Constructions that readers must read twice.
    (r"\bof (which|what)\b", "split the sentence"),
    (r"(^|[.!?:;] )of (those|these)\b", "name the subject first"),
    (r"\bhangs? on\b", "depends on"),
    (r"\b(stands?|stood|standing) ", "is, has, or nothing"),
    (r"\b(told|tells|untold)\b", "shows, knows, reports; omitted"),
    (r"\bby (itself|themselves)\b", "alone, separately"),
    (r"\bat (one look|hand)\b", "in one lookup; available"),
    (r"\b(is|are|was|were) no [a-z]", "is not a"),
    (r"\bthere (is|are) no \w+ of\b", "has no"),
    (r"\ball (that|of it)\b", "delete it"),
    (r"\bwhatever\b", "delete it, or say which"),
    (r"\bgive or take\b", "±"),
    (r"\bthe middle half\b", "±, or the interquartile range"),
    (r"\bso (many|much) of\b", "name the number"),
    (r"\bas many as each other\b", "evenly"),
    (r"\b(go|goes|going|went) (on with|before)\b", "continues; overrides"),
    (r"\bmistakes?\b", "error"),
    (r"\binstants?\b", "timestamp"),
    (r"\b(puts?|putting) (in|into) words\b", "says, writes"),
    (r"\b(is|are|be) known by\b", "name the thing"),
    (r"\banew\b", "again"),
    (r", and what\b|\band what (is|was|are|were)\b", "name the thing"),
    (r"\bfound out\b", "parsed, detected"),
    (r"\bin place of\b", "instead of"),
    (r"\bwill do\b", "is enough"),
    (r"\bmoreover\b", "delete it"),
    (r"\bto the letter\b", "exactly"),
    (r"\bthe same again\b", "again, every 30 s"),
    // A comment that says nothing.
    (r"^(why|which|the same|as above|as there|as it says)\.$", "delete the comment"),
    // Words with one fixed term in their place.
    (r"\barrivals?\b", "RequestReceived event"),
    (r"\banswer(s|ed)? (from|by|out of)\b", "served from, read from"),
    (
        r"\b(an|the|its|their|each|every|no|whose|of|first|last|same|one) answers?\b",
        "response, ResponseComplete event",
    ),
    (r"\baskers?\b", "client"),
    (r"\baccounts?\b", "client"),
    (r"\bquestions?\b", "request, request shape"),
    (r"\bwhat (is|was|are|were|they|it|clients?) asks?(ed)?\b", "request shape"),
    (r"\b(asks|asked)\b", "requests, sends"),
    (r"\bjudge?ments?\b", "verdict"),
    (r"\bmisspelt\b", "misspelled"),
    (r"\bwitness(es)?\b", "version source"),
    (r"\bstatements?\b", "version claim"),
    (r"\beras?\b", "version index"),
    (r"\bfates?\b", "disposition"),
    (r"\bremember(s|ed|ing)?\b", "caches, cached"),
    (r"\bwhat the cluster holds\b", "inventory"),
    (r"\babout so (much|many)\b", "estimate"),
    (r"\bthe bar\b", "cutoff, bound"),
    (r"\bwhat was read\b", "records"),
    (r"\b(lives|life) of (an|the) instances?\b", "instance history"),
    (r"\bshape and answer\b", "row key"),
];

/// Phrases in which such a word is the plain one.
const ALLOWED: [&str; 15] = [
    "stands for",
    "is no longer",
    "are no longer",
    "is no more than",
    "is no less than",
    "asks for",
    "asked for",
    "asks to",
    "asked to",
    "into account",
    "question mark",
    // Go's versions: "built with Go before 1.17".
    "with go before",
    // Kubernetes' names.
    "service account",
    "service-account",
    "storage account",
];

static ANY: LazyLock<RegexSet> =
    LazyLock::new(|| RegexSet::new(PATTERNS.map(|(pattern, _)| pattern)).expect("patterns are valid"));
static EACH: LazyLock<Vec<Regex>> =
    LazyLock::new(|| PATTERNS.iter().map(|(pattern, _)| Regex::new(pattern).expect("valid")).collect());
static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`[^`]*`|\{[^{}]*\}").expect("valid"));

/// A phrase to replace, and where its text has it.
pub struct Hit {
    pub at: usize,
    pub phrase: String,
    pub say: &'static str,
}

/// The phrases in a text that must go. Code and placeholders are no prose.
pub fn hits(text: &str) -> Vec<Hit> {
    let lower = text.to_ascii_lowercase().replace('\n', " ");
    let mut prose = CODE.replace_all(&lower, |code: &regex::Captures| "x".repeat(code[0].len())).into_owned();
    for allowed in ALLOWED {
        prose = prose.replace(allowed, &"x".repeat(allowed.len()));
    }
    let matched = ANY.matches(&prose);
    let mut hits = Vec::new();
    for index in &matched {
        hits.extend(EACH[index].find_iter(&prose).map(|found| Hit {
            at: found.start(),
            phrase: found.as_str().trim().to_owned(),
            say: PATTERNS[index].1,
        }));
    }
    hits
}
