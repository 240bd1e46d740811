"""A JACK server of one's own, without a sound card, and a client that plays and hears: for examples that live there.

As a program: session.py PLAN, a client that does what a JSON text says and prints what it saw; see `Session.hear`.
"""

import array
import ctypes
import errno
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

PERIOD = 256


class Session:
    """A server, to be used by `with`."""

    number = 0

    def __init__(self):
        Session.number += 1
        self.name = f"rs-examples-{os.getpid()}-{Session.number}"
        self.environment = {**os.environ, "JACK_DEFAULT_SERVER": self.name, "JACK_NO_START_SERVER": "1"}

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.end(signal.SIGTERM)

    def start(self):
        """Starts the server. On a busy machine one may end at once, or answer no program: then another takes its place."""
        said = ""
        for _ in range(3):
            with tempfile.TemporaryFile("w+", errors="replace") as log:
                self.server = subprocess.Popen(
                    ["jackd", "-n", self.name, "-r", "-p", "128", "-d", "dummy", "-r", "48000", "-p", str(PERIOD)],
                    env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                try:
                    return self.wait_for("system:playback_1", lives=self.server)
                except AssertionError as failure:
                    if self.server.poll() is None:
                        self.end()
                    log.seek(0)
                    said = f"{failure}; jackd ended with {self.server.returncode} and said:\n{log.read()}"
        raise AssertionError(said)

    def end(self, number=signal.SIGKILL):
        self.server.send_signal(number)
        self.server.wait(timeout=20)

    def wait_for(self, port, lives=None):
        """Waits until there is a port, as long as the process `lives` does."""
        for _ in range(400):
            if lives and lives.poll() is not None:
                break
            found = subprocess.run(["jack_lsp"], env=self.environment, capture_output=True, text=True)
            if port in found.stdout.split():
                return
            time.sleep(0.05)
        raise AssertionError(f"there is no port {port}: {found.stdout}{found.stderr}")

    def begin(self, example, *arguments, port="out_1", is_watched=False, keys=""):
        """Starts an example, under the watchdog if that is wanted, types keys, and waits until it is there."""
        watch = [example.watchdog, "--fail-on", "may-block", "--"] if is_watched else []
        process = subprocess.Popen(
            [*watch, example.path, "--output", "jack", *map(str, arguments)], cwd=example.folder, env=self.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        process.stdin.write(keys)
        process.stdin.close()
        process.stdin = None
        self.wait_for(f"{example.path.name}:{port}")
        return process

    def hear(self, frames, **plan):
        """Samples of a port and, for each cycle, (first sample, whether the transport rolls, its frame).

        hear: the port that is heard.              play: a port that gets the MIDI `events`, [frame, byte, …] each
        freewheel: without a clock (then nothing depends on how busy the machine is)
        tempo, metre: leads the transport so       roll: starts the transport, at this frame of it
        sine: a port that gets a sine of that `frequency`
        """
        plan["frames"] = frames
        heard = subprocess.run(
            [sys.executable, __file__, json.dumps(plan)], env=self.environment, capture_output=True, timeout=60)
        assert heard.returncode == 0, heard.stderr.decode()
        size, = struct.unpack("<I", heard.stdout[:4])
        return array.array("f", heard.stdout[4:4 + size]), json.loads(heard.stdout[4 + size:])


def ended(process):
    """Ends an example as Ctrl-C does, and returns what it says."""
    process.send_signal(signal.SIGINT)  # the watchdog passes it on
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0 and "Ended early" in out, f"status {process.returncode}: {out}{err}"
    assert " faults" not in out, out
    return out + err


# The client.


class Position(ctypes.Structure):
    """jack_position_t."""

    _pack_ = 1
    _fields_ = [
        ("unique_1", ctypes.c_uint64), ("usecs", ctypes.c_uint64), ("frame_rate", ctypes.c_uint32),
        ("frame", ctypes.c_uint32), ("valid", ctypes.c_int32), ("bar", ctypes.c_int32), ("beat", ctypes.c_int32),
        ("tick", ctypes.c_int32), ("bar_start_tick", ctypes.c_double), ("beats_per_bar", ctypes.c_float),
        ("beat_type", ctypes.c_float), ("ticks_per_beat", ctypes.c_double), ("beats_per_minute", ctypes.c_double),
        ("frame_time", ctypes.c_double), ("next_time", ctypes.c_double), ("bbt_offset", ctypes.c_uint32),
        ("audio_frames_per_video_frame", ctypes.c_float), ("video_offset", ctypes.c_uint32),
        ("tick_double", ctypes.c_double), ("padding", ctypes.c_int32 * 5), ("unique_2", ctypes.c_uint64)]


PROCESS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)
FREEWHEEL = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p)
TIMEBASE = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(Position), ctypes.c_int, ctypes.c_void_p)


