//! The columns of the table: names, types, units and meanings. A test generates the table in `docs/rows.md` from them.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::rows::{
    ColumnValue, ExportColumn, SCHEMA_VERSION, ShapeRow, etcd_gets, etcd_lists, etcd_micros, limit_ignored,
    signed,
};

const REQUESTS: &str = "requests";
const MICROS: &str = "microseconds";
const PER_MINUTE: &str = "requests per minute";
const MINUTES: &str = "minutes";
const STATUS: &str = "HTTP status";
const OBJECTS: &str = "objects";
const BYTES: &str = "bytes";

/// Makes the columns. Each entry has the description of a column, its name, its type, its unit, and the value that it
/// has for a row of the report.
macro_rules! columns {
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:ident $(in $unit:tt)? = $value:expr;)+) => {
        &[$(ExportColumn {
            name: stringify!($name),
            unit: [$($unit,)? ""][0],
            value: ColumnValue::$kind($value),
            meaning: concat!($($doc),+).trim_ascii_start(),
        }),+]
    };
}

/// The columns, in the order in which they are written.
pub static COLUMNS: &[ExportColumn] = columns! {
    /// The version of this table: 1.
    schema_version: Integer = |_| u64::from(SCHEMA_VERSION);
    // The client.
    /// The user name that the requests act as; `system:node:*` for all nodes. Clients beyond the limit are `(other
    /// clients)`. Access lines have no user, so their clients are product and address: `kubelet (private address)`.
    client: Text = |row| &row.client.identity;
    /// `service-account`, `node`, `control-plane`, `user`, `anonymous` or `user-agent`.
    kind: Text = |row| &row.client.kind;
    /// The client's namespace, if it is a ServiceAccount.
    service_account_namespace: MaybeText =
        |row| row.client.service_account.as_ref().map(|account| &*account.namespace);
    /// The client's name in its namespace, if it is a ServiceAccount.
    service_account_name: MaybeText = |row| row.client.service_account.as_ref().map(|account| &*account.name);
    /// The authenticated user, if the requests impersonate the client.
    impersonated_by: MaybeText = |row| row.client.impersonated_by.as_deref();
    /// Products of the user agents that sent the row's requests, without versions. Clients choose them.
    products: Texts = |row| &row.shape.products;
    /// Distinct nodes of the client: the same in all of its rows.
    nodes: Integer in "nodes" = |row| row.client.nodes.count;
    /// There were more nodes than `nodes` says.
    nodes_more: Bool = |row| row.client.nodes.more;
    /// Distinct pods of the client: the same in all of its rows.
    pods: Integer in "pods" = |row| row.client.pods.count;
    /// There were more pods than `pods` says.
    pods_more: Bool = |row| row.client.pods.more;
    /// The verb, such as `list`.
    verb: Text = |row| row.shape.verb;
    /// The resource with its group, such as `deployments.apps`; a class in brackets for other paths; null for shapes
    /// beyond the limit.
    resource: MaybeText = |row| row.shape.resource.as_deref();
    /// The subresource.
    subresource: MaybeText = |row| row.shape.subresource.as_deref();
    /// `cluster`, `namespace` or `object`.
    scope: MaybeText = |row| row.shape.scope;
    /// The query's list options in classes, such as `limit=500&resourceVersion=0`.
    parameters: Text = |row| &row.shape.parameters;
    /// Some of the query keys that the server silently ignores.
    ignored_parameters: Texts = |row| &row.shape.ignored_parameters;
    /// The list options that the ignored keys likely mean.
    misspelled: Texts = |row| &row.shape.misspelled;
    // The verdict.
    /// `watch-cache`, `watch-cache-after-revision-check`, `etcd`, `depends`, `write`, `no-storage`, `aggregated`,
    /// `rejected` or `not-observable`.
    served_from: Text = |row| row.shape.served_from;
    /// For `depends`, the likely value of `served_from`.
    likely: MaybeText = |row| row.shape.likely;
    /// `absent`, `honored` or `ignored`.
    limit_verdict: Text = |row| row.shape.limit;
    /// The status with which the server refuses such requests.
    rejected: MaybeInteger in STATUS = |row| row.shape.rejected.map(u64::from);
    /// The reason for the verdict, as a stable code.
    reason: Text = |row| row.shape.reason;
    /// `certain`, `by-version` or `by-config`.
    certainty: Text = |row| row.shape.certainty;
    /// The reason for the verdict, in a sentence.
    explanation: Text = |row| row.shape.explanation;
    /// What to change.
    advice: MaybeText = |row| row.shape.advice.as_deref();
    /// The version of Kubernetes that the verdict is for.
    kube_version: Text = |row| &row.shape.kube_version;
    /// The durations are the lifetimes of watches or connections, not a cost.
    long_running: Bool = |row| row.shape.long_running;
    // Counts, rates and load.
    /// Requests that ended, and long-running requests whose end is not in the log.
    requests: Integer in REQUESTS = |row| row.shape.requests;
    /// Audit events. A request may have several.
    events: Integer in "events" = |row| row.shape.events;
    /// LISTs that were read from etcd, or likely were.
    etcd_lists: Integer in REQUESTS = etcd_lists;
    /// GETs that were read from etcd, or likely were.
    etcd_gets: Integer in REQUESTS = etcd_gets;
    /// Writes to etcd: creates, updates, patches and deletes of stored resources and of their subresources. Without
    /// refused (4xx) and failed (5xx) requests, and without `dryRun=All`. A deletecollection counts as one.
    etcd_writes: Integer in REQUESTS = |row| row.shape.etcd_writes;
    /// The time of requests that were read from etcd, or likely were.
    etcd_micros: Integer in MICROS = etcd_micros;
    /// LISTs that requested a page and got everything.
    limit_ignored: Integer in REQUESTS = limit_ignored;
    /// Requests in the busiest minute, or the mean over the minutes of a wider window.
    peak_per_minute: MaybeFloat in PER_MINUTE = |row| Some(row.rate()?.peak_per_minute);
    /// The receive time of the first event: RFC 3339, in UTC.
    first_timestamp: MaybeTimestamp = |row| row.shape.first_timestamp;
    /// The receive time of the last event.
    last_timestamp: MaybeTimestamp = |row| row.shape.last_timestamp;
    /// The start of the busiest minute or window: RFC 3339, in UTC.
    peak_at: MaybeTimestamp = |row| Some(row.rate()?.peak_at);
    /// The mean over windows with at least one request, or over the time from the first event to the last if that is
    /// shorter.
    mean_per_active_minute: MaybeFloat in PER_MINUTE = |row| Some(row.rate()?.mean_per_active_minute);
    /// Minutes in windows with at least one request.
    active_minutes: MaybeInteger in MINUTES = |row| Some(row.rate()?.active_minutes);
    /// The width of the window with the peak: 1, or more if the row was active in more than 1,536 minutes.
    window_minutes: MaybeInteger in MINUTES = |row| Some(row.rate()?.window_minutes);
    /// The unit of `load`: `requestMicros`, or with an inventory `objects`.
    load_unit: Text = |row| row.shape.load.unit;
    /// The row's load, which ranks rows and clients: the server's time for the requests, without long-running ones.
    /// With an inventory: the objects that the apiserver handled, and one for each write.
    load: Integer = |row| row.shape.load.amount;
    // Statuses.
    /// Responses with status 1xx.
    status_1xx: Integer in REQUESTS = |row| row.shape.statuses.informational;
    /// Responses with status 2xx.
    status_2xx: Integer in REQUESTS = |row| row.shape.statuses.success;
    /// Responses with status 3xx.
    status_3xx: Integer in REQUESTS = |row| row.shape.statuses.redirect;
    /// Responses with status 4xx.
    status_4xx: Integer in REQUESTS = |row| row.shape.statuses.client_error;
    /// Responses with status 5xx.
    status_5xx: Integer in REQUESTS = |row| row.shape.statuses.server_error;
    /// Requests without a status: they did not end, or the log has none.
    status_none: Integer in REQUESTS = |row| row.shape.statuses.none;
    /// Conflicts; `status_4xx` includes them.
    status_409: Integer in REQUESTS = |row| row.shape.statuses.conflict;
    /// Requests for expired revisions; `status_4xx` includes them.
    status_410: Integer in REQUESTS = |row| row.shape.statuses.gone;
    /// Throttled requests; `status_4xx` includes them.
    status_429: Integer in REQUESTS = |row| row.shape.statuses.too_many_requests;
    // Latency.
    /// Requests whose duration is known. Null, like the other latencies, without such a request.
    latency_count: MaybeInteger in REQUESTS = |row| Some(row.latency()?.count);
    /// The sum of their durations.
    latency_sum_micros: MaybeInteger in MICROS = |row| Some(row.latency()?.sum_micros);
    /// The shortest duration.
    latency_min_micros: MaybeInteger in MICROS = |row| Some(row.latency()?.min_micros);
    /// The longest duration.
    latency_max_micros: MaybeInteger in MICROS = |row| Some(row.latency()?.max_micros);
    /// The median: at least the exact value, and at most an eighth more.
    latency_p50_micros: MaybeInteger in MICROS = |row| Some(row.latency()?.p50_micros);
    /// The 99th percentile, as exact as the median.
    latency_p99_micros: MaybeInteger in MICROS = |row| Some(row.latency()?.p99_micros);
    // The server's own measurements.
    /// Requests that the server measured: those that took more than 500 ms.
    observed_measured: Integer in REQUESTS = |row| row.shape.observed.measured;
    /// Reads whose measurement fits the verdict.
    observed_agree: Integer in REQUESTS = |row| row.shape.observed.agree;
    /// Reads whose measurement contradicts the verdict, and requests that the server served though the verdict is
    /// `rejected`.
    observed_contradict: Integer in REQUESTS = |row| row.shape.observed.contradict;
    /// Time in calls to etcd, as the server measured it.
    observed_etcd_micros: Integer in MICROS = |row| row.shape.observed.etcd_micros;
    // Cost.
    /// The source of the `cost_` columns: `inventory`, `trace-counts` or `page-limits`. With `latency` they are null.
    cost_basis: Text = |row| row.shape.cost.basis;
    /// The `cost_` columns omit requests whose cost is unknown.
    cost_lower_bound: Bool = |row| row.shape.cost.lower_bound;
    /// Objects that etcd reads.
    cost_etcd_objects: MaybeInteger in OBJECTS = |row| row.cost()?.etcd.as_ref()?.objects;
    /// Their bytes as they are stored.
    cost_etcd_bytes: MaybeInteger in BYTES = |row| row.cost()?.etcd.as_ref()?.bytes;
    /// Objects that the apiserver checks to find the response.
    cost_filtered_objects: MaybeInteger in OBJECTS = |row| row.cost()?.filtered.as_ref()?.objects;
    /// The most objects that the client can have received.
    cost_received_objects: MaybeInteger in OBJECTS = |row| row.cost()?.received.as_ref()?.objects;
    /// Their bytes as they are stored.
    cost_received_bytes: MaybeInteger in BYTES = |row| row.cost()?.received.as_ref()?.bytes;
    /// The most seats of one request.
    cost_max_seats: MaybeInteger in "seats" = |row| row.cost()?.max_seats;
    // The costliest request, as evidence.
    /// The target of the row's costliest request, as the client sent it, with secrets masked.
    example_request_uri: MaybeText = |row| Some(&*row.example()?.request_uri);
    /// The file with the event of that request.
    example_file: MaybeText = |row| Some(&*row.example()?.file);
    /// The event's line in the file, from 1.
    example_line: MaybeInteger = |row| Some(row.example()?.line);
    /// The audit ID of that request.
    example_audit_id: MaybeText = |row| Some(&*row.example()?.audit_id);
    /// The receive time of that request: RFC 3339, in UTC.
    example_timestamp: MaybeTimestamp = |row| row.example()?.timestamp;
    /// The duration of that request; null if unknown, and for a watch or a connection.
    example_duration_micros: MaybeInteger in MICROS = |row| row.example()?.duration_micros;
    /// The status of that request.
    example_status: MaybeInteger in STATUS = |row| row.example()?.status.map(u64::from);
};

impl Serialize for ShapeRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(COLUMNS.len()))?;
        for ExportColumn { name, value, .. } in COLUMNS {
            match value {
                ColumnValue::Text(get) => map.serialize_entry(name, get(self))?,
                ColumnValue::MaybeText(get) => map.serialize_entry(name, &get(self))?,
                ColumnValue::MaybeTimestamp(get) => map.serialize_entry(name, &get(self))?,
                ColumnValue::Texts(get) => map.serialize_entry(name, get(self))?,
                ColumnValue::Integer(get) => map.serialize_entry(name, &signed(get(self)))?,
                ColumnValue::MaybeInteger(get) => map.serialize_entry(name, &get(self).map(signed))?,
                ColumnValue::MaybeFloat(get) => map.serialize_entry(name, &get(self))?,
                ColumnValue::Bool(get) => map.serialize_entry(name, &get(self))?,
            }
        }
        map.end()
    }
}
