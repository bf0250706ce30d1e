//! Escapes text for Markdown.
//!
//! After the Markdown conversion, GitHub still links mentions, issues and URLs, and renders formulas. Escapes do not
//! stop that. GitHub does not change code spans, so a word with such marks becomes code.

use crate::render::plain::escaped;
use crate::render::prose::{Line, ProseBlock, Span, blocks};

/// Escapes a text at a position where Markdown can begin a block, such as a list.
pub(super) fn text(text: &str) -> String {
    let text = words(text.trim());
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    let is_marker = |mark| rest == mark || rest.strip_prefix(mark).is_some_and(|rest| rest.starts_with(' '));
    // Escapes a bullet, a heading underline, or a list number.
    if text.starts_with(['-', '+', '=']) {
        format!("\\{text}")
    } else if digits > 0 && (is_marker(".") || is_marker(")")) {
        format!("{number}\\{rest}")
    } else {
        text
    }
}

/// Escapes a text inside a line.
pub(in crate::render) fn words(text: &str) -> String {
    let text = escaped(text);
    let words: Vec<String> = text.split(' ').map(word).collect();
    words.join(" ")
}

fn word(word: &str) -> String {
    if is_linked(word) {
        return span(word);
    }
    let mut out = String::with_capacity(word.len());
    let mut before = None;
    let mut rest = word.chars().peekable();
    while let Some(c) = rest.next() {
        let inside = |other: Option<&char>| other.is_some_and(char::is_ascii_alphanumeric);
        // An underscore between letters is literal in Markdown.
        let is_mark = match c {
            '_' => !(inside(before.as_ref()) && inside(rest.peek())),
            _ => matches!(c, '\\' | '*' | '[' | ']' | '<' | '>' | '&' | '~' | '!'),
        };
        if is_mark {
            out.push('\\');
        }
        out.push(c);
        before = Some(c);
    }
    out
}

/// Whether GitHub would link or render a word even if its marks are escaped.
fn is_linked(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    word.contains(['@', '#', '|', '`', '$'])
        || lower.contains("://")
        || lower.contains("www.")
        || lower.contains("gh-")
        || holds_a_name_in_colons(word)
}

/// Whether a word contains an emoji such as `:name:` or `:100:`. A time of day and a line number in a file are not
/// emojis.
fn holds_a_name_in_colons(word: &str) -> bool {
    let mut parts = word.split(':').skip(1).peekable();
    let mut has_emoji = false;
    while let Some(part) = parts.next() {
        let is_time = part.len() < 3 && part.bytes().all(|byte| byte.is_ascii_digit());
        has_emoji |= parts.peek().is_some() && !is_time;
    }
    has_emoji
}

/// Formats a code span. Its fence is longer than each run of backticks inside.
pub(super) fn code(text: &str) -> String {
    if text.is_empty() { "(empty)".to_owned() } else { span(&escaped(text)) }
}

/// Formats a code span for a table cell. There, `|` ends the cell even inside code.
pub(in crate::render) fn code_in_cell(text: &str) -> String {
    code(text).replace('|', "\\u{7c}")
}

pub(super) fn code_in_html(text: &str) -> String {
    let text = escaped(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<code>{text}</code>")
}

pub(in crate::render) fn text_in_cell(text: &str) -> String {
    words(text).replace('|', "\\u{7c}")
}

fn span(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    // Markdown removes one space at each end of a code span.
    let ends = |end: char| text.starts_with(end) || text.ends_with(end);
    let pad = if ends('`') || ends(' ') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

pub(super) fn code_block(language: &str, lines: &str) -> String {
    let fence = "`".repeat(longest_run(lines).max(2) + 1);
    let lines: Vec<_> = lines.lines().map(escaped).collect();
    format!("{fence}{language}\n{}\n{fence}\n", lines.join("\n"))
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

pub(super) fn line(line: &Line) -> String {
    let spans = line.0.iter().map(|span| match span {
        Span::Text(text) => words(text),
        Span::Code(text) => code(text),
    });
    spans.collect()
}

pub(super) fn prose(prose: &str) -> String {
    let item = |line: &Line| format!("- {}\n", beginning(line));
    let blocks: Vec<String> = blocks(prose)
        .iter()
        .map(|block| match block {
            ProseBlock::Paragraph(line) => beginning(line) + "\n",
            ProseBlock::List(items) => items.iter().map(item).collect::<Vec<_>>().concat(),
        })
        .collect();
    blocks.join("\n")
}

/// Renders a line at a position where Markdown can begin a block, such as a list.
fn beginning(spans: &Line) -> String {
    match spans.0.split_first() {
        Some((Span::Text(first), rest)) if !first.trim().is_empty() => {
            let gap = if first.ends_with(' ') { " " } else { "" };
            format!("{}{gap}{}", text(first), line(&Line(rest.to_vec())))
        }
        _ => line(spans),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_github_would_link_are_escaped_or_code() {
        for (given, shown) in [
            ("shop/sync listed pods 3 times", "shop/sync listed pods 3 times"),
            ("<img src=x>", "\\<img src=x\\>"),
            ("@team #12 a@b.c", "`@team` `#12` `a@b.c`"),
            ("see http://e.vil/ or WWW.e.vil", "see `http://e.vil/` or `WWW.e.vil`"),
            ("[a](b) *c* _d_ e_f", "\\[a\\](b) \\*c\\* \\_d\\_ e_f"),
            ("a`b ``c``", "``a`b`` ``` ``c`` ```"),
            ("- a", "\\- a"),
            ("1. a", "1\\. a"),
            ("1.31 a", "1.31 a"),
            ("1)", "1\\)"),
            ("=== ", "\\==="),
            (":boom: a:100:b system:node:*", "`:boom:` `a:100:b` `system:node:*`"),
            ("at 20:36:31, log:3: x", "at 20:36:31, log:3: x"),
            ("a\u{7}\nb", "a\\\\u{7}\\\\u{a}b"),
        ] {
            assert_eq!(text(given), shown);
        }
    }

    #[test]
    fn code_fence_is_longer_than_backticks_inside() {
        assert_eq!(code("a ``b` c"), "```a ``b` c```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code(" a "), "`  a  `");
        assert_eq!(code_in_html("a</code>&\n"), "<code>a&lt;/code&gt;&amp;\\u{a}</code>");
        assert_eq!(code_in_cell("a\\|b"), "`a\\\\u{7c}b`");
        assert_eq!(code_block("sh", "a ```` b"), "`````sh\na ```` b\n`````\n");
    }

    #[test]
    fn prose_keeps_paragraphs_and_lists() {
        assert_eq!(prose("Use `a_b`\nand c.\n\n- d\n- `e`"), "Use `a_b` and c.\n\n- d\n- `e`\n");
        assert_eq!(prose("- `a` - b"), "- `a` - b\n");
    }
}
