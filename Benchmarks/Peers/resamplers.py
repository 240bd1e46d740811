"""The libraries for W5, and how good a converter is."""

import os
import subprocess

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
#: Left and right: one tone each, in turn over the file's four seconds.
TONES = [(997, 9973), (17989, 18503), (20011, 21011), (21499, 21773)]
LIBRARIES = {
    "soxr": ("HAVE_SOXR", ["soxr-hq", "soxr-vhq"]),
    "samplerate": ("HAVE_SAMPLERATE", ["samplerate-medium", "samplerate-best"]),
    "speexdsp": ("HAVE_SPEEXDSP", ["speexdsp-5", "speexdsp-10"]),
}
TITLES = {
    "soxr-hq": "soxr HQ (blocks, not for a render thread)", "soxr-vhq": "soxr VHQ (blocks, not for a render thread)",
    "samplerate-medium": "libsamplerate medium", "samplerate-best": "libsamplerate best",
    "speexdsp-5": "speexdsp 5", "speexdsp-10": "speexdsp 10", "zita-fixed": "zita, fixed ratio",
    "zita-variable": "zita, variable ratio",
}


def build(folder):
    """A command for each converter whose library is there."""
    program, flags, names = os.path.join(folder, "resamplers"), [], []
    for library, (macro, some) in LIBRARIES.items():
        found = subprocess.run(["pkg-config", "--libs", library], capture_output=True, text=True)
        if found.returncode == 0:
            flags += [f"-D{macro}", *found.stdout.split()]
            names += some
    objects = []
    if os.path.exists("/usr/include/zita-resampler/vresampler.h"):
        zita = os.path.join(folder, "zita.o")
        if subprocess.run(["g++", "-O3", "-march=native", "-c", os.path.join(HERE, "zita.cpp"), "-o", zita]).returncode == 0:
            objects = [zita, "-lzita-resampler", "-lstdc++"]
            flags.append("-DHAVE_ZITA")
            names += ["zita-fixed", "zita-variable"]
    source = os.path.join(HERE, "resamplers.c")
    subprocess.run(["gcc", "-O3", "-march=native", source, *objects, *flags, "-lm", "-o", program], check=True)
    return {TITLES[name]: [program, name] for name in names}


def write_tones(path):
    at = numpy.arange(44100)
    channels = [numpy.concatenate([0.5 * numpy.sin(2 * numpy.pi * pair[side] * at / 44100) for pair in TONES])
                for side in range(2)]
    numpy.stack(channels, 1).astype("<f4").tofile(path)


def quality(path):
    """The worst of the signal-to-noise ratios up to 18.5 kHz, and the highest image of a tone above 20 kHz, in dB."""
    samples = numpy.fromfile(path, "<f4").astype(float).reshape(-1, 2)
    noises, images = [], []
    for number, pair in enumerate(TONES):
        # The middle of each second.
        part = samples[number * 48000 + 8000:number * 48000 + 40000]
        if len(part) < 32000:
            continue
        at = numpy.arange(len(part))
        window = numpy.kaiser(len(part), 38)
        for side in range(2):
            turn = 2 * numpy.pi * pair[side] / 48000 * at
            basis = numpy.stack([numpy.sin(turn), numpy.cos(turn)], 1)
            fit, *_ = numpy.linalg.lstsq(basis, part[:, side], rcond=None)
            rest = part[:, side] - basis @ fit
            if pair[side] < 19000:
                noises.append(10 * numpy.log10((fit @ fit / 2) / numpy.mean(rest ** 2)))
            else:
                image = 44100 - pair[side]
                spectrum = numpy.abs(numpy.exp(-2j * numpy.pi * image / 48000 * at) @ (rest * window)) / window.sum()
                images.append(20 * numpy.log10(2 * spectrum / 0.5 + 1e-12))
    return min(noises), max(images)
