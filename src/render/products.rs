//! Products as a table, as JSON, as a page for the terminal and as Markdown.

use std::fmt::Write as _;

use super::escape::pretty_json;
use super::links::reference;
use super::plain::escaped;
use super::table::table;
use crate::products::Product;

pub(crate) fn list(products: &[Product], width: usize) -> String {
    let columns =
        [("product", false), ("kind", false), ("library", false), ("fixes", true), ("title", false)];
    let rows = products.iter().map(|product| {
        vec![
            escaped(&product.name).into_owned(),
            product.kind.as_str().to_owned(),
            escaped(product.library.as_deref().unwrap_or_default()).into_owned(),
            product.fixes.len().to_string(),
            escaped(&product.title).into_owned(),
        ]
    });
    table(&columns, rows.collect(), 4, width)
}

pub(crate) fn json(products: &[Product]) -> String {
    pretty_json(&products) + "\n"
}

pub(crate) fn page(product: &Product) -> String {
    let mut page = format!("{} ({})\n\n", escaped(&product.title), escaped(&product.name));
    let mut line = |title: &str, text: &str| {
        writeln!(page, "{title:<17} {}", escaped(text)).expect("a String takes all");
    };
    line("kind", product.kind.as_str());
    line("library", product.library.as_deref().unwrap_or("unknown"));
    line("user agents", &product.user_agents.join(", "));
    line("example", product.example.as_deref().unwrap_or_default());
    line("ServiceAccounts", &product.service_accounts.join(", "));
    line("seen in", product.seen_in.as_deref().unwrap_or("not verified"));
    for fix in &product.fixes {
        let causes = fix.causes.join(", ");
        let (causes, text, source) = (escaped(&causes), escaped(fix.text.trim()), escaped(&fix.source));
        write!(page, "\n{causes}\n  {text}\n  {source}\n").expect("a String takes all");
    }
    page
}

/// Renders the documentation page of all products.
#[must_use]
pub fn markdown(products: &[Product]) -> String {
    let mut page = String::from(
        "# Products\n\nGenerated from [rules/products](../rules/products). A finding on one of these clients names the \
         product (`who.product`). Its\nfix begins with the product's own setting, if one is known. If a user agent \
         names no product, kubetoll looks at the default\nname of the ServiceAccount. Clients choose their user \
         agents, so a product is a hint and not a proof.\n\n`kubetoll products list` shows all products, and \
         `kubetoll products explain NAME` shows one.\n[product.schema.json](product.schema.json) describes the \
         files.\n\n",
    );
    for product in products {
        let code =
            |texts: &[String]| texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ");
        write!(page, "## {}\n\n`{}`, {}", product.title, product.name, product.kind.as_str())
            .expect("a String takes all");
        if !product.user_agents.is_empty() {
            write!(page, "; user agents {}", code(&product.user_agents)).expect("a String takes all");
        }
        if !product.service_accounts.is_empty() {
            write!(page, "; ServiceAccounts {}", code(&product.service_accounts))
                .expect("a String takes all");
        }
        if let Some(source) = &product.seen_in {
            write!(page, " ([seen in]({}))", link(source)).expect("a String takes all");
        }
        page.push_str("\n\n");
        for fix in &product.fixes {
            let link = link(&fix.source);
            writeln!(page, "- {}: {} ([source]({link}))", fix.causes.join(", "), fix.text.trim())
                .expect("a String takes all");
        }
        if !product.fixes.is_empty() {
            page.push('\n');
        }
    }
    page.trim_end().to_owned() + "\n"
}

fn link(source: &str) -> String {
    reference(source).unwrap_or_else(|| source.to_owned())
}
