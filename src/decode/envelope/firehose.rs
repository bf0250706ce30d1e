//! A subscription filter's objects as Firehose writes them: one behind the other, without a line feed.

use super::Envelope;
use crate::decode::envelope_keys::EnvelopeKeys;
use crate::decode::outcome::Layers;

/// The name of a subscription's object in a stream that does not keep objects on lines.
#[must_use]
pub fn or_subscription(around: Layers, keys: &EnvelopeKeys<'_>) -> Envelope {
    if around.contains(Envelope::Json) && keys.log_events.is_some() {
        Envelope::Firehose
    } else {
        Envelope::CloudwatchSubscription
    }
}
