//! OpenShift's `oc adm node-logs --role=master` writes the node's name before each line. `kubectl logs --prefix`
//! writes `[pod/<name>/<container>]` there.

use super::line::{Prefixed, Stripped, TextLine};

/// Returns the line after the name.
#[must_use]
pub(crate) fn strip<'a>(line: &TextLine<'a>) -> Option<Prefixed<'a>> {
    let text = line.text;
    let (name, rest) = text.split_once(' ')?;
    let is_name = |name: &str| {
        !name.is_empty()
            && name.len() <= 512
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte))
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    (is_name(name) && (rest.starts_with('{') || crate::decode::klog::is_klog(rest)))
        .then_some(Prefixed::Line(Stripped { rest, time: None }))
}
