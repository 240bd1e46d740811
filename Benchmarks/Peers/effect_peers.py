"""The peers of W6: LADSPA and LV2 plug-ins, Csound, SuperCollider's server, Faust's library, each with what is most like ours."""

import math
import os
import shutil
import subprocess

import numpy

import csound
import faust
from effects import (ATTACK, CEILING, DELAY, DEPTH, DRIVE, KNEE, LOOK_AHEAD, RATIO, RECOVERY, RELEASE, THRESHOLD, TURNS,
                     VOICES, amplitude)
from peer import Failure, compiled, timed, wav
from supercollider import AUDIO, Definition, bundle, message

HERE = os.path.dirname(os.path.abspath(__file__))
LADSPA, CALF, LSP = "/usr/lib/ladspa", "http://calf.sourceforge.net/plugins", "http://lsp-plug.in/plugins/lv2"

#: Whose plug-ins they are: their package, and a file of it. And what the program that plays them is built with.
SOURCES = {"x42": ("x42-plugins", "/usr/lib/lv2/dpl.lv2"), "Calf": ("calf-plugins", "/usr/lib/lv2/calf.lv2"),
           "LSP": ("lsp-plugins-lv2", "/usr/lib/lv2/lsp-plugins.lv2"),
           "zita-rev1": ("rev-plugins", f"{LADSPA}/zita-reverbs.so"),
           "Dragonfly": ("dragonfly-reverb-lv2", "/usr/lib/lv2/DragonflyHallReverb.lv2"), "swh": ("swh-plugins", f"{LADSPA}/sc4_1882.so")}
HOST = {"lv2": (["liblilv-dev", "lv2-dev"], "/usr/include/lilv-0/lilv/lilv.h"),
        "ladspa": (["ladspa-sdk"], "/usr/include/ladspa.h")}


class Effect:
    """A peer at a workload. It has a name, a sentence on what it does otherwise, and a folder to work in."""

    #: Debian's packages, and the commands or files that tell whether they are there.
    packages, needs = [], []
    #: What it makes of the checked sound is so much too soft.
    scale = 1

    def __init__(self, name, note=""):
        self.name, self.note = name, note

    def missing(self):
        return [need for need in self.needs if not (os.path.exists(need) if need.startswith("/") else shutil.which(need))]

    def prepare(self, workload, folder, sound, checked):
        """Makes what it needs. The two sounds are raw floats; beside them are the same as WAV."""
        self.workload, self.folder, self.sound, self.checked = workload, folder, sound, checked

    def heard(self):
        """Returns its result for the checked sound, as (frames, channels)."""
        raise NotImplementedError

    def measure(self):
        """Nanoseconds of processor time a stereo frame."""
        raise NotImplementedError


class Command(Effect):
    """A program with a way to convert, and a way to take its own time."""

    def run(self, *words):
        done = subprocess.run(self.command(*words), capture_output=True, text=True, cwd=self.folder, timeout=120)
        if done.returncode:
            raise Failure(f"fails: {done.stderr.strip()[-200:] or done.returncode}")
        return done.stdout

    def heard(self):
        output = os.path.join(self.folder, "heard.f32")
        self.run("convert", self.checked, output)
        return numpy.fromfile(output, "<f4").astype(float).reshape(-1, 2)

    def measure(self):
        return float(self.run("time", self.sound, "5"))


class Plugin(Command):
    """A plug-in: its kind, where it is, and its settings."""

    def __init__(self, name, kind, where, label, settings, note="", scale=1):
        super().__init__(name, note)
        self.kind, self.where, self.label, self.settings, self.scale = kind, where, label, settings, scale
        package, file = SOURCES[name.split()[0]]
        self.packages, self.needs = [package, *HOST[kind][0], "gcc"], [file, HOST[kind][1], "gcc"]

    def command(self, *words):
        settings = [f"{name}={value:.9g}" for name, value in self.settings.items()]
        return [self.program, self.kind, self.where, self.label, *words, *settings]

    def prepare(self, *words):
        super().prepare(*words)
        self.program = os.path.join(self.folder, "../plugins")
        flags = ["-ldl", "-lm"]
        if os.path.exists("/usr/include/ladspa.h"):
            flags.append("-DHAVE_LADSPA")
        found = subprocess.run(["pkg-config", "--cflags", "--libs", "lilv-0", "lv2"], capture_output=True, text=True)
        if found.returncode == 0:
            flags += ["-DHAVE_LV2", *found.stdout.split()]
        compiled(os.path.join(HERE, "plugins.c"), self.program, *flags, compiler="gcc")


