//! The output of `grep`: `path:line:` or `path:` before the line.

use super::line::{Prefixed, Stripped, TextLine};

/// Returns the line after the prefix.
#[must_use]
pub(crate) fn strip<'a>(line: &TextLine<'a>) -> Option<Prefixed<'a>> {
    let text = line.text;
    let brace = memchr::memchr(b'{', text.as_bytes());
    let end = brace.filter(|at| is_prefix(&text[..*at])).or_else(|| {
        // A klog line may contain no brace. Then the prefix must end at one of the first four colons, and the rest
        // must begin with klog's header.
        memchr::memchr_iter(b':', text.as_bytes())
            .take(4)
            .map(|colon| colon + 1)
            .find(|at| is_prefix(&text[..*at]) && crate::decode::klog::is_klog(&text[*at..]))
    })?;
    Some(Prefixed::Line(Stripped { rest: &text[end..], time: None }))
}

/// Whether a text is a path and a colon, with or without a line number.
fn is_prefix(text: &str) -> bool {
    let Some(path) = text.strip_suffix(':') else { return false };
    !path.is_empty() && path.len() <= 4_096 && !path.contains(['"', '='])
}
