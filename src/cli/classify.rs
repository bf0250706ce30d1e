//! `kubetoll classify`: shows the verdict on a request that a person types. With `--stdin`, a program sends one
//! request per line.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};

use anyhow::bail;

use super::args::ClassifyArgs;
use super::kubectl::{self, encoded};
use super::output::{SUCCESS, TextOutput, width};
use super::server;
use crate::render;
use crate::render::escape::safe_json;
use crate::requests::contract::{self, Readable};

/// The maximum length of a line of `--stdin`, in bytes: about a hundred times the longest URI that a server accepts.
const LONGEST_LINE: u64 = 1 << 20;
/// The maximum number of further bytes to search for the end of a line longer than `LONGEST_LINE`. If the line does
/// not end there, reading stops with an error.
const LONGEST_SKIPPED: u64 = 64 << 20;

pub(super) fn run(args: &ClassifyArgs) -> anyhow::Result<u8> {
    let server = server::server(&args.server)?;
    if args.stdin {
        let mut lines = BufReader::new(std::io::stdin().lock());
        let mut line = Vec::new();
        TextOutput::Stdout.write_with(|out| {
            let mut out = BufWriter::new(out);
            while lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? > 0 {
                if line.len() as u64 == LONGEST_LINE && line.last() != Some(&b'\n') {
                    writeln!(out, "{}", contract::too_long(LONGEST_LINE))?;
                    out.flush()?;
                    line.clear();
                    if lines.by_ref().take(LONGEST_SKIPPED).skip_until(b'\n')? as u64 == LONGEST_SKIPPED {
                        return Err(std::io::Error::other(format!(
                            "standard input: a line does not end within {} MiB",
                            LONGEST_SKIPPED >> 20
                        )));
                    }
                    continue;
                }
                let output = contract::classify_line(&server, line.strip_suffix(b"\n").unwrap_or(&line));
                writeln!(out, "{}", safe_json(&output))?;
                line.clear();
                // If the buffer is empty, the sender may wait for this output before it sends the next line.
                if lines.buffer().is_empty() {
                    out.flush()?;
                }
            }
            out.flush()
        })?;
        return Ok(SUCCESS);
    }
    let width = width();
    let mut page = String::new();
    let sent = typed(joined(&args.request)?.trim())?;
    for (method, uri) in &sent.requests {
        let request = Readable::new(method, uri)?;
        if !page.is_empty() {
            page.push('\n');
        }
        if sent.is_kubectl {
            page.push_str(&render::request::sent(method, uri, width));
        }
        page.push_str(&match &args.server.kube_version {
            Some(_) => render::request::render(&request, &server, width),
            None => render::request::render_versions(&request, &server, width),
        });
    }
    for note in sent.notes.iter().chain(&server::notes(&server, server.version)) {
        page.push_str(&render::request::note(note, width));
    }
    TextOutput::Stdout.write(&page, args.color.choice())?;
    Ok(SUCCESS)
}

/// Joins the arguments to one text. Arguments of a command are quoted again, because the shell removed their quotes.
fn joined(words: &[String]) -> anyhow::Result<String> {
    if words.len() > 1 && words.first().is_some_and(|word| is_command(word) || word == "curl") {
        return Ok(shlex::try_join(words.iter().map(String::as_str))?);
    }
    Ok(words.join(" "))
}

fn is_command(word: &str) -> bool {
    matches!(word, "kubectl" | "oc")
}

/// Returns a corrected command line for the error message, such as `kubetoll classify 'kubectl get pods -A'`. Without
/// the quotes, clap reads `-A` as an option of kubetoll.
pub(super) fn quoted_command(arguments: &[String]) -> Option<String> {
    let words = arguments.strip_prefix(&["classify".to_owned()])?;
    let is_quotable = words.first().is_some_and(|word| is_command(word) || word == "curl");
    let command = shlex::try_join(words.iter().map(String::as_str)).ok().filter(|_| is_quotable)?;
    Some(format!("kubetoll classify {}", shlex::try_quote(&command).ok()?))
}

/// The requests in a text that a person typed or pasted.
struct TypedRequests {
    /// Pairs of an HTTP method, and the path and query of a URL.
    requests: Vec<(String, String)>,
    notes: Vec<String>,
    /// Whether the requests come from a kubectl command. If so, the output must show them.
    is_kubectl: bool,
}

fn typed(text: &str) -> anyhow::Result<TypedRequests> {
    let words: Vec<&str> = text.split_whitespace().collect();
    // Search only the first four words for the kubectl command: a prompt, sudo, or `watch -n2` may precede it.
    if !text.contains("curl ") && words.iter().take(4).any(|word| is_command(word)) && !text.starts_with('/')
    {
        let Some(words) = shlex::split(&text.replace("\\\n", " ")) else {
            bail!("the kubectl command has a quote without its end");
        };
        let command = words.iter().position(|word| is_command(word)).map_or(0, |at| at + 1);
        let kubectl::SentRequests { requests, notes } =
            kubectl::sent(words.get(command..).unwrap_or_default())?;
        return Ok(TypedRequests { requests, notes, is_kubectl: true });
    }
    Ok(TypedRequests { requests: vec![typed_request(text)?], notes: Vec::new(), is_kubectl: false })
}

