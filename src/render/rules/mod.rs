//! Rules for people: the table of rules, and a rule's page, for a terminal and as Markdown.

mod cel;
pub(crate) mod family;
pub mod json;
pub mod list;
pub mod markdown;
mod page;
pub mod terminal;