class Instances(Effect):
    """A program that plays many at once: nine, and one, and the difference is the time of eight, without its start, the sound and
    the file."""
    few, many, seconds = 1, 9, 40

    def measure(self):
        output = os.path.join(self.folder, "timed.wav")
        few = self.play(self.few, self.sound, self.seconds, output)
        many = self.play(self.many, self.sound, self.seconds, output)
        return max(1e-3, (many - few) / (self.many - self.few) / self.seconds / 48000 * 1e9)

    def heard(self):
        output = os.path.join(self.folder, "heard.wav")
        self.play(1, self.checked, os.path.getsize(self.checked) / 8 / 48000, output)
        return wav(output)


class CsoundEffect(Instances):
    packages = needs = ["csound"]

    def __init__(self, body, note=""):
        super().__init__("Csound", note)
        self.body = body

    def play(self, count, sound, seconds, output):
        path = os.path.join(self.folder, "play.csd")
        notes = "\n".join([f"i1 0 {seconds}"] + [f"i2 0 {seconds}"] * count)
        with open(path, "w") as file:
            file.write(csound.HEAD.format(form="-f", output=output))
            file.write(f'instr 1\nga1, ga2 diskin2 "{sound[:-4]}.wav", 1, 0, 1\nendin\ninstr 2\na1 = ga1\na2 = ga2\n{self.body}\n'
                       f"outs a1, a2\nendin\n</CsInstruments>\n<CsScore>\n{notes}\n</CsScore>\n</CsoundSynthesizer>\n")
        return timed(["csound", path], cwd=self.folder)[0]


class ServerEffect(Instances):
    packages, needs = ["supercollider-server"], ["scsynth"]

    def __init__(self, graph, note=""):
        super().__init__("scsynth", note)
        self.graph = graph

    def play(self, count, sound, seconds, output):
        source = Definition("source")
        played = source.unit("PlayBuf", AUDIO, [0, 1, 1, 0, 1, 0], 2)
        source.unit("Out", AUDIO, [16, *played], 0)
        effect = Definition("effect")
        left, right = self.graph(effect, *effect.unit("In", AUDIO, [16], 2))
        effect.unit("Out", AUDIO, [0, left, right], 0)
        path = os.path.join(self.folder, "score.osc")
        with open(path, "wb") as file:
            file.write(bundle(0, message("/d_recv", source.data()), message("/d_recv", effect.data()),
                              message("/b_allocRead", 0, f"{sound[:-4]}.wav", 0, 0)))
            file.write(bundle(0, message("/s_new", "source", 1000, 1, 0)))
            file.write(bundle(0, *[message("/s_new", "effect", 1001 + number, 1, 0) for number in range(count)]))
            file.write(bundle(seconds, message("/c_set", 0, 0)))
        return timed(["scsynth", "-N", path, "_", output, "48000", "WAV", "float", "-o", "2", "-i", "0", "-z", "64", "-n",
                      "8192", "-m", "262144", "-w", "4096", "-D", "0"], cwd=self.folder)[0]


