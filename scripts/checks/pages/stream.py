"""Pieces that arrive on the standard input or a socket are heard without a seam, equalised, and with one gap at most."""

import array
import math
import re
import socket
import subprocess
import time

from listening import RATE, Typist, level, read


def tone(seconds, frequency):
    """A sine at -12 dB as the program takes it: 16 bits, two channels."""
    sine = [round(8_192 * math.sin(2 * math.pi * frequency * i / RATE)) for i in range(round(seconds * RATE))]
    return array.array("h", [sample for sample in sine for _ in range(2)]).tobytes()


def piped(example, data, *arguments):
    result = subprocess.run(
        [example.path, "--input", "stdin", *arguments], input=data, capture_output=True, timeout=60, cwd=example.folder)
    assert result.returncode == 0, result
    return (result.stdout + result.stderr).decode()


def check(example):
    folder = example.folder
    # Every sample arrives, in its place.
    sent = tone(1.95, 997)
    piped(example, sent, "--output", "file:flat.wav", "--seconds", "2")
    left, right = read(folder / "flat.wav")
    expected = [sample / 32_768 for sample in array.array("h", sent)[::2]] + [0] * 2_400
    assert max(abs(a - b) for a, b in zip(left, expected)) < 1e-6 and left == right
    # The equaliser's bands.
    for frequency, gains, expected in (
        (30, ("--bass", "6"), -6.04), (16_000, ("--treble", "-6"), -18.04), (1_000, ("--middle", "3"), -9.04),
    ):
        piped(example, tone(2, frequency), "--output", "file:shaped.wav", "--seconds", "2", *gains)
        found = level(read(folder / "shaped.wav")[0][24_000:72_000], frequency)
        assert abs(found - expected) < 0.1, f"{frequency} Hz: {found} dB, not {expected}"
    # Live it ends where the stream ends, and says when it ran dry: a second's pause cannot be covered.
    process = subprocess.Popen(
        [example.path, "--input", "stdin", "--output", "clock"], cwd=folder, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    process.stdin.write(tone(0.6, 997))
    process.stdin.flush()
    time.sleep(2)
    process.stdin.write(tone(0.6, 997))
    out = process.communicate(timeout=30)[0].decode()
    assert process.returncode == 0 and "ran dry" in out and "has ended" in out, out
    keeps_to_time(example)
    comes_by_socket(example)
    is_turned_on_a_terminal(example)
    plays_formats(example)
    example.run("--input", "moon", status=2, says="it must be stdin")
    example.run("--sound", "moon", status=2, says="it must be stdin")
    example.run("--input", "socket:70000", status=2, says="it must be stdin or socket:PORT")
    example.run("--late", "never", status=2, says="it must be rest or skip")
    # Its own melody: the first note.
    first = example.offline(1)[0][:14_400]
    assert abs(level(first, 220) + 12) < 1, f"{level(first, 220)} dB"


def plays_formats(example):
    """FLAC, Ogg and WAV are found by their bytes and heard; what is no sound gets a sentence."""
    for kind in ("flac", "wav", "ogg"):
        data = subprocess.run(
            ["sox", "-D", "-t", "raw", "-e", "signed", "-b", "16", "-r", str(RATE), "-c", "2", "-", "-t", kind, "-"],
            input=tone(1.9, 997), capture_output=True, check=True).stdout
        for where in ("file:sound.wav", "clock"):
            result = subprocess.run(
                [example.path, "--sound", "stdin", "--output", where, "--seconds", "2" if where != "clock" else "9"],
                input=data, capture_output=True, timeout=60, cwd=example.folder)
            out = (result.stdout + result.stderr).decode()
            assert result.returncode == 0 and (where != "clock" or "has ended" in out), out
        left = read(example.folder / "sound.wav")[0]
        expected = [sample / 32_768 for sample in array.array("h", tone(1.9, 997))[::2]]
        if kind != "ogg":
            assert max(abs(a - b) for a, b in zip(left, expected)) < 1e-6, kind
        assert abs(level(left[24_000:72_000], 997) + 12.04) < 0.1, f"{kind}: {level(left[24_000:72_000], 997)} dB"
    result = subprocess.run(
        [example.path, "--sound", "stdin", "--output", "clock"], input=b"<html>404</html>", capture_output=True, timeout=60,
        cwd=example.folder)
    assert result.returncode == 1 and b"is not audio" in result.stderr, result


def keeps_to_time(example):
    """With the other policy what comes four seconds too late is left out, and what comes in time is heard."""
    process = subprocess.Popen(
        [example.path, "--input=stdin", "--output=clock", "--late=skip"], cwd=example.folder, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    process.stdin.write(tone(0.6, 997))
    process.stdin.flush()
    time.sleep(4)
    process.stdin.write(tone(5, 997))
    out = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 0 and "came too late and are left out" in out and "has ended" in out, out
    assert "ran dry" not in out, out


def comes_by_socket(example):
    """A peer sends on the loopback device, and keys turn the bass up meanwhile."""
    process = subprocess.Popen(
        [example.path, "--input=socket:0", "--output=clock", "--save=heard.wav"], cwd=example.folder,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    port = int(re.search(r"127\.0\.0\.1:(\d+)", process.stderr.readline()).group(1))
    process.stdin.write("aaaaaa")
    process.stdin.flush()
    with socket.create_connection(("127.0.0.1", port)) as sender:
        for piece in range(30):  # in pieces that are none of the program's
            sender.sendall(tone(0.1, 30)[:9_999])
            sender.sendall(tone(0.1, 30)[9_999:])
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "has ended" in err, out + err
    heard = read(example.folder / "heard.wav")[0]
    first = next(i for i, sample in enumerate(heard) if abs(sample) > 1e-3)
    found = level(heard[first + RATE:first + 2 * RATE], 30)
    assert abs(found + 6.04) < 0.1, f"{found} dB: six decibels more than what was sent"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        example.run(f"--input=socket:{port}", "--output=clock", status=1, says=f"port {port} cannot be opened")


def is_turned_on_a_terminal(example):
    """The bands are shown; keys come from the terminal although the stream comes from elsewhere."""
    piped = f"cat /dev/zero | '{example.path}' --input=stdin --output=clock"
    typist = Typist("/bin/sh", "-c", piped, cwd=example.folder)
    end = time.monotonic() + 20
    while b"treble 0 dB" not in typist.text and time.monotonic() < end:
        typist.read(0.1)
    typist.type("aasx")
    while b"bass 2 dB" not in typist.text and time.monotonic() < end:
        typist.read(0.1)
    typist.type("\x03")
    while typist.process.poll() is None and time.monotonic() < end + 20:
        typist.read(0.1)
    typist.read_rest()
    assert b"bass 2 dB" in typist.text and b"Ended early" in typist.text, typist.text
