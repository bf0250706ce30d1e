"""Reference rates: how fast the bytes pass through less than kubetoll does. See reference/src/main.rs."""

import os
import subprocess
from pathlib import Path

import logs

MANIFEST = Path(__file__).resolve().parent / "reference/Cargo.toml"
STEPS = {"plain": ["newlines", "structural", "typed"], "gzip": ["zlib-rs", "libdeflate"], "zstd": ["zstd"]}


def measured(given, made, log):
    """Each step's bytes and median seconds, on one core."""
    log("building the references")
    target = given.cache / ("reference-native" if given.native else "reference")
    flags = {"RUSTFLAGS": "-C target-cpu=native"} if given.native else {}
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", MANIFEST, "--target-dir", target],
        env=os.environ | flags,
        check=True,
    )
    rows = []
    for mix in given.mixes:
        for form, steps in STEPS.items():
            [path] = made(mix, form, 1)
            logs.warm([path])
            for what in steps:
                log(f"{what} of {mix}")
                program = target / "release/reference-scan"
                command = [program, "--what", what, "--rounds", str(given.rounds), path]
                told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
                rows.append({"log": mix, "what": what, "bytes": int(told[1]), "seconds": float(told[3])})
    return rows
