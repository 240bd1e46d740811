"""Notes of a SoundFont as play-midi and FluidSynth (without reverb and chorus) play them: pitch, level and envelope, by numpy.

    python3 scripts/checks/pages/fonts.py PROGRAM NOTES FONT.sf2 …

FluidSynth begins notes and envelopes on multiples of 64 frames, 1.3 ms, and rounds pitches down to whole cents. So times may differ
by 3 ms, whatever they are, and pitches by the cent that it rounds. Notes whose zones sound one sample twice are left out: that is a
comb, whose teeth 1.3 ms move. Where several samples of one pitch beat, a cent moves the beats: if such a note differs, its
samples are compared one by one.
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


def pitch(ours, theirs):
    """By how many cents ours is higher where the held note is loud, to some hundredths; None where it has no steady partials."""
    blocks = numpy.sqrt((theirs[4_800:67_200].sum(1).reshape(-1, 4_800) ** 2).mean(1))
    loud = numpy.argmin(numpy.append(blocks > 3e-4, False)) * 4_800
    if loud < 9_600:
        return None
    window, size = numpy.hanning(loud), 1 << 19
    mine, other = (numpy.abs(numpy.fft.rfft(side[4_800:4_800 + loud].sum(1) * window, size)) + 1e-12 for side in (ours, theirs))

    def peak(levels, near, reach):
        place = near - reach + int(numpy.argmax(levels[near - reach:near + reach + 1]))
        a, b, c = numpy.log(levels[place - 1:place + 2])
        return place + 0.5 * (a - c) / (a - 2 * b + c)

    # The strongest partials, each of which must stand alone: what lies within two widths of it is weaker.
    found, left, width = [], mine.copy(), 4 * size // loud
    left[:4 * width] = left[-4 * width:] = 0
    for _ in range(8):
        place = int(numpy.argmax(left))
        if left[place] < 0.1 * mine.max():
            break
        left[max(0, place - 4 * width):place + 4 * width] = 0
        around = numpy.r_[mine[place - 3 * width:place - width], mine[place + width:place + 3 * width]].max()
        reach = max(8, round(place * 0.003))
        if around < 0.1 * mine[place]:
            found.append(1_200 * numpy.log2(peak(mine, place, 4) / peak(other, place, reach)))
    return float(numpy.median(found)) if found else None


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
    cents = pitch(ours, theirs)
    if cents is not None and abs(cents) > CENTS + 0.05:
        found.append(f"{cents:+.2f} cents")
    held = round(HELD * RATE)
    for name, part in (("held", slice(0, held)), ("released", slice(held, None))):
        if numpy.sqrt((theirs[part] ** 2).mean()) < 1e-5:
            continue
        for mine, other in zip(quantiles(ours[part]), quantiles(theirs[part])):
            if abs(mine - other) > max(SECONDS, PART * other):
                found.append(f"{name}: {mine:.3f} and {other:.3f} s")
    return found


def play(program, font, notes, folder):
    """Plays notes with both; returns a part of the sound of each for every note."""
    (folder / "notes.mid").write_bytes(song(notes))
    subprocess.run(
        [program, folder / "notes.mid", "--font", font, "--dry", "--output", f"file:{folder}/ours.wav",
         "--seconds", str(len(notes) * SPACING + 0.5)], check=True, capture_output=True)
    subprocess.run(
        ["fluidsynth", "-q", "-n", "-i", "-R", "0", "-C", "0", "-g", "0.2", "-r", str(RATE), "-O", "float", "-T", "wav",
         "-F", folder / "theirs.wav", font, folder / "notes.mid"], check=True, capture_output=True, timeout=900)
    ours, theirs = read(folder / "ours.wav"), read(folder / "theirs.wav")
    for index in range(len(notes)):
        start = round((0.1 + SPACING * index) * RATE)
        part = slice(start, start + round(HEARD * RATE))
        yield ours[part], theirs[part]


def alone(program, path, note, folder):
    """What is different about each sample of a note if it sounds alone: sentences. The others are said to be in a ROM."""
    data, samples = bytearray(pathlib.Path(path).read_bytes()), Font(path).samples(*note)
    headers, found = data.index(b"shdr", data.rindex(b"pdta")) + 8, []
    for kept in samples:
        kinds = {headers + 46 * sample + 44: None for sample in samples if sample != kept}
        for place in kinds:
            kinds[place], data[place:place + 2] = data[place:place + 2], b"\x01\x80"
        (folder / "alone.sf2").write_bytes(data)
        for ours, theirs in play(program, folder / "alone.sf2", [note], folder):
            found += [f"sample {kept}: {sentence}" for sentence in faults(ours, theirs)]
        for place, kind in kinds.items():
            data[place:place + 2] = kind
    return found


def compare(program, font, count, seed=1):
    """Plays notes with both; returns (note, sentences) of those that differ, and of those whose samples agree only one by one."""
    differing, mixed = [], []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        notes = choose(font, count, seed)
        found = [(note, faults(*sides)) for note, sides in zip(notes, play(program, font, notes, folder))]
        for note, sentences in found:
            if not sentences:
                continue
            one_by_one = alone(program, font, note, folder) if len(Font(font).samples(*note)) > 1 else sentences
            if one_by_one:
                differing.append((note, one_by_one))
            else:
                mixed.append((note, sentences))
    return differing, mixed


if __name__ == "__main__":
    program, count, *fonts = sys.argv[1:]
    for font in fonts:
        name, (differing, mixed) = pathlib.Path(font).name, compare(program, font, int(count))
        for kind, notes in (("", differing), ("only sample by sample: ", mixed)):
            for note, sentences in notes:
                print(f"{name}: bank {note[0]}, program {note[1]}, key {note[2]}, velocity {note[3]}: {kind}{'; '.join(sentences)}")
        print(f"{name}: {int(count) - len(differing) - len(mixed)} of {count} notes agree with FluidSynth, {len(mixed)} more sample by sample")
