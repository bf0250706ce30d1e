"""Answers the question with ClickHouse, in its Python package: peer_chdb.py THREADS FILE..."""

import json
import os
import sys

import chdb

# Rows with a schema are faster than whole lines as strings and JSONExtract: unknown fields are skipped.
SCHEMA = (
    "stage String, requestURI String, verb String, user Tuple(username String), "
    "impersonatedUser Tuple(username String), userAgent String, "
    "objectRef Tuple(resource String, apiGroup String, subresource String), responseStatus Tuple(code Int32)"
)
threads, files = int(sys.argv[1]), sys.argv[2:]
path = files[0]
if len(files) > 1:
    # Of braces that stand first, nothing is read.
    path = os.path.dirname(files[0]) + "/{" + ",".join(map(os.path.basename, files)) + "}"
QUERY = f"""
SELECT user.username, impersonatedUser.username, userAgent, verb,
  objectRef.resource, objectRef.apiGroup, objectRef.subresource,
  count(),
  countIf(verb = 'list' AND NOT match(requestURI, '[?&]resourceVersion=[^&]')),
  countIf(verb = 'list' AND match(requestURI, '[?&]resourceVersion=0(&|$)') AND match(requestURI, '[?&]limit=0*[1-9]'))
FROM file('{path}', JSONEachRow, '{SCHEMA}')
WHERE stage IN ('ResponseComplete', 'Panic') OR (stage = 'ResponseStarted' AND responseStatus.code = 401)
GROUP BY ALL
SETTINGS max_threads = {threads}, input_format_skip_unknown_fields = 1,
  input_format_json_ignore_unknown_keys_in_named_tuple = 1
"""
for row in str(chdb.query(QUERY, "JSONCompactEachRow")).splitlines():
    # 64-bit integers come as strings.
    row = json.loads(row)
    print(json.dumps(row[:7] + [int(count) for count in row[7:]]))
