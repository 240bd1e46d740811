"""A synthesiser: pitches, levels, envelopes and the filter, to the frame; what a stolen voice leaves behind; JACK."""

import math
import struct

from listening import RATE, level, read, same_frames
from session import PERIOD, Session, ended

PURE = ("--wave", "sine", "--detune", 0, "--sweep", 0, "--attack", 0.001, "--decay", 0.005, "--sustain", 1, "--release",
        0.1, "--level", 0.5, "--resonance", 0)
RELEASE = 4_800
PEDAL, RESONANCE, RELEASE_TIME, ATTACK, CUTOFF, SOUND_OFF, NOTES_OFF = 64, 71, 72, 73, 74, 120, 123


def write_midi(path, events, end):
    """Events (frame, byte, …) in a file whose tick is a frame: 480 to a quarter of 10 ms. What is held ends with it."""
    def number(value):
        sevens = [value & 127]
        while value := value >> 7:
            sevens.insert(0, value & 127 | 128)
        return bytes(sevens)

    body, last = b"\x00\xff\x51\x03" + (10_000).to_bytes(3, "big"), 0
    for frame, *message in sorted(events, key=lambda event: event[0]):
        body += number(frame - last) + bytes(message)
        last = frame
    body += number(max(0, end - last)) + b"\xff\x2f\x00"
    path.write_bytes(
        b"MThd" + struct.pack(">IHHH", 6, 0, 1, 480) + b"MTrk" + struct.pack(">I", len(body)) + body)


def pitch(note):
    return 440 * 2 ** ((note - 69) / 12)


def gain(frequency, cutoff, decibels):
    """A low-pass of second order through the bilinear transform, in dB."""
    q = 10 ** (decibels / 20)
    s = 1j * math.tan(math.pi * frequency / RATE) / math.tan(math.pi * cutoff / RATE)
    return 20 * math.log10(abs(1 / (s * s + s / q + 1)))


def first_sound(samples):
    return next(frame for frame, sample in enumerate(samples) if sample)


def last_sound(samples):
    return max(frame for frame, sample in enumerate(samples) if sample)


def largest_step(samples):
    return max(abs(after - before) for before, after in zip(samples, samples[1:]))


