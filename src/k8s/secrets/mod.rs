//! Masks secrets in texts that clients send, before kubetoll shows them. docs/secrets.md lists what is masked.

use std::borrow::Cow;

use percent::{decoded, is_encoded};

use super::continue_token::TOKEN_START;
use super::list_options::{is_known_key, similar_list_option};
use super::text::prefix;

mod percent;

/// The character that replaces a masked value.
pub(crate) const MASK: char = '…';

/// A parameter is secret if its key contains one of these words. The comparison uses only the letters and digits of the
/// key, in lower case.
pub const PARTS_OF_KEYS: [&str; 17] = [
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "credential",
    "signature",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "assertion",
    "cookie",
    "session",
    "saml",
    "jwt",
    "bearer",
];
/// The values of these parameters are also masked. The whole key must match. The values are secrets, or commands for
/// a container.
pub const KEYS: [&str; 15] = [
    "arg", "args", "auth", "cmd", "code", "command", "input", "key", "otp", "pass", "pin", "pwd", "sas",
    "sid", "sig",
];

/// The key of the hash in targets such as `/openapi/v3/…?hash=…`. The hash is long, but it is public and not a
/// secret.
const HASH: &str = "hash";
/// Texts that the report shows instead of a continue token, as in `continue=(expired)`. They contain no secret and
/// stay unmasked.
const CLASSES: [&str; 2] = ["(expired)", "(invalid)"];
/// The start of every JSON object in base64, such as a JWT.
const JSON_START: &str = "eyJ";
/// The minimum length of a JSON object in base64 that is masked anywhere in a text, in bytes.
const MIN_JSON: usize = 24;
/// The minimum length of base64 text that is masked in a parameter's value, in bytes.
const MIN_BASE64: usize = 32;
/// The minimum number of hexadecimal digits that are masked in a parameter's value.
const MIN_HEX: usize = 40;
/// The maximum length of the user and password in a URL, in bytes. A password may contain `/`, `?` or `#`. So
/// kubetoll searches for the `@` after the password, but only this far.
const MAX_USER: usize = 1_024;
/// The maximum number of levels of percent-escapes that are decoded to find a secret.
const MAX_NESTED: usize = 3;

/// Whether a text may hold a secret. This is a fast check of its bytes; it can return true without a secret.
#[must_use]
pub(crate) fn may_hold(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'@' | b'J' | b'?' | b'&' | b';'))
        || text.contains("://")
        || is_encoded(text)
}

/// Masks the secrets in a text: JWTs, users in URLs, and values of parameters after `?`, `&` or `;`.
#[must_use]
pub fn masked(text: &str) -> Cow<'_, str> {
    mask(text, false, MAX_NESTED)
}

/// Masks the secrets in a request target. Unlike in [`masked`], a space does not end a value.
#[must_use]
pub fn masked_target(target: &str) -> Cow<'_, str> {
    mask(target, true, MAX_NESTED)
}

/// Masks the secret in one query parameter, `key=value` or only a key.
#[must_use]
pub(crate) fn masked_parameter(parameter: &str) -> String {
    masked_target(&format!("?{parameter}"))[1..].to_owned()
}

fn mask(text: &str, is_target: bool, nested: usize) -> Cow<'_, str> {
    if !may_hold(text) {
        return Cow::Borrowed(text);
    }
    let text = chain(Cow::Borrowed(text), without_json);
    let text = chain(text, without_users);
    chain(text, |text| without_values(text, is_target, nested))
}

