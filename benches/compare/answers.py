"""What the commands answered, folded into the same classes, and compared.

A peer answers with one row for each user, impersonated user, user agent, verb, resource, API group and subresource:
requests that ended, and of these the LISTs without a resourceVersion and those with resourceVersion=0 and a limit.
kubetoll's rows are coarser: nodes are one client, user agents are products, paths outside the API's resources are
classes, and a row may have several products. So the peers' rows are folded into these, and nothing else is done to them.
"""

import csv
import json
import re
from collections import defaultdict

NAME = re.compile(r"[A-Za-z0-9._ -]{1,64}")


def rows(path):
    """The rows of a peer; of jq, what `uniq -c` counted."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("["):
                yield json.loads(line)
            else:
                count, key = line.split(None, 1)
                *key, without, zero = json.loads(key)
                count = int(count)
                yield [*key, count, count * without, count * zero]


def client(user, impersonated):
    """Identity, and who impersonates it."""
    name = impersonated or user
    if name.startswith("system:node:") and name != "system:node:":
        name = "system:node:*"
    return name or "(unauthenticated)", user if impersonated else None


def product(agent):
    """A user agent without its version."""

    def is_name(text):
        return NAME.fullmatch(text) and text.count(" ") <= 2 and re.search("[A-Za-z0-9]", text)

    if not agent:
        return "(no user agent)"
    before, slash, _ = agent.partition("/")
    if slash and is_name(before):
        return before
    word = agent.split(" ")[0]
    return word if is_name(word) else "(unnamed)"


def fold(peer_rows):
    """Requests by client, verb, resource and product, and LISTs by client and resource."""
    requests = defaultdict(lambda: defaultdict(int))
    without, zero = defaultdict(int), defaultdict(int)
    for user, impersonated, agent, verb, resource, group, subresource, count, no_version, zero_limit in peer_rows:
        who = client(user, impersonated)
        what = (f"{resource}.{group}" if group else resource, subresource)
        requests[*who, verb, *what][product(agent)] += count
        without[*who, *what] += no_version
        zero[*who, *what] += zero_limit
    return requests, without, zero


class Rows:
    """kubetoll's rows, read from the CSV that it wrote, with counts as numbers.

    CSV has a quote before names that a spreadsheet takes for formulas; these logs have none.
    """

    def __init__(self, lines):
        self.all = [
            row | {name: int(row[name]) for name in ("requests", "events", "status_none")}
            for row in csv.DictReader(lines)
        ]

    def folded(self):
        """Of each group what its rows say, each with its products; and LISTs by client and resource."""
        requests = defaultdict(list)
        without, zero = defaultdict(int), defaultdict(int)
        for row in self.all:
            who = row["client"], row["impersonated_by"] or None
            resource = row["resource"]
            what = ("" if resource.startswith("(") else resource, row["subresource"])
            # What has not ended has no status; it is counted among the requests.
            ended = row["requests"] - row["status_none"]
            requests[*who, row["verb"], *what].append((row["products"].split(","), ended, row["status_none"]))
            if row["verb"] != "list":
                continue
            words = row["parameters"].split("&")
            if not any(word.startswith("resourceVersion=") for word in words):
                without[*who, *what] += ended
            is_page = any(re.match("limit[=<>]", word) and word not in ("limit=0", "limit=(invalid)") for word in words)
            if is_page and "resourceVersion=0" in words:
                zero[*who, *what] += ended
        return requests, without, zero

    def events(self):
        """Audit events."""
        return sum(row["events"] for row in self.all)

    def totals(self):
        """Requests that ended, LISTs without a resourceVersion, LISTs with resourceVersion=0 and a limit; and of the
        requests those in rows of several products."""
        requests, without, zero = self.folded()
        groups = [row for rows in requests.values() for row in rows]
        ended = sum(count for _, count, _ in groups)
        mixed = sum(count for products, count, _ in groups if len(products) > 1)
        return ended, sum(without.values()), sum(zero.values()), mixed


def bounds(rows):
    """How many requests of a group each product has, at least and at most. They differ where rows have several: each of
    these sent one of the row's requests, if not one that has not ended."""
    least, most = defaultdict(int), defaultdict(int)
    for products, ended, still_open in rows:
        others = len(products) - 1
        for name in products:
            least[name] += ended if not others else 0 if still_open else 1
            most[name] += ended if not others or still_open else ended - others
    return {name: (least[name], most[name]) for name in least}


def differences(rows, peer_rows):
    """Lines that say what a peer counts otherwise than kubetoll; none if they agree."""
    (own, *own_lists), (other, *other_lists) = rows.folded(), fold(peer_rows)
    found = []

    def compare(what, key, least, most, theirs):
        if not least <= theirs <= most:
            name = " ".join(str(part) for part in key if part)
            ours = least if least == most else f"{least} to {most}"
            found.append(f"{what}: {name}: kubetoll {ours}, peer {theirs}")

    for key in sorted(own.keys() | other.keys(), key=repr):
        ours, theirs = own.get(key, []), other.get(key, {})
        ended = sum(count for _, count, _ in ours)
        compare("requests", key, ended, ended, sum(theirs.values()))
        products = bounds(ours)
        for name in sorted(products.keys() | theirs.keys()):
            compare("requests", (*key, name), *products.get(name, (0, 0)), theirs.get(name, 0))
    names = "LISTs without resourceVersion", "LISTs with resourceVersion=0 and a limit"
    for name, ours, theirs in zip(names, own_lists, other_lists):
        for key in sorted(ours.keys() | theirs.keys(), key=repr):
            count = ours.get(key, 0)
            compare(name, key, count, count, theirs.get(key, 0))
    return found
