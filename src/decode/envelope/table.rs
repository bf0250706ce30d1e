//! The table of envelopes.

use super::content::{Content, JsonObject};
use super::line::{Prefixed, TextLine};
use super::{
    aws_logs_tail, azure_admin, azure_parsed, azure_record, azure_records, azure_table, cloudwatch_export,
    cloudwatch_subscription, collector, cri, docker, event_list, firehose, gke, grep, legacy, logs_insights,
    node_logs, otlp, syslog, viaq,
};
use crate::k8s::Event;
use crate::named::named;

/// Defines the envelopes. A row has a name, the function that recognizes the envelope and extracts its content, and
/// properties. An object or a line belongs to the first row whose function returns its content.
macro_rules! envelopes {
    ($($variant:ident = $name:literal, $detection:expr, [$($property:ident),*];)+) => {
        named! {
            /// An envelope around entries, or the format of the entries themselves.
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum Envelope {
                $($variant = $name,)+
            }
            /// The name in reports and for `--input-format`.
            pub fn as_str;
            pub const ALL;
        }

        impl Envelope {
            fn detection(self) -> Detection {
                match self {
                    $(Self::$variant => $detection,)+
                }
            }

            pub(crate) fn has(self, property: Property) -> bool {
                let properties: &[Property] = match self {
                    $(Self::$variant => &[$(Property::$property),*],)+
                };
                properties.contains(&property)
            }
        }
    };
}

envelopes! {
    Audit = "audit", Detection::Decoder, [];
    Json = "json", Detection::Decoder, [Documents];
    JsonArray = "json-array", Detection::Decoder, [Documents, Batch];
    Yaml = "yaml", Detection::Decoder, [];
    Otlp = "otlp", Detection::JsonObject(otlp::open), [Batch, Shared];
    Firehose = "firehose", Detection::JsonObject(firehose::open), [Documents, Batch, Shared, CloudWatch];
    CloudwatchSubscription = "cloudwatch-subscription", Detection::JsonObject(cloudwatch_subscription::open), [Batch, Shared, CloudWatch];
    LogsInsights = "logs-insights", Detection::JsonObject(logs_insights::open), [Batch, Shared, CloudWatch];
    AzureRecords = "azure-records", Detection::JsonObject(azure_records::open), [Batch, Shared];
    AzureAdmin = "azure-admin", Detection::JsonObject(azure_admin::open), [Shared];
    AzureParsed = "azure-parsed", Detection::JsonObject(azure_parsed::open), [Shared];
    AzureRecord = "azure-record", Detection::JsonObject(azure_record::open), [Shared];
    EventList = "event-list", Detection::JsonObject(event_list::open), [Batch];
    Gke = "gke", Detection::JsonObject(gke::open), [Shared];
    AzureTable = "azure-table", Detection::JsonObject(azure_table::open), [];
    Docker = "docker", Detection::JsonObject(docker::open), [Shared];
    Collector = "collector", Detection::JsonObject(collector::open), [Shared];
    Viaq = "viaq", Detection::Decoder, [];
    Cri = "cri", Detection::Line(cri::strip), [Shared];
    Legacy = "legacy", Detection::Line(legacy::strip), [];
    CloudwatchExport = "cloudwatch-export", Detection::Line(cloudwatch_export::strip), [Shared, CloudWatch];
    AwsLogsTail = "aws-logs-tail", Detection::Line(aws_logs_tail::strip), [Shared, CloudWatch];
    Syslog = "syslog", Detection::Line(syslog::strip), [Shared];
    NodeLogs = "node-logs", Detection::Line(node_logs::strip), [];
    Grep = "grep", Detection::Line(grep::strip), [];
    HttpLog = "http-log", Detection::Decoder, [];
    HttpLogJson = "http-log-json", Detection::Decoder, [];
    HttpLogOlder = "http-log-older", Detection::Decoder, [];
    Trace = "trace", Detection::Decoder, [];
}

impl Envelope {
    /// The format of an event: plain, or with the fields of OpenShift's collector.
    #[must_use]
    pub(crate) fn of_event(event: &Event<'_>) -> Self {
        if viaq::is_viaq(event) { Self::Viaq } else { Self::Audit }
    }
}

