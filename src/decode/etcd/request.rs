//! Parses requests and response summaries in protobuf's text format.
//!
//! Source: etcd `api/etcdserverpb/raft_internal_stringer.go`, `rpc.proto:RangeRequest`.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EtcdOperation {
    /// A read of one key or a range of keys.
    Range,
    /// A read-only transaction.
    ReadTxn,
    /// Any write of keys: a put, a delete, or a transaction that contains one.
    Write,
    /// Leases, compactions, alarms, members.
    Other,
}

/// A request to etcd. etcd escapes the non-ASCII bytes of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EtcdRequest<'a> {
    pub(crate) operation: EtcdOperation,
    /// The first key in the request; empty if it has none.
    pub key: &'a str,
    /// The range of a range read; `None` for a read of one key and for other operations.
    pub(crate) range: Option<KeyRange<'a>>,
    /// The limit of a read. The apiserver also limits a read of one key, if it needs only the revision.
    pub(crate) limit: u64,
}

/// A range of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyRange<'a> {
    /// The first key after the range.
    pub(crate) end: &'a str,
    /// The maximum number of keys in the response; 0 for no limit.
    pub(crate) limit: u64,
    /// The revision to read; 0 for the newest.
    pub(crate) revision: u64,
    /// The response contains only the number of keys.
    pub(crate) count_only: bool,
    /// The response contains keys without values.
    pub(crate) keys_only: bool,
}

/// The size of a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResponseSize {
    /// The number of keys.
    pub(crate) items: Option<u64>,
    pub(crate) bytes: Option<u64>,
}

impl<'a> EtcdRequest<'a> {
    /// Parses a request. Unknown text becomes [`EtcdOperation::Other`].
    #[must_use]
    pub(crate) fn parse(text: &'a str) -> Self {
        let operation = operation(text);
        let key = quoted(text, "key:").unwrap_or_default();
        let limit = number(text, "limit:").unwrap_or(0);
        let range = (operation == EtcdOperation::Range).then(|| {
            Some(KeyRange {
                end: quoted(text, "range_end:").filter(|end| !end.is_empty())?,
                limit,
                revision: number(text, "revision:").unwrap_or(0),
                count_only: is_true(text, "count_only:"),
                keys_only: is_true(text, "keys_only:"),
            })
        });
        Self { operation, key, range: range.flatten(), limit }
    }
}

impl<'a> KeyRange<'a> {
    /// Returns the prefix that all keys of the range share, split before its last character. The end
    /// `/registry/pods0` gives `/registry/pods` and `/`.
    #[must_use]
    pub(crate) fn prefix(&self) -> Option<(&'a str, char)> {
        let last = *self.end.as_bytes().last().filter(|byte| byte.is_ascii_graphic())?;
        Some((&self.end[..self.end.len() - 1], char::from(last.checked_sub(1)?)))
    }
}

impl ResponseSize {
    /// Parses a response summary.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Self {
        // A transaction first logs the responses of its operations, and then its own size.
        let size = text.rfind("size:").and_then(|at| leading_number(&text[at + "size:".len()..]));
        Self { items: number(text, "range_response_count:"), bytes: size }
    }
}

fn operation(text: &str) -> EtcdOperation {
    let text = text.trim_start();
    let body = match text.strip_prefix("header:") {
        // `header:<ID:… > put:<…>`; the header contains no closing bracket.
        Some(header) => header.split_once('>').or_else(|| header.split_once('}')).map_or("", |split| split.1),
        None => text,
    };
    let body = body.trim_start();
    let is =
        |name: &str| body.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with(['<', '{']));
    if body.starts_with("key:") {
        return EtcdOperation::Range;
    }
    if is("range:") {
        return EtcdOperation::Range;
    }
    if is("txn:") || is("compare:") || is("success:") || is("failure:") {
        let writes = ["request_put:", "request_delete_range:"];
        return if writes.iter().any(|name| field(body, name).is_some()) {
            EtcdOperation::Write
        } else {
            EtcdOperation::ReadTxn
        };
    }
    if is("put:") || is("delete_range:") { EtcdOperation::Write } else { EtcdOperation::Other }
}

