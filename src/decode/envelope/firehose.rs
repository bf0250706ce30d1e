//! Subscription filter objects of CloudWatch Logs, as Firehose writes them: one after another, without line feeds.

use super::cloudwatch_subscription;
use super::content::{Content, JsonObject};

/// Returns the messages of a subscription object, if the stream does not have one object per line.
#[must_use]
pub(crate) fn open<'a>(object: &JsonObject<'_, 'a>) -> Option<Content<'a>> {
    let is_firehose = object.is_in_stream && object.keys.log_events.is_some();
    is_firehose.then(|| cloudwatch_subscription::open(object)).flatten()
}