/// How an envelope is recognized, and its content extracted.
enum Detection {
    /// From a JSON object.
    JsonObject(for<'a> fn(&JsonObject<'_, 'a>) -> Option<Content<'a>>),
    /// From the start of a line.
    Line(for<'a> fn(&TextLine<'a>) -> Option<Prefixed<'a>>),
    /// By the decoder: the format is not an envelope, or it is the framing of a whole file.
    Decoder,
}

/// What the decoder does differently for an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Property {
    /// Holds several entries. If one of them is damaged, the decoder searches for the others.
    Batch,
    /// A file holds JSON values, each on several lines or several on one line.
    Documents,
    /// Also carries lines of other programs. Such a line counts as foreign, not as damage.
    Shared,
    /// Comes through CloudWatch Logs, which cuts long entries.
    CloudWatch,
}

/// Detects the envelope of an object, and extracts its content.
pub(crate) fn open<'a>(object: &JsonObject<'_, 'a>) -> Option<(Envelope, Content<'a>)> {
    Envelope::ALL.into_iter().find_map(|envelope| match envelope.detection() {
        Detection::JsonObject(open) => Some((envelope, open(object)?)),
        Detection::Line(_) | Detection::Decoder => None,
    })
}

/// Removes the text envelope of a line; `None` if it has none.
pub(crate) fn strip(text: &str) -> Option<(Envelope, Prefixed<'_>)> {
    let line = TextLine::new(text);
    Envelope::ALL.into_iter().find_map(|envelope| match envelope.detection() {
        Detection::Line(strip) => Some((envelope, strip(&line)?)),
        Detection::JsonObject(_) | Detection::Decoder => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> Option<(Envelope, &str)> {
        let (envelope, line) = strip(text)?;
        let rest = match line {
            Prefixed::Line(line) => line.rest,
            Prefixed::Cri(line) => line.text.rest,
            Prefixed::Legacy(_) => "",
        };
        Some((envelope, rest))
    }

    #[test]
    fn each_line_has_one_envelope() {
        let klog = "I1120 20:35:54.665582    4065 a.go:1] x";
        for (text, envelope, rest) in [
            ("2026-11-20T20:35:54.5Z stdout F {x", Envelope::Cri, "{x"),
            ("2026-11-20T20:35:54.5+01:00 stderr P ", Envelope::Cri, ""),
            ("2026-11-20T20:35:54.5Z {x", Envelope::CloudwatchExport, "{x"),
            ("2026-11-20T20:35:54.500000+00:00 kube-apiserver-audit-9a {x", Envelope::AwsLogsTail, "{x"),
            ("2026-11-20T20:35:54+0000 host kube-apiserver[7]: {x", Envelope::Syslog, "{x"),
            ("2026-11-20T20:35:54+0000 master-0 kube-apiserver[7]: {x", Envelope::Syslog, "{x"),
            ("Nov 20 20:35:54 master-0 kube-apiserver[7]: {x", Envelope::Syslog, "{x"),
            ("ip-10-0-1-2.internal {x", Envelope::NodeLogs, "{x"),
            ("[pod/kube-apiserver-a/kube-apiserver] {x", Envelope::NodeLogs, "{x"),
            ("logs/audit 1.log:17:{x", Envelope::Grep, "{x"),
            ("2026.log:{x", Envelope::Grep, "{x"),
        ] {
            assert_eq!(stripped(text), Some((envelope, rest)), "{text}");
        }
        assert_eq!(stripped(&format!("a.log:3:{klog}")), Some((Envelope::Grep, klog)));
        assert_eq!(
            stripped(&format!("2026-11-20T20:35:54.5Z kube-apiserver-9a {klog}")),
            Some((Envelope::AwsLogsTail, klog))
        );
        for text in ["hello", "", "a b c", "\"kind\":\"Event\",\"x\":{}", "x=1:{x"] {
            assert_eq!(stripped(text), None, "{text}");
        }
    }
}
