//! Parses request targets as Go does. Most URL libraries give other results in some cases.
//!
//! Source: Go `net/url`: `parseQuery`, `unescape`, and `http.Request.URL.RequestURI`. The apiserver is a Go
//! program, so it never sees a query parameter that Go drops.

use std::borrow::Cow;

/// Splits a request target as Go's `url.ParseRequestURI` does: the raw path, and the raw query after the first `?`.
///
/// An absolute form (`https://host/path?query`) loses its scheme and host. A `#` stays, because it does not start a
/// fragment in a request target: the server returns 400 for `limit=5#frag`.
#[must_use]
pub fn split_target(target: &str) -> (&str, &str) {
    let origin_form = if target.starts_with('/') { target } else { without_host(target) };
    match memchr::memchr(b'?', origin_form.as_bytes()) {
        Some(at) => (&origin_form[..at], &origin_form[at + 1..]),
        None => (origin_form, ""),
    }
}

fn without_host(target: &str) -> &str {
    match target.split_once("://") {
        Some((scheme, rest)) if scheme.bytes().all(|b| b.is_ascii_alphanumeric()) => {
            rest.find(['/', '?']).map_or("/", |at| &rest[at..])
        }
        _ => target,
    }
}

/// Percent-decodes a path as Go's `unescape(s, encodePath)` does (`+` stays a plus).
///
/// Returns `None` where Go returns an error. An HTTP server then returns 400 before it does anything else.
#[must_use]
pub(crate) fn unescape_path(path: &str) -> Option<Cow<'_, str>> {
    unescape(path, false)
}

/// Splits at each occurrence of an ASCII byte. The standard library takes several times as long to split by `char`.
pub(crate) fn split(text: &str, at: u8) -> impl Iterator<Item = &str> {
    debug_assert!(at.is_ascii());
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (part, after) = split_once(text, at).map_or((text, None), |(part, after)| (part, Some(after)));
        rest = after;
        Some(part)
    })
}

/// Splits at the first occurrence of an ASCII byte. Parts of a path or query are short. So a plain loop is faster
/// than the call of a vectorized search.
#[must_use]
pub(crate) fn split_once(text: &str, at: u8) -> Option<(&str, &str)> {
    let index = text.bytes().position(|byte| byte == at)?;
    Some((&text[..index], &text[index + 1..]))
}

/// Decodes a query key or value as Go's `url.QueryUnescape` does: `+` is a space. Returns `None` for a bad escape.
#[must_use]
pub(crate) fn unescape_query(part: &str) -> Option<Cow<'_, str>> {
    unescape(part, true)
}

fn unescape(text: &str, plus_is_space: bool) -> Option<Cow<'_, str>> {
    let bytes = text.as_bytes();
    let Some(first) = memchr::memchr2(b'%', if plus_is_space { b'+' } else { b'%' }, bytes) else {
        return Some(Cow::Borrowed(text));
    };
    let mut out = Vec::with_capacity(bytes.len());
    out.extend_from_slice(&bytes[..first]);
    let mut at = first;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => {
                let high = hex(*bytes.get(at + 1)?)?;
                let low = hex(*bytes.get(at + 2)?)?;
                out.push(high << 4 | low);
                at += 3;
            }
            b'+' if plus_is_space => {
                out.push(b' ');
                at += 1;
            }
            other => {
                out.push(other);
                at += 1;
            }
        }
    }
    // A Go string can hold any bytes, but a Rust string holds only UTF-8. No known parameter depends on the
    // difference.
    Some(Cow::Owned(
        String::from_utf8(out).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()),
    ))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

/// Returns the pairs of a query in order, as Go's `parseQuery` accepts them. Go silently drops a pair that is empty,
/// has a `;`, or has an invalid percent-escape.
///
/// Limit: servers built with Go before 1.17 (Kubernetes up to 1.22) treated `;` as a separator.
pub(crate) fn query_pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let is_plain = memchr::memchr3(b';', b'%', b'+', query.as_bytes()).is_none();
    split(query, b'&').filter_map(move |pair| {
        if pair.is_empty() || (!is_plain && pair.contains(';')) {
            return None;
        }
        let (key, value) = split_once(pair, b'=').unwrap_or((pair, ""));
        if is_plain {
            return Some((Cow::Borrowed(key), Cow::Borrowed(value)));
        }
        Some((unescape_query(key)?, unescape_query(value)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(query: &str) -> Vec<(String, String)> {
        query_pairs(query).map(|(k, v)| (k.into_owned(), v.into_owned())).collect()
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn pairs_with_a_semicolon_or_a_bad_escape_are_dropped() {
        assert_eq!(pairs("a=1;b=2&c=3&d=%zz&e=%4&f"), [pair("c", "3"), pair("f", "")]);
    }

    #[test]
    fn plus_is_a_space_in_a_query_and_a_plus_in_a_path() {
        assert_eq!(pairs("limit=+5"), [pair("limit", " 5")]);
        assert_eq!(unescape_path("/a+b%2Bc").as_deref(), Some("/a+b+c"));
    }

    #[test]
    fn query_keys_are_percent_decoded() {
        assert_eq!(pairs("%6Cimit=%35"), [pair("limit", "5")]);
    }

    #[test]
    fn a_second_question_mark_belongs_to_the_first_key() {
        let (path, query) = split_target("/api/v1/pods??limit=5");
        assert_eq!(path, "/api/v1/pods");
        assert_eq!(pairs(query), [pair("?limit", "5")]);
    }

    #[test]
    fn an_absolute_target_loses_scheme_and_host() {
        assert_eq!(split_target("https://h:6443/api?x=1"), ("/api", "x=1"));
        assert_eq!(split_target("https://h"), ("/", ""));
        assert_eq!(split_target("/proxy/http://h/x"), ("/proxy/http://h/x", ""));
    }

    #[test]
    fn a_bad_escape_in_a_path_is_an_error() {
        assert_eq!(unescape_path("/api/%"), None);
        assert_eq!(unescape_path("/api/%g1"), None);
    }
}
