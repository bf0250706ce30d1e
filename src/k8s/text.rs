//! Truncates texts, and formats counts for people.

/// Returns the longest prefix of at most `max` bytes that does not split a character.
#[must_use]
pub(crate) fn prefix(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// Formats a count with separators: `26,093`.
#[must_use]
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats how many entries a list omits: `1 more file`, `1,234 more files`. Returns `None` for 0.
#[must_use]
pub(crate) fn more(left: usize, one: &str, many: &str) -> Option<String> {
    match left {
        0 => None,
        1 => Some(format!("1 more {one}")),
        left => Some(format!("{} more {many}", count(left as u64))),
    }
}
