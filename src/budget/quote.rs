//! Writes texts as YAML scalars.

use std::fmt::Write as _;

/// Writes a text as a YAML scalar on one line: plain if it is clearly a string, else in double quotes. Characters
/// that are not letters, digits or ASCII become escapes, so no name can end its line or move text on a terminal.
#[must_use]
pub(super) fn quoted(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // A backtick would end a code span in the Markdown of a finding.
            '`' => out.push_str("\\x60"),
            c if c == ' ' || c == '…' || c.is_ascii_graphic() || (!c.is_ascii() && c.is_alphanumeric()) => {
                out.push(c);
            }
            c => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

/// Words that YAML 1.1 or 1.2 reads as another type than a string.
const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

fn is_plain(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '…' || " :._/?=&()@<>*+-".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(is_allowed)
        && !text.contains(": ")
        && !text.ends_with([':', ' '])
        && !WORDS.contains(&&*text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileErrors;
    use crate::files::yaml::{LONGEST, YamlValue, read};
    use proptest::prelude::*;

    #[test]
    fn usual_names_have_no_quotes() {
        for name in [
            "system:serviceaccount:shop:order-operator",
            "list pods cluster-wide ?limit=500&resourceVersion=0",
            "get secrets ?fieldSelector=metadata.name=…",
            "watch-cache",
        ] {
            assert_eq!(quoted(name), name);
        }
        for name in
            ["*", "true", "Null", "12", "- a", "a: b", "a #b", "a,b", "(other shapes)", "", "a:", "[a"]
        {
            assert_eq!(quoted(name), format!("\"{name}\""));
        }
        assert_eq!(quoted("a\n`\u{202e}\u{85}"), "\"a\\U0000000A\\x60\\U0000202E\\U00000085\"");
    }

    proptest! {
        #[test]
        fn yaml_reads_the_same_text(text in any::<String>(), ascii in "[ -~\\n\\t]{0,12}") {
            for text in [text, ascii] {
                for file in [format!("a: {}\n", quoted(&text)), format!("a: [{}]\n", quoted(&text))] {
                    let mut errors = FileErrors::default();
                    let node = read("f", &file, LONGEST, &mut errors);
                    let YamlValue::Map(map) = node.expect("YAML").content else { panic!("a map") };
                    let value = match &map[0].2.content {
                        YamlValue::List(list) => &list[0].content,
                        other => other,
                    };
                    prop_assert_eq!(value, &YamlValue::Text(text.clone()), "{}", file);
                }
            }
        }
    }
}
