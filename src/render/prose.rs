//! The markup of rule texts: paragraphs, lists with `- `, and code in backticks.

use super::plain::{cut, escaped};

/// A part of a line: words, or code that is shown unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Span {
    Text(String),
    Code(String),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line(pub(super) Vec<Span>);

impl Line {
    pub(super) fn text(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Text(text.into()));
        self
    }

    pub(super) fn code(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Code(text.into()));
        self
    }

    /// Appends code spans, separated by commas.
    pub(super) fn codes<'t>(mut self, texts: impl IntoIterator<Item = &'t str>) -> Self {
        for (index, text) in texts.into_iter().enumerate() {
            self = if index > 0 { self.text(", ") } else { self };
            self = self.code(text);
        }
        self
    }

    /// Cuts the line to its first `width` visible characters. A cut line ends with `…`.
    pub(super) fn cut(&self, width: usize) -> Self {
        let mut left = width;
        let mut line = Self::default();
        for span in &self.0 {
            let (Span::Text(text) | Span::Code(text)) = span;
            let text = escaped(text);
            let short = cut(&text, left).into_owned();
            let is_whole = short.len() == text.len();
            left = left.saturating_sub(short.chars().count());
            line.0.push(match span {
                Span::Text(_) => Span::Text(short),
                Span::Code(_) => Span::Code(short),
            });
            if !is_whole {
                break;
            }
        }
        line
    }

    /// Renders the line without styles. Control characters are escaped.
    pub(super) fn plain(&self) -> String {
        let spans = self.0.iter().map(|span| match span {
            Span::Text(text) | Span::Code(text) => escaped(text),
        });
        spans.collect()
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProseBlock {
    Paragraph(Line),
    List(Vec<Line>),
}

pub(super) fn blocks(prose: &str) -> Vec<ProseBlock> {
    let mut blocks: Vec<ProseBlock> = Vec::new();
    for part in parts(prose) {
        match (part, blocks.last_mut()) {
            (ProsePart::Item(text), Some(ProseBlock::List(items))) => items.push(line(&text)),
            (ProsePart::Item(text), _) => blocks.push(ProseBlock::List(vec![line(&text)])),
            (ProsePart::Paragraph(text), _) => blocks.push(ProseBlock::Paragraph(line(&text))),
        }
    }
    blocks
}

/// Renders a text without its markup. Each paragraph and each list item is on one line.
pub(super) fn plain(prose: &str) -> String {
    let blocks = blocks(prose);
    let texts: Vec<String> = blocks
        .iter()
        .map(|block| match block {
            ProseBlock::Paragraph(line) => line.plain(),
            ProseBlock::List(items) => {
                items.iter().map(|item| format!("- {}", item.plain())).collect::<Vec<_>>().join("\n")
            }
        })
        .collect();
    texts.join("\n\n")
}

enum ProsePart {
    Paragraph(String),
    Item(String),
}

/// Splits a text into paragraphs and list items, each with its lines joined.
fn parts(prose: &str) -> Vec<ProsePart> {
    let mut parts = Vec::new();
    let mut continues = false;
    for line in prose.lines() {
        let words = line.trim();
        if words.is_empty() {
            continues = false;
        } else if let Some(item) = words.strip_prefix("- ") {
            parts.push(ProsePart::Item(item.trim_start().to_owned()));
            continues = true;
        } else if let Some(ProsePart::Paragraph(text) | ProsePart::Item(text)) =
            parts.last_mut().filter(|_| continues)
        {
            text.push(' ');
            text.push_str(words);
        } else {
            parts.push(ProsePart::Paragraph(words.to_owned()));
            continues = true;
        }
    }
    parts
}

/// Parses a line. A backtick without a second one is an ordinary character.
fn line(text: &str) -> Line {
    let mut line = Line::default();
    let mut rest = text;
    while let Some((before, code, after)) = first_code(rest) {
        line = if before.is_empty() { line } else { line.text(before) };
        line = line.code(code);
        rest = after;
    }
    if rest.is_empty() { line } else { line.text(rest) }
}

fn first_code(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, after) = rest.split_once('`')?;
    (!code.is_empty()).then_some((before, code, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Line {
        Line::default().text(text)
    }

    #[test]
    fn blocks_are_paragraphs_lists_and_code() {
        let prose = "One\ntwo.\n\n- a `b` c\n  d\n- e\n\nLast";
        assert_eq!(
            blocks(prose),
            [
                ProseBlock::Paragraph(text("One two.")),
                ProseBlock::List(vec![text("a ").code("b").text(" c d"), text("e")]),
                ProseBlock::Paragraph(text("Last")),
            ]
        );
        assert_eq!(plain(prose), "One two.\n\n- a b c d\n- e\n\nLast");
    }

    #[test]
    fn cut_line_keeps_its_spans() {
        let line = text("ab").code("c\u{7}d").text("e");
        assert_eq!(line.cut(20), text("ab").code("c\\u{7}d").text("e"));
        assert_eq!(line.cut(5), text("ab").code("c\\…"));
        assert_eq!(line.cut(2), text("ab").code("…"));
    }

    #[test]
    fn unclosed_backtick_is_text() {
        assert_eq!(blocks("a ` b"), [ProseBlock::Paragraph(text("a ` b"))]);
        assert_eq!(blocks("a `` b"), [ProseBlock::Paragraph(text("a `` b"))]);
        assert_eq!(plain("a\u{7}"), "a\\u{7}");
        assert!(blocks(" \n\n").is_empty());
    }
}