fn typed_request(text: &str) -> anyhow::Result<(String, String)> {
    if text.split_whitespace().next() == Some("curl") {
        return curl(text);
    }
    // A pasted HTTP request line may end with the HTTP version, such as `HTTP/1.1`.
    let line = text.rsplit_once(char::is_whitespace).filter(|(_, last)| last.starts_with("HTTP/"));
    let text = line.map_or(text, |(line, _)| line.trim_end());
    let (word, uri) = text.split_once(char::is_whitespace).unwrap_or(("GET", text));
    let uri = uri.trim();
    Ok(match word.to_ascii_uppercase().as_str() {
        "LIST" => ("GET".to_owned(), uri.to_owned()),
        "WATCH" => ("GET".to_owned(), with_query(uri, "watch=true")),
        "DELETECOLLECTION" => ("DELETE".to_owned(), uri.to_owned()),
        _ => (word.to_owned(), uri.to_owned()),
    })
}

fn with_query(uri: &str, pair: &str) -> String {
    let separator = if uri.contains('?') { '&' } else { '?' };
    format!("{uri}{separator}{pair}")
}

/// The request of a curl command. Options that do not change the request line are skipped.
fn curl(text: &str) -> anyhow::Result<(String, String)> {
    let Some(words) = shlex::split(&text.replace("\\\n", " ")) else {
        bail!("the curl command has a quote without its end");
    };
    let (mut method, mut url, mut data) = (None, None, Vec::new());
    let mut is_get = false;
    let mut words = words.into_iter().skip(1);
    while let Some(word) = words.next() {
        let (option, attached) = match word.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option.to_owned(), Some(value.to_owned())),
            _ => match (word.get(..2), word.get(2..)) {
                (Some("-X"), Some(value)) if !value.is_empty() => ("-X".to_owned(), Some(value.to_owned())),
                _ => (word.clone(), None),
            },
        };
        let mut value = || attached.clone().or_else(|| words.next());
        match option.as_str() {
            "-X" | "--request" => method = value(),
            "--url" => url = value(),
            "-G" | "--get" => is_get = true,
            "-d" | "--data" | "--data-urlencode" | "--data-raw" | "--data-binary" | "--json" => {
                data.extend(value());
            }
            "-H" | "--header" | "--cacert" | "--cert" | "--key" | "-E" | "-u" | "--user" | "-A"
            | "--user-agent" | "-o" | "--output" | "-w" | "--write-out" | "-m" | "--max-time"
            | "--connect-timeout" | "--resolve" | "--oauth2-bearer" | "-x" | "--proxy" | "--unix-socket" => {
                drop(value());
            }
            "-I" | "--head" => method = Some("HEAD".to_owned()),
            other if other.starts_with('-') => {}
            _ => url = Some(word),
        }
    }
    let Some(mut url) = url else {
        bail!("the curl command names no URL, such as https://host:6443/api/v1/pods")
    };
    if !url.starts_with('/') && !url.contains("://") {
        url = format!("https://{url}");
    }
    if is_get {
        for pair in &data {
            url = with_query(&url, &encoded(pair));
        }
        data.clear();
    }
    let default = if data.is_empty() { "GET" } else { "POST" };
    Ok((method.unwrap_or_else(|| default.to_owned()), url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unquoted_commands_are_joined_or_get_a_hint() {
        let words = |text: &str| shlex::split(text).expect("words");
        for (line, text) in [
            ("'kubectl get po -A'", "kubectl get po -A"),
            ("LIST /api/v1/pods", "LIST /api/v1/pods"),
            ("kubectl get po -l 'a in (b)'", "kubectl get po -l 'a in (b)'"),
        ] {
            assert_eq!(joined(&words(line)).expect("text"), text);
        }
        let hint = quoted_command(&words("classify kubectl get pods -A"));
        assert_eq!(hint.as_deref(), Some("kubetoll classify 'kubectl get pods -A'"));
        assert_eq!(quoted_command(&words("classify /api/v1/pods -A")), None);
        assert_eq!(quoted_command(&words("scan kubectl -A")), None);
    }

    #[test]
    fn typed_text_is_parsed_as_one_request() {
        for (text, method, uri) in [
            ("/api/v1/pods", "GET", "/api/v1/pods"),
            ("LIST /api/v1/pods", "GET", "/api/v1/pods"),
            ("watch /api/v1/pods?limit=5", "GET", "/api/v1/pods?limit=5&watch=true"),
            ("GET /api/v1/pods HTTP/1.1", "GET", "/api/v1/pods"),
            ("deletecollection /api/v1/namespaces/n/pods", "DELETE", "/api/v1/namespaces/n/pods"),
            ("curl -k 'https://h:6443/api/v1/pods?limit=5'", "GET", "https://h:6443/api/v1/pods?limit=5"),
            ("curl -XDELETE -H 'a: b' \\\n --url=https://h/api", "DELETE", "https://h/api"),
            (
                "curl -sG https://h/api/v1/pods --get --data-urlencode 'labelSelector=a=b'",
                "GET",
                "https://h/api/v1/pods?labelSelector=a%3Db",
            ),
            ("curl h/api -d '{}'", "POST", "https://h/api"),
            ("kubectl get pods -A", "GET", "/api/v1/pods?limit=500"),
            ("$ kubectl get po \\\n -A", "GET", "/api/v1/pods?limit=500"),
            ("watch -n2 kubectl get pods -A", "GET", "/api/v1/pods?limit=500"),
            (
                "kubectl get no -l 'a in (b, c)'",
                "GET",
                "/api/v1/nodes?labelSelector=a%20in%20%28b%2C%20c%29&limit=500",
            ),
        ] {
            let requests = typed(text).expect("a request").requests;
            assert_eq!(requests, [(method.to_owned(), uri.to_owned())], "{text}");
        }
        for (text, message) in [
            ("curl 'https://h", "a quote without its end"),
            ("curl -k", "names no URL"),
            ("kubectl get pods -l 'a", "a quote without its end"),
        ] {
            let error = typed(text).err().expect(text).to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
