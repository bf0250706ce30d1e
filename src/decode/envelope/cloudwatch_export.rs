//! EKS through an export of CloudWatch Logs to S3: `<RFC 3339> <message>`, gzipped, without the log stream's name.

use super::line::{Prefixed, Stripped, TextLine};

/// Returns the message. It must be JSON or a log line of a component. Any other text begins with a log stream's name,
/// which an export does not write.
#[must_use]
pub(crate) fn strip<'a>(line: &TextLine<'a>) -> Option<Prefixed<'a>> {
    let (time, rest) = line.dated?;
    (rest.starts_with('{') || crate::decode::klog::is_klog(rest) || rest.starts_with("time=\""))
        .then_some(Prefixed::Line(Stripped { rest, time: Some(time) }))
}
