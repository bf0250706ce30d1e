//! The `continue` token of a paged LIST.
//!
//! Source: k8s.io/apiserver `pkg/storage/continue.go:DecodeContinue` (in `pkg/storage/etcd3` before 1.24).

use std::borrow::Cow;

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeSliceError, Engine};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The revision that a page is read at, from its `continue` token.
///
/// The token also holds a start key, which names an object. The decoder checks the key and drops it, so that no output
/// can show the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ContinueToken {
    /// The server reads the page at the same revision as the pages before it.
    AtRevision(i64),
    /// The revision of the earlier pages was compacted. So the server returned 410 and a token with a negative
    /// revision. With this token, the server reads the rest at the newest revision.
    Inconsistent,
    /// The server cannot decode the token and returns 400.
    Invalid,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(default)]
    v: &'a str,
    #[serde(default)]
    rv: i64,
    #[serde(borrow)]
    start: Option<&'a RawValue>,
}

impl ContinueToken {
    /// Decodes the value of `continue=`. The caller handles an empty value (no token) itself.
    #[must_use]
    pub(crate) fn decode(token: &str) -> Self {
        // Most tokens fit into a buffer on the stack.
        let mut short = [0; 256];
        let long: Vec<u8>;
        let json = match URL_SAFE_NO_PAD.decode_slice(token, &mut short) {
            Ok(length) => &short[..length],
            Err(DecodeSliceError::OutputSliceTooSmall) => {
                let Ok(json) = URL_SAFE_NO_PAD.decode(token) else { return Self::Invalid };
                long = json;
                &long
            }
            Err(DecodeSliceError::DecodeError(_)) => return Self::Invalid,
        };
        let Ok(fields) = serde_json::from_slice::<Fields<'_>>(json) else {
            return Self::Invalid;
        };
        if fields.v != "meta.k8s.io/v1" || fields.rv == 0 || !fields.start.is_some_and(starts_at_clean_key) {
            return Self::Invalid;
        }
        if fields.rv < 0 { Self::Inconsistent } else { Self::AtRevision(fields.rv) }
    }
}

/// The start of every token: base64 of `{"v":"meta`.
pub(crate) const TOKEN_START: &str = "eyJ2IjoibWV0Y";

/// Whether a JSON value is a string with a clean key (see `is_clean_key`). Most keys end with an escaped NUL and have
/// no other escape. Those keys are checked without unescaping.
fn starts_at_clean_key(start: &RawValue) -> bool {
    let quoted = start.get();
    let names = quoted.strip_prefix('"').and_then(|text| text.strip_suffix("\\u0000\""));
    names.is_some_and(|names| !names.contains('\\') && is_clean_key(names))
        || serde_json::from_str::<Cow<'_, str>>(quoted).is_ok_and(|key| is_clean_key(&key))
}

/// Whether Go's `path.Clean` would leave the key unchanged. The server requires that, so that a token cannot point
/// outside of the resource's prefix.
fn is_clean_key(key: &str) -> bool {
    let inner = key.strip_prefix('/').unwrap_or(key);
    !key.is_empty() && !inner.is_empty() && inner.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(json: &str) -> ContinueToken {
        ContinueToken::decode(&URL_SAFE_NO_PAD.encode(json))
    }

    #[test]
    fn a_token_decodes_to_its_revision() {
        let start = r#""start":"big/p00004\u0000""#;
        assert_eq!(
            token(&format!(r#"{{"v":"meta.k8s.io/v1","rv":5090,{start}}}"#)),
            ContinueToken::AtRevision(5090)
        );
        assert_eq!(
            token(&format!(r#"{{"v":"meta.k8s.io/v1","rv":-1,{start}}}"#)),
            ContinueToken::Inconsistent
        );
        for start in ["a/\\u0000", "a/.\\u0000", "\\u0000", "\\u0061/b", "a/b", "/a"] {
            let json = format!(r#"{{"v":"meta.k8s.io/v1","rv":7,"start":"{start}"}}"#);
            assert_eq!(token(&json), ContinueToken::AtRevision(7), "{start}");
        }
    }

    #[test]
    fn a_token_that_the_server_refuses_is_invalid() {
        for bad in [
            r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a"}"#,
            r#"{"v":"meta.k8s.io/v1","rv":7,"start":""}"#,
            r#"{"v":"meta.k8s.io/v1","rv":7,"start":"../secrets"}"#,
            r#"{"v":"meta.k8s.io/v1","rv":7,"start":"../secrets\u0000"}"#,
            r#"{"v":"meta.k8s.io/v1","rv":7,"start":"a//b\u0000"}"#,
            r#"{"v":"meta.k8s.io/v1","rv":7,"start":1}"#,
            r#"{"v":"meta.k8s.io/v1","rv":7,"start":null}"#,
            r#"{"v":"meta.k8s.io/v1","rv":7}"#,
            r#"{"v":"x"}"#,
            r#"{"v":"meta.k8s.io/v1","rv":"7","start":"a"}"#,
            "not json",
        ] {
            assert_eq!(token(bad), ContinueToken::Invalid, "{bad}");
        }
        assert_eq!(ContinueToken::decode("garbage!!"), ContinueToken::Invalid);
    }
}
