"""A ball that flies away sounds lower and softer, by the formulas; the flight is the same each time; keys launch, walk and turn."""

import math

import numpy

from listening import RATE, Typist

# The first ball: a saw at 3 semitones above 220 Hz, launched ahead with 12 m a second when its launch, a quarter of a second long, has
# been heard. The key is pressed at half a second, and the game looks every 20 ms.
PITCH, SPEED, PRESS, START = 220 * 2 ** (3 / 12), 12, 0.5, 0.76


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
    found = max(numpy.arange(pitch - 40, pitch + 40, 0.5), key=lambda p: tone(left, p, 1.0, 1.6))
    assert abs(found - pitch) < 3, f"{found} Hz in place of {pitch}"
    fall = tone(left, pitch, 1, 1.1) - tone(left, pitch, 1.6, 1.7)
    wanted = 20 * math.log10(place(1.65) / place(1.05))
    assert abs(fall - wanted) < 1, f"it falls by {fall} dB in place of {wanted}"
    sides = tone(left, pitch, 1, 1.6) - tone(right, pitch, 1, 1.6)
    assert abs(sides) < 0.5, f"straight ahead there are {sides} dB between the sides"
    # The launch: from the key on, and as long as its sound; then comes the ball.
    begin, end = (numpy.flatnonzero(numpy.abs(left) > 1e-4)[0] / RATE, START)
    assert abs(begin - PRESS) < 0.03, f"the launch begins at {begin} s"
    assert tone(left, 150 + 1800 * 0.1, PRESS + 0.08, PRESS + 0.12) > tone(left, PITCH, PRESS + 0.08, PRESS + 0.12) + 6
    assert max(map(abs, left[int((PRESS + 0.255) * RATE):int(end * RATE)])) < 0.02, "something sounds between launch and ball"
    is_beside(example)
    first = example.offline(12)
    assert (folder / "offline.png").read_bytes()[:4] == b"\x89PNG"
    assert first == example.offline(12), "the flight is another one the second time"
    assert first != example.offline(12, "--rendering", "sphere"), "a rendering changes nothing"
    example.run("--rendering", "moon", status=2, says="there are ears, sphere and panning")
    example.run("--sofa", "missing.sofa", "--output", "clock", "--seconds", 1, status=1, says="missing.sofa")
    (folder / "bad.sofa").write_bytes(bytes(range(256)) * 40)
    example.run("--sofa", "bad.sofa", "--output", "clock", "--seconds", 1, status=1, says="bad.sofa")
    is_seen(example)


def is_beside(example):
    """The music is in the hall, and behind its door it is dull."""
    plain, music = (numpy.asarray(example.offline(24, *more)[0]) for more in ((), ("--music",)))
    alone = music - plain
    # The root of the first chord, and its fifth partial, of the first round and of the last: the listener is in the small room then.
    in_hall, behind = (tone(alone, 1100, second, second + 0.2) - tone(alone, 220, second, second + 0.2) for second in (0, 16))
    assert -28 < in_hall < -20 and behind < in_hall - 8, f"{in_hall} dB in the hall, {behind} dB behind the door"


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
