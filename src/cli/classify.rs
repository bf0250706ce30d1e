//! `kubetoll classify`: one request, for people or for programs.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};

use super::args::ClassifyArgs;
use super::output::Output;
use super::{DONE, server};
use crate::classify::contract::{self, Readable};
use crate::render;
use crate::render::escape::safe_json;

/// The longest line of `--stdin`, in bytes: some hundred times the longest URI that a server takes.
const LONGEST_LINE: u64 = 1 << 20;

pub(super) fn run(args: &ClassifyArgs) -> anyhow::Result<u8> {
    let server = server::server(&args.server)?;
    if args.stdin {
        let mut lines = BufReader::new(std::io::stdin().lock());
        let mut line = Vec::new();
        Output::Stdout.write_with(|out| {
            let mut out = BufWriter::new(out);
            while lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? > 0 {
                if line.len() as u64 == LONGEST_LINE && line.last() != Some(&b'\n') {
                    lines.skip_until(b'\n')?;
                    writeln!(out, "{}", contract::too_long(LONGEST_LINE))?;
                    line.clear();
                    continue;
                }
                let answer = contract::answer(&server, line.strip_suffix(b"\n").unwrap_or(&line));
                writeln!(out, "{}", safe_json(&answer))?;
                line.clear();
                // Nothing more is at hand: whoever asks may be waiting for this answer before the next question.
                if lines.buffer().is_empty() {
                    out.flush()?;
                }
            }
            out.flush()
        })?;
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
    Output::Stdout.write(&page, args.color.choice())?;
    Ok(DONE)
}
