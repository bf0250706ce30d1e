//! Tables for a terminal: columns separated by spaces, without lines.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, presets};

use super::display::{cut, fitting, width as columns_of};
use super::style::DIM;

/// Below this width, the columns are closer together and numbers are shorter.
pub(super) const NARROW: usize = 100;

/// The indentation of a finding's lines. On the first line, the title takes this space.
pub(super) const INDENT: &str = "                ";

/// Units. A line break never separates a unit from its number.
const UNITS: [&str; 12] = ["µs", "ms", "s", "min", "h", "d", "B", "kB", "MB", "GB", "TB", "%"];

/// A column's heading, and whether the column holds numbers.
pub(super) type Column<'a> = (&'a str, bool);

/// Renders rows below their headings. If the table is too wide, the texts of the `flexible` column are cut.
pub(super) fn table(
    columns: &[Column<'_>],
    mut rows: Vec<Vec<String>>,
    flexible: usize,
    width: usize,
) -> String {
    let gap: u16 = if width < NARROW { 1 } else { 2 };
    let widest = |column: usize| {
        let heading = columns[column].0.lines().map(columns_of).max().unwrap_or(0);
        rows.iter().map(|row| columns_of(&row[column])).chain([heading]).max().unwrap_or(0)
    };
    let others = (0..columns.len()).filter(|column| *column != flexible);
    let taken: usize = others.map(|column| widest(column) + usize::from(gap)).sum();
    let room = width.saturating_sub(taken + usize::from(gap)).max(10);
    for row in &mut rows {
        row[flexible] = cut(&row[flexible], room).into_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING.header_separator(LineStyle::none().fill('─')));
    table.set_content_arrangement(ContentArrangement::Disabled);
    let cell = |text: &str, number: bool| {
        let alignment = if number { CellAlignment::Right } else { CellAlignment::Left };
        Cell::new(text).set_alignment(alignment)
    };
    table.set_header(columns.iter().map(|(heading, number)| cell(heading, *number)));
    for row in rows {
        table.add_row(row.iter().zip(columns).map(|(text, (_, number))| cell(text, *number)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, gap));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

/// Splits a text into words. A number and its unit are one word.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let is_unit = UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')']));
        let number = words.last_mut().filter(|word| is_unit && word.ends_with(|c: char| c.is_ascii_digit()));
        match number {
            Some(number) => {
                number.push(' ');
                number.push_str(word);
            }
            None => words.push(word.to_owned()),
        }
    }
    words
}

/// Wraps a text into lines of at most `width` columns. The first line begins with `first`, the other lines with
/// `indent`. Both must have the same width.
pub(super) fn wrapped(first: &str, indent: &str, text: &str, width: usize) -> String {
    let room = width.saturating_sub(columns_of(indent)).max(20);
    let mut lines: Vec<String> = Vec::new();
    for word in words(text) {
        if let Some(line) = lines.last_mut().filter(|line| line.is_empty()) {
            *line = word;
        } else if !appended(&mut lines, " ", &word, room) {
            lines.push(word);
        }
    }
    let prefixes = std::iter::once(first).chain(std::iter::repeat(indent));
    prefixes.zip(&lines).flat_map(|(prefix, line)| [prefix, line, "\n"]).collect()
}

/// Appends a text to the last line if both fit into `width` columns. Returns whether they do.
pub(super) fn appended(lines: &mut [String], separator: &str, text: &str, width: usize) -> bool {
    let fits = |line: &&mut String| columns_of(line) + columns_of(separator) + columns_of(text) <= width;
    let Some(line) = lines.last_mut().filter(fits) else { return false };
    line.push_str(separator);
    line.push_str(text);
    true
}

pub(super) fn titled(title: &str, text: &str, width: usize) -> String {
    let text = wrapped(INDENT, INDENT, text, width);
    format!("  {DIM}{title:<14}{DIM:#}{}", &text[INDENT.len()..])
}

/// Joins parts with dots. Lines break only between two parts.
pub(super) fn joined(parts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        if !appended(&mut lines, " · ", part, width) {
            lines.extend(wrapped("", "", part, width).lines().map(str::to_owned));
        }
    }
    lines
}

/// Wraps a text into at most `most` lines of `width` columns. A longer text is cut with `…`, between words if possible.
pub(super) fn limited(text: &str, width: usize, most: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines: Vec<String> = Vec::new();
    for word in words(text).iter().map(|word| word.trim()).filter(|word| !word.is_empty()) {
        if appended(&mut lines, " ", word, width) {
            continue;
        }
        let mut rest = word;
        while !rest.is_empty() && lines.len() <= most {
            // Each line has at least one character.
            let first = rest.chars().next().map_or(0, char::len_utf8);
            let (part, after) = rest.split_at(fitting(rest, width).max(first));
            lines.push(part.to_owned());
            rest = after;
        }
        if lines.len() > most {
            break;
        }
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            while columns_of(last) + 2 > width && last.contains(' ') {
                last.truncate(last.rfind(' ').unwrap_or(0));
            }
            if columns_of(last) + 2 <= width {
                last.push_str(" …");
            } else {
                *last = cut(&format!("{last}……"), width).into_owned();
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limited_text_is_cut_between_words_within_its_width() {
        assert_eq!(limited("lists all pods every second", 10, 2), ["lists all", "pods …"]);
        assert_eq!(limited("lists all pods", 10, 2), ["lists all", "pods"]);
        assert_eq!(limited("abcdefghijkl", 5, 2), ["abcde", "fghi…"]);
        assert_eq!(limited("a b", 1, 1), ["…"]);
        assert!(limited("", 5, 2).is_empty());
    }

    #[test]
    fn wrapped_text_breaks_between_words() {
        let text = wrapped("why  ", "     ", "a list without resourceVersion", 27);
        assert_eq!(text, "why  a list without\n     resourceVersion\n");
    }
}
