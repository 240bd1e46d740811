"""A chord of three sines, with a fade at each end."""

import math
import subprocess

from listening import level, read, same_frames

LEVEL_TOLERANCE_DB = 0.01


def check(example):
    example.run("--output", "jack", status=1, says="JACK")
    example.run("--output", "file:/dev/full", "--seconds", 1, status=1)
    left, right = example.offline(2)
    assert len(left) == 96_000 and left == right
    assert not any(left[:480]), "it begins on frame 480"
    assert left[482] != 0
    assert max(map(abs, left[-400:])) == 0, "it has faded out"
    steady = left[9_600:81_600]
    for frequency in (220, 277.18, 329.63):
        found = level(steady, frequency)
        assert abs(found - 20 * math.log10(0.3)) < LEVEL_TOLERANCE_DB, f"{frequency} Hz: {found} dB"
    for frequency in (440, 554.36, 659.26, 1000):
        assert level(steady, frequency) < -100, f"{frequency} Hz should not sound: {level(steady, frequency)} dB"
    if subprocess.run(["which", "sox"], capture_output=True).returncode == 0:
        stat = subprocess.run(
            ["sox", example.folder / "offline.wav", "-n", "stat"], capture_output=True, text=True, check=True).stderr
        length = float([line for line in stat.splitlines() if "Length (seconds)" in line][0].split()[-1])
        assert length == 2.0, stat
    # Live, kept in a file: the same samples.
    example.run("--seconds", 2, "--save", "live.wav", says="cycles")
    same_frames(read(example.folder / "live.wav")[0], left)
