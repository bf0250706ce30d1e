#!/bin/sh
# Answers the question with jq: peer_jq.sh THREADS FILE... One jq reads one file; several read several at a time.
set -eu
threads=$1
shift
export LC_ALL=C
PROJECTION=$(dirname "$0")/peer_jq.jq
# What several write at the same time must not be mixed within lines.
PARTS=$(mktemp -d)
export PROJECTION PARTS
trap 'rm -rf "$PARTS"' EXIT
printf '%s\0' "$@" | xargs -0 -n 1 -P "$threads" sh -euc '
  case $1 in
    *.gz) gzip -dc "$1" | jq -c -f "$PROJECTION" ;;
    *.zst) zstd -qdc "$1" | jq -c -f "$PROJECTION" ;;
    *) jq -c -f "$PROJECTION" "$1" ;;
  esac | sort --parallel=1 | uniq -c > "$PARTS/$(basename "$1")"' sh
cat "$PARTS"/*
