//! JSON envelopes whose strings hold JSON: each such string is taken out and its escapes undone in one pass, so that
//! what is left, the envelope itself, is small. Without it, every byte of the event is looked at once more for each
//! object that it lies in.

use super::unescape::unescape;

/// What stands in an envelope in place of a string that was taken out, before its number. A log that holds it is not
/// hollowed.
const MARK: &str = "\"\\u0001";

/// How a string begins that holds an object.
const NESTED: &[u8] = b"\"{\\\"";

/// An envelope without the strings that hold objects, and what these mean.
#[derive(Debug, Default)]
pub struct Hollow {
    shell: String,
    texts: Vec<u8>,
    /// Where each text ends.
    ends: Vec<usize>,
}

impl Hollow {
    /// Takes the strings out of a JSON text. False where there is none, or where one does not end or is not valid: then
    /// the text is to be read as it is. A text that is no JSON stays none.
    pub fn dig(&mut self, text: &str) -> bool {
        self.shell.clear();
        self.texts.clear();
        self.ends.clear();
        let mut rest = text;
        // An escaped quote is within a string already. One that is not, and has an escaped one in a brace behind it,
        // begins a string: after a string's end no brace may follow.
        while let Some(at) = find(rest.as_bytes()) {
            let Some(end) = unescape(&rest[at + 1..], &mut self.texts) else { return false };
            self.shell.push_str(&rest[..at]);
            self.shell.push_str(MARK);
            self.shell.push_str(itoa(self.ends.len()).as_str());
            self.shell.push('"');
            self.ends.push(self.texts.len());
            rest = &rest[at + 1 + end + 1..];
        }
        self.shell.push_str(rest);
        !self.ends.is_empty()
            && memchr::memmem::find_iter(self.shell.as_bytes(), MARK).count() == self.ends.len()
    }

    /// The envelope, with marks in place of the strings.
    #[must_use]
    pub fn shell(&self) -> &str {
        &self.shell
    }

    /// The text that was taken out where this raw value stands, if it is a mark.
    #[must_use]
    pub fn text(&self, raw: &str) -> Option<&str> {
        let number: usize = raw.strip_prefix(MARK)?.strip_suffix('"')?.parse().ok()?;
        let start = number.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        simdutf8::basic::from_utf8(self.texts.get(start..*self.ends.get(number)?)?).ok()
    }
}

/// Where the first string begins that holds an object.
fn find(text: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(text, NESTED).find(|at| *at == 0 || text[*at - 1] != b'\\')
}

/// A small number in digits.
fn itoa(number: usize) -> compact_str::CompactString {
    compact_str::format_compact!("{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_that_hold_objects_are_taken_out() {
        let mut hollow = Hollow::default();
        assert!(hollow.dig(r#"{"a":"{\"x\":\"\\\"y\"}\n","b": "{\"z\"}","c":"plain"}"#));
        assert_eq!(hollow.shell(), r#"{"a":"\u00010","b": "\u00011","c":"plain"}"#);
        assert_eq!(hollow.text(r#""\u00010""#), Some("{\"x\":\"\\\"y\"}\n"));
        assert_eq!(hollow.text(r#""\u00011""#), Some("{\"z\"}"));
        assert_eq!((hollow.text(r#""\u00012""#), hollow.text(r#""plain""#)), (None, None));
    }

    #[test]
    fn what_can_not_be_taken_out_is_left() {
        let mut hollow = Hollow::default();
        for text in [
            r#"{"a":"plain"}"#,
            r#"{"a":"{\"x\":1"#,
            r#"{"a":"{\"\x\":1}"}"#,
            r#"{"a":"{\"x\":1}","b":"\u00010"}"#,
            r#"{"a":"\"{\"x"}"#,
        ] {
            assert!(!hollow.dig(text), "{text}");
        }
    }
}
