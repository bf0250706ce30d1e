//! Quotes words for POSIX shells, in commands that a person copies.

use std::fmt::Write as _;

/// Quotes a text as one shell word without a line break. A hostile client may have chosen the text.
#[must_use]
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |c: u8| {
        c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.' | b'/' | b':' | b',' | b'@' | b'%' | b'+')
    };
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    if text.contains(char::is_control) {
        // Each single quote in the text becomes an octal escape. So even a shell without `$'…'` reads one word.
        let mut word = String::from("$'");
        for c in text.chars() {
            if matches!(c, '\'' | '\\') || c.is_control() {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    write!(word, "\\{byte:03o}").expect("writing to a String never fails");
                }
            } else {
                word.push(c);
            }
        }
        word.push('\'');
        return word;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Formats a command-line option with its value. The value can begin with a hyphen.
#[must_use]
pub(crate) fn option(name: &str, value: &str) -> String {
    let separator = if value.starts_with('-') { '=' } else { ' ' };
    format!("--{name}{separator}{}", quoted(value))
}

/// Formats a file name as a command-line argument. Puts `./` before a name that looks like an option.
#[must_use]
pub(crate) fn operand(file: &str) -> String {
    if file.starts_with('-') && file != "-" { quoted(&format!("./{file}")) } else { quoted(file) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_text_stays_one_word() {
        assert_eq!(quoted("/api/v1/pods"), "/api/v1/pods");
        assert_eq!(quoted("/api/v1/pods?limit=5&a=b"), "'/api/v1/pods?limit=5&a=b'");
        assert_eq!(quoted("a'; rm -rf / #"), r"'a'\''; rm -rf / #'");
        assert_eq!(quoted(""), "''");
        assert_eq!(option("user", "a b"), "--user 'a b'");
        assert_eq!(option("user", "--all"), "--user=--all");
        assert_eq!((operand("-a.log").as_str(), operand("-").as_str()), ("./-a.log", "-"));
        assert_eq!(quoted("a\n'\\\u{7}b"), r"$'a\012\047\134\007b'");
        assert_eq!(quoted("a\u{9b}b"), r"$'a\302\233b'");
    }
}
