//! A query string with revision, timeout and continue values masked. Classification needs only the kind of these
//! values.
//!
//! Tests compare it with decoding the whole query, as the server does
//! ([`ListOptions`](crate::k8s::list_options::ListOptions)).

use std::hash::Hasher;

use crate::k8s::ContinueToken;
use crate::k8s::go_url::{split, split_once};

/// The maximum number of values that are masked.
const MOST: usize = 3;

/// A query, split at its masked values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Query<'u> {
    /// The texts before, between and after the masked values.
    pieces: [&'u str; MOST + 1],
    /// The number of masked values.
    cuts: usize,
    /// The masked `continue` token.
    pub(crate) token: Option<ContinueToken>,
}

impl<'u> Query<'u> {
    /// Parses a raw query. Returns `None` if the query may contain two continue tokens, because it is unclear which
    /// one the server reads.
    pub(crate) fn parse(text: &'u str) -> Option<Self> {
        let mut query = Self::default();
        let (mut begin, mut at) = (0, 0);
        while at < text.len() && query.cuts < MOST {
            let rest = &text[at..];
            let length = memchr::memchr(b'&', rest.as_bytes()).unwrap_or(rest.len());
            if let Some(value) = query.of_a_class(&rest[..length]) {
                query.pieces[query.cuts] = &text[begin..at + length - value.len()];
                query.cuts += 1;
                begin = at + length;
            }
            at += length + 1;
        }
        query.pieces[query.cuts] = &text[begin..];
        (query.token.is_none() || has_one_token(text)).then_some(query)
    }

    /// Returns the value of a `key=value` pair if classification needs only the kind of the value. Stores a continue
    /// token in `token`.
    fn of_a_class<'p>(&mut self, pair: &'p str) -> Option<&'p str> {
        match pair.as_bytes().first()? {
            b'r' => pair.strip_prefix("resourceVersion=").filter(|value| is_number(value)),
            b't' => match pair.strip_prefix("timeout=") {
                Some(value) => Some(value).filter(|value| is_duration(value)),
                None => pair.strip_prefix("timeoutSeconds=").filter(|value| is_number(value)),
            },
            b'c' => {
                let value = pair.strip_prefix("continue=").filter(|value| is_base64(value))?;
                self.token = Some(ContinueToken::decode(value));
                Some(value)
            }
            _ => None,
        }
    }

    /// Adds the parts of the query that classification depends on to a hash. Queries that classify differently add
    /// different bytes.
    pub(crate) fn add_to(&self, hash: &mut impl Hasher) {
        for piece in &self.pieces[..=self.cuts] {
            hash.write(piece.as_bytes());
            hash.write_usize(piece.len());
        }
        hash.write_u8(match self.token {
            None => 0,
            Some(ContinueToken::AtRevision(_)) => 1,
            Some(ContinueToken::Inconsistent) => 2,
            Some(ContinueToken::Invalid) => 3,
        });
    }

    /// The revision in the continue token.
    pub(crate) fn revision(&self) -> Option<i64> {
        match self.token {
            Some(ContinueToken::AtRevision(revision)) => Some(revision),
            _ => None,
        }
    }
}

/// Whether exactly one pair has the key `continue`. False if a key contains an escape, because the escape could hide
/// another `continue`.
fn has_one_token(query: &str) -> bool {
    let keys = || split(query, b'&').map(|pair| split_once(pair, b'=').map_or(pair, |(key, _)| key));
    keys().filter(|key| *key == "continue").count() == 1 && !keys().any(|key| key.contains('%'))
}

/// Whether a text is a positive number that fits 64 bits.
fn is_number(text: &str) -> bool {
    const LONGEST: usize = 18;
    matches!(text.as_bytes(), [b'1'..=b'9', rest @ ..] if rest.len() < LONGEST && rest.iter().all(u8::is_ascii_digit))
}

/// Whether a text is a duration of hours, minutes and seconds whose nanoseconds fit 64 bits.
fn is_duration(text: &str) -> bool {
    const LONGEST: usize = 12;
    const MOST_DIGITS: usize = 4;
    let mut digits = 0;
    let are_units = text.bytes().all(|byte| {
        let is_unit = matches!(byte, b'h' | b'm' | b's') && digits > 0;
        digits = if is_unit { 0 } else { digits + 1 };
        is_unit || (byte.is_ascii_digit() && digits <= MOST_DIGITS)
    });
    are_units && digits == 0 && (1..=LONGEST).contains(&text.len())
}

/// Whether a text contains only characters that a continue token can have. Query decoding does not change these
/// characters.
fn is_base64(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NTA5MCwic3RhcnQiOiJhIn0";

    fn pieces(text: &str) -> Option<Vec<&str>> {
        Query::parse(text).map(|query| query.pieces[..=query.cuts].to_vec())
    }

    #[test]
    fn revisions_and_timeouts_are_masked() {
        for (text, expected) in [
            ("", vec![""]),
            ("limit=500&resourceVersion=0", vec!["limit=500&resourceVersion=0"]),
            ("timeout=10s", vec!["timeout=", ""]),
            (
                "allowWatchBookmarks=true&resourceVersion=12&timeout=6m54s&timeoutSeconds=414&watch=true",
                vec![
                    "allowWatchBookmarks=true&resourceVersion=",
                    "&timeout=",
                    "&timeoutSeconds=",
                    "&watch=true",
                ],
            ),
            (
                "resourceVersion=1&timeout=1s&timeout=2s&timeout=3s",
                vec!["resourceVersion=", "&timeout=", "&timeout=", "&timeout=3s"],
            ),
            ("resourceVersion=012&timeoutSeconds=1x", vec!["resourceVersion=012&timeoutSeconds=1x"]),
            ("xresourceVersion=12", vec!["xresourceVersion=12"]),
            ("timeout=m", vec!["timeout=m"]),
            ("timeout=1m2", vec!["timeout=1m2"]),
            ("timeout=1mm", vec!["timeout=1mm"]),
            ("timeout=12345h", vec!["timeout=12345h"]),
            ("resourceVersion=1000000000000000000", vec!["resourceVersion=1000000000000000000"]),
        ] {
            assert_eq!(pieces(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn continue_token_is_masked_if_it_is_the_only_one() {
        let text = format!("limit=5&continue={TOKEN}&x=%41");
        let query = Query::parse(&text).expect("a query");
        assert_eq!((query.revision(), query.pieces[1]), (Some(5090), "&x=%41"));
        for text in [
            "continue=a&continue=b",
            "continue&continue=b",
            "%63ontinue=a&continue=b",
            "continue=&continue=b",
        ] {
            assert_eq!(Query::parse(text), None, "{text}");
        }
        assert_eq!(pieces("continue=%41&continue=a+b"), Some(vec!["continue=%41&continue=a+b"]));
        assert_eq!(Query::parse("continue=a").expect("a query").token, Some(ContinueToken::Invalid));
    }
}
