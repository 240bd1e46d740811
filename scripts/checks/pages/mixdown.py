"""A session becomes a file: each track in its place, the whole as loud as was asked for, and no peak too high."""

import math
import shutil
import signal
import subprocess
import time

from listening import RATE, level, read, write

# There is nothing live about it, so nothing of what is checked of live programs.
IS_LIVE = False


# ITU-R BS.1770-4 at 48 kHz: its two filters, its gates, and peaks between the samples, at eight times the rate.
MEASURE = """
import sys, numpy
from scipy import io, signal
rate, x = io.wavfile.read(sys.argv[1])
x = x.astype(float)
y = signal.lfilter([1.53512485958697, -2.69169618940638, 1.19839281085285], [1, -1.69065929318241, 0.73248077421585], x, 0)
y = signal.lfilter([1, -2, 1], [1, -1.99004745483398, 0.99007225036621], y, 0)
blocks = numpy.array([(y[i:i + 19200] ** 2).mean(0).sum() for i in range(0, len(y) - 19199, 4800)])
loud = lambda power: -0.691 + 10 * numpy.log10(power + 1e-30)
heard = blocks[loud(blocks) > -70]
heard = heard[loud(heard) > loud(heard.mean()) - 10]
print(loud(heard.mean()), 20 * numpy.log10(abs(signal.resample_poly(x, 8, 1, 0)).max()))
"""


def loudness(path):
    """Integrated loudness and true peak, by other arithmetic than the program's."""
    return tuple(map(float, subprocess.run(
        ["/usr/bin/python3", "-c", MEASURE, path], capture_output=True, text=True, check=True).stdout.split()))


def check(example):
    folder = example.folder
    # By ITU-R BS.1770 a sine of 997 Hz in both of two channels has as many LUFS as decibels of full scale.
    write(folder / "tone.wav", [0.05 * math.sin(2 * math.pi * 997 * i / RATE) for i in range(3 * RATE)])
    (folder / "one.session").write_text("# a tone\n\ntrack Tone tone.wav gain -3\n")
    for target in (-16, -23):
        example.run("one.session", "--loudness", target, "--output", "file:tone-mix.wav", says=f"{target}.0 LUFS")
        left, right = read(folder / "tone-mix.wav")
        assert len(left) == 3 * RATE and left == right
        found = level(left[24_000:120_000], 997)
        assert abs(found - target) < 0.02, f"{found} dB, not {target}"
    (folder / "late.session").write_text("track Tone tone.wav start 1.5\n")
    example.run("late.session", "--output", "file:late.wav", says="216000 frames")
    left = read(folder / "late.wav")[0]
    assert not any(left[:72_001]) and left[72_001] != 0, "it starts after 1.5 s"
    compressors_follow_their_curves(example)
    ducking_follows_its_curve(example)
    peaks_are_kept(example)
    # Stems: together they are the mix, limited as it is.
    example.run("--stems", "stems", says="stems/Bass.wav")
    names = sorted(path.name for path in (folder / "stems").iterdir())
    assert names == ["Bass.wav", "Drums.wav", "Mix.wav", "Piano.wav"], names
    stems = [read(folder / f"stems/{name}.wav") for name in ("Mix", "Drums", "Bass", "Piano")]
    for mix, *parts in zip(*(stem[0] for stem in stems)):
        assert abs(mix - sum(parts)) < 1e-6, "the stems do not add up to the mix"
    text = example.run(says="mix.wav: 216000 frames")
    assert "-16.0 LUFS" in text and "peaks limited" in text, text
    assert read(folder / "mix.wav") == stems[0], "the mix alone is the mix among the stems"
    found, peak = loudness(folder / "mix.wav")
    assert abs(found + 16) < 0.06 and peak <= -0.98, f"{found} LUFS, {peak} dBTP"
    nothing_half_is_left(example)
    # Mistakes.
    example.run("--output", "clock", status=2, says="it must be file:PATH")
    example.run("--save", "a.wav", status=2, says="there is no option --save")
    example.run("missing.session", status=1, says="missing.session cannot be read")
    for text, says in (
        ("trick A tone.wav", "line 1: trick: a line must begin with track"),
        ("track A", "line 1: it must be \"track NAME FILE\""), ("track A tone.wav pan 7", "pan 7: it must be -1…1"),
        ("track A tone.wav pan", "pan ends there: it must be -1…1"), ("track A tone.wav pen 1", "pen: it must be start"),
        ("track A nothing.wav", "nothing.wav"), ("# none", "0 tracks"),
        ("\ntrack A tone.wav compress -18 0.5:1", "line 2: compress 0.5:1: the ratio must be 1:1…100:1"),
        ("track A tone.wav compress -18", "compress ends there: the ratio must be"),
        ("track A tone.wav compress 4:1", "compress 4:1: the threshold in decibels must be -80…12"),
        ("track A tone.wav compress nan 4:1", "compress nan: the threshold"),
        ("track A tone.wav compress -18 4:1 attack 0", "attack 0: it must be 0.02…1"),
        ("track A tone.wav release 50", "release: it belongs to a compressor"),
        ("track A tone.wav\nduck A by B -30 6:1", "line 2: no track is called B"),
        ("track A tone.wav\ntrack A tone.wav\nduck A by A -30 6", "line 3: more than one track is called A"),
        ("track A tone.wav\nduck A by A -30 6:1", "line 2: A cannot make way for itself"),
        ("duck A by B -30\ntrack A tone.wav\ntrack B tone.wav", "line 1: duck ends there: the ratio"),
        ("duck A B -30 6\ntrack A tone.wav", "line 1: it must be \"duck NAME by NAME"),
        ("duck A by B -30 6 hold 5\ntrack A tone.wav\ntrack B tone.wav", "line 1: hold: it must be attack or release"),
    ):
        (folder / "wrong.session").write_text(text + "\n")
        example.run("wrong.session", status=1, says=says)
    subprocess.run(["sox", "-n", "-r", "48000", "silence.wav", "trim", "0", "2"], cwd=folder, check=True)
    (folder / "silent.session").write_text("track A silence.wav\n")
    example.run("silent.session", status=1, says="is silent")


