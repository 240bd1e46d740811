"""Pure Data, in batch mode: a patch that is written here."""

import os

from peer import Peer


class Patch:
    def __init__(self):
        self.lines, self.links, self.count = ["#N canvas 0 0 900 600 10;"], [], 0

    def add(self, text, kind="obj"):
        self.lines.append(f"#X {kind} 0 0 {text};")
        self.count += 1
        return self.count - 1

    def link(self, a, outlet, b, inlet):
        self.links.append(f"#X connect {a} {outlet} {b} {inlet};")

    def write(self, path, seconds, output, bytes_per_sample):
        """Ends it: DSP on, the file opened, started, stopped, quit."""
        start = self.add("loadbang")
        writer = self.add("writesf~ 2")
        opening = self.add(f"open -wave -bytes {bytes_per_sample} -rate 48000 {output} \\, start", "msg")
        on = self.add("\\; pd dsp 1", "msg")
        self.link(start, 0, opening, 0)
        self.link(opening, 0, writer, 0)
        self.link(start, 0, on, 0)
        wait = self.add(f"delay {seconds * 1000:.3f}")
        stop = self.add("stop", "msg")
        after = self.add("delay 100")
        leave = self.add("\\; pd quit", "msg")
        for a, b in ((start, wait), (wait, stop), (stop, writer), (wait, after), (after, leave)):
            self.link(a, 0, b, 0)
        with open(path, "w") as file:
            file.write("\n".join(self.lines + self.links) + "\n")
        return writer


class PureData(Peer):
    name = "Pd"
    packages = ["puredata-core"]
    needs = ["pd"]
    workloads = {"W1": None, "W2": None, "W3-gains": None, "W3-sources": None}

    def prepare(self, workload, size, folder, score):
        self.score = score

    def command(self, workload, size, folder, seconds, output):
        patch = Patch()
        sums = getattr(self, workload.replace("-", "_").lower())(patch, size)
        path = os.path.join(folder, "patch.pd")
        # The writer is the next object but one.
        writer = patch.count + 1
        for outlets, inlet in zip(sums, (0, 1)):
            for one, outlet in outlets:
                patch.link(one, outlet, writer, inlet)
        patch.write(path, seconds, output, 2 if workload == "W1" else 4)
        return ["pd", "-nogui", "-batch", "-nosound", "-r", "48000", "-noprefs", "-open", path]

    def w2(self, patch, size):
        start = patch.add("loadbang")
        # Its oscillator is a cosine.
        phase = patch.add("0.75", "msg")
        patch.link(start, 0, phase, 0)
        left, right = [], []
        for voice in self.score:
            tone = patch.add(f"osc~ {voice['frequency']:.9g}")
            band = patch.add(
                f"biquad~ {-voice['a1']:.9g} {-voice['a2']:.9g} {voice['b0']:.9g} 0 {-voice['b0']:.9g}")
            patch.link(phase, 0, tone, 1)
            patch.link(tone, 0, band, 0)
            for side, sums in (("left", left), ("right", right)):
                gain = patch.add(f"*~ {voice[side] * voice['level']:.9g}")
                patch.link(band, 0, gain, 0)
                sums.append((gain, 0))
        return left, right

    def w3_gains(self, patch, size):
        last = patch.add("sig~ 1")
        for _ in range(size):
            gain = patch.add("*~ 0.999")
            patch.link(last, 0, gain, 0)
            last = gain
        return [(last, 0)], [(last, 0)]

    def w3_sources(self, patch, size):
        total = patch.add("*~ 1")
        for _ in range(size):
            patch.link(patch.add(f"sig~ {2 ** -11}"), 0, total, 0)
        return [(total, 0)], [(total, 0)]

    def w1(self, patch, size):
        files, score = self.score["files"], self.score
        start = patch.add("loadbang")
        readers = []
        for file in files:
            reader = patch.add("readsf~ 2")
            message = patch.add(f"open {file} \\, 1", "msg")
            patch.link(start, 0, message, 0)
            patch.link(message, 0, reader, 0)
            readers.append(reader)
        sums = []
        for channel in range(2):
            band = patch.add(f"biquad~ {-score['a1']:.9g} {-score['a2']:.9g} {score['b0']:.9g} 0 {-score['b0']:.9g}")
            patch.link(readers[0], channel, band, 0)
            both = patch.add("+~")
            patch.link(readers[1], channel, both, 0)
            patch.link(readers[2], channel, both, 1)
            line = patch.add(f"delwrite~ line{channel} 500")
            echo = patch.add(f"delread~ line{channel} {score['delay'] / 48:.9g}")
            back, wet, dry = (patch.add(f"*~ {value:.9g}") for value in
                              (score["feedback"], score["mix"], 1 - score["mix"]))
            for a, b in ((both, line), (echo, back), (back, line), (echo, wet), (both, dry)):
                patch.link(a, 0, b, 0)
            sums.append([(band, 0), (wet, 0), (dry, 0)])
        return sums
