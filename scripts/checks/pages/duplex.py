"""The input goes out at half of its level over the tone, which is heard, recorded and played by keys through JACK."""

import array
import os
import struct
import subprocess
import time

from listening import level, read


def tool(environment, *words, **more):
    return subprocess.run(
        ["timeout", "-k", "2", "60", *words], env=environment, capture_output=True, text=True, **more).stdout


def becomes_true(condition):
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.1)
    return False


def recorded(path, channels):
    """The channels of a WAV of 32-bit integers, as jack_rec writes it: its lengths are not to be trusted."""
    data = path.read_bytes()
    begin = data.index(b"data") + 8
    layout = struct.unpack("<HHIIHH", data[data.index(b"fmt ") + 8:][:16])
    assert layout[1] == channels and layout[5] == 32, layout
    samples = array.array("i", data[begin:len(data) - (len(data) - begin) % (4 * channels)])
    return [[sample / 2**31 for sample in samples[channel::channels]] for channel in range(channels)]


def check(example):
    # If no program plays into it: the tone alone, on both sides.
    left, right = example.offline(2, "--save", "copy.wav")
    assert left == right and (left, right) == read(example.folder / "copy.wav")
    assert abs(level(left[24_000:72_000], 440) + 20) < 0.01
    assert max(map(abs, left)) <= 0.1001

    # Through a server of its own: heard there, and what goes in comes out at half.
    name = f"rs-duplex-{os.getpid()}"
    environment = dict(os.environ, JACK_DEFAULT_SERVER=name, JACK_NO_START_SERVER="1")
    server = subprocess.Popen(
        ["jackd", "-n", name, "-r", "-p", "128", "-d", "dummy", "-r", "48000", "-p", "1024"],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    programs = []
    try:
        assert becomes_true(lambda: "system:playback_1" in tool(environment, "jack_lsp")), "no server"
        programs.append(subprocess.Popen(
            [example.path, "--output", "jack", "--seconds", "100"], env=environment, cwd=example.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        ports = [f"duplex:{port}" for port in ("out_1", "out_2", "in_1", "in_2", "midi_in_1")]
        assert becomes_true(lambda: set(ports) <= set(tool(environment, "jack_lsp").split())), "not all ports"
        assert becomes_true(lambda: "system:playback_2\n   duplex:out_2" in tool(environment, "jack_lsp", "-c")), "not connected"

        def peak():
            # With room for all of it, so that a disk that is late loses nothing.
            tool(environment, "jack_rec", "-f", "heard.wav", "-d", "1", "-b", "32", "-B", "131072", "duplex:out_1",
                 cwd=example.folder)
            return max(map(abs, recorded(example.folder / "heard.wav", 1)[0]))

        # A cycle that the machine misses does not change the peak.
        assert becomes_true(lambda: abs(peak() - 0.1) < 0.001), "the tone is not heard"
        # A key: the tone gets louder, until it is let go.
        programs.append(subprocess.Popen(
            ["timeout", "-k", "5", "60", "jack_midiseq", "keys", "48000", "0", "57", "40000"], env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

        def links():
            # A client's port is on the list before the client is active, and cannot be connected until then.
            tool(environment, "jack_connect", "keys:out", "duplex:midi_in_1")
            return "keys:out\n   duplex:midi_in_1" in tool(environment, "jack_lsp", "-c")

        assert becomes_true(links), "no keys"
        # jack_midiseq plays with a velocity of 64.
        assert becomes_true(lambda: abs(peak() - 64 / 254) < 0.001), f"{peak()} while a key plays"
    finally:
        for program in reversed(programs):
            program.terminate()
        text = programs[0].communicate(timeout=30)[0] if programs else ""
        for program in programs[1:]:
            program.wait(timeout=30)
        server.terminate()
        server.wait(timeout=30)
    assert "Ended early" in text and "cycles" in text, text