def sine(frequency, decibels, seconds):
    """A tone whose peaks have so many decibels of full scale."""
    peak = 10 ** (decibels / 20)
    return [peak * math.sin(2 * math.pi * frequency * i / RATE) for i in range(round(seconds * RATE))]


def loud(samples, start, seconds, frequency):
    """The level of a tone from a second on."""
    return level(samples[round(start * RATE):round((start + seconds) * RATE)], frequency)


def compressors_follow_their_curves(example):
    """A tone of -40 dB, then of -6 dB: that is 12 dB above the threshold, of which 4:1 leaves 3; gain comes after it."""
    folder = example.folder
    write(folder / "step.wav", sine(997, -40, 2) + sine(997, -6, 3))
    (folder / "compressed.session").write_text("track Step step.wav gain -20 compress -18 4:1 attack 200 release 120\n")
    example.run("compressed.session", "--loudness", "-24", "--output", "file:compressed.wav", says="-24.0 LUFS")
    left = read(folder / "compressed.wav")[0]
    step = loud(left, 4, 0.9, 997) - loud(left, 0.5, 1, 997)
    assert abs(step - (34 - 9)) < 0.05, f"{step} dB"
    # After the attack it has gone 63 % of the way to 9 dB.
    step = loud(left, 4, 0.9, 997) - loud(left, 2.195, 0.01, 997)
    assert abs(step + 9 * math.exp(-1)) < 0.1, f"{step} dB"


def ducking_follows_its_curve(example):
    """A voice of -10 dB, 6 dB turned down, is 14 dB above the threshold: of these 6:1 takes 11.7 from the music."""
    folder = example.folder
    write(folder / "music.wav", sine(440, -20, 8))
    write(folder / "voice.wav", sine(997, -10, 2))
    text = "track Music music.wav pan 0.5\ntrack Voice voice.wav gain -6 start 2\ntrack More music.wav gain -30\n"
    (folder / "ducked.session").write_text("duck Music by Voice -30 6:1 release 200\n" + text)
    (folder / "plain.session").write_text(text)
    for name in ("ducked", "plain"):
        example.run(f"{name}.session", "--loudness", "-24", "--stems", name, says="-24.0 LUFS")
    stems = {name: read(folder / f"ducked/{name}.wav") for name in ("Mix", "Music", "Voice", "More")}
    music = stems["Music"]
    for channel in music:
        off, on, after = loud(channel, 1, 0.9, 440), loud(channel, 3, 0.9, 440), loud(channel, 7, 0.9, 440)
        assert abs(off - on - 14 * 5 / 6) < 0.05, f"{off - on} dB"
        assert abs(off - after) < 0.05, f"{off - after} dB"
    # The others are as they are without it, but for the gain of all.
    for name in ("Voice", "More"):
        plain, ducked = read(folder / f"plain/{name}.wav")[0], stems[name][0]
        gain = max(ducked) / max(plain)
        assert all(abs(one * gain - other) < 1e-6 for one, other in zip(plain, ducked)), name
    for mix, *parts in zip(*(stems[name][1] for name in ("Mix", "Music", "Voice", "More"))):
        assert abs(mix - sum(parts)) < 1e-6, "the stems do not add up to the mix"


