"""Compares `kubetoll classify --stdin` with the responses of all recorded servers (summary.tsv).

The table names the kinds of queries. For most kinds, the probe rows beside it have a URI. A cell is `E`, `C` or `C+`
(etcd, watch cache, watch cache after a revision check), with `/lim` or `/NOLIM`, or a status with what was touched
in brackets.
"""

import collections
import csv
import gzip
import json
import re
import subprocess
import sys

folder, binary = sys.argv[1:3]
SOURCES = {"C": "watch-cache", "C+": "watch-cache-after-revision-check", "E": "etcd"}
LIMITS = {"lim": "honored", "NOLIM": "ignored"}
PATCHES = {"1.25": 9, "1.27": 16, "1.29": 14, "1.30": 14, "1.31": 14, "1.32": 13, "1.33": 13, "1.34": 9, "1.35": 6, "1.36": 2}
ETCD = {"3.4": "3.4.23", "3.5.1": "3.5.1", "3.6": "3.6.13"}
KEY = ("resource", "group", "rv", "rvm", "limit", "continue")


def key(row):
    return tuple("" if row.get(name) is None else str(row[name]) for name in KEY)


uris = {}
for name in ("v1.25-etcd3.6", "v1.31-etcd3.6", "v1.36-etcd3.6"):
    with gzip.open(f"{folder}/truth-{name}.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            uris[key(row), row.get("raw") or ""] = row

jobs = []
with open(f"{folder}/summary.tsv", newline="") as table:
    for row in csv.DictReader(table, delimiter="\t"):
        probe = uris.get((key(row), row["raw"]))
        if probe is None:
            continue
        for config, cell in row.items():
            match = re.fullmatch(r"v(1\.\d+)-etcd(.+)", config or "")
            if match and cell:
                minor, etcd = match.groups()
                jobs.append((row, config, cell.split()[0], f"{minor}.{PATCHES[minor]}", ETCD[etcd], probe))

text = "".join(
    json.dumps({"method": p["method"], "uri": p["requestURI"], "kubeVersion": k, "etcdVersion": e}) + "\n"
    for _, _, _, k, e, p in jobs
)
run = subprocess.run([binary, "classify", "--stdin"], input=text, capture_output=True, text=True, check=True)
answers = [json.loads(line) for line in run.stdout.splitlines()]
assert len(answers) == len(jobs)

counts = collections.Counter()
wrong = []
for (row, config, cell, _, _, probe), answer in zip(jobs, answers):
    source, _, limit = cell.partition("/")
    if source in SOURCES:
        if probe["kind"] == "deletecollection":
            right = answer["servedFrom"] == "write"
        elif answer["servedFrom"] == "depends":
            right = True
            counts["depends, as likely" if answer["likely"] == SOURCES[source] else "depends, not as likely"] += 1
        else:
            right = answer["servedFrom"] == SOURCES[source]
            right = right and (not limit or answer["limit"] in ("absent", LIMITS[limit]))
    elif re.fullmatch(r"(400|405|422|500)\(-\)", source):
        right = answer["rejected"] == int(source[:3])
    else:
        counts["depends on the server's state"] += 1
        continue
    counts["right" if right else "wrong"] += 1
    if not right:
        wrong.append(f"{config} {probe['method']} {probe['requestURI']}: measured {cell}, judged {answer}")

print(f"{len(jobs)} cells:", ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
print("\n".join(wrong[:20]))
sys.exit(1 if wrong or counts["right"] < 15000 else 0)
