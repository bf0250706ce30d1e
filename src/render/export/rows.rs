//! A report as rows, one for each client and request shape.

use crate::report::Report;
use crate::report::v1::{Client, Example, Latency, Rate, Shape, Timestamp, Work};

/// The version of the columns. It changes if a name, a type or a meaning changes.
pub const SCHEMA_VERSION: u32 = 1;

/// A client, one of its request shapes, and the cost.
#[derive(Debug, Clone, Copy)]
pub struct ShapeRow<'a> {
    pub(crate) client: &'a Client,
    pub(crate) shape: &'a Shape,
}

#[derive(Debug)]
pub struct ExportColumn {
    /// The column's name, in snake case.
    pub name: &'static str,
    /// The unit of the values; empty for text.
    pub unit: &'static str,
    /// The column's type, with a function that reads a row's value.
    pub value: ColumnValue,
    /// The description in the documentation.
    pub meaning: &'static str,
}

/// A column type, with a function that reads a row's value.
#[derive(Debug)]
pub enum ColumnValue {
    Text(for<'a> fn(&ShapeRow<'a>) -> &'a str),
    MaybeText(for<'a> fn(&ShapeRow<'a>) -> Option<&'a str>),
    MaybeTimestamp(fn(&ShapeRow<'_>) -> Option<Timestamp>),
    Texts(for<'a> fn(&ShapeRow<'a>) -> &'a [String]),
    Integer(fn(&ShapeRow<'_>) -> u64),
    MaybeInteger(fn(&ShapeRow<'_>) -> Option<u64>),
    MaybeFloat(fn(&ShapeRow<'_>) -> Option<f64>),
    Bool(fn(&ShapeRow<'_>) -> bool),
}

impl ColumnValue {
    /// Returns the type's name in the documentation.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::MaybeText(_) | Self::MaybeTimestamp(_) => "text",
            Self::Texts(_) => "list of text",
            Self::Integer(_) | Self::MaybeInteger(_) => "integer",
            Self::MaybeFloat(_) => "float",
            Self::Bool(_) => "boolean",
        }
    }

    /// Whether the value of a row can be null.
    #[must_use]
    pub fn may_be_null(&self) -> bool {
        matches!(
            self,
            Self::MaybeText(_) | Self::MaybeTimestamp(_) | Self::MaybeInteger(_) | Self::MaybeFloat(_)
        )
    }
}

/// The rows of a report, in its order.
#[must_use]
pub fn rows(report: &Report) -> Vec<ShapeRow<'_>> {
    let of = |client| move |shape| ShapeRow { client, shape };
    report.clients.iter().flat_map(|client| client.shapes.iter().map(of(client))).collect()
}

/// Converts a count to a signed integer, because Spark and other readers have no unsigned ones. No request count and no
/// sum of durations reaches the limit.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the number of LISTs read from etcd. Also counts LISTs with the verdict `depends` if a read from etcd is
/// likely.
pub(super) fn etcd_lists(row: &ShapeRow<'_>) -> u64 {
    if row.is_from_etcd() && row.shape.verb == "list" { row.shape.requests } else { 0 }
}

/// Returns the number of GETs read from etcd.
pub(super) fn etcd_gets(row: &ShapeRow<'_>) -> u64 {
    if row.is_from_etcd() && row.shape.verb == "get" { row.shape.requests } else { 0 }
}

/// Returns the total duration of the requests for which the server read from etcd, in microseconds. Returns 0 for
/// long-running requests.
pub(super) fn etcd_micros(row: &ShapeRow<'_>) -> u64 {
    let counted = row.is_from_etcd() && !row.shape.long_running;
    row.latency().filter(|_| counted).map_or(0, |latency| latency.sum_micros)
}

/// Returns the number of LISTs whose limit the server ignored.
pub(super) fn limit_ignored(row: &ShapeRow<'_>) -> u64 {
    if row.shape.limit == "ignored" && row.shape.verb == "list" { row.shape.requests } else { 0 }
}

impl<'a> ShapeRow<'a> {
    fn is_from_etcd(&self) -> bool {
        self.shape.likely.unwrap_or(self.shape.served_from) == "etcd"
    }

    pub(super) fn latency(&self) -> Option<&'a Latency> {
        self.shape.latency.as_ref()
    }

    pub(super) fn rate(&self) -> Option<&'a Rate> {
        self.shape.rate.as_ref()
    }

    pub(super) fn cost(&self) -> Option<&'a Work> {
        self.shape.cost.total.as_deref()
    }

    pub(super) fn example(&self) -> Option<&'a Example> {
        self.shape.example.as_ref()
    }
}
