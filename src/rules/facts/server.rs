//! The variables of the apiserver that served a row: `server.*`.

use super::RowGetter;
use crate::apiserver::Gate;
use crate::rules::value::Kind::{Bool, Int, Text};
use crate::rules::value::{Variable, VariableValue};

pub const SERVER: &[Variable<RowGetter>] = &[
    Variable {
        name: "version",
        kind: Text,
        doc: "The version of Kubernetes that the verdict assumes: `1.36.2`.",
        get: |row| VariableValue::Text(row.key.kube_version.to_string().into()),
    },
    Variable {
        name: "minor",
        kind: Int,
        doc: "The minor version in `server.version`: 36.",
        get: |row| VariableValue::Int(i64::from(row.key.kube_version.minor)),
    },
    Variable {
        name: "patch",
        kind: Int,
        doc: "The patch level in `server.version`: 2. 0 if it is not known.",
        get: |row| VariableValue::Int(i64::from(row.key.kube_version.patch.unwrap_or(0))),
    },
    Variable {
        name: "known",
        kind: Bool,
        doc: "The version was given, the log states it, or all versions that fit the log have the same verdicts.",
        get: |row| VariableValue::Bool(row.judged.version.is_settled),
    },
    Variable {
        name: "etcd",
        kind: Text,
        doc: "etcd's version, or empty if it was not given.",
        get: |row| {
            VariableValue::Text(
                row.judged.server.etcd.map_or(String::new(), |version| version.to_string()).into(),
            )
        },
    },
    Variable {
        name: "consistentLists",
        kind: Bool,
        doc: "A LIST without resourceVersion and without a limit comes from the watch cache.",
        get: |row| {
            let server = row.server();
            VariableValue::Bool(server.consistent_reads_from_cache())
        },
    },
    Variable {
        name: "snapshots",
        kind: Bool,
        doc: "Further pages and LISTs at an exact revision come from snapshots of the watch cache.",
        get: |row| {
            let server = row.server();
            VariableValue::Bool(
                server.consistent_reads_from_cache() && server.enabled(Gate::ListFromCacheSnapshot),
            )
        },
    },
    Variable {
        name: "watchList",
        kind: Bool,
        doc: "A watch may begin with the state of the collection (`sendInitialEvents`).",
        get: |row| VariableValue::Bool(row.server().enabled(Gate::WatchList)),
    },
];
