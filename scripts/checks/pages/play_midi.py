"""A MIDI file with a small SoundFont and with an SFZ instrument, both made here: pitches, frames, the picture, bad files."""

import math
import pathlib
import shutil
import struct

import fonts
from listening import RATE, level, read


def chunk(name, body):
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def name(text):
    return text.encode().ljust(20, b"\0")


def soundfont():
    """One preset: a sine of 480 Hz at 48 kHz, for key 69, that loops."""
    samples = [round(20_000 * math.sin(2 * math.pi * frame / 100)) for frame in range(4_800)]
    smpl = struct.pack("<4800h", *samples) + bytes(92)
    shdr = name("sine") + struct.pack("<IIIIIBbHH", 0, 4_800, 1_000, 3_000, RATE, 69, 0, 0, 1) + name("EOS") + bytes(26)
    phdr = name("sine") + struct.pack("<HHHIII", 0, 0, 0, 0, 0, 0) + name("EOP") + struct.pack("<HHHIII", 0, 0, 1, 0, 0, 0)
    inst = name("sine") + struct.pack("<H", 0) + name("EOI") + struct.pack("<H", 1)
    lists = [(b"phdr", phdr), (b"pbag", struct.pack("<4H", 0, 0, 1, 0)), (b"pmod", bytes(10)),
             (b"pgen", struct.pack("<4H", 41, 0, 0, 0)), (b"inst", inst), (b"ibag", struct.pack("<4H", 0, 0, 2, 0)),
             (b"imod", bytes(10)), (b"igen", struct.pack("<6H", 54, 1, 53, 0, 0, 0)), (b"shdr", shdr)]
    return chunk(b"RIFF", b"sfbk" + chunk(b"LIST", b"INFO" + chunk(b"ifil", struct.pack("<HH", 2, 4)))
                 + chunk(b"LIST", b"sdta" + chunk(b"smpl", smpl))
                 + chunk(b"LIST", b"pdta" + b"".join(chunk(kind, body) for kind, body in lists)))


def check(example):
    folder = example.folder
    (folder / "sine.sf2").write_bytes(soundfont())
    # A tempo that no tick divides: a quarter of 0.6 s.
    (folder / "song.mid").write_bytes(fonts.midi(
        [(0.3, 0x90, 69, 127), (0.9, 0x80, 69, 0), (1.5, 0x90, 81, 127), (2.1, 0x80, 81, 0)], microseconds=600_000))
    text = example.run("song.mid", "--font", "sine.sf2", "--dry", "--output", "file:a.wav", says="2 notes")
    assert "its piano roll" in text and (folder / "a.png").read_bytes()[1:4] == b"PNG"
    (folder / "held.mid").write_bytes(fonts.midi([(0, 0x90, 69, 127)]))
    example.run("held.mid", "--font", "sine.sf2", "--output", "file:held.wav", "--seconds", 1, says="1 notes, 1 tracks, 0.0 s")
    left, right = read(folder / "a.wav")
    assert len(left) == round(5.1 * RATE), len(left)
    for frame in (round(0.3 * RATE), round(1.5 * RATE)):
        assert max(map(abs, left[frame - 500:frame])) < 1e-6 < abs(left[frame + 2]), f"frame {frame}"
    for start, frequency in ((0.4, 480), (1.6, 960)):
        part = left[round(start * RATE):round((start + 0.4) * RATE)]
        assert level(part, frequency) > level(part, frequency * 1.5) + 60, frequency
    def begun(name, *frames):
        """The file is silent before each of these frames, and sounds from it on."""
        samples = read(folder / name)[0]
        for frame in frames:
            assert max(map(abs, samples[max(0, frame - 500):frame]), default=0) < 1e-6 < abs(samples[frame + 2]), f"{name}, frame {frame}"
        return samples

    # Half as fast; the second of two rounds of a bar of 2.4 s; nothing at all.
    dry = ("song.mid", "--font", "sine.sf2", "--dry", "--output")
    example.run(*dry, "file:slow.wav", "--tempo", 50)
    begun("slow.wav", round(0.6 * RATE), 3 * RATE)
    example.run(*dry, "file:loop.wav", "--loop", "1-1")
    assert len(begun("loop.wav", round(0.3 * RATE), round(1.5 * RATE), round(2.7 * RATE), round(3.9 * RATE))) == round(7.8 * RATE)
    example.run(*dry, "file:mute.wav", "--mute", "1")
    assert max(map(abs, read(folder / "mute.wav")[0])) == 0
    example.run(*dry, "file:c.wav", "--mute", "tuba", status=2, says="the song has the tracks 1 1")
    example.run(*dry, "file:c.wav", "--from", 2, status=2, says="the song has 1 bars")
    for wrong in ("5-3", "0-1", "x", "1-", "-", "1-2-3", "99999999999999999999-1"):
        example.run(*dry, "file:c.wav", f"--loop={wrong}", status=2, says="such as 5-8")
    (folder / "sine.wav").write_bytes(chunk(b"RIFF", b"WAVE" + chunk(
        b"fmt ", struct.pack("<HHIIHH", 1, 1, RATE, 2 * RATE, 2, 16)) + chunk(b"data", struct.pack(
            "<4800h", *(round(20_000 * math.sin(2 * math.pi * frame / 100)) for frame in range(4_800))))))
    (folder / "sine.sfz").write_text("<region> sample=sine.wav pitch_keycenter=69 loop_mode=loop_continuous warble=3\n")
    example.run("song.mid", "--font", "sine.sfz", "--dry", "--output", "file:b.wav", says="line 1: warble is not known")
    assert level(read(folder / "b.wav")[0][24_000:40_000], 480) > -40
    (folder / "half.sf2").write_bytes(soundfont()[:5_000])
    example.run("song.mid", "--font", "half.sf2", "--output", "file:c.wav", status=1, says="at byte")
    example.run("song.mid", "--font", "none.sf2", "--output", "file:c.wav", status=1, says="none.sf2")
    example.run("none.mid", "--font", "sine.sf2", "--output", "file:c.wav", status=1, says="none.mid")
    # scripts/soak compares 200 notes of two fonts.
    font = pathlib.Path("/usr/share/sounds/sf2/TimGM6mb.sf2")
    if shutil.which("fluidsynth") and font.exists():
        differing, mixed = fonts.compare(example.path, font, 24)
        assert not differing and len(mixed) <= 2, (differing, mixed)
