//! The pairs of a structured klog line: `key=value`. Values are bare, quoted like Go's `strconv.Quote`, or span
//! several lines.
//!
//! Source: k8s.io/klog/v2 `internal/serialize/keyvalues.go`.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// A value as logged, without its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PairValue<'a> {
    raw: &'a str,
    has_escapes: bool,
}

impl<'a> PairValue<'a> {
    /// Returns the value with its escapes removed. Only this method removes escapes, so values that nobody reads cost
    /// nothing.
    #[must_use]
    pub(crate) fn text(self) -> Cow<'a, str> {
        if self.has_escapes { Cow::Owned(unescape(self.raw)) } else { Cow::Borrowed(self.raw) }
    }

    /// The value as logged. Use it for numbers and durations, which contain no escapes.
    #[must_use]
    pub(crate) fn raw(self) -> &'a str {
        self.raw
    }
}

/// Iterates over the pairs of a text. The iteration ends at a value over several lines (`key=<`), or at a cut value.
/// It also ends at text that is not a pair.
#[derive(Debug, Clone)]
pub(crate) struct KlogPairs<'a> {
    rest: &'a str,
}

impl<'a> KlogPairs<'a> {
    /// Creates the iterator. `text` must begin with a pair.
    #[must_use]
    pub(crate) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }
}

impl<'a> Iterator for KlogPairs<'a> {
    type Item = (&'a str, PairValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.strip_prefix(' ').unwrap_or(self.rest);
        self.rest = "";
        let (key, value) = rest.split_at(memchr(b'=', rest.as_bytes())?);
        let value = &value[1..];
        let (value, end) = match value.as_bytes().first() {
            Some(b'"') => quoted(&value[1..])?,
            Some(b'<') if value.len() == 1 || value.as_bytes()[1] == b'\n' => return None,
            _ => {
                let end = memchr(b' ', value.as_bytes()).unwrap_or(value.len());
                (PairValue { raw: &value[..end], has_escapes: false }, &value[end..])
            }
        };
        // A space separates two pairs. Other text after a value is not a pair, as in `srcIP="…":` before a stack.
        if end.starts_with(' ') {
            self.rest = end;
        }
        Some((key, value))
    }
}

/// Splits a text after an opening quote into the quoted value and the rest. `None` if the closing quote is missing.
#[must_use]
pub(crate) fn quoted(text: &str) -> Option<(PairValue<'_>, &str)> {
    let bytes = text.as_bytes();
    let (mut at, mut has_escapes) = (0, false);
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some((PairValue { raw: &text[..at], has_escapes }, &text[at + 1..]));
        }
        has_escapes = true;
        at += 2;
    }
}

/// Reverses Go's `strconv.Quote`. Bytes that are not UTF-8 become U+FFFD; Go writes them as `\x..`.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let after = &rest[at + 1..];
        let Some(kind) = after.chars().next() else {
            rest = "";
            break;
        };
        let after = &after[kind.len_utf8()..];
        let digits = match kind {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        let code = after.get(..digits).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        if let Some(code) = code {
            match u8::try_from(code) {
                Ok(byte) if kind == 'x' => bytes.push(byte),
                _ => push(&mut bytes, char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
            }
            rest = &after[digits..];
        } else {
            push(&mut bytes, plain(kind));
            rest = after;
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned())
}

fn plain(kind: char) -> char {
    match kind {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        other => other,
    }
}

fn push(bytes: &mut Vec<u8>, character: char) {
    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(&str, String)> {
        KlogPairs::new(text).map(|(key, value)| (key, value.text().into_owned())).collect()
    }

    #[test]
    fn bare_and_quoted_values_are_parsed() {
        assert_eq!(
            pairs(r#"verb="GET" latency=1.2ms srcIP="10.0.0.1:2" resp=200"#),
            [("verb", "GET"), ("latency", "1.2ms"), ("srcIP", "10.0.0.1:2"), ("resp", "200")]
                .map(|(key, value)| (key, value.to_owned()))
        );
        assert_eq!(pairs("a= b=1"), [("a", String::new()), ("b", "1".to_owned())]);
        let (_, value) = KlogPairs::new(r#"a="plain""#).next().expect("a pair");
        assert!(matches!(value.text(), Cow::Borrowed("plain")));
    }

    #[test]
    fn escapes_follow_gos_strconv() {
        for (written, meant) in [
            (r#"a\"b\\c"#, "a\"b\\c"),
            (r"\a\b\f\n\r\t\v", "\u{7}\u{8}\u{c}\n\r\t\u{b}"),
            (r"\x1b[31m\u00a0\U0001f600", "\u{1b}[31m\u{a0}\u{1f600}"),
            (r"\xc3\xa9 \xff", "é \u{fffd}"),
            (r"\ud800 \U00110000", "\u{fffd} \u{fffd}"),
            (r"\u12 \xzz \é", "u12 xzz é"),
        ] {
            assert_eq!(pairs(&format!("k=\"{written}\"")), [("k", meant.to_owned())], "{written}");
        }
    }

    #[test]
    fn pairs_end_where_no_pair_follows() {
        assert_eq!(pairs("resp=500 statusStack=<").len(), 1);
        assert_eq!(pairs("resp=500 statusStack=<\n\tgoroutine").len(), 1);
        assert_eq!(pairs("a=\"torn"), []);
        assert_eq!(pairs("a=\"torn\\"), []);
        assert_eq!(pairs("a=\"1\": b=2").len(), 1);
        assert_eq!(pairs("no pair here"), []);
        assert_eq!(pairs("a=<html>"), [("a", "<html>".to_owned())]);
    }
}
