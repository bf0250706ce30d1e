//! Rules as Markdown: a rule's page, the table of rules, and the variables for conditions.

use std::fmt::Write as _;

use super::family;
use super::list::levels;
use super::page::{PagePart, parts};
use crate::render::links;
use crate::rules::figures::FILTERS;
use crate::rules::variables::Root;
use crate::rules::{Rule, RuleSet};

/// The maximum number of characters in a line of code.
const WIDTH: usize = 110;

#[must_use]
pub fn page(rule: &Rule) -> String {
    let mut page = format!("# {} {}\n\n{}.\n", rule.id, rule.name, escaped(&rule.summary));
    for part in parts(rule, WIDTH) {
        page.push('\n');
        let shown = match part {
            PagePart::Heading(text) => format!("## {text}\n"),
            PagePart::Under(text) => format!("### {}\n", escaped(&text)),
            PagePart::Prose(text) => escaped(text.trim_end()) + "\n",
            PagePart::Case(when, text) => {
                format!("- {} {}\n", escaped(&when), escaped(text.trim_end()).replace('\n', "\n  "))
            }
            PagePart::Code(language, text) => format!("```{language}\n{text}\n```\n"),
            PagePart::References(texts) => texts.iter().map(|text| reference(text)).collect(),
        };
        page.push_str(&shown);
    }
    page
}

fn reference(text: &str) -> String {
    match links::reference(text) {
        Some(url) if url == text => format!("- <{url}>\n"),
        Some(url) => format!("- [{}]({url})\n", escaped(text)),
        None => format!("- {}\n", escaped(text)),
    }
}

/// Renders a table of rules for each family, with links to their pages.
#[must_use]
pub fn index(rules: &RuleSet) -> String {
    let mut page = String::new();
    let mut family = "";
    for rule in &rules.rules {
        if rule.family() != family {
            family = rule.family();
            let title = family::title(family).map_or(String::new(), |title| format!(": {title}"));
            write!(
                page,
                "\n### {family}{title}\n\n| rule | name | what it finds | levels |\n|---|---|---|---|\n"
            )
            .expect("a String");
        }
        let Rule { id, name, summary, .. } = rule;
        let summary = escaped(summary).replace('|', "\\|");
        writeln!(page, "| {id} | [{name}]({name}.md) | {summary} | {} |", levels(rule)).expect("a String");
    }
    page
}

/// Renders the list of all variables that conditions may use.
#[must_use]
pub fn names() -> String {
    let mut page = "# Names in rules\n\nIn conditions, write a name as it is. In texts, write it in braces: \
                    `{{ stats.requests }}`. A name always has a value: a missing text is empty, and a missing number \
                    is 0. [README.md](README.md) shows how to write a rule.\n"
        .to_owned();
    for root in Root::ALL {
        write!(page, "\n## {}\n\n{}\n", root.as_str(), root.doc()).expect("a String");
        let names = root.names();
        if !names.is_empty() {
            page.push_str("\n| name | type | meaning |\n|---|---|---|\n");
        }
        for (name, kind, doc) in names {
            let doc = doc.replace('|', "\\|");
            writeln!(page, "| `{}.{name}` | {kind} | {doc} |", root.as_str()).expect("a String");
        }
    }
    page.push_str(TEXTS);
    for (filter, shows) in FILTERS {
        writeln!(page, "| `{filter}` | {shows} |").expect("a String");
    }
    page
}

const TEXTS: &str = "
## In texts

`message`, `fix`, `tradeoff` and `verify` can hold six more placeholders:

| placeholder | meaning |
|---|---|
| `{{ client }}` | the client's short name, such as `monitoring/poller` |
| `{{ resource }}` | the resource of the group; if the group has several, the resource of the shape with the most requests |
| `{{ product }}` | the product of the user agent with the most requests |
| `{{ shape }}` | the shape with the most requests |
| `{{ permission }}` | for requests that were refused with 403: the missing permission, the RBAC rule, and the command that checks it; else empty |
| `{{ rivals }}` | other writers of the same objects in the log; or empty |

A placeholder can hold an operation (`{{ stats.requests * 2 }}`) or be in a condition
(`{% if client.namespaces != 1 %}s{% endif %}`), as in Jinja. kubetoll adds filters for numbers
(`{{ stats.requests|count }}`):

| filter | shows |
|---|---|
";

/// Escapes a text. Only lists and `code` remain Markdown.
fn escaped(text: &str) -> String {
    let parts = text
        .split('`')
        .enumerate()
        .map(|(index, part)| if index % 2 == 1 { format!("`{part}`") } else { without_marks(part) });
    let joined: String = parts.collect();
    // A backtick without a second backtick does not begin code.
    if text.matches('`').count() % 2 == 1 { without_marks(text).replace('`', "\\`") } else { joined }
}

fn without_marks(text: &str) -> String {
    text.replace('<', "\\<").replace('*', "\\*").replace('_', "\\_").replace('[', "\\[")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_and_lists_stay_markdown() {
        assert_eq!(escaped("- a `<b>` <c> list_…"), "- a `<b>` \\<c> list\\_…");
        assert_eq!(escaped("a ` b"), "a \\` b");
    }
}
