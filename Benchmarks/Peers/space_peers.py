"""The peer of W9: OpenAL Soft, through its loopback device, which renders without a sound card."""

import os
import subprocess

from effect_peers import HERE
from peer import Failure, compiled

NAME, PACKAGES = "OpenAL Soft", ["libopenal-dev", "gcc"]
#: Ours, and what OpenAL calls it; it has no sphere.
KINDS = {"W9-pan": "pan", "W9-hrtf": "hrtf"}


def has(workload):
    return workload in KINDS and os.path.exists("/usr/include/AL/alext.h")


def prepare(folder):
    """Compiles the program that plays."""
    program = os.path.join(folder, "openal")
    compiled(os.path.join(HERE, "openal.c"), program, "-lopenal", "-lm", compiler="gcc")
    return program


def measure(program, workload, sources, cycle, rounds):
    """Nanoseconds a source-sample: the least of some rounds."""
    command = [program, KINDS[workload], str(sources), str(cycle), str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failure(done.stderr.strip())
    return min(float(line) for line in done.stdout.split())
