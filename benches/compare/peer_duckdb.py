"""Answers the question with DuckDB: peer_duckdb.py THREADS FILE..."""

import json
import sys

import duckdb

# Naming the columns spares DuckDB the guess and all other fields.
COLUMNS = {
    "stage": "VARCHAR",
    "requestURI": "VARCHAR",
    "verb": "VARCHAR",
    "user": "STRUCT(username VARCHAR)",
    "impersonatedUser": "STRUCT(username VARCHAR)",
    "userAgent": "VARCHAR",
    "objectRef": "STRUCT(resource VARCHAR, apiGroup VARCHAR, subresource VARCHAR)",
    "responseStatus": "STRUCT(code INTEGER)",
}
QUERY = f"""
SELECT coalesce("user".username, ''), coalesce(impersonatedUser.username, ''), coalesce(userAgent, ''), verb,
  coalesce(objectRef.resource, ''), coalesce(objectRef.apiGroup, ''), coalesce(objectRef.subresource, ''),
  count(*),
  count(*) FILTER (verb = 'list' AND NOT regexp_matches(requestURI, '[?&]resourceVersion=[^&]')),
  count(*) FILTER (verb = 'list' AND regexp_matches(requestURI, '[?&]resourceVersion=0(&|$)')
    AND regexp_matches(requestURI, '[?&]limit=0*[1-9]'))
FROM read_ndjson(?, columns = {COLUMNS!r})
WHERE stage IN ('ResponseComplete', 'Panic') OR (stage = 'ResponseStarted' AND responseStatus.code = 401)
GROUP BY ALL
"""

connection = duckdb.connect(config={"threads": int(sys.argv[1])})
for row in connection.execute(QUERY, [sys.argv[2:]]).fetchall():
    print(json.dumps(row))
