"""Answers the question with Polars: POLARS_MAX_THREADS=N peer_polars.py FILE..."""

import json
import sys

import polars as pl

SCHEMA = {
    "stage": pl.String,
    "requestURI": pl.String,
    "verb": pl.String,
    "user": pl.Struct({"username": pl.String}),
    "impersonatedUser": pl.Struct({"username": pl.String}),
    "userAgent": pl.String,
    "objectRef": pl.Struct({"resource": pl.String, "apiGroup": pl.String, "subresource": pl.String}),
    "responseStatus": pl.Struct({"code": pl.Int64}),
}


def inner(column, field):
    return pl.col(column).struct.field(field).fill_null("").alias(f"{column}.{field}")


stage, verb, uri = pl.col("stage"), pl.col("verb"), pl.col("requestURI")
refused = (stage == "ResponseStarted") & (pl.col("responseStatus").struct.field("code") == 401)
is_list = verb == "list"
answer = (
    pl.scan_ndjson(sys.argv[1:], schema=SCHEMA)
    .filter(stage.is_in(["ResponseComplete", "Panic"]) | refused)
    .group_by(
        inner("user", "username"),
        inner("impersonatedUser", "username"),
        pl.col("userAgent").fill_null(""),
        verb,
        inner("objectRef", "resource"),
        inner("objectRef", "apiGroup"),
        inner("objectRef", "subresource"),
    )
    .agg(
        pl.len().alias("requests"),
        (is_list & ~uri.str.contains("[?&]resourceVersion=[^&]")).sum().alias("without"),
        (is_list & uri.str.contains("[?&]resourceVersion=0(&|$)") & uri.str.contains("[?&]limit=0*[1-9]"))
        .sum()
        .alias("zero"),
    )
    .collect(engine="streaming")
)
for row in answer.iter_rows():
    print(json.dumps(row))