/// The text after a field's name. A key may contain any text, so names inside quotes do not count.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let bytes = text.as_bytes();
    let (mut at, mut in_quotes) = (0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_quotes => at += 1,
            b'"' => in_quotes = !in_quotes,
            _ if !in_quotes && bytes[at..].starts_with(name.as_bytes()) && begins(bytes, at) => {
                return text.get(at + name.len()..).map(str::trim_start);
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Whether a field's name may begin here. `limit:` must not match the end of a longer name.
fn begins(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1).is_none_or(|before| b" <{".contains(&bytes[before]))
}

fn quoted<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let value = field(text, name)?.strip_prefix('"')?;
    let mut escaped = false;
    let end = value.bytes().position(|byte| match byte {
        _ if std::mem::take(&mut escaped) => false,
        b'\\' => {
            escaped = true;
            false
        }
        byte => byte == b'"',
    })?;
    Some(&value[..end])
}

fn is_true(text: &str, name: &str) -> bool {
    field(text, name).is_some_and(|rest| rest.starts_with("true"))
}

fn number(text: &str, name: &str) -> Option<u64> {
    leading_number(field(text, name)?)
}

fn leading_number(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    type RangeFields<'a> = (&'a str, u64, u64, bool);

    fn parsed(text: &str) -> (EtcdOperation, &str, Option<RangeFields<'_>>) {
        let request = EtcdRequest::parse(text);
        let range = request.range.map(|range| (range.end, range.limit, range.revision, range.count_only));
        (request.operation, request.key, range)
    }

    #[test]
    fn range_reads_are_parsed() {
        for (text, key, range) in [
            (r#"key:"/registry/pods/a/b" "#, "/registry/pods/a/b", None),
            (r#"key:"/registry/pods" limit:1 "#, "/registry/pods", None),
            (
                r#"key:"/registry/pods/" range_end:"/registry/pods0" limit:500 revision:9 "#,
                "/registry/pods/",
                Some(("/registry/pods0", 500, 9, false)),
            ),
            (
                r#"key:"/registry/pods" range_end:"/registry/podt" count_only:true "#,
                "/registry/pods",
                Some(("/registry/podt", 0, 0, true)),
            ),
            (
                r#"key:"/registry/pods/a/limit:7 count_only:true \" \000"  range_end:"/registry/pods0""#,
                r#"/registry/pods/a/limit:7 count_only:true \" \000"#,
                Some(("/registry/pods0", 0, 0, false)),
            ),
        ] {
            assert_eq!(parsed(text), (EtcdOperation::Range, key, range), "{text}");
        }
    }

    #[test]
    fn writes_and_transactions_are_recognized() {
        for (text, operation, key) in [
            (
                r#"header:<ID:7 username:"x" auth_revision:1 > txn:<compare:<target:MOD key:"/registry/a/b" mod_revision:7 > success:<request_put:<key:"/registry/a/b" value_size:96 >> failure:<request_range:<key:"/registry/a/b" > >>"#,
                EtcdOperation::Write,
                "/registry/a/b",
            ),
            (r#"header:<ID:7 > put:<key:"/registry/a" value_size:9 >"#, EtcdOperation::Write, "/registry/a"),
            (
                r#"compare:<key:"compact_rev_key" version:1 > success:<request_range:<key:"compact_rev_key" > > "#,
                EtcdOperation::ReadTxn,
                "compact_rev_key",
            ),
            ("header:<ID:7 > lease_grant:<ttl:15-second id:7 >", EtcdOperation::Other, ""),
            ("", EtcdOperation::Other, ""),
        ] {
            assert_eq!(parsed(text), (operation, key, None), "{text}");
        }
    }

    #[test]
    fn prefixes_and_response_sizes_are_parsed() {
        let end = |end| KeyRange { end, limit: 0, revision: 0, count_only: false, keys_only: false }.prefix();
        assert_eq!(end("/registry/pods0"), Some(("/registry/pods", '/')));
        assert_eq!(end("/registry/podt"), Some(("/registry/pod", 's')));
        assert_eq!(end("ü"), None);
        let size = |text| {
            let ResponseSize { items, bytes } = ResponseSize::parse(text);
            (items, bytes)
        };
        assert_eq!(size("range_response_count:60077 size:602251227"), (Some(60_077), Some(602_251_227)));
        assert_eq!(size("responses:<range_response_count:1 size:7> size:99"), (Some(1), Some(99)));
        assert_eq!(size("size:16"), (None, Some(16)));
        assert_eq!(size(""), (None, None));
    }
}
