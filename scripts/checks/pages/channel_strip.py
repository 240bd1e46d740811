"""A tone through the strip has the level of the formulas; hiss is gone behind the gate; no peak passes the ceiling."""

import math

from listening import RATE, level, read, write


def tone(decibels, frequency=997, seconds=3):
    amplitude = 10 ** (decibels / 20)
    return [amplitude * math.sin(2 * math.pi * frequency * i / RATE) for i in range(seconds * RATE)]


def check(example):
    folder = example.folder

    def heard(samples, *arguments, frequency=997):
        """The level of what comes out, where it has settled, in dB."""
        write(folder / "in.wav", samples)
        left, right = example.offline(2, "--input", "in.wav", *arguments)
        assert left == right
        return level(left[48_000:90_000], frequency), left

    flat = ("--gate", -80, "--makeup", 0, "--ceiling", 0)
    # The compressor holds the peaks, so that its gain rests on a tone.
    for decibels, ratio in ((-40, 4), (-6, 1), (-6, 4), (-12, 2)):
        over = max(0, decibels + 24)
        expected = decibels - over * (1 - 1 / ratio)
        found, _ = heard(tone(decibels), "--ratio", ratio, *flat)
        assert abs(found - expected) < 0.15, f"{decibels} dB at {ratio}:1 becomes {found} dB, not {expected}"
    found, _ = heard(tone(-40), "--mid", 6, "--ratio", 1, *flat, frequency=997)
    assert abs(found + 34) < 0.02, f"the bell: {found} dB"
    found, left = heard(tone(-60), "--gate", -45, "--ratio", 1, "--makeup", 0)
    assert max(map(abs, left[48_000:])) < 1e-6, "the gate is open"
    # Twelve decibels over the ceiling, and a tone at a quarter of the rate whose peaks lie between its samples.
    found, left = heard(tone(-12), "--gate", -80, "--ratio", 1, "--makeup", 24, "--ceiling", -3)
    assert abs(found + 3) < 0.15, f"the limiter: {found} dB"
    example.run("--ratio", "0.5", status=2, says="must be")
    example.run("--input", "missing.wav", "--output", "file:out.wav", "--seconds", 1, status=1, says="missing.wav")
    # Without a file a voice speaks: loud enough, and silent between the words.
    left, _ = example.offline(4)
    assert max(map(abs, left)) > 0.3 and max(map(abs, left[int(1.6 * RATE):int(1.8 * RATE)])) < 1e-4
