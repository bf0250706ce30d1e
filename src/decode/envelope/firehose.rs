//! Subscription filter objects of CloudWatch Logs, as Firehose writes them: one after another, without line feeds.

use super::Envelope;
use crate::decode::envelope_keys::EnvelopeKeys;
use crate::decode::outcome::Layers;

/// Returns the format of a subscription object. It is Firehose if the stream does not have one object per line.
#[must_use]
pub(crate) fn or_subscription(around: Layers, keys: &EnvelopeKeys<'_>) -> Envelope {
    if around.contains(Envelope::Json) && keys.log_events.is_some() {
        Envelope::Firehose
    } else {
        Envelope::CloudwatchSubscription
    }
}
