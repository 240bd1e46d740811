"""A file at another tempo and pitch: it has the length of the rate, and its tone the pitch, at its level."""

import math

from listening import RATE, level, read, write

# It writes files alone.
IS_LIVE = False


def check(example):
    folder = example.folder
    write(folder / "tone.wav", [0.25 * math.sin(2 * math.pi * 440 * i / RATE) for i in range(2 * RATE)])

    def heard(*arguments):
        example.run("tone.wav", "out.wav", *arguments, says="out.wav: rate")
        return read(folder / "out.wav", 1)[0]

    for arguments, rate, semitones in (
            (("--rate", 1.25), 1.25, 0), (("--pitch", -3), 1, -3), (("--bpm-from", 90, "--bpm-to", 120), 4 / 3, 0),
            (("--bars", 1, "--bpm-to", 100, "--pitch", 7), 100 / 120, 7), (("--rate", 0.5, "--pitch", 5, "--formants"), 0.5, 5),
            (("--rate", 0.8, "--speech"), 0.8, 0)):
        samples = heard(*arguments)
        assert len(samples) == round(2 * RATE / rate), f"{arguments}: {len(samples)} frames"
        quarter = len(samples) // 4
        found = level(samples[quarter:3 * quarter], 440 * 2 ** (semitones / 12))
        expected = 20 * math.log10(0.25)
        assert abs(found - expected) < (6 if "--formants" in arguments else 0.1), f"{arguments}: {found} dB, not {expected}"
    samples = heard()
    assert max(abs(a - b) for a, b in zip(samples, read(folder / "tone.wav", 1)[0])) < 1e-6, "as it is"
    example.run("tone.wav", "out.wav", "--bpm-to", 120, status=1, says="give both")
    example.run("tone.wav", "out.wav", "--bpm-from", 3, "--bpm-to", 120, status=1, says="1/32 to 32")
    example.run("tone.wav", "out.wav", "--rate", 33, status=2, says="must be")
    example.run("missing.wav", "out.wav", status=1, says="missing.wav")
    example.run("tone.wav", "out.xyz", status=1, says='"out.xyz"')
    example.run("--output", "file:drums.wav", "--rate", 2, says="drums.wav")
