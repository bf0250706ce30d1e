//! EKS through `aws logs tail`: `<RFC 3339> <log stream> <message>`.

use super::Stripped;

/// Returns the message after the log stream's name.
#[must_use]
pub(crate) fn strip<'a>(time: &'a str, rest: &'a str) -> Option<Stripped<'a>> {
    let (stream, rest) = rest.split_once(' ')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./[]#$:".contains(&byte);
    (!stream.is_empty() && stream.contains('-') && stream.bytes().all(is_name))
        .then_some(Stripped { rest, time: Some(time) })
}
