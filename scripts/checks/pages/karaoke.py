"""A singer who sings exactly, one who is flat, silence, noise: what the judge says, and when the bell rings."""

import math
import random

from listening import RATE, level, read, write
from session import Session, ended

TOLERANCE_CENTS = 2
# Windows are judged every 20 ms; each is 2.6 periods of 70 Hz long, and waits for two more.
STEP, WINDOW, LATER = 960, 1_782, 2


def sing(notes, seconds, cents=0.0, harmonics=1):
    """A voice of steady tones: (start, length, MIDI note) each, the harmonics of one as loud as each other."""
    samples = [0.0] * int(seconds * RATE)
    for start, length, note in notes:
        frequency = 440 * 2 ** ((note - 69 + cents / 100) / 12)
        for i in range(int(length * RATE)):
            turns = frequency * i / RATE
            tone = sum(math.sin(2 * math.pi * k * turns) / k for k in range(1, harmonics + 1))
            samples[int(start * RATE) + i] += 0.3 * min(1, i / 480, (length * RATE - i) / 480) * tone
    return samples


def check(example):
    folder = example.folder

    def score(*arguments):
        text = example.run("--output", "file:out.wav", *arguments, says="Score: ")
        return int(text.split("Score: ")[1].split()[0]), text

    # The song that it brings along, sung by the singer that it makes.
    assert score()[0] == 100
    points, text = score("--flat", 40)
    assert points == 0 and "40.0 cents flat" in text, text
    points, text = score("--flat", -15)
    assert points == 100 and abs(float(text.split("average ")[1].split()[0]) - 15) < 0.3 and "sharp" in text, text

    # From 80 to 1000 Hz within two cents: a note for every three semitones, sung 7 cents sharp, an octave off too.
    notes = [(1 + 0.5 * i, 0.5, 40 + 3 * i) for i in range(15)]
    (folder / "melody.txt").write_text("".join(f"{start} {length} {note}\n" for start, length, note in notes))
    write(folder / "nothing.wav", [0.0] * RATE)
    song = ("nothing.wav", "melody.txt")
    for harmonics in (1, 6):
        write(folder / "voice.wav", sing(notes, 10, 7, harmonics))
        points, text = score("--voice", "voice.wav", "--pitches", "pitches.txt", "--seconds", 10, *song)
        mean = float(text.split("average ")[1].split()[0])
        assert points == 100 and "15 notes on key" in text and abs(mean - 7) < 0.3, text
        found = 0
        for line in (folder / "pitches.txt").read_text().splitlines():
            time, pitch, cents = line.split()
            for start, length, note in notes:
                if start + 0.05 < float(time) < start + length - 0.05:
                    expected = 440 * 2 ** ((note + 0.07 - 69) / 12)
                    off = 1200 * math.log2(float(pitch) / expected)
                    assert abs(off) < TOLERANCE_CENTS, f"{time} s: {pitch} Hz, not {expected}: {off} cents"
                    assert abs(float(cents) - 7) < TOLERANCE_CENTS, line
                    found += 1
        assert found > 15 * 18, f"{found} windows had a pitch"
    # It may be sung in another octave, but not a semitone off, nor 40 cents flat.
    write(folder / "voice.wav", sing([(a, b, note + (12 if note < 60 else -12)) for a, b, note in notes], 10))
    assert score("--voice", "voice.wav", "--seconds", 10, *song)[0] == 100
    write(folder / "voice.wav", sing(notes, 10, -40))
    points, text = score("--voice", "voice.wav", "--seconds", 10, *song)
    assert points == 0 and "0 notes on key" in text and "40" in text, text
    # Silence is no singing, and a hiss is none either.
    points, text = score("--voice", "nothing.wav", "--seconds", 10, *song)
    assert points == 0 and "Nobody sang" in text, text
    noise = random.Random(1)
    write(folder / "noise.wav", [noise.uniform(-0.5, 0.5) for _ in range(10 * RATE)])
    points, text = score("--voice", "noise.wav", "--seconds", 10, *song)
    assert points == 0 and "Nobody sang" in text, text

    # In another key the song is sung lower, and the backing is as low: its bass, an octave and a half below.
    points, _ = score("--key", -3)
    assert points == 100
    write(folder / "low.wav", [0.3 * math.sin(2 * math.pi * 220 * i / RATE) for i in range(3 * RATE)])
    for key in (-3, 5):
        example.run("--output", "file:out.wav", "--key", key, "--voice", "nothing.wav", "--seconds", 3, "low.wav",
                    "melody.txt", says="Nobody sang")
        sound = read(folder / "out.wav")[0]
        expected = 220 * 2 ** (key / 12)
        assert abs(level(sound[RATE:2 * RATE], expected) - 20 * math.log10(0.3)) < 0.3, key
        assert level(sound[RATE:2 * RATE], 220) < -60, key
        write(folder / "voice.wav", sing([(a, b, note + key) for a, b, note in notes[1:]], 10))
        assert score("--voice", "voice.wav", "--key", key, "--seconds", 10, *song)[0] > 90
    # The bell: after each note that was on key, and only then; as soon as a window lies behind it.
    tune = [(1, 0.8, 60), (2.5, 0.8, 64), (4, 0.8, 67)]
    (folder / "melody.txt").write_text("".join(f"{start} {length} {note}\n" for start, length, note in tune))
    write(folder / "voice.wav", sing([tune[0], (2.5, 0.8, 65), tune[2]], 6))
    takes = []
    for bell in (0, 0.2):
        points, _ = score("--voice", "voice.wav", "--bell", bell, "--echo", 0, "--seconds", 6, *song)
        takes.append(read(folder / "out.wav")[0])
    rings = [after - before for before, after in zip(*takes)]
    # The first window whose middle is behind the note has come, and those that it waits for.
    first = [math.ceil((int((start + length) * RATE) - WINDOW // 2) / STEP) for start, length, _ in (tune[0], tune[2])]
    expected = [STEP * math.ceil((STEP * (k + LATER) + WINDOW) / STEP) for k in first]
    found = [i for i, ring in enumerate(rings) if abs(ring) > 0.1 and not any(abs(r) > 1e-4 for r in rings[i - 400:i])]
    assert found == expected, (found, expected)
    assert level(rings[expected[0]:expected[0] + 9_600], 2_637) > -40

    # The voice goes through its echo, and both through the mix: without one, and with.
    with_echo = example.offline(5.99, "--voice", "voice.wav", "--bell", 0, "--echo", 1, *song)[0]
    plain = takes[0]
    assert abs(plain[60_000] - sing([tune[0]], 2)[60_000]) < 1e-6
    assert level(plain[90_000:100_000], 261.6256) < -100 < -40 < level(with_echo[90_000:100_000], 261.6256)
    for line in ("1 two 60", "1e300 1 60", "0 inf 60", "0 1 200"):
        (folder / "bad.txt").write_text(line)
        example.run("nothing.wav", "bad.txt", "--output", "file:x.wav", status=1, says="is not")
    example.run("one.wav", status=2, says="it takes 2")
    listen_to_the_microphone(example, song)


def listen_to_the_microphone(example, song):
    """Another client sings into the microphone, live."""
    (example.folder / "melody.txt").write_text("0 60 69\n")
    with Session() as session:
        process = session.begin(example, "--seconds", 60, "--pitches", "live.txt", *song, port="in_1", is_watched=True)
        session.hear(4 * RATE, hear="karaoke:out_1", sine="karaoke:in_1", frequency=443)
        text = ended(process)
    lines = [line.split() for line in (example.folder / "live.txt").read_text().splitlines()]
    cents = sorted(float(line[2]) for line in lines if line[2] != "-")
    # A busy machine may miss cycles, which breaks the tone: so the one in the middle.
    assert len(cents) > 20 and abs(cents[len(cents) // 2] - 1200 * math.log2(443 / 440)) < TOLERANCE_CENTS, text
