"""Checks with made-up answers that what differs is found, and what is the same is taken for it."""

import copy

import answers

HEADER = "client,impersonated_by,products,verb,resource,subresource,parameters,requests,events,status_none,advice"
TABLE = """\
system:node:*,,kubelet,list,pods,,fieldSelector=…&limit=500&resourceVersion=0,2,4,0,
system:node:*,,kubelet,watch,pods,,"",5,9,1,
admin,alice,kubectl,get,(discovery),,"",1,2,0,
admin,alice,kubectl,get,(health),,"",1,2,0,
admin,alice,"(no user agent),kubectl",list,deployments.apps,,limit<50,6,11,1,"a, b"
admin,alice,kubectl,list,deployments.apps,,limit=9,2,4,0,
admin,alice,"(no user agent),curl,kubectl",list,deployments.apps,status,"",4,8,0,
(unauthenticated),,(unnamed),list,pods,,limit=0&resourceVersion=0,1,2,0,
"""
OWN = answers.Rows([HEADER, *TABLE.splitlines()])
NODE = "system:node:n-"
KUBELET = "kubelet/v1.34.2 (linux/amd64) kubernetes/8cc511e"
KUBECTL = "kubectl/v1.34.1"
ROWS = [
    [NODE + "1", "", KUBELET, "list", "pods", "", "", 1, 0, 1],
    [NODE + "2", "", "kubelet/v1.33.0", "list", "pods", "", "", 1, 0, 1],
    [NODE + "2", "", KUBELET, "watch", "pods", "", "", 4, 0, 0],
    ["alice", "admin", KUBECTL, "get", "", "", "", 2, 0, 0],
    ["alice", "admin", KUBECTL, "list", "deployments", "apps", "", 4, 4, 0],
    ["alice", "admin", "", "list", "deployments", "apps", "", 3, 3, 0],
    ["alice", "admin", KUBECTL, "list", "deployments", "apps", "status", 2, 2, 0],
    ["alice", "admin", "", "list", "deployments", "apps", "status", 1, 1, 0],
    ["alice", "admin", "curl/8", "list", "deployments", "apps", "status", 1, 1, 0],
    ["", "", "<script>/1.0", "list", "pods", "", "", 1, 0, 0],
]


def moved(rows, one, other):
    """One request of a row becomes one of another, which is of another product."""
    for column in (7, 8):
        rows[one][column] -= 1
        rows[other][column] += 1


def run():
    """Fails with the first check that does not hold."""
    assert answers.differences(OWN, ROWS) == [], answers.differences(OWN, ROWS)
    assert OWN.totals() == (20, 11, 2, 9) and OWN.events() == 42, OWN.totals()
    for row in range(len(ROWS)):
        for column in range(len(ROWS[row])):
            if isinstance(ROWS[row][column], int):
                wrong = copy.deepcopy(ROWS)
                wrong[row][column] += 1
                assert answers.differences(OWN, wrong), f"row {row}, column {column}"
    for change in [
        lambda rows: rows[0].__setitem__(0, "bob"),
        lambda rows: rows[0].__setitem__(2, "curl/8"),
        lambda rows: rows[4].__setitem__(1, ""),
        lambda rows: rows[4].__setitem__(5, ""),
        lambda rows: rows[2].__setitem__(6, "log"),
        lambda rows: rows.pop(),
        # Of a row of several products each sent a request, and what is in rows of one product is that one's.
        lambda rows: moved(rows, 8, 7),
        lambda rows: [moved(rows, 4, 5) for _ in range(3)],
    ]:
        wrong = copy.deepcopy(ROWS)
        change(wrong)
        assert answers.differences(OWN, wrong), wrong
    # How the products of a row divide its requests beyond that is not told.
    other = copy.deepcopy(ROWS)
    moved(other, 6, 8)
    assert answers.differences(OWN, other) == []
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
