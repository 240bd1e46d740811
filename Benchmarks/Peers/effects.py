"""W6, W7 and W8: effects, rooms and another tempo for a stereo sound. This module makes the sounds that they get, and checks
that they have worked on them.

A check is a sentence when the work is not done (then the row has no figure), else a note and whether the same work is done.
"""

import numpy

from peer import Failure, RATE

#: What a time is divided by besides the frames: channels, where the figure is of one sample.
CHANNELS = {"W6-limiter": 1, "W6-compressor": 2, "W6-compressor-rms": 2, "W6-clip": 2, "W6-chorus": 1,
            "W7-reverb": 1, "W7-reverb-light": 1, "W7-convolution": 1, "W8-stretch": 1}
#: The settings, which all have as far as they can.
CEILING, RELEASE, LOOK_AHEAD = -1.0, 0.05, 0.005
THRESHOLD, RATIO, KNEE, ATTACK, RECOVERY = -18.0, 4.0, 6.0, 0.01, 0.15
DRIVE = 26.0
VOICES, TURNS, DELAY, DEPTH = 3, 0.5, 0.012, 0.002
SECONDS, MIX = 2, 0.5
TEMPO = 1.25


def amplitude(decibels):
    return 10 ** (decibels / 20)


def decibels(value):
    return 20 * numpy.log10(max(float(value), 1e-9))


def level(samples):
    """The root of the mean square."""
    return float(numpy.sqrt(numpy.mean(numpy.square(samples))))


def both(channel):
    return numpy.stack([channel, channel], 1)


def timed_sound(workload):
    """A second that is repeated while the time is taken: noise that a limiter always has to turn down, else noise whose level
    goes from -40 dB to full scale four times."""
    noise = numpy.random.default_rng(6).uniform(-1, 1, (RATE, 2))
    if workload == "W6-limiter":
        return 2 * noise
    at = numpy.arange(RATE)[:, None] / RATE
    return noise * 10 ** (numpy.cos(2 * numpy.pi * 4 * at) - 1)


