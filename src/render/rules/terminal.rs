//! A rule's page for a terminal.

use anstyle::{AnsiColor, Style};

use super::page::{PagePart, parts};
use crate::render::links;
use crate::render::plain::escaped;
use crate::render::table::wrapped;
use crate::rules::Rule;

/// The maximum length of a line of prose. Longer lines are hard to read.
const WIDEST: usize = 100;
const HEADING: Style = Style::new().bold();
const CODE: Style = AnsiColor::Cyan.on_default();

/// Renders the page, `width` characters wide.
#[must_use]
pub fn render(rule: &Rule, width: usize) -> String {
    let width = width.min(WIDEST);
    let mut page = format!("{HEADING}{} {}{HEADING:#}\n", rule.id, rule.name);
    page.push_str(&wrapped("", "", &escaped(&rule.summary), width));
    let mut after_heading = false;
    for part in parts(rule, width - 4) {
        let is_heading = matches!(part, PagePart::Heading(_));
        let shown = match part {
            PagePart::Heading(heading) => format!("\n{HEADING}{}{HEADING:#}\n", heading.to_lowercase()),
            PagePart::Under(text) => format!("\n  {HEADING}{}{HEADING:#}\n", escaped(&text)),
            PagePart::Prose(text) => prose(&text, "  ", width),
            PagePart::Case(when, text) => prose(&when, "  ", width) + &prose(&text, "    ", width),
            PagePart::Code(_, text) => text.lines().map(code).collect(),
            PagePart::References(texts) => texts.iter().map(|text| reference(text)).collect(),
        };
        // No blank line between a heading and its text.
        page.push_str(if after_heading { shown.trim_start_matches('\n') } else { &shown });
        after_heading = is_heading;
    }
    page
}

fn code(line: &str) -> String {
    format!("    {CODE}{}{CODE:#}\n", escaped(line))
}

fn reference(text: &str) -> String {
    let url =
        links::reference(text).filter(|url| url != text).map_or(String::new(), |url| format!("  {url}"));
    format!("  {}{url}\n", escaped(text))
}

/// Wraps paragraphs and lists. Each line begins with `indent`.
fn prose(text: &str, indent: &str, width: usize) -> String {
    let mut page = String::new();
    let mut flush = |paragraph: &mut String, is_end: bool| {
        let line = glued(&escaped(&std::mem::take(paragraph)));
        match line.strip_prefix("- ") {
            _ if line.is_empty() => return,
            Some(item) => {
                page.push_str(&wrapped(&format!("{indent}- "), &format!("{indent}  "), item, width));
            }
            None => page.push_str(&wrapped(indent, indent, &line, width)),
        }
        if is_end {
            page.push('\n');
        }
    };
    let mut paragraph = String::new();
    for line in text.trim_end().lines().map(str::trim) {
        if line.is_empty() || line.starts_with("- ") {
            flush(&mut paragraph, line.is_empty());
        }
        if !paragraph.is_empty() {
            paragraph.push(' ');
        }
        paragraph.push_str(line);
    }
    flush(&mut paragraph, false);
    page.replace(NO_BREAK, " ")
}

const NO_BREAK: char = '\u{a0}';

/// Replaces the spaces in placeholders, so that no line break splits a placeholder.
fn glued(text: &str) -> String {
    let mut glued = String::with_capacity(text.len());
    for (index, part) in text.split("{{").enumerate() {
        let (inside, rest) = if index > 0 { part.split_at(part.find("}}").unwrap_or(0)) } else { ("", part) };
        glued.push_str(if index > 0 { "{{" } else { "" });
        glued.extend(inside.chars().map(|c| if c == ' ' { NO_BREAK } else { c }));
        glued.push_str(rest);
    }
    glued
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lists_stay_lists() {
        let text = "one\ntwo:\n\n- three\n  four\n- five";
        assert_eq!(prose(text, "  ", 80), "  one two:\n\n  - three four\n  - five\n");
    }
}
