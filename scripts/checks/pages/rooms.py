"""A click in a room decays as its preset says; rooms change without a click; a room is written, changed and read."""

import math

import numpy
from scipy import signal

from listening import RATE, Typist, read, write


def decay(samples, first, last):
    """The seconds of 60 dB, by the energy of two tenths of a second."""
    def energy(second):
        part = samples[int(second * RATE):int((second + 0.2) * RATE)]
        return sum(sample * sample for sample in part)
    return 60 * (last - first) / (10 * math.log10(energy(first) / energy(last)))


def check(example):
    folder = example.folder
    write(folder / "click.wav", [0.9] + [0.0] * (8 * RATE))
    example.run(
        "--room", "largeHall", "--write-room", "hall.txt", "--output", "file:first.wav", "--seconds", 4, "--mix", 1,
        "--input", "click.wav", says="hall.txt: the room largeHall")
    text = (folder / "hall.txt").read_text()
    assert "decay = 2.8\n" in text, text
    # All frequencies decay alike there, so that the energy says the time.
    for seconds in (1, 3):
        even = text.replace("decay = 2.8", f"decay = {seconds}").replace("name = largeHall", "name = mine")
        even = "\n".join(line.split("=")[0] + "= 1" if "Ratio" in line else line for line in even.splitlines())
        (folder / "mine.txt").write_text(even)
        for lines in (8, 16, 32):
            left, right = example.offline(3, "--room", "mine.txt", "--mix", 1, "--input", "click.wav", "--lines", lines)
            found = decay(left, 0.3, 1.2)
            assert abs(found / seconds - 1) < 0.07, f"{lines} lines: {found} s in place of {seconds}"
            both = sum(a * b for a, b in zip(left, right)) / sum(a * a for a in left)
            assert abs(both) < 0.25, f"left and right have {both} in common"
    # Dry, the sound is as it was.
    left, _ = example.offline(1, "--mix", 0, "--input", "click.wav")
    assert abs(left[0] - 0.9) < 1e-6 and max(map(abs, left[1:])) == 0
    # A steady tone through all the rooms: no edges.
    write(folder / "tone.wav", [
        0.2 * math.sin(2 * math.pi * 220 * i / RATE) * (0.5 - 0.5 * math.cos(math.pi * min(1, i / RATE)))
        for i in range(6 * RATE)])
    left, _ = example.offline(5, "--input", "tone.wav", "--tour", 0.3, "--mix", 1)
    bend = max(abs(a - 3 * b + 3 * c - d) for a, b, c, d in zip(left, left[1:], left[2:], left[3:]))
    assert max(map(abs, left)) > 0.05 and bend < 3e-4, f"an edge of {bend}"
    example.run("--room", "bathroom", "--output", "file:out.wav", "--seconds", 1, status=1, says="there is no room bathroom")
    (folder / "bad.txt").write_text("name = bad\ndecay = long\n")
    example.run("--room", "bad.txt", "--output", "file:out.wav", "--seconds", 1, status=1, says="decay must be a number from 0.1")
    example.run("--input", "missing.wav", "--output", "file:out.wav", "--seconds", 1, status=1, says="missing.wav")
    # The response of a room: a click, and half of it a tenth of a second later.
    write(folder / "room.wav", [0.5] + [0.0] * 4_799 + [0.25] + [0.0] * 100)
    left, right = example.offline(1, "--mix", 1, "--input", "click.wav", "--response", "room.wav")
    assert left[0] > 0.1 and abs(left[4_800] / left[0] - 0.5) < 1e-5 and left == right, (left[0], left[4_800])
    assert max(map(abs, left[1:4_800] + left[4_801:])) < 1e-6, "there is something beside the two"
    convolves(example)
    example.run("--response", "missing.wav", "--output", "file:out.wav", "--seconds", 1, status=1, says="missing.wav")
    example.run("--output", "clock", "--seconds", 1, "--save", "live.wav")
    assert len(read(folder / "live.wav")[0]) > RATE / 2
    is_seen(example)


def convolves(example):
    """Two seconds of response against scipy's convolution; responses that are none."""
    folder = example.folder
    random = numpy.random.default_rng(18)
    # So loud at its end that nothing is cut off there, and as 32-bit floats.
    response = (random.uniform(-1, 1, 2 * RATE) * 10 ** (-numpy.arange(2 * RATE) / RATE)).astype("f")
    sound = random.uniform(-0.5, 0.5, 3 * RATE).astype("f")
    write(folder / "long.wav", response)
    write(folder / "noise.wav", sound)
    arguments = ["--mix", 1, "--input", "noise.wav", "--response", "long.wav"]
    left, right = example.offline(3, *arguments)
    assert left == right
    wanted = signal.fftconvolve(sound.astype(float), response.astype(float))[:len(left)]
    heard = numpy.asarray(left, float)
    # It is made as loud as the sound, by a factor.
    heard /= numpy.dot(heard, wanted) / numpy.dot(wanted, wanted)
    error = 10 * math.log10(numpy.square(heard - wanted).sum() / numpy.square(wanted).sum())
    assert error < -130, f"an error of {error} dB against scipy"
    says = example.run("--output", "file:out.wav", "--seconds", 1, *arguments)
    assert "long.wav: 96000 frames of 1 channels, " in says and "MB in memory" in says, says

    def refused(name, says):
        example.run("--response", name, "--output", "file:out.wav", "--seconds", 1, status=1, says=says)

    (folder / "empty.wav").write_bytes(b"")
    refused("empty.wav", "empty.wav")
    write(folder / "bare.wav", [])
    refused("bare.wav", "no frame")
    write(folder / "broken.wav", [1, 0.5, math.nan])
    refused("broken.wav", "its sample at frame 2 of channel 0")
    whole = bytearray((folder / "broken.wav").read_bytes())
    whole[22:24] = b"\0\0"
    (folder / "none.wav").write_bytes(whole)
    refused("none.wav", "Channel count is zero")
    # Ten minutes at another rate.
    write(folder / "minutes.wav", numpy.ones(601_000))
    whole = bytearray((folder / "minutes.wav").read_bytes())
    whole[24:32] = (1_000).to_bytes(4, "little") + (4_000).to_bytes(4, "little")
    (folder / "minutes.wav").write_bytes(whole)
    refused("minutes.wav", "601 s long")


def is_seen(example):
    """Keys go from room to room."""
    typist = Typist(example.path, "--output=clock", "--seconds=60", "--response=room.wav", cwd=example.folder)
    typist.waits_for(lambda screen: any("▶ r  room.wav" in line for line in screen), "the response")
    typist.type("r")
    typist.waits_for(lambda screen: any("▶ 4  mediumHall" in line for line in screen), "the hall")
    typist.type("n")
    typist.waits_for(lambda screen: any("▶ 5  largeHall" in line for line in screen), "the next room")
    typist.type("9mf")
    typist.waits_for(
        lambda screen: any("▶ 9  cathedral" in line for line in screen) and "mix 40 %    frozen" in screen[0], "the cathedral")
    typist.type("\x03")
    typist.ends(0)
