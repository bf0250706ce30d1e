//! JSON strings that hold JSON: their escapes undone as fast as they can be found.

/// Appends what a JSON string means. `raw` is the string with its quotes, as it stands in valid JSON.
///
/// serde_json does the same, a string at a time into memory of its own; of the logs that come as strings in strings
/// this is half of the work. The escapes that are common there, of quotes, are done here, all others by serde_json.
///
/// # Errors
/// Where the string is not valid.
pub fn unescape(raw: &str, out: &mut String) -> Result<(), serde_json::Error> {
    let start = out.len();
    let Some(body) = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')) else {
        out.push_str(&serde_json::from_str::<String>(raw)?);
        return Ok(());
    };
    let mut rest = body;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let plain = match rest.as_bytes().get(at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            // The others are rare, and surrogates come in pairs.
            _ => {
                out.truncate(start);
                out.push_str(&serde_json::from_str::<String>(raw)?);
                return Ok(());
            }
        };
        out.push(plain);
        rest = &rest[at + 2..];
    }
    out.push_str(rest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_serde_json(text in prop_oneof![any::<String>(), "[\"\\\\/\n\t\u{8}a-c{}ü]{0,40}"]) {
            let raw = serde_json::to_string(&text).expect("JSON");
            let mut out = "x".to_owned();
            unescape(&raw, &mut out).expect("valid");
            prop_assert_eq!(&out[1..], &text);
        }
    }

    #[test]
    fn an_escape_that_is_none_is_an_error() {
        assert!(unescape(r#""\ud800""#, &mut String::new()).is_err());
        assert!(unescape(r#""\x""#, &mut String::new()).is_err());
    }
}
