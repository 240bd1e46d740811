"""Notes of a SoundFont as play-midi and FluidSynth (without reverb and chorus) play them: pitch, level and envelope, by numpy.

    python3 scripts/checks/pages/fonts.py PROGRAM NOTES FONT.sf2 …

FluidSynth begins notes and envelopes on multiples of 64 frames, 1.3 ms, and rounds pitches down to whole cents. So times may differ
by 3 ms, whatever they are. Notes whose zones sound one sample twice are left out: that is a comb, whose teeth 1.3 ms move.
"""

import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import numpy

RATE, HELD, SPACING, HEARD = 48_000, 1.5, 3.0, 2.6
LEVEL_DB, CENTS, PART, SECONDS = 0.5, 1.0, 0.05, 0.003


def midi(events, microseconds=500_000, ticks=480):
    """A file of type 0 with events (seconds, byte, …)."""
    def number(value):
        sevens = [value & 127]
        while value := value >> 7:
            sevens.insert(0, value & 127 | 128)
        return bytes(sevens)

    body, last = b"\x00\xff\x51\x03" + microseconds.to_bytes(3, "big"), 0
    for seconds, *message in sorted(events, key=lambda event: event[0]):
        tick = round(seconds * 1e6 / microseconds * ticks)
        body += number(tick - last) + bytes(message)
        last = tick
    body += b"\x00\xff\x2f\x00"
    return b"MThd" + struct.pack(">IHHH", 6, 0, 1, ticks) + b"MTrk" + struct.pack(">I", len(body)) + body