def peaks_are_kept(example):
    """Clicks above a soft tone, and a tone whose peaks lie between the samples."""
    folder = example.folder
    tone = [0.05 * math.sin(2 * math.pi * 997 * i / RATE) for i in range(4 * RATE)]
    # Now and then a click: at -20 LUFS it would reach 2 dB, at -8 LUFS 14 dB.
    for start in range(RATE // 2, 4 * RATE, RATE):
        for i in range(48):
            tone[start + i] += 0.6 * math.sin(math.pi * i / 48)
    write(folder / "clicks.wav", tone)
    (folder / "clicks.session").write_text("track Clicks clicks.wav\n")
    text = example.run("clicks.session", "--loudness", "-20", "--output", "file:clicks-mix.wav", says="-20.0 LUFS")
    assert "peaks limited" in text, text
    found, peak = loudness(folder / "clicks-mix.wav")
    assert abs(found + 20) < 0.06 and peak <= -0.98, f"{found} LUFS, {peak} dBTP"
    # Away from the clicks nothing is turned: 25 ms before one the tone is as loud as half-way between two.
    left = read(folder / "clicks-mix.wav")[0]
    before, between = level(left[66_000:70_800], 997), level(left[48_000:52_800], 997)
    assert abs(before - between) < 0.01, f"{before} and {between} dB"
    # Louder than that is refused, and said.
    text = example.run("clicks.session", "--loudness", "-8", "--output", "file:loud.wav", says="turned down too much")
    assert loudness(folder / "loud.wav")[1] <= -0.98, loudness(folder / "loud.wav")
    # A quarter of the rate, between the samples: each is 3 dB below the peak.
    write(folder / "between.wav", [0.5 * math.sin(math.pi * (i / 2 + 0.25)) for i in range(2 * RATE)])
    (folder / "between.session").write_text("track Between between.wav\n")
    example.run("between.session", "--loudness", "-5", "--output", "file:between-mix.wav")
    left = read(folder / "between-mix.wav")[0]
    assert max(map(abs, left[RATE // 2:RATE])) < 10 ** (-4 / 20), "the samples alone are under the ceiling"
    assert loudness(folder / "between-mix.wav")[1] <= -0.98, loudness(folder / "between-mix.wav")


def nothing_half_is_left(example):
    """Ctrl-C while it works: no file has its name, and an older one is as it was."""
    folder = example.folder
    (folder / "long.session").write_text("track Tone tone.wav\ntrack Later tone.wav start 800\n")
    for arguments in (("--output", "file:old.wav"), ("--stems", "parts")):
        # A fast program may end before a slow machine has sent the signal: that run shows nothing, and another follows.
        assert any(ends_early(example, arguments) for _ in range(5)), "each of five runs ended before its signal"


def ends_early(example, arguments):
    """Interrupts a run, checks what it left, and returns whether the signal came before the run's end."""
    folder = example.folder
    shutil.rmtree(folder / "parts", ignore_errors=True)
    (folder / "old.wav").write_bytes(b"as it was")
    before = {path.name for path in folder.iterdir()}
    process = subprocess.Popen(
        [example.path, "long.session", *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    # The signal follows as soon as the program writes: what it writes is hidden.
    end = time.monotonic() + 100
    while process.poll() is None and {path.name for path in folder.iterdir()} == before and time.monotonic() < end:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out = process.communicate(timeout=60)[0]
    assert process.returncode == 0, out
    if "Ended early" not in out:
        return False
    assert {path.name for path in folder.iterdir()} == before, "something is left"
    assert (folder / "old.wav").read_bytes() == b"as it was"
    return True
