#!/usr/bin/env bash
# Plays the life of a budget on two recordings: an operator, and the same operator with a defect.
#
#   docs/ci/story.sh fixtures/ci
#
# KUBETOLL names the binary. The script works in a new directory, prints each command, and fails if a command has
# another exit status than the story needs.
set -euo pipefail

recordings=$(cd "${1:?usage: story.sh DIRECTORY}" && pwd)
kubetoll=${KUBETOLL:-kubetoll}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
user='system:serviceaccount:shop-system:*'

# run STATUS ARGUMENT…: runs kubetoll, which must exit with this status.
run() {
  local expected=$1 status=0
  shift
  printf '$ kubetoll'
  printf " '%s'" "$@"
  printf '\n'
  "$kubetoll" "$@" --no-progress 2>&1 || status=$?
  if [ "$status" -ne "$expected" ]; then
    echo "error: exit status $status, not $expected" >&2
    exit 1
  fi
  printf 'exit status %s\n\n' "$status"
}

echo "1. The main branch: write a budget from a recorded run, and commit it."
cp "$recordings/order-operator.jsonl.gz" main.jsonl.gz
run 0 budget init main.jsonl.gz --user "$user" --slack 20%
run 0 scan main.jsonl.gz --user "$user" --budget kubetoll-budget.yaml --fail-on KT6

echo "2. A pull request makes the operator worse: its job fails."
cp "$recordings/order-operator-defect.jsonl.gz" pull-request.jsonl.gz
run 1 scan pull-request.jsonl.gz --user "$user" --budget kubetoll-budget.yaml --fail-on KT6
run 1 diff --base main.jsonl.gz --new pull-request.jsonl.gz --user "$user" \
  --fail-on new-shape --fail-on 'etcd-reads>+10%' --format markdown --output ./comment.md

echo "3. The comment on the pull request:"
cat comment.md
echo

echo "4. The team wants the new requests for now. Each needs a reason."
cp kubetoll-budget.yaml before.yaml
cat >>kubetoll-budget.yaml <<'YAML'
      - request: list configmaps in a namespace
        perMinute: 60
        servedFrom: etcd
        reason: Each order reads its prices. A cache comes with the next release.
      - request: list pods cluster-wide ?limit=500&resourceVersion=0
        perStart: 1
        servedFrom: watch-cache
        reason: An order becomes ready with its pods.
      - request: watch pods cluster-wide ?resourceVersion=N&allowWatchBookmarks=true
        watches: 1
        servedFrom: watch-cache
        reason: An order becomes ready with its pods.
YAML
run 0 scan pull-request.jsonl.gz --user "$user" --budget kubetoll-budget.yaml --fail-on KT6

echo "5. On the main branch, the limits fall to what a run measures."
run 0 budget ratchet pull-request.jsonl.gz --user "$user"
diff before.yaml kubetoll-budget.yaml || true
run 0 scan pull-request.jsonl.gz --user "$user" --budget kubetoll-budget.yaml --fail-on KT6
