"""The peers of W7: reverberators like zita-rev1, each for a hall of two seconds, and convolvers."""

import os

import numpy

from effect_peers import CALF, HERE, LADSPA, CsoundEffect, Command, Effect, FaustEffect, Plugin, ServerEffect
from effects import MIX, SECONDS
from peer import RATE, compiled, timed
from supercollider import AUDIO

DRAGONFLY = "https://github.com/michaelwillis/dragonfly-reverb"

_faust_reverb = (f"process = _, _ <: (*({1 - MIX}), *({1 - MIX})),"
                 f" (re.zita_rev1_stereo(20, 300, 3000, {SECONDS}, {SECONDS}, 48000) : *({MIX}), *({MIX})) :> _, _;")
_csound_reverb = (f"ar1, ar2 reverbsc a1, a2, 0.84, 8000, sr, 0.5\na1 = a1 * {1 - MIX} + ar1 * {MIX}\n"
                  f"a2 = a2 * {1 - MIX} + ar2 * {MIX}")


def _server_reverb(play, left, right):
    return play.unit("FreeVerb2", AUDIO, [left, right, MIX, 0.85, 0.5], 2)


class Zita(Command):
    """Zita's library of partitions, each length in a thread."""
    packages = ["libzita-convolver-dev", "libfftw3-dev", "g++"]
    needs = ["/usr/include/zita-convolver.h", "g++"]

    def __init__(self, cycle):
        super().__init__("zita-convolver")
        self.cycle = cycle

    def prepare(self, *words):
        super().prepare(*words)
        self.program = os.path.join(self.folder, "../convolver")
        compiled(os.path.join(HERE, "convolver.cpp"), self.program, "-lzita-convolver", "-lfftw3f", "-lpthread")

    def command(self, *words):
        return [self.program, str(self.cycle), response(self.sound), *words]


class AFIR(Effect):
    """The filter of ffmpeg: a run with it minus one without."""
    packages, needs = ["ffmpeg"], ["ffmpeg"]
    # Of a stereo response it makes twice as much.
    scale = 0.5

    def __init__(self, cycle):
        super().__init__("ffmpeg afir")
        self.cycle = cycle

    def command(self, convolves, sound, seconds, *output):
        feed = f"[0]asetnsamples={self.cycle}:p=0,aformat=fltp[a];"
        graph = f"[a][1]afir=minp={self.cycle}:maxp=8192:irfmt=input:gtype=none" if convolves else "[1]anullsink;[a]anull"
        return ["ffmpeg", "-nostdin", "-y", "-loglevel", "error", "-threads", "1", "-filter_complex_threads", "1",
                "-stream_loop", "-1", "-i", f"{sound[:-4]}.wav", "-i", f"{response(self.sound)[:-4]}.wav",
                "-filter_complex", feed + graph, "-t", str(seconds), *output]

    def heard(self):
        output = os.path.join(self.folder, "heard.f32")
        seconds = os.path.getsize(self.checked) / 8 / RATE
        timed(self.command(True, self.checked, seconds, "-f", "f32le", output), cwd=self.folder)
        return numpy.fromfile(output, "<f4").astype(float).reshape(-1, 2)

    def measure(self):
        def cost(convolves):
            short, long = (timed(self.command(convolves, self.sound, seconds, "-f", "null", "-"), cwd=self.folder)[0]
                           for seconds in (3, 33))
            return (long - short) / 30 / RATE * 1e9
        return max(1e-3, cost(True) - cost(False))


def response(sound):
    """The file of the response beside a sound."""
    return os.path.join(os.path.dirname(sound), "response.f32")


def reverbs():
    """Those for W7-reverb: LADSPA's zita-rev1 is the one of its author."""
    return [
        Plugin("zita-rev1", "ladspa", f"{LADSPA}/zita-reverbs.so", "zita-reverb",
               {"Delay": 0.02, "RT-low": SECONDS, "RT-mid": SECONDS, "Damping": 6000, "Output mix": MIX}),
        Plugin("Dragonfly Hall", "lv2", DRAGONFLY, "-", {"dry_level": 50, "early_level": 10, "late_level": 50, "decay": SECONDS,
                                                   "delay": 20}),
        Plugin("Calf Reverb", "lv2", f"{CALF}/Reverb", "-", {"decay_time": SECONDS, "dry": 1 - MIX, "amount": MIX}),
        CsoundEffect(_csound_reverb, "reverbsc"), ServerEffect(_server_reverb, "FreeVerb2"),
        FaustEffect(_faust_reverb, "zita_rev1_stereo"),
    ]


def convolvers(cycle):
    """Those for W7-convolution in cycles of so many frames."""
    return [AFIR(cycle), Zita(cycle)]
