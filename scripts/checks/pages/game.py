"""A ball that flies away sounds lower and softer, by the formulas; the flight is the same each time; keys launch, walk and turn."""

import math

import numpy

from listening import RATE, Typist

# The first ball: a saw at 3 semitones above 220 Hz, launched ahead at half a second with 12 m a second.
PITCH, SPEED, START = 220 * 2 ** (3 / 12), 12, 0.5


def place(time):
    """Returns the distance of the first ball when its sound is heard at that time; nothing was in its way yet."""
    return (0.4 + SPEED * (time - START)) * 343 / (343 + SPEED)


def tone(samples, pitch, first, last):
    """The level of a tone in dB, in a window."""
    part = numpy.asarray(samples[int(first * RATE):int(last * RATE)]) * numpy.hanning(int(last * RATE) - int(first * RATE))
    value = numpy.dot(part, numpy.exp(-2j * math.pi * pitch * numpy.arange(len(part)) / RATE))
    return 20 * math.log10(abs(value))


def check(example):
    folder = example.folder
    left, right = example.offline(2, "--rendering", "panning")
    # Its tenth partial, which the room has less of than of the first.
    pitch = 10 * PITCH * 343 / (343 + SPEED)
    found = max(numpy.arange(pitch - 40, pitch + 40, 0.5), key=lambda p: tone(left, p, 0.8, 1.4))
    assert abs(found - pitch) < 3, f"{found} Hz in place of {pitch}"
    fall = tone(left, pitch, 0.75, 0.85) - tone(left, pitch, 1.35, 1.45)
    wanted = 20 * math.log10(place(1.4) / place(0.8))
    assert abs(fall - wanted) < 1, f"it falls by {fall} dB in place of {wanted}"
    sides = tone(left, pitch, 0.7, 1.4) - tone(right, pitch, 0.7, 1.4)
    assert abs(sides) < 0.5, f"straight ahead there are {sides} dB between the sides"
    first = example.offline(12)
    assert (folder / "offline.png").read_bytes()[:4] == b"\x89PNG"
    assert first == example.offline(12), "the flight is another one the second time"
    assert first != example.offline(12, "--rendering", "sphere"), "a rendering changes nothing"
    example.run("--rendering", "moon", status=2, says="there are ears, sphere and panning")
    example.run("--sofa", "missing.sofa", "--output", "clock", "--seconds", 1, status=1, says="missing.sofa")
    (folder / "bad.sofa").write_bytes(bytes(range(256)) * 40)
    example.run("--sofa", "bad.sofa", "--output", "clock", "--seconds", 1, status=1, says="bad.sofa")
    is_seen(example)


def is_seen(example):
    """Keys are followed."""
    typist = Typist(example.path, "--output=clock", "--seconds=60", cwd=example.folder)
    typist.waits_for(lambda screen: any("0 balls    by ears" in line for line in screen), "the hall")
    typist.type(" ")
    typist.waits_for(lambda screen: any("1 ball " in line for line in screen) and any("o" in line[:60] for line in screen[3:18]),
                     "a ball")
    typist.type("dd")
    typist.waits_for(lambda screen: any("→" in line for line in screen[3:18]), "a turn")
    typist.type("r")
    typist.waits_for(lambda screen: any("by sphere" in line for line in screen), "the sphere")
    typist.type("c")
    typist.waits_for(lambda screen: any("0 balls" in line for line in screen), "no balls")
    typist.type("\x03")
    typist.ends(0)