def checked_sound(workload):
    """The sound of which the output is looked at."""
    half = numpy.arange(RATE // 2)
    if workload == "W6-limiter":
        # A quarter of the rate at 45°, whose peaks lie between the samples, in bursts; noise; clicks; a loud sine.
        quarter = 1.4 * numpy.sin(numpy.pi / 2 * half + numpy.pi / 4) * (half % 4800 < 2400)
        noise = numpy.random.default_rng(7).uniform(-4, 4, len(half))
        clicks = 8.0 * (half % 2400 == 1200)
        sine = 10 * numpy.sin(2 * numpy.pi * 997 / RATE * half)
        return both(numpy.concatenate([quarter, noise, clicks, sine, numpy.zeros(RATE // 2)]))
    if workload.startswith("W6-compressor"):
        second = numpy.sin(2 * numpy.pi * 1000 / RATE * numpy.arange(2 * RATE))
        return both(numpy.concatenate([second * amplitude(one) for one in (-40, -12, 0)]))
    if workload.startswith("W7"):
        burst = numpy.random.default_rng(8).uniform(-0.5, 0.5, (RATE // 2, 2))
        return numpy.concatenate([burst, numpy.zeros((3 * RATE, 2))])
    if workload == "W8-stretch":
        return both(0.5 * numpy.sin(2 * numpy.pi * 440 / RATE * numpy.arange(8 * RATE)))
    if workload == "W6-clip":
        return both(numpy.sin(2 * numpy.pi * 5000 / RATE * numpy.arange(RATE)))
    return both(0.5 * numpy.sin(2 * numpy.pi * 1000 / RATE * numpy.arange(8 * RATE)))


def response():
    """Two seconds of noise that decays by 60 dB."""
    noise = numpy.random.default_rng(9).uniform(-0.05, 0.05, (2 * RATE, 2))
    return noise * 10 ** (-3 * numpy.arange(2 * RATE)[:, None] / (2 * RATE))


def check(workload, output):
    """A note on an output, and whether it is the same work; a `Failure` if the work is not done."""
    wanted = len(checked_sound(workload)) / (TEMPO if workload == "W8-stretch" else 1)
    if len(output) < 0.98 * wanted or not numpy.isfinite(output).all():
        raise Failure("its output is not a sound as long as the input")
    if workload == "W6-limiter":
        return limits(output)
    if workload == "W6-clip":
        return clips(output)
    if workload == "W6-chorus":
        return sings(output)
    if workload == "W7-convolution":
        return convolves(output)
    if workload == "W8-stretch":
        return stretches(output)
    if workload.startswith("W7"):
        return rings(output)
    return compresses(output)


def limits(output):
    over = decibels(numpy.abs(output).max()) - CEILING
    if over > 1:
        raise Failure(f"does not limit: samples {over:.1f} dB over the ceiling")
    noise, sine = (output[int(at * RATE):int((at + 0.4) * RATE)] for at in (0.55, 1.55))
    if min(level(noise), level(sine)) < 0.05:
        raise Failure("turns a loud sound down to nothing")
    # At 16 times the rate. All is silent at the end, so nothing is cut off.
    spectra = numpy.fft.rfft(output, axis=0)
    over = decibels(numpy.abs(numpy.fft.irfft(spectra, 16 * len(output), axis=0)).max() * 16) - CEILING
    return f"true peak {over:+.1f} dB", bool(over <= 1)


def compresses(output):
    heard = [decibels(level(output[int((2 * i + 1.5) * RATE):int((2 * i + 1.9) * RATE)]) * numpy.sqrt(2)) for i in range(3)]
    # Some make up for what they take away: the soft part is the measure.
    gain = heard[0] + 40
    soft, loud = heard[1] - gain, heard[2] - gain
    if abs(gain) > 12 or loud > -7 or not 1.5 < loud - soft < 4.5:
        raise Failure(f"does not compress 4:1: tones of -40, -12 and 0 dB come out at {heard[0]:.1f}, {heard[1]:.1f}"
                      f" and {heard[2]:.1f} dB")
    return f"0 dB comes out at {loud:.1f} dB", True


def clips(output):
    part = output[RATE // 2:RATE // 2 + 24000]
    if not 0.9 < numpy.abs(part).max() < 1.1 or level(part) < 0.6:
        raise Failure(f"does not clip: a sine of +26 dB comes out with a peak of {decibels(numpy.abs(part).max()):.1f} dB")
    # The sine goes round in 48 samples: each bin of 1 kHz is a harmonic, or what is folded back.
    power = numpy.abs(numpy.fft.rfft(part[:, 0])) ** 2
    bins = [power[int(round(kilohertz * 500))] for kilohertz in range(24)]
    harmonics = bins[5] + bins[15]
    folded = sum(bins[1:20]) - harmonics
    ratio = 10 * numpy.log10(folded / harmonics + 1e-20)
    return f"folded back {ratio:.0f} dB", bool(ratio < -30)


def rings(output):
    """The time of 60 dB, by two parts of what is left when the burst is over."""
    first, second = (decibels(level(output[int(at * RATE):int((at + 0.3) * RATE)])) for at in (0.8, 1.8))
    if not -70 < first < 0 or second > first - 3:
        raise Failure(f"does not ring: {first:.0f} dB after 0.3 s, {second:.0f} dB a second later")
    left, right = output[int(0.8 * RATE):int(1.8 * RATE)].T
    common = abs(float((left * right).sum())) / float(numpy.sqrt((left ** 2).sum() * (right ** 2).sum()))
    time = 60 / (first - second)
    # All have a decay that goes with the frequency, and each its own.
    return f"decays in {time:.1f} s, {100 * common:.0f} % in common", bool(0.8 < time < 3.5 and common < 0.5)


def convolves(output):
    """The error against a convolution in double precision."""
    sound, room = checked_sound("W7"), response()
    size = 1 << 19
    # As 32-bit floats, which all get.
    spectra = [numpy.fft.rfft(samples.astype("<f4").astype(float), size, axis=0) for samples in (sound, room)]
    wanted = numpy.fft.irfft(spectra[0] * spectra[1], size, axis=0)
    count = min(len(output), len(sound)) - 1024
    error = 10 * numpy.log10(numpy.square(output[:count] - wanted[:count]).sum() / numpy.square(wanted[:count]).sum() + 1e-30)
    if error > -60:
        raise Failure(f"does not convolve: an error of {error:.0f} dB")
    return f"error {error:.0f} dB", True


def sings(output):
    part = output[-4 * RATE:]
    window = numpy.blackman(len(part))
    shares = []
    for channel in range(2):
        power = numpy.abs(numpy.fft.rfft(part[:, channel] * window)) ** 2
        # A bin is a quarter of a hertz.
        near, line = power[3600:4401].sum(), power[3997:4004].sum()
        if near < 1e-3 or power.sum() > 1.01 * near:
            raise Failure("its output is not the sound")
        shares.append(10 * numpy.log10((near - line) / near + 1e-12))
    if min(shares) < -20:
        raise Failure(f"does not sing: only {min(shares):.0f} dB of a tone are moved")
    wide = level(part[:, 0] - part[:, 1]) > 0.01 * level(part)
    return f"moves {min(shares):.0f} dB of a tone" + ("" if wide else ", both sides alike"), True


def stretches(output):
    """A sine keeps its frequency, and is still a sine."""
    powers = numpy.abs(numpy.fft.rfft(output[2 * RATE:3 * RATE, 0] * numpy.blackman(RATE))) ** 2
    tone = powers[430:451].sum()
    purity = 10 * numpy.log10(tone / max(powers.sum() - tone, 1e-30))
    if abs(int(powers.argmax()) - 440) > 2 or purity < 10:
        raise Failure(f"does not keep a sine of 440 Hz: {powers.argmax()} Hz, {purity:.0f} dB above the rest")
    return f"a sine is {purity:.0f} dB above the rest", True