def main(plan):
    jack = ctypes.CDLL("libjack.so.0")
    for function in ("jack_client_open", "jack_port_register", "jack_port_get_buffer", "jack_midi_event_reserve",
                     "jack_port_name"):
        getattr(jack, function).restype = ctypes.c_void_p
    # JackNoStartServer; "audio" and "midi" are what JACK calls its two kinds of ports.
    client = ctypes.c_void_p(jack.jack_client_open(b"ear", 1, None))
    assert client, "no server"

    def port(name, kind, is_output):
        return ctypes.c_void_p(jack.jack_port_register(client, name, kind, 2 if is_output else 1, ctypes.c_ulong(0)))

    # Another one may still be leaving: then it is called otherwise.
    jack.jack_get_client_name.restype = ctypes.c_char_p
    name = jack.jack_get_client_name(client).decode()
    ear = port(b"in", b"32 bit float mono audio", False)
    hand = port(b"events", b"8 bit raw midi", True)
    voice = port(b"out", b"32 bit float mono audio", True)
    heard, cycles, events = array.array("f"), [], sorted(plan.get("events", []))
    # The first cycles after a change of the clock may still be late ones of the old.
    state = {"on": False, "turns": 0.0, "early": 40}
    done = threading.Event()
    wanted, is_freewheel = plan["frames"], plan.get("freewheel", False)

    @PROCESS
    def process(frames, _):
        buffer = ctypes.c_void_p(jack.jack_port_get_buffer(hand, frames))
        jack.jack_midi_clear_buffer(buffer)
        if "sine" in plan:
            step = plan["frequency"] / 48_000
            block = array.array("f", (0.3 * wave((state["turns"] + i * step) % 1) for i in range(frames)))
            state["turns"] = (state["turns"] + frames * step) % 1
            ctypes.memmove(jack.jack_port_get_buffer(voice, frames), block.tobytes(), 4 * frames)
        if not state["on"] or done.is_set():
            return 0
        if is_freewheel and state["early"] > 0:
            state["early"] -= 1
            return 0
        first = len(heard)
        while events and events[0][0] < first + frames:
            frame, *message = events.pop(0)
            place = jack.jack_midi_event_reserve(buffer, frame - first, ctypes.c_size_t(len(message)))
            ctypes.memmove(place, bytes(message), len(message))
        position = Position()
        rolls = jack.jack_transport_query(client, ctypes.byref(position)) == 1
        cycles.append((first, rolls, position.frame))
        heard.frombytes(ctypes.string_at(jack.jack_port_get_buffer(ear, frames), 4 * frames))
        if len(heard) >= wanted:
            done.set()
        return 0

    @FREEWHEEL
    def freewheel(is_on, _):
        state["on"] = bool(is_on)

    @TIMEBASE
    def timebase(_, frames, position, is_new, __):
        # As most leaders do it: whole ticks.
        where = position.contents
        beats = where.frame * plan["tempo"] / 60 / where.frame_rate
        where.valid = 0x10
        where.bar = int(beats / plan["metre"]) + 1
        where.beat = int(beats % plan["metre"]) + 1
        where.tick = int(beats % 1 * 960)
        where.bar_start_tick = (where.bar - 1) * plan["metre"] * 960
        (where.beats_per_bar, where.beat_type, where.ticks_per_beat) = (plan["metre"], 4, 960)
        where.beats_per_minute = plan["tempo"]

    jack.jack_set_process_callback(client, process, None)
    jack.jack_set_freewheel_callback(client, freewheel, None)
    if "tempo" in plan:
        assert jack.jack_set_timebase_callback(client, 0, timebase, None) == 0
    assert jack.jack_activate(client) == 0
    for source, target in (
            (plan.get("hear"), f"{name}:in"), (f"{name}:events", plan.get("play")), (f"{name}:out", plan.get("sine"))):
        # A client that has its ports may still be about to be active; one that has lost its server makes the
        # connections that there were by itself.
        tries = 200 if source and target else 0
        while tries and jack.jack_connect(client, source.encode(), target.encode()) not in (0, errno.EEXIST):
            tries -= 1
            assert tries, (source, target)
            time.sleep(0.05)
    time.sleep(0.3)
    if is_freewheel:
        assert jack.jack_set_freewheel(client, 1) == 0
    else:
        state["on"] = True
    if "roll" in plan:
        jack.jack_transport_locate(client, plan["roll"])
        jack.jack_transport_start(client)
    isWhole = done.wait(40)
    if is_freewheel:
        jack.jack_set_freewheel(client, 0)
    time.sleep(0.1)
    jack.jack_client_close(client)
    assert isWhole, f"{len(heard)} of {wanted} frames in 40 seconds"
    samples = heard.tobytes()
    sys.stdout.buffer.write(struct.pack("<I", len(samples)) + samples + json.dumps(cycles).encode())


def wave(turns):
    import math
    return math.sin(2 * math.pi * turns)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