class Font:
    """The presets of a font, and which samples sound for a note."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        start, self.lists = data.rindex(b"pdta"), {}
        for name in ("phdr", "pbag", "pgen", "inst", "ibag", "igen"):
            place = data.index(name.encode(), start)
            self.lists[name] = data[place + 8:place + 8 + struct.unpack_from("<I", data, place + 4)[0]]
        self.presets = {}
        for index in range(len(self.lists["phdr"]) // 38 - 1):
            program, bank = struct.unpack_from("<HH", self.lists["phdr"], 38 * index + 20)
            if bank <= 128:
                self.presets.setdefault((bank, program), index)

    def _zones(self, heads, size, offset, bags, generators, index, key, velocity):
        first, last = (struct.unpack_from("<H", self.lists[heads], size * (index + more) + offset)[0] for more in (0, 1))
        general = {}
        for bag in range(first, last):
            begin, end = (struct.unpack_from("<H", self.lists[bags], 4 * (bag + more))[0] for more in (0, 1))
            zone = dict(struct.unpack_from("<HH", self.lists[generators], 4 * entry) for entry in range(begin, end))
            target = zone.get(41 if generators == "pgen" else 53)
            if target is None:
                general = zone if bag == first else general
                continue
            limits = [({**general, **zone}.get(generator, 0x7F00), value) for generator, value in ((43, key), (44, velocity))]
            if all(limit & 255 <= value <= limit >> 8 for limit, value in limits):
                yield target

    def samples(self, bank, program, key, velocity):
        """The numbers of the samples that sound."""
        return [sample for instrument in self._zones(
                    "phdr", 38, 24, "pbag", "pgen", self.presets[bank, program], key, velocity)
                for sample in self._zones("inst", 22, 20, "ibag", "igen", instrument, key, velocity)]


def read(path):
    """The frames of a sound file of 32-bit floats or 16-bit integers."""
    data, place = pathlib.Path(path).read_bytes(), 12
    while data[place:place + 4] != b"data":
        if data[place:place + 4] == b"fmt ":
            bits = struct.unpack_from("<H", data, place + 22)[0]
        place += 8 + struct.unpack_from("<I", data, place + 4)[0]
    samples = numpy.frombuffer(data[place + 8:], {32: "<f4", 16: "<i2"}[bits])
    return samples[:len(samples) // 2 * 2].reshape(-1, 2) / (32_768 if bits == 16 else 1.0)


def choose(path, count, seed):
    """Notes over all presets: bank, program, key, velocity."""
    chance, font, notes, turn = random.Random(seed), Font(path), [], 0
    known = sorted(font.presets)
    chance.shuffle(known)
    while len(notes) < count and turn < 50 * count:
        bank, program = known[turn % len(known)]
        note = (bank, program, chance.randint(36, 50) if bank == 128 else chance.randint(36, 90),
                chance.choice((30, 60, 90, 110, 127)))
        turn += 1
        if len(set(samples := font.samples(*note))) == len(samples) > 0:
            notes.append(note)
    return notes


def song(notes):
    events = []
    for index, (bank, program, key, velocity) in enumerate(notes):
        start, channel = 0.1 + SPACING * index, 9 if bank == 128 else 0
        if channel == 0:
            events.append((start - 0.06, 0xB0, 0, bank))
        events += [(start - 0.04, 0xC0 | channel, program), (start, 0x90 | channel, key, velocity),
                   (start + HELD, 0x80 | channel, key, 64), (start + HEARD, 0xB0 | channel, 120, 0)]
    return midi(events)


def lag(ours, theirs, most):
    """By how many frames theirs is late, and how alike they are then."""
    length = 2 * len(ours)
    product = numpy.fft.irfft(numpy.fft.rfft(ours, length).conj() * numpy.fft.rfft(theirs, length), length)
    near = numpy.concatenate([product[-most:], product[:most + 1]])
    best = int(numpy.argmax(near))
    return best - most, near[best] / max(1e-20, numpy.sqrt((ours ** 2).sum() * (theirs ** 2).sum()))


def quantiles(samples):
    """When 5, 50 and 95 per cent of the energy have been heard, in seconds."""
    energy = numpy.cumsum((samples ** 2).sum(1))
    return [numpy.searchsorted(energy, part * energy[-1]) / RATE for part in (0.05, 0.5, 0.95)]


def faults(ours, theirs):
    """Returns the differences of a note, as sentences."""
    found = []
    first, alike = lag(ours[:9_600].sum(1), theirs[:9_600].sum(1), 256)
    theirs = theirs[first:] if first >= 0 else numpy.vstack([numpy.zeros((-first, 2)), theirs])
    count = min(len(ours), len(theirs))
    ours, theirs = ours[:count], theirs[:count]
    level = [20 * numpy.log10(numpy.sqrt((side ** 2).mean()) + 1e-9) for side in (ours, theirs)]
    if max(level) < -100:
        return found
    if abs(level[0] - level[1]) > LEVEL_DB:
        found.append(f"{level[0] - level[1]:+.2f} dB")
    # Later in the note the same frames are as late as before, or the pitch is another.
    for begin in (57_600, 24_000, 9_600):
        a, b = ours[begin:begin + 9_600].sum(1), theirs[begin:begin + 9_600].sum(1)
        if numpy.sqrt((b ** 2).mean()) > 3e-4:
            late, alike = lag(a, b, 64)
            cents = 1_200 * numpy.log2(1 + late / begin)
            if alike > 0.9 and abs(cents) > CENTS:
                found.append(f"{cents:+.2f} cents")
            if alike > 0.9:
                break
    held = round(HELD * RATE)
    for name, part in (("held", slice(0, held)), ("released", slice(held, None))):
        if numpy.sqrt((theirs[part] ** 2).mean()) < 1e-5:
            continue
        for mine, other in zip(quantiles(ours[part]), quantiles(theirs[part])):
            if abs(mine - other) > max(SECONDS, PART * other):
                found.append(f"{name}: {mine:.3f} and {other:.3f} s")
    return found


def compare(program, font, count, seed=1):
    """Plays notes with both; returns (note, sentences) of those that differ."""
    notes = choose(font, count, seed)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "notes.mid").write_bytes(song(notes))
        subprocess.run(
            [program, folder / "notes.mid", "--font", font, "--dry", "--output", f"file:{folder}/ours.wav",
             "--seconds", str(count * SPACING + 0.5)], check=True, capture_output=True)
        subprocess.run(
            ["fluidsynth", "-q", "-n", "-i", "-R", "0", "-C", "0", "-g", "0.2", "-r", str(RATE), "-O", "float", "-T", "wav",
             "-F", folder / "theirs.wav", font, folder / "notes.mid"], check=True, capture_output=True, timeout=900)
        ours, theirs = read(folder / "ours.wav"), read(folder / "theirs.wav")
    found = []
    for index, note in enumerate(notes):
        start = round((0.1 + SPACING * index) * RATE)
        part = slice(start, start + round(HEARD * RATE))
        if sentences := faults(ours[part], theirs[part]):
            found.append((note, sentences))
    return found


if __name__ == "__main__":
    program, count, *fonts = sys.argv[1:]
    for font in fonts:
        found = compare(program, font, int(count))
        for note, sentences in found:
            print(f"{pathlib.Path(font).name}: bank {note[0]}, program {note[1]}, key {note[2]}, velocity {note[3]}: {'; '.join(sentences)}")
        print(f"{pathlib.Path(font).name}: {int(count) - len(found)} of {count} notes agree with FluidSynth")
