//! The columns of the table: the one place that says their names, types, units and meanings. The table in
//! `docs/rows.md` is written from here.

use super::rows::Value::{Bool, Integer, MaybeFloat, MaybeInstant, MaybeInteger, MaybeText, Text, Texts};
use super::rows::{Column, SCHEMA_VERSION, Value, etcd_gets, etcd_lists, etcd_micros, limit_ignored};

const REQUESTS: &str = "requests";
const MICROS: &str = "microseconds";
const PER_MINUTE: &str = "requests per minute";
const MINUTES: &str = "minutes";
const STATUS: &str = "HTTP status";
const OBJECTS: &str = "objects";
const BYTES: &str = "bytes";
const NONE: &str = "";

const fn column(name: &'static str, unit: &'static str, value: Value, meaning: &'static str) -> Column {
    Column { name, unit, value, meaning }
}

/// The columns, in the order in which they are written.
pub static COLUMNS: &[Column] = &[
    column("schema_version", NONE, Integer(|_| u64::from(SCHEMA_VERSION)), "The version of this table: 1."),
    // Who asked.
    column(
        "client",
        NONE,
        Text(|row| &row.client.identity),
        "The user name that the requests act as; `system:node:*` for all nodes, `(other clients)` for what is \
         beyond the number of clients that are told apart. An access line names no user; for it, product and address: \
         `kubelet (private address)`.",
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
        "Who asked, where the requests impersonate the client.",
    ),
    column(
        "products",
        NONE,
        Texts(|row| &row.shape.products),
        "Products of the user agents that sent the row's requests, without versions. Chosen by whoever sends them.",
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
    // What was asked.
    column("verb", NONE, Text(|row| row.shape.verb), "The verb, such as `list`."),
    column(
        "resource",
        NONE,
        MaybeText(|row| row.shape.resource.as_deref()),
        "The resource with its group, such as `deployments.apps`; a class in brackets for other paths; null for \
         what is beyond the number of shapes that are told apart.",
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
        "Keys of the query that the server ignores without a word: a few of them.",
    ),
    column(
        "misspelled",
        NONE,
        Texts(|row| &row.shape.misspelled),
        "List options that the ignored keys were likely meant to be.",
    ),
    // What the server did with it.
    column(
        "served_from",
        NONE,
        Text(|row| row.shape.served_from),
        "`watch-cache`, `watch-cache-after-revision-check`, `etcd`, `depends`, `write`, `no-storage`, `aggregated`, \
         `rejected` or `not-observable`.",
    ),
    column("likely", NONE, MaybeText(|row| row.shape.likely), "For `depends`, which it was in most cases."),
    column(
        "limit_verdict",
        NONE,
        Text(|row| row.shape.limit),
        "What became of the limit: `absent`, `honored` or `ignored`.",
    ),
    column(
        "rejected",
        STATUS,
        MaybeInteger(|row| row.shape.rejected.map(u64::from)),
        "The status with which the server refuses such requests.",
    ),
    column("reason", NONE, Text(|row| row.shape.reason), "Why: a stable code."),
    column("certainty", NONE, Text(|row| row.shape.certainty), "`certain`, `by-version` or `by-config`."),
    column("explanation", NONE, Text(|row| row.shape.explanation), "Why, in a sentence."),
    column("advice", NONE, MaybeText(|row| row.shape.advice.as_deref()), "What to change."),
    column(
        "kube_version",
        NONE,
        Text(|row| &row.shape.kube_version),
        "The version of Kubernetes by which the row is judged.",
    ),
    column(
        "long_running",
        NONE,
        Bool(|row| row.shape.long_running),
        "The durations are lifetimes of watches or connections, and no cost.",
    ),
    // How often.
    column(
        "requests",
        REQUESTS,
        Integer(|row| row.shape.requests),
        "Requests: those that ended, and long-running ones that were not seen to end.",
    ),
    column(
        "events",
        "events",
        Integer(|row| row.shape.events),
        "Audit events, of which a request may have several.",
    ),
    column("etcd_lists", REQUESTS, Integer(etcd_lists), "LISTs that etcd answered, or likely did."),
    column("etcd_gets", REQUESTS, Integer(etcd_gets), "GETs that etcd answered, or likely did."),
    column(
        "etcd_writes",
        REQUESTS,
        Integer(|row| row.shape.etcd_writes),
        "Writes to etcd: creates, updates, patches and deletes of stored resources and of their subresources, not \
         refused (4xx), not failed (5xx) and without `dryRun=All`. A deletecollection counts as one.",
    ),
    column(
        "etcd_micros",
        MICROS,
        Integer(etcd_micros),
        "Time that requests took that etcd answered, or likely did.",
    ),
    column(
        "limit_ignored",
        REQUESTS,
        Integer(limit_ignored),
        "LISTs that asked for a page and got everything.",
    ),
    column(
        "peak_per_minute",
        PER_MINUTE,
        MaybeFloat(|row| Some(row.rate()?.peak_per_minute)),
        "The busiest minute, or the mean of the minutes of a wider window.",
    ),
    column(
        "first_timestamp",
        NONE,
        MaybeInstant(|row| row.shape.first_timestamp),
        "Received of the first event: RFC 3339, in UTC.",
    ),
    column(
        "last_timestamp",
        NONE,
        MaybeInstant(|row| row.shape.last_timestamp),
        "Received of the last event.",
    ),
    column(
        "peak_at",
        NONE,
        MaybeInstant(|row| Some(row.rate()?.peak_at)),
        "When it began: RFC 3339, in UTC.",
    ),
    column(
        "mean_per_active_minute",
        PER_MINUTE,
        MaybeFloat(|row| Some(row.rate()?.mean_per_active_minute)),
        "The mean over windows with at least one request.",
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
        "The width of the window with the peak: 1, or more where the row was active in more than 1,536 minutes.",
    ),
    column(
        "load_unit",
        NONE,
        Text(|row| row.shape.load.unit),
        "What `load` counts: `requestMicros`, or with an inventory `objects`.",
    ),
    column(
        "load",
        NONE,
        Integer(|row| row.shape.load.amount),
        "The row's load, which rows and clients are ranked by: the time that the server took for the requests, without \
         long-running ones; with an inventory the objects that the apiserver handled, and one for each write.",
    ),
    // How it ended.
    column(
        "status_1xx",
        REQUESTS,
        Integer(|row| row.shape.statuses.informational),
        "Answers with status 1xx.",
    ),
    column("status_2xx", REQUESTS, Integer(|row| row.shape.statuses.success), "Answers with status 2xx."),
    column("status_3xx", REQUESTS, Integer(|row| row.shape.statuses.redirect), "Answers with status 3xx."),
    column(
        "status_4xx",
        REQUESTS,
        Integer(|row| row.shape.statuses.client_error),
        "Answers with status 4xx.",
    ),
    column(
        "status_5xx",
        REQUESTS,
        Integer(|row| row.shape.statuses.server_error),
        "Answers with status 5xx.",
    ),
    column(
        "status_none",
        REQUESTS,
        Integer(|row| row.shape.statuses.none),
        "Requests without a status: not ended, or not recorded.",
    ),
    column("status_409", REQUESTS, Integer(|row| row.shape.statuses.conflict), "Of the 4xx, conflicts."),
    column(
        "status_410",
        REQUESTS,
        Integer(|row| row.shape.statuses.gone),
        "Of the 4xx, revisions that are gone.",
    ),
    column(
        "status_429",
        REQUESTS,
        Integer(|row| row.shape.statuses.too_many_requests),
        "Of the 4xx, requests that were throttled.",
    ),
    // How long it took.
    column(
        "latency_count",
        REQUESTS,
        MaybeInteger(|row| Some(row.latency()?.count)),
        "Requests whose duration is known. Null, like the other latencies, if there is none.",
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
        "The shortest.",
    ),
    column("latency_max_micros", MICROS, MaybeInteger(|row| Some(row.latency()?.max_micros)), "The longest."),
    column(
        "latency_p50_micros",
        MICROS,
        MaybeInteger(|row| Some(row.latency()?.p50_micros)),
        "The median: not below the exact value, and above it by an eighth at most.",
    ),
    column(
        "latency_p99_micros",
        MICROS,
        MaybeInteger(|row| Some(row.latency()?.p99_micros)),
        "The 99th percentile, as exact as the median.",
    ),
    // What the server measured of it.
    column(
        "observed_measured",
        REQUESTS,
        Integer(|row| row.shape.observed.measured),
        "Requests that the server itself measured: those that took more than 500 ms.",
    ),
    column(
        "observed_agree",
        REQUESTS,
        Integer(|row| row.shape.observed.agree),
        "Reads whose measurement shows what the verdict says.",
    ),
    column(
        "observed_contradict",
        REQUESTS,
        Integer(|row| row.shape.observed.contradict),
        "Reads whose measurement shows something else, and requests that were served though the model refuses them.",
    ),
    column(
        "observed_etcd_micros",
        MICROS,
        Integer(|row| row.shape.observed.etcd_micros),
        "Time that the server measured in calls to etcd.",
    ),
    // What its requests cost.
    column(
        "cost_basis",
        NONE,
        Text(|row| row.shape.cost.basis),
        "What the next ones come from: `inventory`, `trace-counts` or `page-limits`; `latency`: there are none.",
    ),
    column(
        "cost_lower_bound",
        NONE,
        Bool(|row| row.shape.cost.lower_bound),
        "Requests of which it is not known are left out of them.",
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
        "Objects that the apiserver goes through.",
    ),
    column(
        "cost_received_objects",
        OBJECTS,
        MaybeInteger(|row| row.cost()?.received.as_ref()?.objects),
        "Objects that the client can have received at most.",
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
        "The file that holds its event.",
    ),
    column(
        "example_line",
        NONE,
        MaybeInteger(|row| Some(row.example()?.line)),
        "The event's line there, from 1.",
    ),
    column("example_audit_id", NONE, MaybeText(|row| Some(&*row.example()?.audit_id)), "Its audit ID."),
    column(
        "example_timestamp",
        NONE,
        MaybeInstant(|row| row.example()?.timestamp),
        "When it was received: RFC 3339, in UTC.",
    ),
    column(
        "example_duration_micros",
        MICROS,
        MaybeInteger(|row| row.example()?.duration_micros),
        "How long it took; null where it is not known, and for a watch or a connection.",
    ),
    column(
        "example_status",
        STATUS,
        MaybeInteger(|row| row.example()?.status.map(u64::from)),
        "The status of its answer.",
    ),
];
