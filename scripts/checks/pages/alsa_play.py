"""Checks the sound of alsa-play, as it reached a file behind ALSA's own plug-ins, and its messages when something is wrong.

The card is the simulated one of the tests, with a clock. ALSA's own `null` takes everything at once: behind a pipe, as
fast as the pipe is read.
"""

import array
import os
import pathlib
import re
import signal
import subprocess
import time

from listening import RATE, level

IS_LIVE = False
HAS_USUAL_OPTIONS = False

CARD = pathlib.Path(__file__).resolve().parents[3] / "Tests/ALSABackendTests/Card"
CONFIGURATION = """
pcm_type.rscard {{ lib "{library}" }}
pcm.clocked {{ type rscard card "clocked" clock true }}
pcm.file {{ type file slave.pcm clocked file "{folder}/played.raw" format raw }}
pcm.any {{ type file slave.pcm fast file "{folder}/pipe" format raw }}
pcm.fast {{ type null }}
pcm.default {{ type null }}
"""


def check(example):
    folder = example.folder
    library = folder / "libasound_module_pcm_rscard.so"
    subprocess.run(
        ["cc", "-O1", "-shared", "-fPIC", "-DPIC", "-o", library, CARD / "card.c", CARD / "commands.c", "-lasound"],
        check=True)
    (folder / "asound.conf").write_text(CONFIGURATION.format(library=library, folder=folder))
    environment = {**os.environ, "ALSA_CONFIG_PATH": str(folder / "asound.conf")}

    def run(*arguments, status=0, says=""):
        result = subprocess.run(
            [example.path, *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=folder,
            env=environment)
        text = result.stdout + result.stderr
        assert result.returncode == status, f"alsa-play {arguments}: {result.returncode}, {text}"
        assert says in text, f"alsa-play {arguments}: «{says}» is not in «{text}»"
        return text

    words(run, example)

    # The file has all that was played, from the first frame on.
    played = folder / "played.raw"
    text = run("--device", "file", "--seconds", 2, "--period", 128, "--periods", 16, status=ZERO_OR_LATE)
    samples = array.array("f", played.read_bytes())
    left, right = samples[0::2], samples[1::2]
    assert left == right and len(left) > 30_000, len(left)
    frames = int(text.split("frames: ")[1].split()[0])
    if "interrupted" not in text:
        first = next(i for i, sample in enumerate(left) if sample != 0)
        # The card's memory is filled with silence first; the first sample of a sine is 0 too.
        assert first in (128 * 16, 128 * 16 + 1), first
        hear(left[first:first + 48_000])
        assert abs(len(left) - 128 * 16 - frames) <= 128, f"{len(left)} frames in the file, {frames} rendered"

    # In each format, with one channel, and at another rate, the same two tones.
    os.mkfifo(folder / "pipe")
    for name, code, scale, rate in (
        ("float", "f", 1, 48_000), ("s32", "i", 2**31, 48_000), ("s16", "h", 2**15, 48_000),
        ("s16", "h", 2**15, 44_100),
    ):
        process = start(
            example, environment, "--device", "any", "--seconds", 60, "--period", 1024, "--format", name, "--channels", 1,
            "--rate", rate)
        with open(folder / "pipe", "rb") as pipe:
            data = pipe.read(50_000 * array.array(code).itemsize)
            # Until it listens to the signal.
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            while pipe.read(65_536):
                pass
        text, errors = process.communicate(timeout=30)
        assert process.returncode == 0 and "Ended early." in text, text + errors
        # Not first where a busy machine has let an event overtake it.
        plays = f"plays: any: {rate}.0 Hz, 1 channel, "
        assert any(line.startswith(plays) for line in text.splitlines()), text
        assert ("32-bit float" if name == "float" else f"{name[1:]}-bit integers") in text, text
        mono = [sample / scale for sample in array.array(code, data)]
        hear(mono[-rate:], rate)
    # A card that has one rate only gives that, and says so.
    run("--device", "clocked", "--seconds", 0.5, "--rate", 44_100, "--periods", 8, status=ZERO_OR_LATE, says="48000.0 Hz")

    ends_on_ctrl_c(example, environment)
    # The simulated card itself takes locks: `null` does not.
    watched = subprocess.run(
        [example.watchdog, "--fail-on", "may-block", "--", example.path, "--device", "fast", "--seconds", "0.5"],
        capture_output=True, text=True, timeout=60, env=environment)
    assert watched.returncode == 0, watched.stdout + watched.stderr


def start(example, environment, *arguments):
    return subprocess.Popen(
        [example.path, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        stdin=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


class ZeroOrLate:
    """0, or 3 where the machine was too busy to play in time."""

    def __eq__(self, other):
        return other in (0, 3)


ZERO_OR_LATE = ZeroOrLate()


def hear(samples, rate=RATE):
    """440 and 660 Hz, each at -20 dB, and nothing else: within a hundredth of a decibel."""
    for frequency in (440, 660):
        found = level(samples, frequency * RATE / rate)
        assert abs(found + 20) < 0.01, f"{frequency} Hz: {found} dB"
    for frequency in (220, 880, 1_100, 1_320, 5_000):
        found = level(samples, frequency * RATE / rate)
        assert found < -90, f"{frequency} Hz: {found} dB"


def words(run, example):
    """Checks its help, and its messages when something is wrong."""
    run("--help", says="Exit codes")
    libraries_are_listed(run("--help", says="--static-swift-stdlib"), example)
    for mistake, answer in (
        (["--louder"], "there is no option --louder"), (["--seconds"], "--seconds needs a value"),
        (["--seconds", "never"], "must be a number above 0"), (["--rate", "12"], "1000 to 768000"),
        (["--period", "1"], "16 to 65536"), (["--periods", "1"], "2 to 64"), (["--channels", "65"], "1 to 64"),
        (["--format", "u8"], "must be one of float, s32, s24, s24_3, s16"), (["--device", "none"], "neither a device"),
    ):
        run(*mistake, status=2, says=answer)
    run("--device", "nonsense", status=1, says='There is no sound device "nonsense"')
    run("--device", "fast", "--input", "nonsense", status=1, says='There is no sound device "nonsense"')
    run("--device", "clocked", "--format", "s16", status=1, says="has no 16-bit integers")
    if not os.path.exists("/dev/snd/seq"):
        run("--device", "clocked", "--seconds", 0.5, "--midi-in", "none", "--periods", 8, status=ZERO_OR_LATE,
            says="No MIDI: ")


def libraries_are_listed(text, example):
    """The help and the article name the Debian package of each audio library that the program loads."""
    article = (pathlib.Path(__file__).resolve().parents[3] / "Sources/RenderStack/RenderStack.docc/ALSA.md").read_text()
    dynamic = subprocess.run(["objdump", "-p", example.path], capture_output=True, text=True, check=True).stdout
    for name, number in re.findall(r"NEEDED +lib(asound|jack|lilv-0|mysofa|sndfile|soxr|ebur128|\w+-0)\.so\.(\d+)", dynamic):
        # liblilv brings the libraries that it needs.
        if name in ("serd-0", "sord-0", "sratom-0"):
            continue
        package = "libjack-jackd2-0" if name == "jack" else f"lib{name}{'-' if name[-1].isdigit() else ''}{number}"
        assert package in text and package in article, f"{package} is not named"


def ends_on_ctrl_c(example, environment):
    """In the middle; it says how far it came, and each line as it happens."""
    process = start(example, environment, "--device", "clocked", "--seconds", 60, "--periods", 8)
    line = process.stdout.readline()
    while line.startswith("event: "):
        line = process.stdout.readline()
    assert line.startswith("plays: clocked: 48000.0 Hz"), "the line comes at once"
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode in (0, 3), f"status {process.returncode}: {out}{err}"
    assert process.returncode == 3 or "Ended early." in out, out
    assert int(out.split("frames: ")[1].split()[0]) > 10_000, out