FAUST_MAIN = """
#include <time.h>
#include <vector>
#include <xmmintrin.h>
""" + faust.HEAD + r"""
static double now() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}
int main(int, char **words) {
    FILE *file = fopen(words[2], "rb");
    if (!file) return 1;
    fseek(file, 0, SEEK_END);
    const long frames = ftell(file) / 8 / 64 * 64;
    rewind(file);
    std::vector<float> both(2 * frames), left(frames), right(frames);
    if ((long)fread(both.data(), 8, frames, file) != frames) return 1;
    for (long i = 0; i < frames; i++) left[i] = both[2 * i], right[i] = both[2 * i + 1];
    _mm_setcsr(_mm_getcsr() | 0x8040);
    mydsp *dsp = new mydsp;
    dsp->init(48000);
    const bool timed = !strcmp(words[1], "time");
    const long warm = timed ? 48000 : 0, last = timed ? warm + (long)(atof(words[3]) * 750) * 64 : frames;
    static float in[2][64], out[2][64], sum[2][64];
    float *inputs[2] = {in[0], in[1]}, *outputs[2] = {out[0], out[1]};
    double start = now();
    for (long done = 0; done < last; done += 64) {
        if (done == warm) start = now();
        memcpy(in[0], &left[done % frames], sizeof in[0]);
        memcpy(in[1], &right[done % frames], sizeof in[1]);
        dsp->compute(64, inputs, outputs);
        memset(sum, 0, sizeof sum);
        for (int channel = 0; channel < 2; channel++)
            for (int i = 0; i < 64; i++) sum[channel][i] += out[channel][i];
        if (!timed) for (int i = 0; i < 64; i++) both[2 * (done + i)] = sum[0][i], both[2 * (done + i) + 1] = sum[1][i];
    }
    if (timed) return printf("%.3f\n", (now() - start) / (last - warm)) < 0;
    file = fopen(words[3], "wb");
    return !file || (long)fwrite(both.data(), 8, frames, file) != frames || fclose(file);
}
"""


class FaustEffect(Command):
    """Generated by its compiler and compiled as its users do; the fastest of its ways counts that does the work."""

    packages = needs = ["faust", "g++"]

    def __init__(self, process, note="", flags=(), name="Faust"):
        super().__init__(name, note)
        self.process, self.flags = process, list(flags)

    def prepare(self, *words):
        super().prepare(*words)
        with open(os.path.join(self.folder, "play.dsp"), "w") as file:
            file.write(f'import("stdfaust.lib");\n{self.process}\n')
        with open(os.path.join(self.folder, "main.cpp"), "w") as file:
            file.write(FAUST_MAIN)
        programs = []
        for self.program in faust.ways(self.folder, "play.dsp", *self.flags):
            programs.append((min(self.measure() for _ in range(3)), self.program))
        self.program = min(programs)[1]
        self.note = ", ".join(filter(None, [self.note, faust.way(self.program)]))

    def command(self, *words):
        return [self.program, *words]


# Csound's.
_compress2 = "\n".join(
    f"{a} compress2 {a}, ax, -90, {THRESHOLD - KNEE / 2}, {THRESHOLD + KNEE / 2}, {RATIO}, {ATTACK}, {RECOVERY}, 0"
    for a in ("a1", "a2"))
_csound_compressor = f"ax maxabs a1, a2\n{_compress2}"
_csound_power = ("as1 tone a1 * a1, 1 / (2 * $M_PI * 0.01)\nas2 tone a2 * a2, 1 / (2 * $M_PI * 0.01)\n"
                 f"ax max as1, as2\nax = sqrt(ax)\n{_compress2}")
_csound_clip = "\n".join(f"{a} limit {a} * {amplitude(DRIVE)}, -1, 1" for a in ("a1", "a2"))


def _csound_chorus():
    lines = []
    for side in range(2):
        lines.append(f"ab{side} delayr {DELAY + 2 * DEPTH}")
        for voice in range(VOICES):
            phase = (voice + 0.5 * side) / VOICES
            lines += [f"at{voice} poscil {DEPTH}, {TURNS}, giSine, {phase}", f"av{voice} deltap3 {DELAY} + at{voice}"]
        total = " + ".join(f"av{voice}" for voice in range(VOICES))
        lines += [f"delayw a{side + 1}", f"a{side + 1} = a{side + 1} * 0.5 + ({total}) * {0.5 / VOICES ** 0.5}"]
    return "\n".join(lines)


# The server's. The numbers are those of its operators: absolute value 5 and square root 14; max 13, clip2 42.
def _operator(play, number, a, b):
    return play.unit("BinaryOpUGen", AUDIO, [a, b], special=number)[0]