def check(example):
    def play(seconds, events, *arguments, says=""):
        write_midi(example.folder / "play.mid", events, round(seconds * RATE))
        text = example.run(
            "--play", "play.mid", "--output", "file:played.wav", "--seconds", seconds, *arguments, says=says)
        left, right = read(example.folder / "played.wav")
        assert left == right, text
        return left

    # Pitch, velocity and filter, by the formula; the beginning and the end to the frame.
    for note, velocity, cutoff, decibels in ((45, 127, 4_000, 0), (69, 64, 600, 12), (93, 100, 900, -3)):
        sound = play(1, [(12_345, 0x90, note, velocity), (36_000, 0x80, note, 64)], *PURE, "--cutoff", cutoff,
                     "--resonance", decibels)
        # The envelope is 0 in the first frame, as is a sine.
        assert first_sound(sound) == 12_346, first_sound(sound)
        assert 36_000 + RELEASE - 10 < last_sound(sound) < 36_000 + RELEASE, last_sound(sound)
        expected = 20 * math.log10(0.5 * (velocity / 127) ** 2) + gain(pitch(note), cutoff, decibels)
        found = level(sound[16_000:35_200], pitch(note))
        assert abs(found - expected) < 0.01, f"note {note}: {found} dB, not {expected}"
        assert level(sound[16_000:35_200], pitch(note + 12)) < found - 90

    # Two notes are the sum of both, and the second begins in its frame.
    one, two = (1_000, 0x90, 60, 100), (20_011, 0x91, 64, 90)
    both, first, second = (play(1, events) for events in ([one, two], [one], [two]))
    assert first_sound(second) == 20_012
    assert all(abs(both[i] - first[i] - second[i]) < 1e-6 for i in range(0, RATE, 3))

    # The pedal holds what the key has left.
    held = play(1, [(0, 0x90, 69, 100), (4_800, 0xB0, PEDAL, 127), (9_600, 0x80, 69, 0), (30_000, 0xB0, PEDAL, 0)], *PURE)
    assert 30_000 + RELEASE - 10 < last_sound(held) < 30_000 + RELEASE, last_sound(held)
    # All notes off, and all sound off, which takes 5 ms.
    notes = [(100 * n, 0x90, 50 + n, 100) for n in range(20)]
    assert 24_000 + RELEASE - 20 < last_sound(play(1, notes + [(24_000, 0xB0, NOTES_OFF, 0)], *PURE)) < 24_000 + RELEASE
    assert 24_000 + 200 < last_sound(play(1, notes + [(24_000, 0xB0, SOUND_OFF, 0)], *PURE)) < 24_000 + 240

    # The wheel: two semitones up, a quarter of a semitone down.
    wheel = play(2, [(0, 0x90, 69, 127), (24_000, 0xE0, 127, 127), (60_000, 0xE0, 0, 56)], *PURE, "--cutoff", 20_000)
    for start, semitones in ((4_800, 0), (28_800, 2), (64_800, -0.25)):
        part = wheel[start:start + 19_200]
        expected = 20 * math.log10(0.5) + gain(440, 20_000, 0)
        assert abs(level(part, 440 * 2 ** (semitones / 12)) - expected) < 0.05, f"{semitones} semitones"
    assert largest_step(wheel) < 1.002 * 0.5 * 2 * math.sin(math.pi * pitch(71) / RATE), "the wheel clicks"

    # Controllers: cutoff and resonance by the formula, without a step; attack and release.
    turned = play(2, [(0, 0x90, 57, 127), (24_000, 0xB0, CUTOFF, 32), (60_000, 0xB0, RESONANCE, 127)], *PURE,
                  "--cutoff", 20_000)
    cutoff = 50 * 400 ** (32 / 127)
    for start, frequency, decibels in ((4_800, 20_000, 0), (31_200, cutoff, 0), (67_200, cutoff, 24)):
        expected = 20 * math.log10(0.5) + gain(220, frequency, decibels)
        found = level(turned[start:start + 18_000], 220)
        assert abs(found - expected) < 0.02, f"cutoff {frequency}, {decibels} dB: {found} dB, not {expected}"
    loudest = max(map(abs, turned))
    assert largest_step(turned) < 1.01 * loudest * 2 * math.sin(math.pi * 220 / RATE), "a controller clicks"
    slow = play(2, [(0, 0xB0, ATTACK, 100), (0, 0xB0, RELEASE_TIME, 70), (0, 0x90, 93, 127), (72_000, 0x80, 93, 0)],
                *PURE, "--cutoff", 20_000)
    attack, release = (0.005 * 1_000 ** (value / 127) * RATE for value in (100, 70))
    assert attack < 72_000
    for part in (0.25, 0.5, 0.75):
        frame = round(part * attack)
        found = max(map(abs, slow[frame - 60:frame + 60]))
        expected = 0.5 * (1 - math.exp(-1.5 * part)) / (1 - math.exp(-1.5))
        assert abs(found / expected - 1) < 0.02, f"{part} of the attack: {found}, not {expected}"
    assert 72_000 + release - 100 < last_sound(slow) < 72_000 + release + 1

    # Voices are stolen, the oldest first, and no step is larger than where there are voices enough.
    many = [(2_000 * n + 7 * n * n, 0x90, 48 + n, 100) for n in range(24)]
    stolen = play(2, many, *PURE, "--voices", 8, "--attack", 0.005, says="8 notes at once, 16 voices stolen")
    enough = play(2, many, *PURE, "--voices", 24, "--attack", 0.005, says="24 notes at once, 0 voices stolen")
    assert largest_step(stolen) <= largest_step(enough), f"{largest_step(stolen)} with voices stolen"
    levels = [level(stolen[64_000:96_000], pitch(48 + n)) for n in range(24)]
    assert max(levels[:16]) < -70 < -20 < min(levels[16:]), levels
    # One tone, taken away in eight different places of its wave by a note that is hardly heard.
    slope = 0.5 * 10 ** (gain(110, 20_000, 0) / 20) * 2 * math.sin(math.pi * 110 / RATE)
    for place in range(8):
        theft = 20_000 + 55 * place
        sound = play(0.6, [(0, 0x90, 45, 127), (theft, 0x90, 46, 1)], *PURE, "--voices", 1, "--cutoff", 20_000,
                     says="1 notes at once, 1 voices stolen")
        step = largest_step(sound[4_800:])
        assert 0.99 * slope < step < 1.001 * slope, f"a step of {step}, and the tone's is {slope}"
        assert max(map(abs, sound[theft + 241:])) < 1e-4, "the tone goes on"
    crowd = [(10 * n, 0x90 | n // 100, 20 + n % 100, 100) for n in range(200)]
    play(1, crowd, says="128 notes at once, 72 voices stolen")
    # All in one frame.
    play(0.2, [(480, 0x90 | n // 100, 20 + n % 100, 100) for n in range(200)], says="128 notes at once, 72 voices stolen")

    # Live the samples are the same; a key plays a note.
    phrase = example.offline(2)[0]
    example.run("--output", "clock", "--seconds", 2, "--save", "live.wav", says="cycles")
    same_frames(read(example.folder / "live.wav")[0], phrase)
    assert len(set(phrase)) > 40_000
    write_midi(example.folder / "nothing.mid", [], 0)
    example.run("--output", "clock", "--seconds", 3, "--play", "nothing.mid", stdin="k", says="1 notes at once")
    example.run("--wave", "flute", status=2, says="saw, sine")
    (example.folder / "no.mid").write_bytes(b"MThd\0\0\0\6\0\0\0\1\1\xe0MTrk\0\0\0\7\0\x90\x40")
    example.run("--play", "no.mid", "--output", "file:x.wav", "--seconds", 1, status=1, says="track 1 ends at byte")
    play_on_jack(example, play)


def play_on_jack(example, play):
    """Another client plays it and hears it, without a clock: the samples of a file, a cycle later."""
    events = [[1_003 * n, 0x90, 40 + n % 40, 60 + n % 60] for n in range(40)]
    events += [[1_003 * n + 4_001, 0x80, 40 + n % 40, 0] for n in range(40)]
    events += [[20_000, 0xE0, 0, 80], [25_017, 0xB0, CUTOFF, 90], [30_000, 0xB0, PEDAL, 127]]
    # More in one cycle than a cycle is cut at.
    events += [[44_032 + n, 0x91, 20 + n, 70] for n in range(100)]
    expected = play(1, events)
    with Session() as session:
        process = session.begin(example, port="midi_in_1", is_watched=True)
        heard, _ = session.hear(RATE, hear="jack-synth:out_1", play="jack-synth:midi_in_1", events=events, freewheel=True)
        ended(process)
    # The way from the other client and back to it is a circle, which takes a cycle.
    assert first_sound(heard) == first_sound(expected) + PERIOD, (first_sound(heard), first_sound(expected))
    assert heard[PERIOD:RATE] == expected[:RATE - PERIOD], "JACK and a file differ"
