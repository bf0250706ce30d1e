"""Makes the logs, once: a folder for each state of the generator and for each size and seed."""

import hashlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDING = ROOT / "fixtures/traffic/kube-apiserver-1.36.2.jsonl.gz"
MIXES = {
    "metadata": ["--level", "metadata"],
    "request-response": ["--level", "request-response"],
    "traffic": ["--recording", str(RECORDING)],
}
FORMS = {"plain": ("", []), "gzip": (".gz", ["--compress", "gzip"]), "zstd": (".zst", ["--compress", "zstd"])}
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def size(text):
    """Bytes of a size such as 20MB."""
    number = text.rstrip("BKMG")
    return int(number) * UNITS[text[len(number) :]]


def generator(log):
    """Builds it, and gives the program."""
    log("building the generator")
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "--quiet", "--example", "generate_log"], cwd=ROOT, check=True
    )
    return target() / "release/examples/generate_log"


def target():
    """Where cargo puts what it builds."""
    import json

    told = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT, check=True, capture_output=True
    )
    return Path(json.loads(told.stdout)["target_directory"])


def folder(cache, program, clients, seed, size_text):
    """Where logs of this generator, size and seed lie; another generator may write others."""
    state = hashlib.sha256(Path(program).read_bytes()).hexdigest()[:12]
    return cache / "logs" / f"{state}-{size_text}-seed-{seed}-clients-{clients}"


def make(program, where, mix, form, count, size_text, seed, clients, log):
    """The files of one log, made if they are not there."""
    ending, options = FORMS[form]
    where.mkdir(parents=True, exist_ok=True)
    name = f"{mix}.jsonl{ending}" if count == 1 else f"{mix}-{form}-{count}"
    out = where / name
    if not out.exists():
        log(f"making {mix}, {form}, {count} files" if count > 1 else f"making {mix}, {form}")
        unfinished = where / f"unfinished-{name}"
        command = [program, "--bytes", size_text, "--seed", str(seed), "--files", str(count), "--out", unfinished]
        if mix != "traffic":
            command += ["--clients", str(clients)]
        subprocess.run([*command, *MIXES[mix], *options], check=True)
        unfinished.rename(out)
    return [out] if count == 1 else sorted(out.iterdir())


def warm(files):
    """Reads the files once, so that they are in the page cache."""
    for path in files:
        with open(path, "rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
