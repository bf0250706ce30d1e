//! The `continue` token of a paged LIST.
//!
//! Source: k8s.io/apiserver `pkg/storage/continue.go:DecodeContinue` (in `pkg/storage/etcd3` before 1.24).

use std::borrow::Cow;

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeSliceError, Engine};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What a token says about where its page is read. The key at which the page starts names an object; it is
/// checked and forgotten here, so that nothing behind this type can print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContinueToken {
    /// The page is read at this revision, as the pages before it.
    AtRevision(i64),
    /// The pages' revision had been compacted: the server answered 410 with a token whose revision is negative,
    /// and the rest is read at the newest revision.
    Inconsistent,
    /// The server answers 400.
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
    /// Decodes the value of `continue=`, which must not be empty.
    #[must_use]
    pub fn decode(token: &str) -> Self {
        // Most tokens are short.
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

/// How every token of a server begins: base64 of `{"v":"meta`.
pub const TOKEN_START: &str = "eyJ2IjoibWV0Y";

/// Whether a JSON text is a string that holds a clean key. Most hold names and a NUL behind them, which is looked at
/// where it stands.
fn starts_at_clean_key(start: &RawValue) -> bool {
    let written = start.get();
    let names = written.strip_prefix('"').and_then(|text| text.strip_suffix("\\u0000\""));
    names.is_some_and(|names| !names.contains('\\') && is_clean_key(names))
        || serde_json::from_str::<Cow<'_, str>>(written).is_ok_and(|key| is_clean_key(&key))
}

/// Whether Go's `path.Clean` leaves the key as it is, which is how the server keeps a client inside its prefix.
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
    fn decodes_the_revision() {
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
    fn what_the_server_refuses_is_invalid() {
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
