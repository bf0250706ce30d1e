//! A line of etcd's own log.

use std::borrow::Cow;

use super::request::{EtcdRequest, ResponseSize};
use crate::decode::klog::Clock;
use crate::decode::skip::SkipReason;
use crate::k8s::{EtcdVersion, go_duration};

/// The message of the slow-request warning.
pub(super) const SLOW: &str = "apply request took too long";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdLine<'a> {
    /// When the line was written. A slow request ends at this time.
    pub(crate) clock: Clock,
    /// The slow request, if the line warns about one.
    pub slow: Option<SlowRequest<'a>>,
    /// The version, if this is a start line that states it.
    pub(crate) version: Option<EtcdVersion>,
}

/// A request that took longer than etcd's threshold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowRequest<'a> {
    /// The duration as logged, such as `12.25s`.
    pub(crate) took: Cow<'a, str>,
    /// The duration in microseconds.
    pub(crate) took_micros: u64,
    /// The request in protobuf's text format: `key:"/registry/pods/" range_end:"/registry/pods0" limit:500 `.
    pub request: Cow<'a, str>,
    /// A summary of the response: `range_response_count:8 size:18170`. Empty if there is none.
    pub(crate) response: Cow<'a, str>,
    /// The request's error, if it failed.
    pub(crate) error: Option<Cow<'a, str>>,
}

/// A line of etcd's log, or the reason to skip a damaged one.
pub(crate) type EtcdResult<'a> = Result<EtcdLine<'a>, SkipReason>;

impl<'a> SlowRequest<'a> {
    /// `took` is a Go duration. `response` may contain an error instead of a summary.
    pub(super) fn new(
        took: Cow<'a, str>,
        request: Cow<'a, str>,
        response: Cow<'a, str>,
        error: Option<Cow<'a, str>>,
    ) -> Result<Self, SkipReason> {
        let took_micros = go_duration::parse_micros(&took).ok_or(SkipReason::WrongType)?;
        let error = error.filter(|error| !error.is_empty());
        Ok(match response.strip_prefix("error:") {
            Some(inside) => Self {
                took,
                took_micros,
                request,
                error: error.or_else(|| Some(Cow::Owned(inside.to_owned()))),
                response: Cow::Borrowed(""),
            },
            None => Self { took, took_micros, request, response, error },
        })
    }

    /// Parses [`SlowRequest::request`].
    #[must_use]
    pub fn parsed_request(&self) -> EtcdRequest<'_> {
        EtcdRequest::parse(&self.request)
    }

    /// Parses [`SlowRequest::response`].
    #[must_use]
    pub fn response_size(&self) -> ResponseSize {
        ResponseSize::parse(&self.response)
    }
}

/// Whether a text contains the slow-request warning in any format.
#[must_use]
pub(crate) fn warns(text: &str) -> bool {
    let holds = |words: &str| memchr::memmem::find(text.as_bytes(), words.as_bytes()).is_some();
    holds(SLOW) || holds("took too long (") && (holds("etcdserver: ") || holds("read-only range "))
}
