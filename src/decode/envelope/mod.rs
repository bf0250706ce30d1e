//! The formats of audit logs. Each file of this module describes one. An envelope only extracts its content. The
//! decoder then detects the format of the content, because envelopes nest.

pub(crate) mod audit;
pub(crate) mod aws_logs_tail;
pub(crate) mod azure_parsed;
pub(crate) mod azure_record;
pub(crate) mod azure_records;
pub(crate) mod azure_table;
pub(crate) mod cloudwatch_export;
pub(crate) mod cloudwatch_subscription;
pub(crate) mod collector;
pub(crate) mod cri;
pub(crate) mod docker;
pub(crate) mod event_list;
pub(crate) mod firehose;
pub(crate) mod gke;
pub(crate) mod grep;
pub(crate) mod json;
pub(crate) mod json_array;
pub(crate) mod legacy;
pub(crate) mod logs_insights;
pub(crate) mod node_logs;
pub(crate) mod otlp;
pub(crate) mod syslog;
pub(crate) mod viaq;
pub(crate) mod yaml;

use serde_json::value::RawValue;

use super::foreign::Foreign;
use crate::k8s::Event;
use crate::named::named;

named! {
    /// An envelope around entries, or the format of the entries themselves.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Envelope {
        Audit = "audit",
        Json = "json",
        JsonArray = "json-array",
        Yaml = "yaml",
        EventList = "event-list",
        CloudwatchSubscription = "cloudwatch-subscription",
        Firehose = "firehose",
        AwsLogsTail = "aws-logs-tail",
        CloudwatchExport = "cloudwatch-export",
        LogsInsights = "logs-insights",
        AzureRecords = "azure-records",
        AzureRecord = "azure-record",
        AzureAdmin = "azure-admin",
        AzureParsed = "azure-parsed",
        AzureTable = "azure-table",
        Gke = "gke",
        NodeLogs = "node-logs",
        Viaq = "viaq",
        Otlp = "otlp",
        Collector = "collector",
        Cri = "cri",
        Docker = "docker",
        Grep = "grep",
        Syslog = "syslog",
        Legacy = "legacy",
        HttpLog = "http-log",
        HttpLogJson = "http-log-json",
        HttpLogOlder = "http-log-older",
        Trace = "trace",
    }
    /// The name in reports and for `--input-format`.
    pub fn as_str;
    pub const ALL;
}

impl Envelope {
    /// Whether this envelope also carries lines of other programs. Such a line counts as foreign, not as damage.
    #[must_use]
    pub(crate) fn is_shared(self) -> bool {
        self.is_cloudwatch()
            || matches!(
                self,
                Self::AzureRecords
                    | Self::AzureRecord
                    | Self::AzureAdmin
                    | Self::AzureParsed
                    | Self::Gke
                    | Self::Otlp
                    | Self::Collector
                    | Self::Cri
                    | Self::Docker
                    | Self::Syslog
            )
    }

    /// Whether entries come through CloudWatch Logs, which cuts long entries.
    #[must_use]
    pub(crate) fn is_cloudwatch(self) -> bool {
        matches!(
            self,
            Self::CloudwatchSubscription
                | Self::Firehose
                | Self::AwsLogsTail
                | Self::CloudwatchExport
                | Self::LogsInsights
        )
    }
}

/// A line without its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stripped<'a> {
    /// The text after the prefix.
    pub(crate) rest: &'a str,
    /// The envelope's own timestamp.
    pub(crate) time: Option<&'a str>,
}

/// A value in a JSON envelope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inner<'a> {
    /// The inner event, envelope or log line. It is an object, or a string that contains the text.
    pub(crate) value: &'a RawValue,
    /// The envelope's own timestamp.
    pub(crate) time: Option<&'a str>,
}

impl<'a> Inner<'a> {
    /// A value without a timestamp.
    #[must_use]
    pub(crate) fn bare(value: &'a RawValue) -> Self {
        Self { value, time: None }
    }
}

/// The content of a JSON envelope.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    /// Other envelopes or events.
    Values(Vec<Inner<'a>>),
    /// An array of envelopes or events, and a function that extracts the content of an element.
    Elements(&'a RawValue, fn(&'a RawValue) -> Inner<'a>),
    /// A line of a container's output, or a part of one.
    Line {
        inner: Inner<'a>,
        /// 0 for stdout, 1 for stderr.
        stream: usize,
    },
    /// An event in a format other than the audit API's.
    Event(Box<Event<'a>>),
    /// An entry of another log.
    Foreign(Foreign),
}

impl<'a> Content<'a> {
    /// A single value.
    pub(super) fn one(value: &'a RawValue, time: Option<&'a str>) -> Self {
        Self::Values(vec![Inner { value, time }])
    }
}
