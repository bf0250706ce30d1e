//! The envelopes that are JSON objects.

use crate::decode::envelope::{
    Content, Envelope, azure_parsed, azure_record, azure_records, azure_table, cloudwatch_subscription,
    collector, docker, event_list, firehose, gke, logs_insights, otlp,
};
use crate::decode::envelope_keys::EnvelopeKeys;
use crate::decode::outcome::Layers;

/// Detects the envelope of an object, and extracts its content.
pub(super) fn open<'a>(
    text: &'a str,
    keys: &EnvelopeKeys<'a>,
    around: Layers,
) -> Option<(Envelope, Content<'a>)> {
    let within = |envelope| move |payload| (envelope, payload);
    None.or_else(|| otlp::open(keys).map(within(Envelope::Otlp)))
        .or_else(|| cloudwatch_subscription::open(keys).map(within(firehose::or_subscription(around, keys))))
        .or_else(|| logs_insights::open(keys).map(within(Envelope::LogsInsights)))
        .or_else(|| azure_records::open(keys).map(within(Envelope::AzureRecords)))
        .or_else(|| azure_parsed::open(keys).map(within(azure_record::or_admin(keys, Envelope::AzureParsed))))
        .or_else(|| azure_record::open(keys).map(within(azure_record::or_admin(keys, Envelope::AzureRecord))))
        .or_else(|| event_list::open(keys).map(within(Envelope::EventList)))
        .or_else(|| keys.proto_payload.and_then(|_| gke::open(text)).map(within(Envelope::Gke)))
        .or_else(|| {
            keys.table_audit_id.and_then(|_| azure_table::open(text)).map(within(Envelope::AzureTable))
        })
        .or_else(|| docker::open(keys).map(within(Envelope::Docker)))
        .or_else(|| collector::open(keys).map(within(Envelope::Collector)))
}