fn chain(text: Cow<'_, str>, mask: impl Fn(&str) -> Option<String>) -> Cow<'_, str> {
    mask(&text).map_or(text, Cow::Owned)
}

/// Masks base64 of JSON objects: JWTs and continue tokens.
fn without_json(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(at) = rest[from..].find(JSON_START).map(|at| from + at) {
        let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-_+/=.%~".contains(&b);
        let end = rest[at..].bytes().position(|b| !is_part(b)).map_or(rest.len(), |length| at + length);
        // Base64 can contain a slash, but a JWT cannot: a slash after a dot ends it.
        let slash = rest[at..end].find('/').filter(|slash| rest[at..at + slash].contains('.'));
        let end = slash.map_or(end, |slash| at + slash);
        let token = &rest[at..end];
        let has_parts = token.len() >= MIN_JSON / 2 && (token.contains('.') || token.contains("%2"));
        if token.len() >= MIN_JSON || has_parts || token.starts_with(TOKEN_START) {
            out.push_str(&rest[..at]);
            out.push(MASK);
            rest = &rest[end..];
            from = 0;
        } else {
            from = end;
        }
    }
    if out.is_empty() {
        return None;
    }
    out.push_str(rest);
    Some(out)
}

/// Masks users and passwords in URLs.
fn without_users(text: &str) -> Option<String> {
    const SCHEME_END: &str = "://";
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(SCHEME_END).map(|at| at + SCHEME_END.len()) {
        let (before, url) = rest.split_at(at);
        out.push_str(before);
        let user = user_end(url);
        if user > 0 {
            out.push(MASK);
        }
        rest = &url[user..];
    }
    if out.is_empty() {
        return None;
    }
    out.push_str(rest);
    (out != text).then_some(out)
}

/// Returns the length of the user and password at the start of a URL whose scheme was removed.
fn user_end(url: &str) -> usize {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>');
    let host = &url[..url.find(|c: char| is_end(c) || matches!(c, '/' | '?' | '#')).unwrap_or(url.len())];
    if let Some(at) = host.rfind('@') {
        return if host[..at].starts_with(MASK) && at == MASK.len_utf8() { 0 } else { at };
    }
    // The text after the colon is a port if it has only digits. Otherwise it may be a password, which can contain
    // `/`, `?` or `#`. The URL can also be truncated before its `@`.
    let port = host.split_once(':').filter(|_| !host.starts_with('[')).map_or("", |(_, port)| port);
    if port.bytes().all(|byte| byte.is_ascii_digit()) {
        return 0;
    }
    let url = prefix(url, MAX_USER);
    let url = &url[..url.find(is_end).unwrap_or(url.len())];
    url.rfind('@').unwrap_or(host.len())
}

/// Masks the values of parameters that may be secrets.
fn without_values(text: &str, is_target: bool, nested: usize) -> Option<String> {
    let mut out = String::new();
    let mut done = 0;
    let mut from = 0;
    while let Some((_, start)) = percent::separator(text, from) {
        let end = percent::end(text, start, b"?&;", !is_target);
        from = end;
        let pair = &text[start..end];
        let Some(equals) = percent::equals(pair) else { continue };
        let (key, value) = (&pair[..equals.0], &pair[equals.1..]);
        let is_class = !is_target && CLASSES.iter().any(|class| value.starts_with(class));
        // A quoted target, as in a shell command, can end with an empty value. Then only the closing quote follows.
        let is_end_of_quote = !is_target && value.bytes().all(|byte| b"'\"`)".contains(&byte));
        if value.is_empty() || value.starts_with(MASK) || is_class || is_end_of_quote {
            continue;
        }
        let is_named = is_secret_key(key);
        let is_hash = key == HASH;
        if !is_named && (is_hash || !is_secret(value, nested)) {
            continue;
        }
        // Some servers end a value at a semicolon, and others do not. So the longer value is masked.
        let end = if is_named { percent::end(text, start, b"&", !is_target) } else { end };
        out.push_str(&text[done..start + equals.1]);
        out.push(MASK);
        (done, from) = (end, end);
    }
    if done == 0 {
        return None;
    }
    out.push_str(&text[done..]);
    Some(out)
}

/// Whether the values of this parameter may be secrets. The key can be percent-escaped.
fn is_secret_key(key: &str) -> bool {
    let key = decoded(key);
    let key = key.trim_start_matches('?');
    if is_known_key(key) {
        return matches!(key, "continue" | "command");
    }
    let plain: String =
        key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    plain.starts_with("continue")
        || KEYS.contains(&&*plain)
        || PARTS_OF_KEYS.iter().any(|part| plain.contains(part))
        || ((6..=10).contains(&key.len()) && similar_list_option(key) == Some("continue"))
}

/// Whether a value looks like a secret or contains one.
fn is_secret(value: &str, nested: usize) -> bool {
    let plain = decoded(value);
    if is_base64(&plain) {
        return true;
    }
    let Some(nested) = nested.checked_sub(1).filter(|_| *plain != *value) else { return false };
    *mask(&plain, true, nested) != *plain || is_secret(&plain, nested)
}

/// Whether a text has a long run of base64 or hexadecimal digits. Object names do not match, because they have no
/// upper-case letters. UUIDs do not match, because a hyphen is not a hexadecimal digit.
fn is_base64(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '/' | '-' | '_')).any(|run| {
        let has = |is: fn(&u8) -> bool| run.bytes().any(|byte| is(&byte));
        let is_mixed = || has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
        let is_hex = || run.bytes().all(|byte| byte.is_ascii_hexdigit()) && has(u8::is_ascii_digit);
        (run.len() >= MIN_BASE64 && is_mixed()) || (run.len() >= MIN_HEX && is_hex())
    })
}

#[cfg(test)]
mod tests;
