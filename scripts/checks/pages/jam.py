"""Loops begin and end on bars of the tape, which turns slower; switches, a microphone through JACK, and a recording beside it."""

import numpy

from listening import RATE, Typist, level, read, same_frames, write
from session import Session, ended

BAR = 2 * RATE


def check(example):
    folder = example.folder
    first = example.offline(16)
    assert first == example.offline(16), "the jam is another one the second time"
    # Clicks of one frame, one a bar in each loop: each begins with the bar after its key.
    for number in range(4):
        click = [0.0] * BAR
        click[1000 + 100 * number] = 0.5
        write(folder / f"{number}.wav", click)
    loops = [f"{number}.wav" for number in range(4)]
    sound = numpy.asarray(example.offline(6.5, *loops, "--save", "taken.wav")[0])
    taken = numpy.asarray(read(folder / "taken.wav")[0])
    clicks = [place for place in numpy.flatnonzero(numpy.abs(sound) > 0.2) if abs(sound[place]) == abs(sound[place - 8:place + 9]).max()]
    # Keys at 0, 1.5 and 3 s; b, at 5 s, smears what comes then.
    begin = clicks[0] - 1000
    wanted = [begin + 1000, begin + BAR + 1000, begin + BAR + 1100, begin + 2 * BAR + 1000, begin + 2 * BAR + 1100, begin + 2 * BAR + 1200]
    assert clicks[:6] == wanted, (clicks, wanted)
    # The tape's filter delays by 224 frames, and the limiter by its look-ahead: neither by more than 20 ms.
    assert 224 <= begin < 1200, begin
    # The recording began at half a second, before the limiter.
    places = numpy.flatnonzero(numpy.abs(taken) > 0.2)
    assert len(places) and places[0] < BAR, places[:3]
    slower(example, folder, loops)
    sings(example, loops)
    is_seen(example)
    example.run("one.wav", status=2, says="it takes 4")
    example.run("one.wav", "two.wav", "three.wav", "four.wav", status=1, says="one.wav")


def slower(example, folder, loops):
    """Four semitones down: a tone on the tape sounds a major third lower, and the recording beside it stays as it was."""
    write(folder / "0.wav", [0.25 * numpy.sin(2 * numpy.pi * 440 * i / RATE) for i in range(BAR)])
    for loop in loops[1:]:
        write(folder / loop, [0.0] * BAR)
    sound = example.offline(16, *loops)[0]
    before, after = sound[2 * BAR + 100:5 * RATE], sound[int(13.4 * RATE):int(13.9 * RATE)]
    lower = 440 * 2 ** (-4 / 12)
    assert level(before, 440) > -14 and level(before, lower) < -50
    assert level(after, lower) > -17, f"{level(after, lower)} dB at {lower} Hz"
    assert level(after, 440) > -17, f"the recording is not heard: {level(after, 440)} dB at 440 Hz"


def sings(example, loops):
    """The microphone is closed until its key opens it."""
    for keys, is_open in (("", False), ("m", True)):
        with Session() as session:
            process = session.begin(example, "--seconds", 60, *loops, port="in_1", keys=keys)
            heard, _ = session.hear(2 * RATE, hear="jam:out_1", sine="jam:in_1", frequency=1_000)
            ended(process)
        found = max(level(heard[start:start + 4_800], 1_000) for start in range(0, len(heard) - 4_800, 4_800))
        assert (found > -30) == is_open, f"{found} dB of the microphone with the keys «{keys}»"


def is_seen(example):
    """The switches on a screen."""
    typist = Typist(example.path, "--output=clock", "--save=seen.wav", "--seconds=60", cwd=example.folder)
    typist.waits_for(lambda screen: any("1  [ ] drums.wav" in line for line in screen) and any("100 %" in line for line in screen),
                     "the loops")
    typist.type("p")
    typist.type("1b")
    typist.waits_for(lambda screen: any("1  [x] drums.wav" in line for line in screen) and any("b  [x] band-pass" in line for line in screen),
                     "two switches")
    typist.waits_for(lambda screen: not any("next bar" in line for line in screen), "the drums")
    typist.type("ssr")
    typist.waits_for(lambda screen: any("speed 89 %" in line for line in screen) and any("r  [x] records, 1 s" in line for line in screen),
                     "the speed, and a recording")
    typist.type("p")
    typist.waits_for(lambda screen: any("p  [x] plays the recording, seen.wav" in line for line in screen), "the recording")
    typist.waits_for(lambda screen: any("p  [ ] plays the recording" in line for line in screen), "its end")
    typist.type("\x03")
    text = typist.ends(0)
    assert "seen.wav" in text, text
