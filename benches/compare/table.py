"""What was measured, as Markdown, and the machine that it was measured on."""

import os
import platform
import statistics
from pathlib import Path


def machine():
    """The processor, cores, memory and kernel."""
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} core{'s' if cores > 1 else ''}, {memory:.0f} GB, {platform.system()} {platform.release()}"


def head(log):
    """What a table is of."""
    files = "1 file" if log["files"] == 1 else f"{log['files']} files"
    threads = "1 thread" if log["threads"] == 1 else f"{log['threads']} threads"
    pinned = f", on {log['threads']} of the cores" if log["pinned"] else ""
    return f"### {log['mix']}, {log['form']}, {files}, {threads}{pinned}"


def table(log):
    """One log's commands. A ratio says how many times as long as kubetoll a command takes."""
    lines = [
        head(log),
        "",
        f"{log['bytes'] / 1e6:,.1f} MB before compression, {log['events']:,} events. {log['check']}",
        "",
        "| command | rounds | median | least – most | MB/s | × kubetoll | peak MB |",
        "|---|---|---|---|---|---|---|",
    ]
    own = statistics.median(log["commands"]["kubetoll"]["seconds"])
    for name, command in log["commands"].items():
        if "missing" in command:
            reason = command["missing"].replace("|", "\\|")
            lines.append(f"| {name} | missing: {reason} | | | | | |")
            continue
        seconds = command["seconds"]
        median = statistics.median(seconds)
        lines.append(
            f"| {name} | {len(seconds)} | {median:.3f} s | {min(seconds):.3f} – {max(seconds):.3f} s "
            f"| {log['bytes'] / 1e6 / median:,.0f} | {median / own:.2f} | {max(command['peakBytes']) / 1e6:,.0f} |"
        )
    return "\n".join([*lines, ""])


def references(rows):
    """The reference rates."""
    lines = ["### References, one core", "", "| log | step | bytes | median | GB/s |", "|---|---|---|---|---|"]
    for row in rows:
        lines.append(
            f"| {row['log']} | {row['what']} | {row['bytes']:,} | {row['seconds']:.3f} s "
            f"| {row['bytes'] / 1e9 / row['seconds']:.2f} |"
        )
    return "\n".join([*lines, ""])
