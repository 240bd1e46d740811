"""Plays a sound through Signalsmith's library: FOLDER TEMPO convert IN OUT, or FOLDER TEMPO time IN SECONDS."""

import sys
import time

sys.path.insert(0, sys.argv[1])

import numpy  # noqa: E402
from python_stretch.Signalsmith import Stretch  # noqa: E402

RATE = 48000
tempo, action, path, last = float(sys.argv[2]), *sys.argv[3:]
sound = numpy.fromfile(path, "<f4").reshape(-1, 2).T


def stretched(sound):
    stretch = Stretch()
    stretch.preset(2, float(RATE))
    stretch.setTimeFactor(tempo)
    begin = time.process_time()
    heard = stretch.process(numpy.ascontiguousarray(sound))
    return heard, time.process_time() - begin


if action == "convert":
    # Its end would be cut off by its latency.
    heard, _ = stretched(numpy.concatenate([sound, numpy.zeros((2, RATE), "f4")], 1))
    heard[:, :round(sound.shape[1] / tempo)].T.astype("<f4").tofile(last)
else:
    whole = numpy.tile(sound, (1, round(float(last) * RATE / sound.shape[1])))
    print(stretched(whole)[1] * 1e9 / (whole.shape[1] / tempo))
