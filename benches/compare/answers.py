"""What the commands answered, folded into the same classes, and compared.

A peer answers with one row for each user, impersonated user, user agent, verb, resource, API group and subresource:
requests that ended, and of these the LISTs without a resourceVersion and those with resourceVersion=0 and a limit.
kubetoll's report is coarser: nodes are one client, user agents are products, paths outside the API's resources are
classes. So the peers' rows are folded into these, and nothing else is done to them.
"""

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


def of_report(report):
    """The same of kubetoll's report. A group whose rows mix products has their sum, under None."""
    groups = defaultdict(list)
    without, zero = defaultdict(int), defaultdict(int)
    for account in report["clients"]:
        who = account["identity"], account["impersonatedBy"]
        for shape in account["shapes"]:
            resource = shape["resource"]
            what = ("" if resource.startswith("(") else resource, shape["subresource"] or "")
            # What has not ended has no status; the report counts it among the requests.
            ended = shape["requests"] - shape["statuses"]["none"]
            groups[*who, shape["verb"], *what].append((shape["products"], ended))
            if shape["verb"] != "list":
                continue
            words = shape["parameters"].split("&")
            if not any(word.startswith("resourceVersion=") for word in words):
                without[*who, *what] += ended
            is_page = any(re.match("limit[=<>]", word) and word not in ("limit=0", "limit=(invalid)") for word in words)
            if is_page and "resourceVersion=0" in words:
                zero[*who, *what] += ended
    requests = defaultdict(lambda: defaultdict(int))
    for key, shapes in groups.items():
        mixed = any(len(products) > 1 for products, _ in shapes)
        for products, ended in shapes:
            requests[key][None if mixed else products[0]] += ended
    return requests, without, zero


def by_product(report):
    """Requests by client and product: at least, at most. They differ by requests without an end in mixed rows."""
    bounds = {}
    for account in report["clients"]:
        for agent in account["userAgents"]:
            least = most = agent["requests"]
            for shape in account["shapes"]:
                if agent["product"] in shape["products"]:
                    least -= shape["statuses"]["none"]
                    most -= shape["statuses"]["none"] if len(shape["products"]) == 1 else 0
            bounds[account["identity"], account["impersonatedBy"], agent["product"]] = least, most
    return bounds


def differences(report, peer_rows):
    """Lines that say what a peer counts otherwise than kubetoll; none if they agree."""
    (own, *own_lists), (other, *other_lists) = of_report(report), fold(peer_rows)
    found = []

    def compare(what, key, ours, theirs):
        if ours != theirs:
            name = " ".join(str(part) for part in key if part)
            found.append(f"{what}: {name}: kubetoll {ours}, peer {theirs}")

    products = defaultdict(int)
    for key in sorted(own.keys() | other.keys(), key=repr):
        theirs = other.get(key, {})
        for name, count in theirs.items():
            products[*key[:2], name] += count
        ours = own.get(key, {})
        if None in ours:
            theirs = {None: sum(theirs.values())}
        for name in sorted(ours.keys() | theirs.keys(), key=repr):
            compare("requests", (*key, name), ours.get(name, 0), theirs.get(name, 0))
    for key, (least, most) in by_product(report).items():
        count = products.pop(key, 0)
        if not least <= count <= most:
            found.append(f"requests by product: {key}: kubetoll {least} to {most}, peer {count}")
    found.extend(f"requests by product: {key}: kubetoll 0, peer {count}" for key, count in products.items() if count)
    names = "LISTs without resourceVersion", "LISTs with resourceVersion=0 and a limit"
    for name, ours, theirs in zip(names, own_lists, other_lists):
        for key in sorted(ours.keys() | theirs.keys(), key=repr):
            compare(name, key, ours.get(key, 0), theirs.get(key, 0))
    return found


def totals(report):
    """Requests that ended, LISTs without a resourceVersion, and LISTs with resourceVersion=0 and a limit."""
    requests, without, zero = of_report(report)
    ended = sum(count for products in requests.values() for count in products.values())
    return ended, sum(without.values()), sum(zero.values())
