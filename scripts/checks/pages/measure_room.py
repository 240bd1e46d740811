"""A simulated room comes out as it is known: its response within -45 dB, its decay and clarity by the formulas."""

import math
import re

from listening import RATE, Picture, read

# The room is simulated, so that nothing of it is live.
IS_LIVE = False


def check(example):
    folder = example.folder
    for decay in (0.6, 1.5):
        text = example.run("--simulate", decay, "--sweep", 4, "--response", "room.wav", says="room.wav")
        difference = float(re.search(r"by (-[\d.]+) dB", text)[1])
        assert difference < -45, f"the response differs by {difference} dB"
        rows = {
            int(row[1]): [float(number) for number in row.groups()[1:]] for row in re.finditer(
                r"(\d+) Hz +([\d.]+) s +([\d.]+) s +([\d.]+) s +([-\d.]+) dB +([-\d.]+) dB", text)}
        assert set(rows) >= {250, 500, 1_000, 2_000, 4_000, 8_000}, text
        for octave in (500, 1_000, 2_000, 4_000, 8_000):
            _, t20, t30, _, _ = rows[octave]
            for name, found in (("T20", t20), ("T30", t30)):
                assert abs(found / decay - 1) < 0.12, f"{name} at {octave} Hz: {found} s, not {decay}"
        samples = read(folder / "room.wav", channels=1)[0]
        peak = max(range(len(samples)), key=lambda i: abs(samples[i]))
        assert peak <= 0.002 * RATE, f"the sound arrives at frame {peak}"
        assert 0.8 * decay < len(samples) / RATE < 2.9, f"{len(samples)} frames"
        drawing = Picture(folder / "room.png")
        # Below the spectrogram the curves fall: a column's last dark dot of the whole is the lower the later.
        assert drawing.height == 830, f"a picture of {drawing.height} lines"
        falls = [[row for row in range(566, 795) if drawing.rows[row][x] == 1] for x in (90, 200, 320)]
        assert all(falls) and falls[0][-1] < falls[1][0] < falls[2][-1] + 40 and falls[1][-1] < falls[2][0], falls
    # 80 ms of an even decay hold as much more energy than the rest, but for the click that comes straight.
    expected = 10 * math.log10(math.exp(2 * 6.907755 * 0.08 / 1.5) - 1)
    assert rows[2_000][4] > expected - 1, f"C80: {rows[2_000][4]} dB, without the click {expected}"
    example.run("--simulate", 11, status=2, says="must be")
    example.run("--simulate", 1, "--response", "missing/room.wav", status=1, says="missing")
