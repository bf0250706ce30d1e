"""The peers: how each is installed and called."""

import os
import shutil
import subprocess
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
# All three of one day, so that a repetition compares the same programs.
PINNED = {"duckdb": "duckdb==2.0.0", "polars": "polars==2.1.0", "chdb": "chdb==4.4.0"}
NAMES = [*PINNED, "jq"]


def install(names, cache, log):
    """What is missing, by name; the others can be called."""
    missing = {}
    python = cache / "venv/bin/python"
    packages = [name for name in names if name in PINNED]
    if packages and not python.exists():
        log("making a Python environment for the peers")
        try:
            venv.create(cache / "venv", with_pip=True)
        except subprocess.CalledProcessError:
            # Debian has what it needs in a package of its own.
            shutil.rmtree(cache / "venv", ignore_errors=True)
            missing = dict.fromkeys(packages, "there is no venv of Python; on Debian: apt-get install python3-venv")
            packages = []
    for name in packages:
        package, version = PINNED[name].split("==")
        if told(python, "-c", f"import importlib.metadata as m; print(m.version('{package}'))") == version:
            continue
        log(f"installing {PINNED[name]}")
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", PINNED[name]], capture_output=True, text=True)
        if done.returncode != 0:
            missing[name] = f"pip could not install {PINNED[name]}: {last_line(done.stderr)}"
    if "jq" in names and not shutil.which("jq"):
        if os.geteuid() == 0 and shutil.which("apt-get"):
            log("installing jq")
            subprocess.run(["apt-get", "install", "-y", "-q", "jq"], stdout=subprocess.DEVNULL, check=False)
        if not shutil.which("jq"):
            missing["jq"] = "jq is not on the PATH; install it from your distribution, such as apt-get install jq"
    return missing


def told(*command):
    """What a command prints, or nothing if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def last_line(text):
    return (text.strip().splitlines() or ["it said nothing"])[-1]


def versions(names):
    """The versions by name."""
    known = {name: PINNED[name].split("==")[1] for name in names if name in PINNED}
    if "jq" in names:
        known["jq"] = told("jq", "--version").removeprefix("jq-")
    return known


def command(name, cache, threads, files, form):
    """Arguments and environment of a call."""
    files = [str(path) for path in files]
    if name == "jq":
        tool = {"gzip": "gzip", "zstd": "zstd"}.get(form)
        if tool and not shutil.which(tool):
            raise FileNotFoundError(f"jq needs {tool} on the PATH for such files")
        return [str(HERE / "peer_jq.sh"), str(threads), *files], {}
    script = [str(cache / "venv/bin/python"), str(HERE / f"peer_{name}.py")]
    if name == "polars":
        return [*script, *files], {"POLARS_MAX_THREADS": str(threads)}
    return [*script, str(threads), *files], {}
