//! Escapes for each format: terminal control characters, invisible characters, secrets, and workflow commands of CI
//! runners.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, PrettyFormatter};

use crate::k8s::secrets;

/// Whether a character controls a terminal, changes its neighbors, is invisible, or is not allowed in XML.
///
/// Source: Unicode `Default_Ignorable_Code_Point`, `Bidi_Control`, and blank characters among letters and symbols.
pub(super) fn is_unsafe(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || (u32::from(c) & 0xfffe) == 0xfffe
}

/// Masks secrets and writes unsafe characters as escapes such as `\u{9b}`.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    match secrets::masked(text) {
        Cow::Borrowed(text) => visible(text),
        Cow::Owned(text) => Cow::Owned(visible(&text).into_owned()),
    }
}

fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            // Writing to a String can't fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Escapes CI commands in a text for a job's log. GitHub's runner reads `::` at the start of a line as a command. The
/// runners of GitHub and Azure also read `##[` and `##vso[` as a command, at any position. The escape is visible in
/// the text.
///
/// Source: actions/runner `ActionCommand.cs`, microsoft/azure-pipelines-agent `Command.cs`.
pub(crate) fn without_commands(text: &str) -> Cow<'_, str> {
    if !text.contains("::") && !text.contains("##") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let start = command_start(line);
        let rest = match line[start..].strip_prefix("::") {
            Some(rest) => {
                out.push_str(&line[..start]);
                out.push_str("\\u{3a}:");
                rest
            }
            None => line,
        };
        push_without_marks(&mut out, rest, "\\u{23}");
    }
    Cow::Owned(out)
}

/// Escapes `##[` and `##vso[` as [`without_commands`] does, but keeps `::`. Workflow commands of GitHub need this,
/// because they begin with `::` on purpose.
pub(super) fn without_marks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_without_marks(&mut out, text, "\\u{23}");
    out
}

/// Returns the offset at which a line's text begins, after spaces and color sequences.
fn command_start(line: &str) -> usize {
    let mut rest = line;
    loop {
        let trimmed = rest.trim_start();
        let color = trimmed.strip_prefix("\u{1b}[").and_then(|color| color.split_once('m'));
        match color.filter(|(digits, _)| digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b';')) {
            Some((_, after)) => rest = after,
            None => return line.len() - trimmed.len(),
        }
    }
}

/// Appends a text. Replaces the `#` signs of `##[`, `##vso[` and similar marks with `sign`.
fn push_without_marks(out: &mut String, text: &str, sign: &str) {
    let mut rest = text;
    while let Some(at) = rest.find("##") {
        out.push_str(&rest[..at]);
        let name = rest[at..].trim_start_matches('#');
        let is_mark = name.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).starts_with('[');
        // Escape every `#` of a run: any two of them could form a mark.
        let signs = rest.len() - at - name.len();
        for _ in 0..signs {
            out.push_str(if is_mark { sign } else { "#" });
        }
        rest = name;
    }
    out.push_str(rest);
}

/// A JSON formatter that escapes unsafe characters, masks secrets and breaks workflow commands. The escapes are JSON
/// escapes, so a JSON parser returns the original values, except for secrets.
pub(super) struct Safe<F> {
    form: F,
    /// The current string. It is complete before it is written, because JSON may escape a character inside a secret.
    text: String,
    has_escapes: bool,
}

impl<F> Safe<F> {
    pub(super) fn new(form: F) -> Self {
        Self { form, text: String::new(), has_escapes: false }
    }
}

/// Implements methods that only call the same method of the inner formatter.
macro_rules! as_before {
    ($($name:ident($($argument:ident: $type:ty)?))*) => {$(
        fn $name<W: ?Sized + Write>(&mut self, out: &mut W $(, $argument: $type)?) -> io::Result<()> {
            self.form.$name(out $(, $argument)?)
        }
    )*};
}

impl<F: Formatter> Formatter for Safe<F> {
    as_before! {
        begin_array()
        end_array()
        begin_array_value(first: bool)
        end_array_value()
        begin_object()
        end_object()
        begin_object_key(first: bool)
        end_object_key()
        begin_object_value()
        end_object_value()
    }

    fn begin_string<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.text.clear();
        self.has_escapes = false;
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, _: &mut W, text: &str) -> io::Result<()> {
        self.text.push_str(text);
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, _: &mut W, escape: CharEscape) -> io::Result<()> {
        self.has_escapes = true;
        self.text.push(match escape {
            CharEscape::Quote => '"',
            CharEscape::ReverseSolidus => '\\',
            CharEscape::Solidus => '/',
            CharEscape::Backspace => '\u{8}',
            CharEscape::FormFeed => '\u{c}',
            CharEscape::LineFeed => '\n',
            CharEscape::CarriageReturn => '\r',
            CharEscape::Tab => '\t',
            CharEscape::AsciiControl(byte) => char::from(byte),
        });
        Ok(())
    }

    fn end_string<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b"\"")?;
        // Fast path: most texts contain only letters and hyphens.
        let is_plain = !self.has_escapes
            && self.text.bytes().fold(true, |all, byte| {
                all & !matches!(byte, 0x7f..|b'@'| b'J' | b'?' | b'&' | b';' | b'%' | b':' | b'#')
            });
        if is_plain {
            out.write_all(self.text.as_bytes())?;
        } else {
            write_masked(out, &self.text, self.has_escapes)?;
        }
        out.write_all(b"\"")
    }
}

