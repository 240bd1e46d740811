"""The clipper's curve is the formula's."""

import math

from listening import level, write

CURVE_TOLERANCE = 2e-7


def curve(x):
    """U. Zölzer, ed., DAFX, 2nd ed., 2011: straight to a third, a parabola to two thirds, flat above; odd."""
    size = abs(x)
    clipped = 2 * size if size < 1 / 3 else 1 - (2 - 3 * size) ** 2 / 3 if size < 2 / 3 else 1
    return math.copysign(clipped, x)


def check(example):
    write(example.folder / "ramp.wav", [i / 24_000 - 1 for i in range(48_001)])
    for drive, level_ in ((1, 1), (3, 0.5)):
        left, right = example.offline(1, "--drive", drive, "--level", level_, "ramp.wav")
        assert left == right, "mono is heard on both sides"
        worst = max(abs(found - level_ * curve(drive * (i / 24_000 - 1))) for i, found in enumerate(left))
        assert worst < CURVE_TOLERANCE, f"off the curve by {worst}"
    # It is odd: the tone that it makes itself has its third harmonic, and no second.
    tone = example.offline(1)[0]
    assert level(tone, 660) > -40 and level(tone, 440) < -100, f"{level(tone, 660)} and {level(tone, 440)} dB"
    # The live input, which is silent here.
    assert not any(example.offline(1, "--input", "live")[0])
    example.run("--input", "moon", status=2, says="it must be live")
    example.run("--input", "live", "ramp.wav", status=2, says="without a file")
    example.run("--drive", "much", status=2, says="must be a number from 0 to 100")
    example.run("missing.wav", status=1, says="missing.wav")
