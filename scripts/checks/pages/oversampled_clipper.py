"""Checks the harmonics that the clipper folds back: less at four times the rate, less still at eight times."""

import re

from listening import Picture, level, read, same_frames

# The odd harmonics of 5 kHz that have no place below 24 kHz fold back to these: the fifth to 23 kHz, and so on.
FOLDED = range(1_000, 24_000, 2_000)
TRUE = (5_000, 15_000)


def check(example):
    levels = {}
    for times in (1, 4, 8):
        sound = example.offline(1, "--times", times, "--drive", 20)[0][4_800:28_800]
        levels[times] = max(level(sound, frequency) for frequency in FOLDED if frequency not in TRUE)
        assert abs(level(sound, 5_000) + 3.92) < 0.02, f"the tone itself: {level(sound, 5_000)} dB"
    # Measured: -18.2, -40.4 and -59.2 dB.
    assert -19 < levels[1] < -17, f"plain: {levels[1]} dB"
    assert levels[4] < -40, f"four times: {levels[4]} dB"
    assert levels[8] < -59, f"eight times: {levels[8]} dB"
    # It measures these levels itself too, and draws them: red lines as high as that.
    text = example.run("--drive", 20, "--compare", "aliasing.png")
    measured = [float(number) for number in re.findall(r"× *:? ?.*? has (-[\d.]+) dB", text)]
    assert all(abs(a - b) < 0.1 for a, b in zip(measured, levels.values())) and len(measured) == 3, (measured, levels)
    picture = Picture(example.folder / "aliasing.png")
    red = 5
    for index, found in enumerate(measured):
        top = 44 + 200 * index
        rows = [row for row in range(top - 8, top + 137) if red in picture.rows[row][:900] and row >= top]
        assert abs((top - rows[0]) / 136 * 100 - found) < 1.5, f"{rows[0]} is not {found} dB"
    example.run("--compare", "missing/aliasing.png", status=1, says="missing")
    # However cycles are cut: live it is what it is offline, and as late.
    example.run("--seconds", 2, "--output", "clock", "--save", "live.wav", says="cycles")
    same_frames(read(example.folder / "live.wav")[0], example.offline(2)[0])
    example.run("--times", "17", status=2, says="from 1 to 16")
