//! `kubetoll products`: lists and explains products with their settings.

use anyhow::anyhow;

use super::args::{ProductsCommand, ProductsFormat};
use super::output::{SUCCESS, TextOutput, width};
use crate::files::error::expected;
use crate::products;
use crate::render::escape::without_commands;
use crate::render::products as render;

pub(super) fn run(command: &ProductsCommand) -> anyhow::Result<u8> {
    let (ProductsCommand::List { rules, .. } | ProductsCommand::Explain { rules, .. }) = command;
    products::add(rules).map_err(|error| anyhow!("--rules: {error}"))?;
    let text = match command {
        ProductsCommand::List { format, .. } => match format {
            ProductsFormat::Text => render::list(products::all(), width()),
            ProductsFormat::Json => render::json(products::all()),
            ProductsFormat::Markdown => render::markdown(products::all()),
        },
        ProductsCommand::Explain { product, .. } => {
            let matched = products::find(product);
            let matched = matched.ok_or_else(|| {
                let hint = expected(product, products::all().iter().map(|known| &*known.name));
                let hint = if hint.starts_with("; known") {
                    "; `kubetoll products list` shows them".to_owned()
                } else {
                    hint
                };
                anyhow!("no such product '{product}'{hint}")
            })?;
            render::page(matched)
        }
    };
    let text = anstream::adapter::strip_str(&text).to_string();
    TextOutput::Stdout.write_raw(&without_commands(&text))?;
    Ok(SUCCESS)
}
