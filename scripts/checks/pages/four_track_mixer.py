"""Four files in sync, and what keys and controllers do to them: heard, and seen on a terminal."""

import math
import os
import signal
import subprocess
import time

from listening import RATE, Typist, level, read, write

TONES = (400, 700, 1_100, 1_600)
# Again and again: where a machine is busy a cycle may be missed, and an event with it.
PEER = """
import sys, time, jack
client = jack.Client("turner", no_start_server=True)
port, message = client.midi_outports.register("out"), bytes(map(int, sys.argv[1:]))
@client.set_process_callback
def process(frames):
    port.clear_buffer()
    port.write_midi_event(0, message)
with client:
    for _ in range(200):
        try:
            client.connect(port, "four-track-mixer:midi_in_1")
            break
        except jack.JackError:    # its ports are on the list before it is active
            time.sleep(0.1)
    time.sleep(30)
"""


def check(example):
    folder = example.folder
    names = [f"{frequency}.wav" for frequency in TONES]
    for frequency, name in zip(TONES, names):
        write(folder / name, [0.1 * math.sin(2 * math.pi * frequency * i / RATE) for i in range(RATE)])
    sound = example.offline(1, *names)
    assert sound[0] == sound[1]
    # In sync, and each at -3 dB: every sample is the sum.
    gain = 10 ** (-3 / 20)
    for i in range(0, RATE, 7):
        sum_ = sum(0.1 * gain * math.sin(2 * math.pi * frequency * i / RATE) for frequency in TONES)
        assert abs(sound[0][i] - sum_) < 1e-6, f"frame {i}: {sound[0][i]}, not {sum_}"

    def live(keys):
        text = example.run("--output", "clock", "--seconds", 4, "--save", "live.wav", *names, stdin=keys)
        sides = [side[144_000:168_000] for side in read(folder / "live.wav")]
        return text, [[level(side, frequency) for frequency in TONES] for side in sides]

    # Without a screen each change is a line.
    text, (left, right) = live("2m3<<<<<<<<<<")
    assert "2 700: -3.0 dB, C, silent" in text and "3 1100: -3.0 dB, L100\n" in text, text
    assert "\x1b" not in text, text
    assert left[1] < -100 and right[1] < -100, "the second is muted"
    assert right[2] < -60 and abs(left[2] + 23) < 0.1, f"the third is on the left: {left[2]}, {right[2]} dB"
    assert abs(left[0] + 23) < 0.1 and abs(right[3] + 23) < 0.1, "the others stay"
    text, (left, _) = live("4s")
    assert abs(left[3] + 23) < 0.1 and max(left[:3]) < -100, f"only the fourth: {left}"
    tempo_and_tape(example, names)
    changes_are_smooth(example)
    is_seen(example, names)
    is_turned_through_jack(example, names)
    example.run("one.wav", status=2, says="it takes 4")
    for line in ("1 1 7", "x 1 7 1", "1 17 7 1", "1 1 128 1", "1 1 7 128"):
        (folder / "wrong.txt").write_text(f"# four numbers\n{line}\n")
        example.run("--midi", "wrong.txt", "--seconds", 1, status=1, says="line 2: it must be")
    example.run("--midi", "none.txt", "--seconds", 1, status=1, says="none.txt cannot be read")


def tempo_and_tape(example, names):
    """All four faster with their pitch kept, or as a tape plays them, on the frame; then keys do it live."""
    (example.folder / "tempo.txt").write_text("0.5 1 20 127\n2.5 1 20 64\n2.5 1 21 127\n")
    left, _ = example.offline(5, "--midi", "tempo.txt", *names)

    def heard(second):
        part = left[int(second * RATE):int((second + 0.5) * RATE)]
        return [level(part, frequency) for frequency in TONES], [level(part, 2 * frequency) for frequency in TONES]

    same, octave = heard(1.5)
    assert min(same) > -23.8 and max(octave) < -60, (same, octave)
    # The first's octave is no other's tone.
    same, octave = heard(4)
    assert min(octave) > -23.8 and same[0] < -60 and same[1] < -60, (same, octave)
    text = example.run("--output", "clock", "--seconds", 2, "--save", "live.wav", *names, stdin="ttyy")
    assert "tempo 104 %" in text and "tape 106 %, 100 cents" in text, text


