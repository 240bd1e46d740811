"""The picture shows the sound of the file: a tone in its place, as bright as it is loud, and silence behind it."""

import math

from listening import RATE, Picture, write

# There is nothing live about it.
IS_LIVE = False
TOP, BOTTOM, LEFT, RIGHT = 224, 506, 84, 871
BLACK, STEPS = 6, 40
BLUE = (3, 4)


def row_of(frequency):
    share = math.log(frequency / 40) / math.log(20_000 / 40)
    return BOTTOM + round(share * (TOP - BOTTOM))


def check(example):
    folder = example.folder
    write(folder / "tone.wav", [
        0.4 * math.sin(2 * math.pi * 1_000 * i / RATE) if i < 2 * RATE else 0 for i in range(4 * RATE)])
    example.run("tone.wav", "--output", "file:tone.png", says="tone.png: 960 by 540 pixels")
    picture = Picture(folder / "tone.png")
    assert (folder / "tone.png").stat().st_size < 20_000
    one, three = LEFT + (RIGHT - LEFT) // 4, LEFT + 3 * (RIGHT - LEFT) // 4
    loud, silent = picture.column(one)[TOP:BOTTOM + 1], picture.column(three)[TOP:BOTTOM + 1]
    brightest = [row + TOP for row, colour in enumerate(loud) if colour == max(loud)]
    assert any(abs(row - row_of(1_000)) <= 1 for row in brightest), f"{brightest}, not {row_of(1_000)}"
    level = -90 + 90 * (max(loud) - BLACK) / (STEPS - 1)
    assert abs(level - 20 * math.log10(0.4)) < 2, f"{level} dB"
    assert loud[row_of(4_000) - TOP] == BLACK and set(silent) == {BLACK}
    # The waveform: one lane from 44 to 199 for ±0.5, and the wave fills four fifths of it.
    wave = [row for row, colour in enumerate(picture.column(one)[:TOP]) if colour in BLUE]
    assert abs(wave[0] - (44 + 0.1 * 155)) <= 2 and abs(wave[-1] - (199 - 0.1 * 155)) <= 2, f"{wave[0]} to {wave[-1]}"
    # Half of it, and a file of two channels that it makes.
    example.run("tone.wav", "--seconds", 2, "--output", "file:half.png")
    assert set(Picture(folder / "half.png").column(three)[TOP:BOTTOM + 1]) != {BLACK}
    example.run(says="picture.png")
    assert (folder / "picture.png").stat().st_size < 80_000
    # It also draws files that hold no sound at all, or hardly any.
    for samples in ([], [0.5], [math.nan, math.inf, -math.inf, 1e30] * 100):
        write(folder / "odd.wav", samples)
        example.run("odd.wav", "--output", "file:odd.png", says="pixels")
        Picture(folder / "odd.png")
    example.run("missing.wav", status=1, says="missing.wav")
