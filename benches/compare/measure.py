"""Runs commands that come as JSON lines on standard input, and tells of each how long it took and its peak memory.

A process of its own that stays small: Linux counts what a parent held before it started a command as the command's.
"""

import json
import os
import sys
import time


def run(argv, env, out, errors, cpus):
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
        (os.POSIX_SPAWN_OPEN, 2, errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
    ]
    if cpus:
        os.sched_setaffinity(0, cpus)
    begin = time.perf_counter()
    process = os.posix_spawnp(argv[0], argv, os.environ | env, file_actions=actions)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - begin
    return {
        "seconds": seconds,
        "cpuSeconds": usage.ru_utime + usage.ru_stime,
        # Of the largest process, where a command starts several.
        "peakBytes": usage.ru_maxrss * 1024,
        "status": os.waitstatus_to_exitcode(status),
    }


for line in sys.stdin:
    print(json.dumps(run(**json.loads(line))), flush=True)
