"""The code that all peers share: a program that plays a workload for so many seconds, as fast as it goes."""

import json
import os
import shutil
import struct
import subprocess
import time

import numpy

CYCLE = 64
RATE = 48000


class Failure(Exception):
    """A peer that cannot play a workload, in a sentence."""


def timed(command, cwd=None, env=None, limit=300):
    """Runs a program to its end. Processor time of it and its children, and wall time, in seconds."""
    log = os.path.join(cwd or ".", "peer.log")
    with open(log, "wb") as output:
        start = time.monotonic()
        child = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            child_id, status, usage = wait(child, limit)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            raise Failure(f"{command[0]} did not end in {limit} s")
        wall = time.monotonic() - start
    if status != 0:
        with open(log, errors="replace") as text:
            raise Failure(f"{os.path.basename(command[0])} failed: {text.read()[-300:].strip()}")
    return usage.ru_utime + usage.ru_stime, wall


def wait(child, limit):
    end = time.monotonic() + limit
    pause = 0.0005
    while True:
        child_id, status, usage = os.wait4(child.pid, os.WNOHANG)
        if child_id:
            child.returncode = status
            return child_id, status, usage
        if time.monotonic() > end:
            raise subprocess.TimeoutExpired(child.args, limit)
        time.sleep(pause)
        pause = min(pause * 1.2, 0.02)


def wav(path):
    """The samples of a WAV file as (frames, channels), also where the program did not finish the header."""
    if not os.path.exists(path):
        raise Failure(f"{os.path.basename(path)} was not written: run again")
    with open(path, "rb") as file:
        data = file.read()
    at, form = 12, None
    while at + 8 <= len(data):
        name, length = data[at:at + 4], struct.unpack("<I", data[at + 4:at + 8])[0]
        if name == b"fmt ":
            kind, channels, _, _, _, bits = struct.unpack("<HHIIHH", data[at + 8:at + 24])
            if kind == 0xfffe:
                kind = struct.unpack("<H", data[at + 32:at + 34])[0]
            form = (kind, channels, bits)
        if name == b"data":
            body = data[at + 8:at + 8 + length] if 0 < length <= len(data) - at - 8 else data[at + 8:]
            kind, channels, bits = form
            if kind == 3:
                samples = numpy.frombuffer(body[:len(body) // 4 * 4], "<f4").astype(float)
            else:
                samples = numpy.frombuffer(body[:len(body) // 2 * 2], "<i2") / 32768.0
            return samples[:len(samples) // channels * channels].reshape(-1, channels)
        at += 8 + length + length % 2
    raise Failure(f"{os.path.basename(path)} has no samples")


def difference(reference, other, frames, shift=3):
    """The largest difference where both are loudest in step: a peer may begin a frame later or earlier."""
    frames = min(frames, len(reference) - shift, len(other) - shift)
    if frames < 100:
        return float("inf"), 0
    best = (float("inf"), 0)
    for late in range(-shift, shift + 1):
        a = reference[max(0, -late):][:frames]
        b = other[max(0, late):][:frames]
        count = min(len(a), len(b))
        # The first frames are where a later start shows.
        best = min(best, (float(numpy.abs(a[8:count] - b[8:count]).max()), late))
    return best


class Peer:
    """One program. Its subclasses say what it can play and how."""
    name = "?"
    #: Debian's packages, and a command or a file that tells whether they are there.
    packages = []
    needs = []
    #: Names of workloads, with the sizes it takes (None: all).
    workloads = {}
    #: What is to be said about it.
    note = ""

    def missing(self):
        return [need for need in self.needs if not (os.path.exists(need) if need.startswith("/") else shutil.which(need))]

    def can(self, workload, size):
        sizes = self.workloads.get(workload, ())
        return sizes is None or size in sizes

    def prepare(self, workload, size, folder, score):
        """Writes and compiles what it plays. `score` has the numbers."""

    def command(self, workload, size, folder, seconds, output):
        raise NotImplementedError

    def run(self, workload, size, folder, seconds, output):
        return timed(self.command(workload, size, folder, seconds, output), cwd=folder)

    def heard(self, path):
        return wav(path)


def compiled(source, program, *arguments, compiler="g++"):
    """Compiles unless it is newer than its source. With the flags that its users take for speed."""
    if os.path.exists(program) and os.path.getmtime(program) > os.path.getmtime(source):
        return
    done = subprocess.run(
        [compiler, "-O3", "-march=native", "-ffast-math", "-w", source, "-o", program, *arguments],
        capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{os.path.basename(source)} does not compile: {done.stderr[-400:]}")


def write_json(path, value):
    with open(path, "w") as file:
        json.dump(value, file)