/// Writes the inside of a JSON string, with secrets masked.
fn write_masked<W: ?Sized + Write>(out: &mut W, text: &str, has_escapes: bool) -> io::Result<()> {
    let mut text = secrets::masked(text);
    if has_escapes {
        let quoted = serde_json::to_string(&*text)?;
        text = Cow::Owned(quoted[1..quoted.len() - 1].to_owned());
    }
    if text.contains("##") {
        let mut unmarked = String::with_capacity(text.len() + 16);
        push_without_marks(&mut unmarked, &text, "\\u0023");
        text = Cow::Owned(unmarked);
    }
    push_visible(out, &text)
}

/// Writes a text with unsafe characters as JSON escapes.
fn push_visible<W: ?Sized + Write>(out: &mut W, text: &str) -> io::Result<()> {
    let mut written = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_unsafe(*c)) {
        out.write_all(&text.as_bytes()[written..at])?;
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            write!(out, "\\u{unit:04x}")?;
        }
        written = at + c.len_utf8();
    }
    out.write_all(&text.as_bytes()[written..])
}

/// Escapes JSON that was written without [`Safe`]. Only the strings in it can contain unsafe characters.
pub(crate) fn safe_json(json: &str) -> String {
    let mut marked = String::with_capacity(json.len());
    push_without_marks(&mut marked, json, "\\u0023");
    let mut out = Vec::with_capacity(marked.len());
    push_visible(&mut out, &marked).expect("memory takes all bytes");
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// Percent-encodes all bytes except ASCII letters, digits and `literal`.
pub(crate) fn percent_encoded(text: &str, literal: &[u8]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || literal.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String can't fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Writes a value as JSON on one line.
pub(crate) fn json(out: impl Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Safe::new(CompactFormatter)))
}

/// Formats a value as indented JSON.
pub(crate) fn pretty_json(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    let written =
        value.serialize(&mut Serializer::with_formatter(&mut out, Safe::new(PrettyFormatter::new())));
    written.expect("keys are strings, and memory takes all bytes");
    String::from_utf8(out).expect("JSON is UTF-8")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        let chars = "\0\n\u{1b}\u{7f}\u{85}\u{9b}\u{a0}\u{ad}\u{34f}\u{61c}\u{115f}\u{200b}\u{200e}\u{2028}\
            \u{202e}\u{2066}\u{2800}\u{3000}\u{3164}\u{fe0f}\u{feff}\u{ffa0}\u{fffe}\u{1fffe}\u{e0041}\
            \u{e0101}";
        for c in chars.chars() {
            assert_eq!(escaped(&format!("a{c}b")), format!("a\\u{{{:x}}}b", u32::from(c)));
        }
        assert!(matches!(escaped("größer <b> 名前 → …"), Cow::Borrowed(_)));
    }

    #[test]
    fn workflow_commands_are_broken() {
        for (text, shown) in [
            ("::set-env name=a::b", "\\u{3a}:set-env name=a::b"),
            ("a ::b\n \t ::error::c\n", "a ::b\n \t \\u{3a}:error::c\n"),
            ("\u{1b}[1m ::x\u{1b}[0m", "\u{1b}[1m \\u{3a}:x\u{1b}[0m"),
            ("a ##[add-path]b", "a \\u{23}\\u{23}[add-path]b"),
            (
                "a ##VSO[task.x]b ###[y] ## [z]",
                "a \\u{23}\\u{23}VSO[task.x]b \\u{23}\\u{23}\\u{23}[y] ## [z]",
            ),
            ("# heading ## [link]", "# heading ## [link]"),
        ] {
            assert_eq!(without_commands(text), shown);
        }
    }

    fn read(written: &[u8]) -> String {
        serde_json::from_slice(written).expect("JSON")
    }

    #[test]
    fn secret_with_json_escapes_is_masked_completely() {
        for secret in [
            "hun\"ter2",
            "hun\\ter2",
            "hunter2\u{7}hunter2",
            "\"hunter2",
            "\u{9b}hunter2\u{202e}hunter2",
            "ä\\\"hunter2",
        ] {
            let target = format!("/api/v1/pods?limit=5&token={secret}");
            let mut written = Vec::new();
            json(&mut written, &target).expect("JSON");
            assert_eq!(read(&written), "/api/v1/pods?limit=5&token=…", "{secret:?}");
            assert_eq!(
                read(pretty_json(&[&*target]).trim_matches(['[', ']', '\n', ' ']).as_bytes()),
                read(&written)
            );
            let mut written = Vec::new();
            json(&mut written, &BTreeMap::from([(&*target, 1)])).expect("JSON");
            assert!(!String::from_utf8_lossy(&written).contains("ter2"), "{secret:?} as a key");
        }
        let mut written = Vec::new();
        json(&mut written, &"a\"b\\c\n\t\u{1}\u{9b}##[x]").expect("JSON");
        assert_eq!(String::from_utf8_lossy(&written), r#""a\"b\\c\n\t\u0001\u009b\u0023\u0023[x]""#);
    }

    proptest! {
        #[test]
        fn json_holds_the_same_text_and_no_unsafe_character(text in "([\u{0}-\u{a0}\u{2800}\u{e0041}\u{202e}a#\\[]|##vso\\[){0,20}") {
            let mut written = Vec::new();
            json(&mut written, &text).expect("JSON");
            prop_assert!(!String::from_utf8_lossy(&written).contains(is_unsafe));
            prop_assert!(!String::from_utf8_lossy(&written).contains("##["));
            prop_assert!(!String::from_utf8_lossy(&written).contains("##vso["));
            if !secrets::may_hold(&text) {
                prop_assert_eq!(read(&written), text);
            }
        }

        #[test]
        fn a_text_holds_no_unsafe_character(text in any::<String>()) {
            prop_assert!(!escaped(&text).contains(is_unsafe));
        }
    }
}