def _unary(play, number, a):
    return play.unit("UnaryOpUGen", AUDIO, [a], special=number)[0]


def _server_limiter(play, left, right):
    return [play.unit("Limiter", AUDIO, [side, amplitude(CEILING), LOOK_AHEAD])[0] for side in (left, right)]


def _server_compressor(play, left, right):
    return _server_compander(play, left, right, _operator(play, 13, *[_unary(play, 5, side) for side in (left, right)]))


def _server_power(play, left, right):
    squares = [play.unit("OnePole", AUDIO, [play.times(side, side), math.exp(-1 / 480)])[0] for side in (left, right)]
    return _server_compander(play, left, right, _unary(play, 14, _operator(play, 13, *squares)))


def _server_compander(play, left, right, loudest):
    return [play.unit("Compander", AUDIO, [side, loudest, amplitude(THRESHOLD), 1, 1 / RATIO, ATTACK, RECOVERY])[0]
            for side in (left, right)]


def _server_clip(play, left, right):
    return [_operator(play, 42, play.times(side, amplitude(DRIVE)), 1.0) for side in (left, right)]


def _server_chorus(play, *sides):
    outputs = []
    for number, side in enumerate(sides):
        voices = []
        for voice in range(VOICES):
            turn = 2 * numpy.pi * (voice + 0.5 * number) / VOICES
            wave = play.unit("SinOsc", AUDIO, [TURNS, turn])[0]
            time = play.plus(play.times(wave, DEPTH), DELAY)
            voices.append(play.unit("DelayC", AUDIO, [side, DELAY + 2 * DEPTH, time])[0])
        total = play.plus(play.plus(voices[0], voices[1]), voices[2])
        outputs.append(play.plus(play.times(side, 0.5), play.times(total, 0.5 / VOICES ** 0.5)))
    return outputs


# Faust's library's: a strength of 1 - 1/ratio.
_strength = f"{1 - 1 / RATIO}, {THRESHOLD}, {ATTACK}, {RECOVERY}, {KNEE}, 1"
_faust_limiter = (f"process = co.limiter_lad_stereo({LOOK_AHEAD}, {amplitude(CEILING):.9g}, {LOOK_AHEAD / 6:.9g}, {LOOK_AHEAD},"
                  f" {RELEASE});")
_faust_compressor = f"process = co.FFcompressor_N_chan({_strength}, 1, _, 2);"
_faust_power = (f"process = _, _ <: (co.RMS_compression_gain_N_chan_db({_strength}, 1, 2) : par(i, 2, ba.db2linear)), _, _ :"
                " ro.interleave(2, 2) : par(i, 2, *);")
_faust_clip = f"process = par(i, 2, *({amplitude(DRIVE):.9g}) : aa.hardclip2);"
_faust_chorus = (
    f"voice(p) = de.fdelayltv(3, 1024, ma.SR * ({DELAY} + {DEPTH} * os.oscp({TURNS}, 2 * ma.PI * p)));\n"
    f"side(s) = _ <: *(0.5), (par(v, {VOICES}, voice((v + 0.5 * s) / {VOICES})) :> *({0.5 / VOICES ** 0.5:.9g})) :> _;\n"
    "process = side(0), side(1);")

def _calf_compressor(detection):
    return {"threshold": amplitude(THRESHOLD), "ratio": RATIO, "attack": 1e3 * ATTACK, "release": 1e3 * RECOVERY, "makeup": 1,
            "knee": amplitude(KNEE), "detection": detection, "stereo_link": 1}


def _lsp_compressor(mode):
    return {"sct": 0, "scm": mode, "scs": 5, "scr": 10, "al": amplitude(THRESHOLD), "at": 1e3 * ATTACK, "rt": 1e3 * RECOVERY,
            "cr": RATIO, "kn": amplitude(-KNEE / 2)}


def _sc4(mode):
    return {"RMS/peak": mode, "Attack time (ms)": 1e3 * ATTACK, "Release time (ms)": 1e3 * RECOVERY,
            "Threshold level (dB)": THRESHOLD, "Ratio (1:n)": RATIO, "Knee radius (dB)": KNEE / 2, "Makeup gain (dB)": 0}


