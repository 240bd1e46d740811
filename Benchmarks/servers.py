"""The ways to PipeWire, side by side: as a program of its own kind, as one of JACK's, and through ALSA's plug-in.

scripts/bench --servers runs this in a desktop without a screen (scripts/tools/desktop).
"""

import os
import pathlib
import re
import statistics
import signal
import struct
import subprocess
import time

WAYS = {
    "PipeWireOutput": ("pipewire", [], "stamps"),
    "JACKOutput, pw-jack": ("jack", ["pw-jack"], "stamps"),
    "ALSAOutput, plug-in": ("alsa", [], "ALSA Playback"),
}


def compile_peer(source, folder):
    """A program in C that is built with PipeWire's headers."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libpipewire-0.3"], capture_output=True, text=True, check=True)
    program = os.path.join(folder, source.stem)
    subprocess.run(["gcc", "-O1", "-w", str(source), *flags.stdout.split(), "-o", program], check=True)
    return program


def run_times(process):
    """Nanoseconds for which each thread has run, by its name."""
    times = {}
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        try:
            name, ran = (task / "comm").read_text().strip(), int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue
        times[name] = times.get(name, 0) + ran
    return times


def port_of(node):
    """The port by which a node plays into the sink."""
    for _ in range(50):
        port = ""
        for line in subprocess.run(["pw-link", "-l"], capture_output=True, text=True).stdout.splitlines():
            if not line.startswith(" "):
                port = line
            elif "|-> nowhere:" in line and port.startswith(node + ":"):
                return port
        time.sleep(0.1)
    raise SystemExit(f"scripts/bench: {node} is linked to nothing")


def ages_in(path):
    """Nanoseconds from the rendering of a frame, of which it tells the fraction of a second, to the begin of the cycle that takes it."""
    data, place = pathlib.Path(path).read_bytes(), 0
    while place + 16 <= len(data):
        begin, frames, is_linked = struct.unpack_from("<QII", data, place)
        place += 16
        if not is_linked:
            continue
        stamp = struct.unpack_from("<f", data, place)[0]
        place += 4 * frames
        if stamp:
            age = begin % 1_000_000_000 - stamp * 1e9
            yield age + 1e9 if age < -5e8 else age - 1e9 if age > 5e8 else age


def measure(way, program, peers, cycle, seconds):
    """From wake-up to done, processor time and age of the sound, in microseconds, of a cycle."""
    output, before, node = WAYS[way]
    environment = {**os.environ, "PIPEWIRE_LATENCY": f"{cycle}/48000"}
    player = subprocess.Popen(
        [*before, program, "stamps", "--output", output, "--cycle", str(cycle), "--seconds", str(seconds + 4)], env=environment)
    port = port_of(node)
    time.sleep(1)
    profiler = subprocess.Popen([peers["profile"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    profiler.stderr.readline()
    begin, times = time.monotonic(), run_times(player.pid)
    recorder = subprocess.Popen([peers["cycles"], port, peers["file"]])
    time.sleep(seconds)
    spent = {name: ran - times.get(name, 0) for name, ran in run_times(player.pid).items()}
    cycles = (time.monotonic() - begin) * 48_000 / cycle
    recorder.send_signal(signal.SIGTERM)
    recorder.wait()
    text = profiler.communicate("")[0]
    player.wait()
    ages = list(ages_in(peers["file"]))
    found = re.search(rf"^{re.escape(node)} cycles \d+ waited ([\d.]+) busy ([\d.]+)", text, re.M)
    if len(ages) < 10 or not found:
        raise SystemExit(f"scripts/bench: {way}: {len(ages)} cycles heard; {text}")
    # PipeWire sees the copying of the plug-in alone; our own thread renders before that.
    own = sum(ran for name, ran in spent.items() if name.startswith("rs-alsa")) / cycles / 1e3
    return float(found[2]) + own, sum(spent.values()) / cycles / 1e3, statistics.median(ages) / 1e3


def table(program, root, folder, rounds, cycle=256, seconds=4):
    peers = {name: compile_peer(root / f"Tests/PipeWireBackendTests/Peers/{name}.c", folder) for name in ("profile", "cycles")}
    peers["file"] = os.path.join(folder, "heard")
    found = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            found[way].append(measure(way, program, peers, cycle, seconds))
    print(f"Cycles of {cycle} frames at 48 kHz, medians of {rounds} rounds; µs. Sound of the device's own cycle has an age below 0.")
    print(f"  {'':22}{'wake-up to done':>18}{'processor time':>18}{'age at the device':>20}")
    for way, all in found.items():
        print(f"  {way:22}" + "".join(f"{statistics.median(one):{width}.1f}" for one, width in zip(zip(*all), (18, 18, 20))))