def changes_are_smooth(example):
    """Controllers from a file, on their frames, of a tone so low that a step would show."""
    folder = example.folder
    frequency = 20
    write(folder / "low.wav", [0.5 * math.sin(2 * math.pi * frequency * i / RATE) for i in range(RATE)])
    write(folder / "none.wav", [0.0] * RATE)
    (folder / "turns.txt").write_text("""
        # seconds, channel, controller, value
        0.0 1 7 102
        0.5125 1 0 0
        1.0125 16 0 102
        1.5125 1 48 127
        2.0125 1 48 0
        2.2625 1 48 127
        2.5125 1 10 127
        3.0125 1 16 64
        3.5125 3 34 127
    """)
    left, right = example.offline(4, "--midi", "turns.txt", "low.wav", "none.wav", "none.wav", "none.wav")
    full = 0.5 * 10 ** (6 * (102 / 127 - 0.8) / 0.2 / 20)  # 0.8 of the way is 0 dB, the rest 6 dB

    def peak(side, second):
        return max(map(abs, side[int(second * RATE):int((second + 0.25) * RATE)]))

    assert abs(peak(left, 0.2) - full) < 0.005, f"the fader: {peak(left, 0.2)}"
    assert peak(left, 0.7) == 0 and abs(peak(left, 1.2) - full) < 0.005, "down, and up again"
    assert peak(left, 1.75) == 0 and peak(left, 2.0) == 0, "mute; that the button is let go changes nothing"
    assert abs(peak(left, 2.3) - full) < 0.005, "not mute any more"
    assert peak(left, 2.7) < 1e-6 and abs(peak(right, 2.7) - full) < 0.005, "all to the right"
    assert abs(peak(left, 3.2) - full) < 0.005, "in the middle again"
    assert peak(left, 3.7) == 0, "another has solo"
    # The steepest that the tone has by itself, and a glide over 5 ms of all of it; a step would be 0.5.
    allowed = full * (2 * math.pi * frequency / RATE + 1 / (0.005 * RATE))
    for side in (left, right):
        steps = [abs(b - a) for a, b in zip(side[480:], side[481:])]
        assert max(steps) < 1.05 * allowed, f"a step of {max(steps)} at frame {480 + steps.index(max(steps))}"
    # On its frame: at 0.5125 s the tone is at its quarter, its loudest.
    as_before = [full * math.sin(2 * math.pi * frequency * i / RATE) for i in range(RATE)]
    first = next(i for i in range(int(0.5 * RATE), RATE) if abs(left[i] - as_before[i]) > 1e-3)
    assert 0 <= first - int(0.5125 * RATE) < 10, f"frame {first}"


def is_seen(example, names):
    """On a terminal: a screen, which keys change, and which is gone when it ends, however that comes about."""
    def start():
        return Typist(example.path, "--output", "clock", *names, cwd=example.folder)

    typist = start()
    typist.waits_for(lambda screen: "▶ 1 400 " in screen[2] and "█" in screen[2][50:], "the first track")
    # The bytes read so far may end in the middle of a picture.
    typist.waits_for(
        lambda screen: all(f"{track} {name.split('.')[0]} " in screen[track + 1] for track, name in enumerate(names, 1))
        and "mix" in screen[7] and any("Ctrl-C end" in line for line in screen), "the tracks, the mix and the keys")
    typist.type("\x1b[B+++m>")
    typist.waits_for(lambda screen: "▶ 2 700 " in screen[3] and "R10" in screen[3], "the second track, to the right")
    typist.waits_for(lambda screen: "M" in screen[3] and "█" not in screen[3][50:], "no level where it is muted")
    typist.waits_for(lambda screen: "▶" not in screen[2], "the mark on one track only")
    typist.type("\x03")
    assert "Ended early" in typist.ends(0)

    typist = start()
    # It draws before it plays, and it plays before it takes signals.
    typist.waits_for(lambda screen: "▶ 1" in screen[2] and "█" in screen[2][50:], "the first track")
    typist.process.send_signal(signal.SIGTERM)
    typist.ends(0)

    typist = Typist(example.path, "--output=clock", "--seconds=1", *names, cwd=example.folder)
    assert "cycles" in typist.ends(0)


def is_turned_through_jack(example, names):
    """A controller that another program turns."""
    server = f"mixer-{os.getpid()}"
    environment = os.environ | {"JACK_DEFAULT_SERVER": server, "JACK_NO_AUDIO_RESERVATION": "1"}
    daemon = subprocess.Popen(
        ["jackd", "-n", server, "-r", "-p", "64", "-d", "dummy", "-r", "48000", "-p", "256"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    mixer = peer = None
    try:
        def ports():
            return subprocess.run(["jack_lsp", "-s", server], capture_output=True, text=True, env=environment).stdout

        def wait(condition):
            end = time.monotonic() + 20
            while not condition():
                assert time.monotonic() < end and daemon.poll() is None, "no JACK server, or nothing is turned"
                time.sleep(0.1)

        wait(lambda: "system:playback_1" in ports())
        told = example.folder / "told.txt"
        mixer = subprocess.Popen(
            [example.path, "--output", "jack", *names], cwd=example.folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=told.open("w"), stderr=subprocess.STDOUT,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        wait(lambda: "four-track-mixer:midi_in_1" in ports())
        # Debian's own Python has the JACK-Client, as the tests of the backend use it.
        peer = subprocess.Popen(["/usr/bin/python3", "-c", PEER, "178", "7", "0"], env=environment)
        wait(lambda: "3 1100: -inf dB" in told.read_text())
        mixer.send_signal(signal.SIGINT)
        assert mixer.wait(30) == 0, told.read_text()
    finally:
        for program in (mixer, peer):
            if program and program.poll() is None:
                program.kill()
        daemon.terminate()
        daemon.wait(20)