def contestants(workload):
    """The peers of a workload, as they come."""
    power = workload.endswith("rms")
    return {
        "W6-limiter": [
            Plugin("x42 dpl", "lv2", "http://gareus.org/oss/lv2/dpl#stereo", "-",
                   {"threshold": CEILING, "release": RELEASE, "truepeak": 1}),
            Plugin("Calf Limiter", "lv2", f"{CALF}/Limiter", "-",
                   {"limit": amplitude(CEILING), "attack": 1e3 * LOOK_AHEAD, "release": 1e3 * RELEASE, "auto_level": 0, "asc": 0,
                    "oversampling": 4}, "4 times the rate"),
            Plugin("LSP Limiter", "lv2", f"{LSP}/limiter_stereo", "-",
                   {"th": amplitude(CEILING), "lk": 1e3 * LOOK_AHEAD, "rt": 20, "boost": 0, "alr": 0, "ovs": 0}),
            Plugin("LSP Limiter at 4 times", "lv2", f"{LSP}/limiter_stereo", "-",
                   {"th": amplitude(CEILING), "lk": 1e3 * LOOK_AHEAD, "rt": 20, "boost": 0, "alr": 0, "ovs": 16}),
            Plugin("swh fast look-ahead", "ladspa", f"{LADSPA}/fast_lookahead_limiter_1913.so", "fastLookaheadLimiter",
                   {"Limit (dB)": CEILING, "Release time (s)": RELEASE}),
            # Csound has none: its compress2 with a ratio of 100 and a look-ahead lets clicks through.
            ServerEffect(_server_limiter, "each channel for itself"),
            FaustEffect(_faust_limiter),
        ],
        "W6-clip": [
            Plugin("swh hard limiter", "ladspa", f"{LADSPA}/hard_limiter_1413.so", "hardLimiter",
                   {"dB limit": -DRIVE}, "mono twice, no gain", amplitude(DRIVE)),
            CsoundEffect(_csound_clip, "limit"), ServerEffect(_server_clip, "clip2"),
            FaustEffect(_faust_clip, "hardclip2, double", ["-double"]),
            FaustEffect(_faust_clip, "hardclip2", name="Faust, float"),
        ],
        "W6-chorus": [
            Plugin("Calf MultiChorus", "lv2", f"{CALF}/MultiChorus", "-",
                   {"min_delay": 10, "mod_depth": 4, "mod_rate": TURNS, "voices": VOICES, "vphase": 120, "stereo": 60,
                    "amount": 0.5, "dry": 0.5}, "with two filters, straight lines"),
            Plugin("swh multivoice chorus", "ladspa", f"{LADSPA}/multivoice_chorus_1201.so", "multivoiceChorus",
                   {"Number of voices": VOICES, "Delay base (ms)": 12, "LFO frequency (Hz)": 2, "Detune (%)": 1}, "mono twice"),
            CsoundEffect(_csound_chorus(), "deltap3"), ServerEffect(_server_chorus, "DelayC"),
            FaustEffect(_faust_chorus, "fdelayltv"),
        ],
    }.get(workload) or [
        Plugin("Calf Compressor", "lv2", f"{CALF}/Compressor", "-", _calf_compressor(0 if power else 1)),
        Plugin("LSP Compressor", "lv2", f"{LSP}/compressor_stereo", "-", _lsp_compressor(1 if power else 0)),
        Plugin("swh sc4", "ladspa", f"{LADSPA}/sc4_1882.so", "sc4", _sc4(0 if power else 1)),
        # Its detector is one of mean squares.
        *([Plugin("swh sc1", "ladspa", f"{LADSPA}/sc1_1425.so", "sc1",
                  {name: value for name, value in _sc4(0).items() if name != "RMS/peak"}, "mono twice")] if power else []),
        CsoundEffect(_csound_power if power else _csound_compressor, "compress2"),
        ServerEffect(_server_power if power else _server_compressor, "Compander"),
        FaustEffect(_faust_power if power else _faust_compressor, "a sliding window" if power else ""),
    ]
