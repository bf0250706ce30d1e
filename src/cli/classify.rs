//! `kubetoll classify`: one request, for people or for programs.

use std::io::{BufRead, BufWriter, Write};

use super::args::ClassifyArgs;
use super::{DONE, server};
use crate::classify::contract::{self, Readable};
use crate::render;

pub(super) fn run(args: &ClassifyArgs) -> anyhow::Result<u8> {
    let server = server::server(&args.server)?;
    if args.stdin {
        let mut out = BufWriter::new(std::io::stdout().lock());
        for line in std::io::stdin().lock().split(b'\n') {
            writeln!(out, "{}", contract::answer(&server, &line?))?;
        }
        out.flush()?;
        return Ok(DONE);
    }
    let text = args.request.as_deref().unwrap_or_default().trim();
    let (method, uri) = text.split_once(char::is_whitespace).unwrap_or(("GET", text));
    let request = Readable::new(method, uri.trim())?;
    let mut page = render::request::render(&request, &server, super::output::width());
    for note in server::notes(&server, server.version) {
        page.push_str("note: ");
        page.push_str(&note);
        page.push('\n');
    }
    super::output::Output::Stdout.write(&page, args.color.choice())?;
    Ok(DONE)
}
