"""Plays through ALSA on PipeWire, and listens to what arrives there: at long cycles, and where their length changes.

Usage: alsa_on_pipewire.py FOLDER    (of the built programs; XDG_RUNTIME_DIR has the server, whose only sink is "nowhere")
"""

import atexit
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy

RATE = 48_000
programs = pathlib.Path(sys.argv[1])
folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ["XDG_RUNTIME_DIR"]))
# Under nohup, or in the background of a script, the programs would ignore this signal, as they should.
signal.signal(signal.SIGINT, signal.default_int_handler)


def set_quantum(frames):
    """Has PipeWire's cycles be so long; none is shorter or longer."""
    for name in ("min", "max", "min"):
        subprocess.run(["pw-metadata", "-n", "settings", "0", f"clock.{name}-quantum", str(frames)], check=True,
                       stdout=subprocess.DEVNULL)


def start(program, *arguments, to):
    process = subprocess.Popen(
        ["stdbuf", "-oL", programs / program, *arguments], stdin=subprocess.DEVNULL, stdout=open(to, "w"),
        stderr=subprocess.STDOUT)
    # It does not outlive a check that fails.
    atexit.register(process.kill)
    return process


def hasten():
    """Has a recorder not wait for compilers: it fetches the sound in an ordinary thread, and may be late."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(20))
    except PermissionError:
        pass


def record(seconds):
    """What arrives at the sink in some seconds, one channel of it."""
    path = folder / "heard.wav"
    process = subprocess.Popen(
        ["pw-record", "--target", "nowhere", "-P", "{ stream.capture.sink = true }", "--rate", str(RATE), "--channels", "2",
         "--format", "f32", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=hasten)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=20)
    data = path.read_bytes()
    samples = numpy.frombuffer(data[data.index(b"data") + 8:][:(len(data) - 100) // 8 * 8], "<f4")
    return samples[0::2].astype(float)


def is_whole(samples):
    """Returns whether the two tones of alsa-play are there without a gap: what is left of one second without them."""
    if len(samples) < 2 * RATE:
        return False
    samples = samples[-3 * RATE // 2:-RATE // 2]
    angles = 2 * numpy.pi * numpy.outer(numpy.arange(len(samples)) / RATE, (440, 660))
    waves = numpy.hstack([numpy.sin(angles), numpy.cos(angles)])
    found = numpy.linalg.lstsq(waves, samples, rcond=None)[0]
    levels = numpy.hypot(found[:2], found[2:])
    rest = numpy.abs(samples - waves @ found).max()
    print(f"    {levels[0]:.4f} of 440 Hz, {levels[1]:.4f} of 660 Hz, the rest below {rest:.1e}", flush=True)
    return rest < 1e-4 and all(abs(levels - 0.1) < 1e-4)


def hear(process, log):
    """Waits until the tones arrive whole. On a busy machine a cycle may be missing, so it listens again."""
    for _ in range(15):
        assert process.poll() is None, log.read_text()
        if is_whole(record(3)):
            return
    raise AssertionError(f"the tones do not arrive whole:\n{log.read_text()}")


def end(process, log):
    process.send_signal(signal.SIGINT)
    process.wait(timeout=20)
    text = log.read_text()
    assert process.returncode in (0, 3), text
    return text


def grown(text):
    """The lengths to which buffers have grown, one for each notice."""
    return [int(frames) for frames in re.findall(r"moves by steps that are too long .* now, in a buffer of (\d+) ", text)]


log = folder / "log"
for quantum in (256, 1_024, 2_048, 8_192):
    print(f"Cycles of {quantum} frames:", flush=True)
    set_quantum(quantum)
    process = start("alsa-play", to=log)
    hear(process, log)
    text = end(process, log)
    lengths = grown(text)
    # On a busy machine a server that is late may have it grow once more.
    assert quantum == 256 or lengths and quantum < lengths[0] <= 4 * quantum, text
    print(f"    The buffer has grown to {lengths} frames." if lengths else "    The buffer has not grown.")

print("Cycles that change while it plays:", flush=True)
set_quantum(256)
process = start("alsa-play", to=log)
for quantum in (256, 1_024, 256, 8_192, 2_048):
    set_quantum(quantum)
    hear(process, log)
lengths = grown(end(process, log))
assert len(lengths) >= 2 and lengths[-1] > 8_192, lengths
print(f"    The buffer has grown to {lengths} frames.")

# PipeWire itself is taken first. Where it is not, the default device of ALSA is, even if no card is in /dev/snd, and the doctor knows it.
set_quantum(1_024)
for runtime, choice in ((os.environ["PIPEWIRE_RUNTIME_DIR"], "PipeWire: no JACK server is running."),
                        ("/nowhere", "without sound: no JACK server is running, PipeWire is not running, and no sound card")):
    text = subprocess.run([programs / "three-players", "--seconds", "1"], capture_output=True, text=True, cwd=folder, timeout=60,
                          stdin=subprocess.DEVNULL, env=dict(os.environ, PIPEWIRE_RUNTIME_DIR=runtime))
    assert choice in text.stdout + text.stderr or os.path.exists("/proc/asound/card0"), text
report = json.loads(subprocess.run([programs / "devices", "--json"], capture_output=True, text=True, timeout=60).stdout)
assert any(device["isDefault"] for device in report["devices"]), report["devices"]
card = report["checks"][0]
assert card["subject"] == "card" and card["verdict"] != "problem", card
assert os.path.exists("/proc/asound/card0") or '"default" plays' in card["finding"], card
print(f"Without a card: {card['finding']}")
