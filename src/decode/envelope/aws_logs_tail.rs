//! EKS through `aws logs tail`: `<RFC 3339> <log stream> <message>`.

use super::line::{Prefixed, Stripped, TextLine};
use super::syslog;

/// Returns the message after the log stream's name.
#[must_use]
pub(crate) fn strip<'a>(line: &TextLine<'a>) -> Option<Prefixed<'a>> {
    let (time, after_time) = line.dated?;
    let (stream, rest) = after_time.split_once(' ')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./[]#$:".contains(&byte);
    (!stream.is_empty()
        && stream.contains('-')
        && stream.bytes().all(is_name)
        && !is_program(after_time, rest))
    .then_some(Prefixed::Line(Stripped { rest, time: Some(time) }))
}

/// Whether the text after a timestamp begins with a host and a program, as in syslog (`host kube-apiserver[1]: …`).
/// Otherwise it begins with the name of a log stream, and `message` follows.
fn is_program(after_time: &str, message: &str) -> bool {
    !message.starts_with('{')
        && syslog::after_program(after_time).is_some_and(|rest| rest.len() < message.len())
}
