//! The columns of the table: names, types, units and meanings. A test generates the table in `docs/rows.md` from them.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::rows::ColumnValue::{
    Bool, Integer, MaybeFloat, MaybeInteger, MaybeText, MaybeTimestamp, Text, Texts,
};
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
const NONE: &str = "";

const fn column(
    name: &'static str,
    unit: &'static str,
    value: ColumnValue,
    meaning: &'static str,
) -> ExportColumn {
    ExportColumn { name, unit, value, meaning }
}

/// The columns, in the order in which they are written.
pub static COLUMNS: &[ExportColumn] = &[
    column("schema_version", NONE, Integer(|_| u64::from(SCHEMA_VERSION)), "The version of this table: 1."),
    // The client.
    column(
        "client",
        NONE,
        Text(|row| &row.client.identity),
        "The user name that the requests act as; `system:node:*` for all nodes. Clients beyond the limit are \
         `(other clients)`. Access lines have no user, so their clients are product and address: `kubelet (private address)`.",
    ),
    column(
        "kind",
        NONE,
        Text(|row| &row.client.kind),
        "`service-account`, `node`, `control-plane`, `user`, `anonymous` or `user-agent`.",
    ),
    column(
        "service_account_namespace",
        NONE,
        MaybeText(|row| row.client.service_account.as_ref().map(|account| &*account.namespace)),
        "The client's namespace, if it is a ServiceAccount.",
    ),
    column(
        "service_account_name",
        NONE,
        MaybeText(|row| row.client.service_account.as_ref().map(|account| &*account.name)),
        "The client's name in its namespace, if it is a ServiceAccount.",
    ),
    column(
        "impersonated_by",
        NONE,
        MaybeText(|row| row.client.impersonated_by.as_deref()),
        "The authenticated user, if the requests impersonate the client.",
    ),
    column(
        "products",
        NONE,
        Texts(|row| &row.shape.products),
        "Products of the user agents that sent the row's requests, without versions. Clients choose them.",
    ),
    column(
        "nodes",
        "nodes",
        Integer(|row| row.client.nodes.count),
        "Distinct nodes of the client: the same in all of its rows.",
    ),
    column("nodes_more", NONE, Bool(|row| row.client.nodes.more), "There were more nodes than `nodes` says."),
    column(
        "pods",
        "pods",
        Integer(|row| row.client.pods.count),
        "Distinct pods of the client: the same in all of its rows.",
    ),
    column("pods_more", NONE, Bool(|row| row.client.pods.more), "There were more pods than `pods` says."),
    column("verb", NONE, Text(|row| row.shape.verb), "The verb, such as `list`."),
    column(
        "resource",
        NONE,
        MaybeText(|row| row.shape.resource.as_deref()),
        "The resource with its group, such as `deployments.apps`; a class in brackets for other paths; null for \
         shapes beyond the limit.",
    ),
    column("subresource", NONE, MaybeText(|row| row.shape.subresource.as_deref()), "The subresource."),
    column("scope", NONE, MaybeText(|row| row.shape.scope), "`cluster`, `namespace` or `object`."),
    column(
        "parameters",
        NONE,
        Text(|row| &row.shape.parameters),
        "The query's list options in classes, such as `limit=500&resourceVersion=0`.",
    ),
    column(
        "ignored_parameters",
        NONE,
        Texts(|row| &row.shape.ignored_parameters),
        "Some of the query keys that the server silently ignores.",
    ),
    column(
        "misspelled",
        NONE,
        Texts(|row| &row.shape.misspelled),
        "The list options that the ignored keys likely mean.",
    ),
    // The verdict.
    column(
        "served_from",
        NONE,
        Text(|row| row.shape.served_from),
        "`watch-cache`, `watch-cache-after-revision-check`, `etcd`, `depends`, `write`, `no-storage`, `aggregated`, \
         `rejected` or `not-observable`.",
    ),
    column(
        "likely",
        NONE,
        MaybeText(|row| row.shape.likely),
        "For `depends`, the likely value of `served_from`.",
    ),
    column("limit_verdict", NONE, Text(|row| row.shape.limit), "`absent`, `honored` or `ignored`."),
    column(
        "rejected",
        STATUS,
        MaybeInteger(|row| row.shape.rejected.map(u64::from)),
        "The status with which the server refuses such requests.",
    ),
    column("reason", NONE, Text(|row| row.shape.reason), "The reason for the verdict, as a stable code."),
    column("certainty", NONE, Text(|row| row.shape.certainty), "`certain`, `by-version` or `by-config`."),
    column(
        "explanation",
        NONE,
        Text(|row| row.shape.explanation),
        "The reason for the verdict, in a sentence.",
    ),
    column("advice", NONE, MaybeText(|row| row.shape.advice.as_deref()), "What to change."),
    column(
        "kube_version",
        NONE,
        Text(|row| &row.shape.kube_version),
        "The version of Kubernetes that the verdict is for.",
    ),
    column(
        "long_running",
        NONE,
        Bool(|row| row.shape.long_running),
        "The durations are the lifetimes of watches or connections, not a cost.",
    ),
    // Counts, rates and load.
    column(
        "requests",
        REQUESTS,
        Integer(|row| row.shape.requests),
        "Requests that ended, and long-running requests whose end is not in the log.",
    ),
    column("events", "events", Integer(|row| row.shape.events), "Audit events. A request may have several."),
    column("etcd_lists", REQUESTS, Integer(etcd_lists), "LISTs that were read from etcd, or likely were."),
    column("etcd_gets", REQUESTS, Integer(etcd_gets), "GETs that were read from etcd, or likely were."),
    column(
        "etcd_writes",
        REQUESTS,
        Integer(|row| row.shape.etcd_writes),
        "Writes to etcd: creates, updates, patches and deletes of stored resources and of their subresources. Without \
         refused (4xx) and failed (5xx) requests, and without `dryRun=All`. A deletecollection counts as one.",
    ),
    column(
        "etcd_micros",
        MICROS,
        Integer(etcd_micros),
        "The time of requests that were read from etcd, or likely were.",
    ),
    column(
        "limit_ignored",
        REQUESTS,
        Integer(limit_ignored),
        "LISTs that requested a page and got everything.",
    ),
    column(
        "peak_per_minute",
        PER_MINUTE,
        MaybeFloat(|row| Some(row.rate()?.peak_per_minute)),
        "Requests in the busiest minute, or the mean over the minutes of a wider window.",
    ),
    column(
        "first_timestamp",
        NONE,
        MaybeTimestamp(|row| row.shape.first_timestamp),
        "The receive time of the first event: RFC 3339, in UTC.",
    ),
    column(
        "last_timestamp",
        NONE,
        MaybeTimestamp(|row| row.shape.last_timestamp),
        "The receive time of the last event.",
    ),
    column(
        "peak_at",
        NONE,
        MaybeTimestamp(|row| Some(row.rate()?.peak_at)),
        "The start of the busiest minute or window: RFC 3339, in UTC.",
    ),
    column(
        "mean_per_active_minute",
        PER_MINUTE,
        MaybeFloat(|row| Some(row.rate()?.mean_per_active_minute)),
        "The mean over windows with at least one request, or over the time from the first event to the last if that is shorter.",
    ),
    column(
        "active_minutes",
        MINUTES,
        MaybeInteger(|row| Some(row.rate()?.active_minutes)),
        "Minutes in windows with at least one request.",
    ),
    column(
        "window_minutes",
        MINUTES,
        MaybeInteger(|row| Some(row.rate()?.window_minutes)),
        "The width of the window with the peak: 1, or more if the row was active in more than 1,536 minutes.",
    ),
    column(
        "load_unit",
        NONE,
        Text(|row| row.shape.load.unit),
        "The unit of `load`: `requestMicros`, or with an inventory `objects`.",
    ),
    column(
        "load",
        NONE,
        Integer(|row| row.shape.load.amount),
        "The row's load, which ranks rows and clients: the server's time for the requests, without long-running ones. \
         With an inventory: the objects that the apiserver handled, and one for each write.",
    ),
    // Statuses.
    column(
        "status_1xx",
        REQUESTS,
        Integer(|row| row.shape.statuses.informational),
        "Responses with status 1xx.",
    ),
    column("status_2xx", REQUESTS, Integer(|row| row.shape.statuses.success), "Responses with status 2xx."),
    column("status_3xx", REQUESTS, Integer(|row| row.shape.statuses.redirect), "Responses with status 3xx."),
    column(
        "status_4xx",
        REQUESTS,
        Integer(|row| row.shape.statuses.client_error),
        "Responses with status 4xx.",
    ),
    column(
        "status_5xx",
        REQUESTS,
        Integer(|row| row.shape.statuses.server_error),
        "Responses with status 5xx.",
    ),
    column(
        "status_none",
        REQUESTS,
        Integer(|row| row.shape.statuses.none),
        "Requests without a status: they did not end, or the log has none.",
    ),
    column(
        "status_409",
        REQUESTS,
        Integer(|row| row.shape.statuses.conflict),
        "Conflicts; `status_4xx` includes them.",
    ),
    column(
        "status_410",
        REQUESTS,
        Integer(|row| row.shape.statuses.gone),
        "Requests for expired revisions; `status_4xx` includes them.",
    ),
    column(
        "status_429",
        REQUESTS,
        Integer(|row| row.shape.statuses.too_many_requests),
        "Throttled requests; `status_4xx` includes them.",
    ),
    // Latency.
    column(
        "latency_count",
        REQUESTS,
        MaybeInteger(|row| Some(row.latency()?.count)),
        "Requests whose duration is known. Null, like the other latencies, without such a request.",
    ),
    column(
        "latency_sum_micros",
        MICROS,
        MaybeInteger(|row| Some(row.latency()?.sum_micros)),
        "The sum of their durations.",
    ),
    column(
        "latency_min_micros",
        MICROS,
        MaybeInteger(|row| Some(row.latency()?.min_micros)),
        "The shortest duration.",
    ),
    column(
        "latency_max_micros",
        MICROS,
        MaybeInteger(|row| Some(row.latency()?.max_micros)),
        "The longest duration.",
    ),
    column(
        "latency_p50_micros",
        MICROS,
        MaybeInteger(|row| Some(row.latency()?.p50_micros)),
        "The median: at least the exact value, and at most an eighth more.",
    ),
    column(
        "latency_p99_micros",
        MICROS,
        MaybeInteger(|row| Some(row.latency()?.p99_micros)),
        "The 99th percentile, as exact as the median.",
    ),
    // The server's own measurements.
    column(
        "observed_measured",
        REQUESTS,
        Integer(|row| row.shape.observed.measured),
        "Requests that the server measured: those that took more than 500 ms.",
    ),
    column(
        "observed_agree",
        REQUESTS,
        Integer(|row| row.shape.observed.agree),
        "Reads whose measurement fits the verdict.",
    ),
    column(
        "observed_contradict",
        REQUESTS,
        Integer(|row| row.shape.observed.contradict),
        "Reads whose measurement contradicts the verdict, and requests that the server served though the verdict is `rejected`.",
    ),
    column(
        "observed_etcd_micros",
        MICROS,
        Integer(|row| row.shape.observed.etcd_micros),
        "Time in calls to etcd, as the server measured it.",
    ),
    // Cost.
    column(
        "cost_basis",
        NONE,
        Text(|row| row.shape.cost.basis),
        "The source of the `cost_` columns: `inventory`, `trace-counts` or `page-limits`. With `latency` they are null.",
    ),
    column(
        "cost_lower_bound",
        NONE,
        Bool(|row| row.shape.cost.lower_bound),
        "The `cost_` columns omit requests whose cost is unknown.",
    ),
    column(
        "cost_etcd_objects",
        OBJECTS,
        MaybeInteger(|row| row.cost()?.etcd.as_ref()?.objects),
        "Objects that etcd reads.",
    ),
    column(
        "cost_etcd_bytes",
        BYTES,
        MaybeInteger(|row| row.cost()?.etcd.as_ref()?.bytes),
        "Their bytes as they are stored.",
    ),
    column(
        "cost_filtered_objects",
        OBJECTS,
        MaybeInteger(|row| row.cost()?.filtered.as_ref()?.objects),
        "Objects that the apiserver checks to find the response.",
    ),
    column(
        "cost_received_objects",
        OBJECTS,
        MaybeInteger(|row| row.cost()?.received.as_ref()?.objects),
        "The most objects that the client can have received.",
    ),
    column(
        "cost_received_bytes",
        BYTES,
        MaybeInteger(|row| row.cost()?.received.as_ref()?.bytes),
        "Their bytes as they are stored.",
    ),
    column(
        "cost_max_seats",
        "seats",
        MaybeInteger(|row| row.cost()?.max_seats),
        "The most seats of one request.",
    ),
    // The costliest request, as evidence.
    column(
        "example_request_uri",
        NONE,
        MaybeText(|row| Some(&*row.example()?.request_uri)),
        "The target of the row's costliest request, as the client sent it, with secrets masked.",
    ),
    column(
        "example_file",
        NONE,
        MaybeText(|row| Some(&*row.example()?.file)),
        "The file with the event of that request.",
    ),
    column(
        "example_line",
        NONE,
        MaybeInteger(|row| Some(row.example()?.line)),
        "The event's line in the file, from 1.",
    ),
    column(
        "example_audit_id",
        NONE,
        MaybeText(|row| Some(&*row.example()?.audit_id)),
        "The audit ID of that request.",
    ),
    column(
        "example_timestamp",
        NONE,
        MaybeTimestamp(|row| row.example()?.timestamp),
        "The receive time of that request: RFC 3339, in UTC.",
    ),
    column(
        "example_duration_micros",
        MICROS,
        MaybeInteger(|row| row.example()?.duration_micros),
        "The duration of that request; null if unknown, and for a watch or a connection.",
    ),
    column(
        "example_status",
        STATUS,
        MaybeInteger(|row| row.example()?.status.map(u64::from)),
        "The status of that request.",
    ),
];

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
