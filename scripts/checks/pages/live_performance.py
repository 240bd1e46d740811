"""Two loops through their effects, recorded, and played back."""

import math

import numpy

from listening import RATE, Typist, level, read, same_frames, write


def check(example):
    folder = example.folder
    # A file gets the performance, and behind it the recording, which is the same once more.
    example.run("--output", "file:both.wav", "--seconds", 8, "--save", "taken.wav", says=f"{16 * RATE} frames")
    both, taken = read(folder / "both.wav"), read(folder / "taken.wav")
    sound = tuple(side[:8 * RATE] for side in both)
    assert sound == taken, "the recording is not what was put out"
    assert tuple(side[8 * RATE:] for side in both) == taken, "what is played back is not the recording"
    # The drums' hiss comes through while the filter is open, from 2 to 4 s, and hardly before: the filter is turned
    # on its frame. 250 ms into a beat, on the left, where the piano has nothing so high.
    closed = max(level(sound[0][36_000:37_500], frequency) for frequency in range(9_000, 11_000, 100))
    opened = max(level(sound[0][132_000:133_500], frequency) for frequency in range(9_000, 11_000, 100))
    assert opened > closed + 20, f"{closed} dB closed, {opened} dB open"
    # Live it is the same, and is then heard again.
    text = example.run("--output", "clock", "--seconds", 2, "--save", "live.wav", says="And once more:")
    assert text.count(" cycles, ") == 2, text
    for live, offline in zip(read(folder / "live.wav"), sound):
        same_frames(live, offline)
    # Keys turn knobs: the drums' fader, all the way down, leaves the piano.
    example.run("--output", "clock", "--seconds", 4, "--save", "down.wav", stdin="c" * 20 + "v" * 20)
    quiet = read(folder / "down.wav")[0][144_000:]
    assert max(map(abs, quiet)) < 1e-6, "both faders are down, and something is heard"
    is_faster(example, folder)
    is_seen(example)
    is_cut_whole(example)
    example.run("one.wav", status=2, says="it takes 2")
    example.run("one.wav", "two.wav", status=1, says="one.wav")


def is_faster(example, folder):
    """A tempo of 125 %: clicks come as much sooner, on both tracks at once, and a tone keeps its pitch."""
    clicks = [0.0] * RATE
    clicks[12_000:12_100] = [0.9] * 100
    write(folder / "clicks.wav", clicks)
    write(folder / "tone.wav", [0.2 * math.sin(2 * math.pi * 440 * i / RATE) for i in range(RATE)])
    example.run("--output", "file:fast.wav", "--seconds", 3, "--tempo", 125, "--save", "fast-take.wav", "clicks.wav",
                "tone.wav")
    sound = read(folder / "fast-take.wav")[0]
    assert level(sound[RATE:2 * RATE], 440) > -24 and level(sound[RATE:2 * RATE], 550) < -60
    # The clicks stand out of the tone: 0.8 s from one to the next.
    steps = numpy.abs(numpy.diff(sound, 2))
    places = [int(0.8 * RATE * k + 9_600) for k in range(3)]
    for place in places:
        assert steps[place - 480:place + 960].max() > 3 * numpy.median(steps), place
    example.run("--tempo", 10, status=2, says="25")


def is_seen(example):
    """The knobs on a screen."""
    typist = Typist(example.path, "--output=clock", "--save=seen.wav", "--seconds=60", cwd=example.folder)
    typist.waits_for(lambda screen: "800 Hz" in screen[2] and "-3.0 dB" in screen[3] and "100 %" in screen[6], "the knobs")
    typist.type("aaacgg")
    # 800 Hz, three times a fifth more.
    typist.waits_for(lambda screen: "1382 Hz" in screen[2] and "-3.0 dB" not in screen[3] and "104 %" in screen[6], "the knobs, turned")
    # The recording lasts as long as the performance did: it must not end by itself before the second Ctrl-C is typed.
    typist.read(3)
    typist.type("\x03")
    # The first Ctrl-C ended the performance. The second one ends the recording that is played back.
    # It draws once before it takes signals.
    typist.waits_for_text("And once more:(.*missed){5}")
    typist.type("\x03")
    text = typist.ends(0)
    assert "And once more:" in text and "seen.wav" in text, text


def is_cut_whole(example):
    """Ctrl-C while a file is written: the file and the recording are whole, and there is nothing behind them."""
    example.cut("--output=file:cut.wav", "--save=cut-take.wav", "--seconds=90000")
    cut, taken = read(example.folder / "cut.wav"), read(example.folder / "cut-take.wav")
    assert cut == taken and len(cut[0]) > RATE
