"""Each step sounds on its frame; a text plays beside the steps, or says where it is wrong; the keys and the screen."""

import numpy

from listening import Typist


def begins(sound):
    """The frames at which something begins that was silent, or nearly so."""
    changes = numpy.abs(numpy.diff(numpy.asarray(sound[0])))
    found = []
    for frame in numpy.flatnonzero(changes > 0.08):
        if not found or frame - found[-1] > 4_000:
            found.append(int(frame))
    return found


def check(example):
    first = example.offline(16)
    assert first == example.offline(16), "the beat is another one the second time"
    # Before a key is pressed: kick, snare and hat on their sixteenths of 6,000 frames.
    heard = begins(example.offline(2, "--tempo", 120))
    # The limiter is late by its look-ahead, by the same for all.
    wanted = [heard[0] + 6_000 * step for step in (0, 2, 4, 6, 8, 10, 12, 14, 15)]
    assert heard == wanted, (heard, wanted)
    assert heard[0] < 1_000, heard
    # Three claps in a bar of eight, between the other steps: the hat is louder than they are, so they are looked for where it is not.
    plain, with_claps = (numpy.asarray(example.offline(2, "--tempo", 120, *more)[0]) for more in ([], ["--beat", "clap(3,8,1)"]))
    places = numpy.flatnonzero(numpy.abs(with_claps - plain) > 0.02)
    assert abs(int(places[0]) - heard[0] - 24_000) < 100, (places[:3], heard[0])
    example.run("--output", "file:x.wav", "--seconds", 1, "--beat", "kick [hat", status=1, says="This [ has no end")
    example.run("--output", "file:x.wav", "--seconds", 1, "--beat", "kick cow", says="no note \"cow\"")
    example.run("--tempo", 9_000, status=2, says="30 to 300")
    is_seen(example)


def is_seen(example):
    """The steps on a screen, and what the keys do to them."""
    typist = Typist(example.path, "--output=clock", "--seconds=60", cwd=example.folder)
    typist.waits_for(lambda screen: any("1 > kick   x... x... x.x. x..." in line for line in screen), "the steps of the kick")
    typist.type("4qas")
    typist.waits_for(lambda screen: any("4 > clap   x... .... xx.. ...." in line for line in screen), "the claps")
    typist.type("mzv++")
    typist.waits_for(lambda screen: any("clap" in line and "muted" in line for line in screen), "the mute")
    typist.waits_for(lambda screen: any("114 beats per minute, a little swing, fills" in line for line in screen), "tempo, swing and fills")
    typist.type("c")
    typist.waits_for(lambda screen: any("4 > clap   .... .... .... ...." in line for line in screen), "no claps")
    typist.type("\x03")
    typist.ends(0)
