"""Checks with made-up answers that what differs is found, and what is the same is taken for it."""

import copy

import answers


def shape(verb, resource, products, requests, parameters="", still_open=0, subresource=None):
    return {
        "verb": verb,
        "resource": resource,
        "subresource": subresource,
        "products": products,
        "requests": requests,
        "parameters": parameters,
        "statuses": {"none": still_open},
    }


REPORT = {
    "clients": [
        {
            "identity": "system:node:*",
            "impersonatedBy": None,
            "userAgents": [{"product": "kubelet", "requests": 7}],
            "shapes": [
                shape("list", "pods", ["kubelet"], 2, "fieldSelector=…&limit=500&resourceVersion=0"),
                shape("watch", "pods", ["kubelet"], 5, still_open=1),
            ],
        },
        {
            "identity": "admin",
            "impersonatedBy": "alice",
            "userAgents": [{"product": "kubectl", "requests": 4}, {"product": "(no user agent)", "requests": 4}],
            "shapes": [
                shape("get", "(discovery)", ["kubectl"], 1),
                shape("get", "(health)", ["kubectl"], 1),
                shape("list", "deployments.apps", ["(no user agent)", "kubectl"], 6, "limit<50", still_open=1),
            ],
        },
        {
            "identity": "(unauthenticated)",
            "impersonatedBy": None,
            "userAgents": [{"product": "(unnamed)", "requests": 1}],
            "shapes": [shape("list", "pods", ["(unnamed)"], 1, "limit=0&resourceVersion=0")],
        },
    ]
}
NODE = "system:node:n-"
KUBELET = "kubelet/v1.34.2 (linux/amd64) kubernetes/8cc511e"
KUBECTL = "kubectl/v1.34.1"
ROWS = [
    [NODE + "1", "", KUBELET, "list", "pods", "", "", 1, 0, 1],
    [NODE + "2", "", "kubelet/v1.33.0", "list", "pods", "", "", 1, 0, 1],
    [NODE + "2", "", KUBELET, "watch", "pods", "", "", 4, 0, 0],
    ["alice", "admin", KUBECTL, "get", "", "", "", 2, 0, 0],
    ["alice", "admin", KUBECTL, "list", "deployments", "apps", "", 2, 2, 0],
    ["alice", "admin", "", "list", "deployments", "apps", "", 3, 3, 0],
    ["", "", "<script>/1.0", "list", "pods", "", "", 1, 0, 0],
]


def run():
    """Fails with the first check that does not hold."""
    assert answers.differences(REPORT, ROWS) == [], answers.differences(REPORT, ROWS)
    assert answers.totals(REPORT) == (14, 5, 2), answers.totals(REPORT)
    for row in range(len(ROWS)):
        for column in range(len(ROWS[row])):
            if isinstance(ROWS[row][column], int):
                wrong = copy.deepcopy(ROWS)
                wrong[row][column] += 1
                assert answers.differences(REPORT, wrong), f"row {row}, column {column}"
    for change in [
        lambda rows: rows[0].__setitem__(0, "bob"),
        lambda rows: rows[0].__setitem__(2, "curl/8"),
        lambda rows: rows[4].__setitem__(1, ""),
        lambda rows: rows[4].__setitem__(5, ""),
        lambda rows: rows[2].__setitem__(6, "log"),
        lambda rows: rows.pop(),
    ]:
        wrong = copy.deepcopy(ROWS)
        change(wrong)
        assert answers.differences(REPORT, wrong), wrong
    for agent, name in {
        "": "(no user agent)",
        KUBELET: "kubelet",
        "Kubernetes Java Client/13.0": "Kubernetes Java Client",
        "my-agent with words": "my-agent",
        "/1.0": "(unnamed)",
        "x" * 65: "(unnamed)",
        "größe/1": "(unnamed)",
    }.items():
        assert answers.product(agent) == name, agent
    print("the answers are folded and compared as they should be")
