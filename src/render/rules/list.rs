//! The table of rules for a terminal.

use crate::render::display::width as columns_of;
use crate::render::plain::escaped;
use crate::render::table::{NARROW, table, wrapped};
use crate::rules::Rule;

/// Renders the table, `width` characters wide. Long summaries continue on the next line.
#[must_use]
pub fn render(rules: &[Rule], width: usize) -> String {
    let wide = width >= NARROW;
    let mut columns = vec![("rule", false), ("name", false)];
    if wide {
        columns.push(("levels", false));
    }
    let summary = columns.len();
    columns.push(("what it finds", false));
    let gap = if wide { 2 } else { 1 };
    let first: Vec<Vec<String>> = rules
        .iter()
        .map(|rule| {
            let levels = wide.then(|| levels(rule));
            [rule.id.clone(), rule.name.clone()].into_iter().chain(levels).collect()
        })
        .collect();
    let widest = |column: usize| {
        let cells = first.iter().map(|row| columns_of(&row[column]));
        cells.chain([columns[column].0.len()]).max().unwrap_or(0) + gap
    };
    let room = width.saturating_sub((0..summary).map(widest).sum::<usize>() + gap).max(20);
    let mut rows = Vec::new();
    for (rule, mut row) in rules.iter().zip(first) {
        for line in wrapped("", "", &escaped(&rule.summary), room).lines() {
            let mut cells = std::mem::replace(&mut row, vec![String::new(); summary]);
            cells.push(line.to_owned());
            rows.push(cells);
        }
    }
    table(&columns, rows, summary, width)
}

/// Lists the severities of a rule's findings, the lowest first.
pub(super) fn levels(rule: &Rule) -> String {
    if let Some(severity) = rule.fixed_severity {
        return severity.to_string();
    }
    let levels: Vec<&str> = rule.levels.iter().rev().map(|(severity, _)| severity.as_str()).collect();
    levels.join(", ")
}
