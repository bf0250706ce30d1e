//! Tables for a terminal: columns with spaces between, no lines.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, presets};

/// A column's heading, and whether it holds numbers.
pub(super) type Column<'a> = (&'a str, bool);

/// Lays rows out under their headings, with two spaces between columns.
pub(super) fn table(columns: &[Column<'_>], rows: Vec<Vec<String>>, width: usize) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING.header_separator(LineStyle::none().fill('─').junction('─')));
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let cell = |text: &str, number: bool| {
        let alignment = if number { CellAlignment::Right } else { CellAlignment::Left };
        Cell::new(text).set_alignment(alignment)
    };
    table.set_header(columns.iter().map(|(heading, number)| cell(heading, *number)));
    for row in rows {
        table.add_row(row.iter().zip(columns).map(|(text, (_, number))| cell(text, *number)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

/// Breaks a text into lines of at most `width` characters, each behind `indent`; the first behind `first`, which
/// is as wide.
pub(super) fn wrapped(first: &str, indent: &str, text: &str, width: usize) -> String {
    let room = width.saturating_sub(indent.chars().count()).max(20);
    let mut out = String::new();
    let mut line = String::new();
    let mut prefix = first;
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            out.push_str(prefix);
            out.push_str(&line);
            out.push('\n');
            line.clear();
            prefix = indent;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    out.push_str(prefix);
    out.push_str(&line);
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_broken_between_words() {
        let text = wrapped("why  ", "     ", "a list without resourceVersion", 27);
        assert_eq!(text, "why  a list without\n     resourceVersion\n");
    }
}
