"""SuperCollider's server, not in real time: a score of messages that is written here, with the definitions."""

import math
import os
import struct

from peer import Peer

SCALAR, CONTROL, AUDIO = 0, 1, 2


def text(string):
    data = string.encode() + b"\0"
    return data + b"\0" * (-len(data) % 4)


def message(address, *arguments):
    tags, body = ",", b""
    for argument in arguments:
        if isinstance(argument, bytes):
            tags, body = tags + "b", body + struct.pack(">i", len(argument)) + argument + b"\0" * (-len(argument) % 4)
        elif isinstance(argument, str):
            tags, body = tags + "s", body + text(argument)
        elif isinstance(argument, int):
            tags, body = tags + "i", body + struct.pack(">i", argument)
        else:
            tags, body = tags + "f", body + struct.pack(">f", argument)
    return text(address) + text(tags) + body


def bundle(seconds, *messages):
    whole = int(seconds)
    data = text("#bundle") + struct.pack(">II", whole, int((seconds - whole) * 2**32))
    for one in messages:
        data += struct.pack(">i", len(one)) + one
    return struct.pack(">i", len(data)) + data


class Definition:
    """A SynthDef, in its file format (version 2)."""

    def __init__(self, name, *parameters):
        self.name, self.parameters, self.constants, self.units = name, parameters, [], []
        if parameters:
            self.controls = self.unit("Control", SCALAR, [], len(parameters))

    def __getitem__(self, name):
        return self.controls[self.parameters.index(name)]

    def unit(self, kind, rate, inputs, outputs=1, special=0):
        wires = []
        for one in inputs:
            if isinstance(one, tuple):
                wires.append(one)
            else:
                if float(one) not in self.constants:
                    self.constants.append(float(one))
                wires.append((-1, self.constants.index(float(one))))
        self.units.append((kind, rate, wires, outputs, special))
        return [(len(self.units) - 1, output) for output in range(outputs)]

    def times(self, a, b):
        return self.unit("BinaryOpUGen", AUDIO, [a, b], special=2)[0]

    def plus(self, a, b):
        return self.unit("BinaryOpUGen", AUDIO, [a, b], special=0)[0]

    def data(self):
        def name(string):
            return struct.pack("B", len(string)) + string.encode()
        data = b"SCgf" + struct.pack(">ih", 2, 1) + name(self.name)
        data += struct.pack(">i", len(self.constants)) + struct.pack(f">{len(self.constants)}f", *self.constants)
        data += struct.pack(">i", len(self.parameters)) + b"\0\0\0\0" * len(self.parameters)
        data += struct.pack(">i", len(self.parameters))
        for index, parameter in enumerate(self.parameters):
            data += name(parameter) + struct.pack(">i", index)
        data += struct.pack(">i", len(self.units))
        for kind, rate, wires, outputs, special in self.units:
            data += name(kind) + struct.pack(">biih", rate, len(wires), outputs, special)
            data += b"".join(struct.pack(">ii", *wire) for wire in wires) + struct.pack("b", rate) * outputs
        return data + struct.pack(">h", 0)


class SuperCollider(Peer):
    name = "scsynth"
    packages = ["supercollider-server"]
    needs = ["scsynth"]
    workloads = {"W1": None, "W1-44": None, "W2": None, "W3-gains": None, "W3-sources": None}
    note = "44.1 kHz: cubic"

    def prepare(self, workload, size, folder, score):
        self.score = score

    def command(self, workload, size, folder, seconds, output):
        definition, notes = getattr(self, workload.split("-4")[0].replace("-", "_").lower())(size, workload == "W1-44")
        path = os.path.join(folder, "score.osc")
        with open(path, "wb") as file:
            file.write(bundle(0, message("/d_recv", definition.data())))
            # Bundles of a moderate size.
            for first in range(0, len(notes), 100):
                file.write(bundle(0, *notes[first:first + 100]))
            file.write(bundle(seconds, message("/c_set", 0, 0)))
        form = "int16" if workload.startswith("W1") else "float"
        return ["scsynth", "-N", path, "_", output, "48000", "WAV", form, "-o", "2", "-i", "0", "-z", "64",
                "-n", "8192", "-m", "262144", "-w", "4096", "-D", "0"]

    def start(self, number, *pairs):
        return message("/s_new", "play", 1000 + number, 1, 0, *pairs)

    def w2(self, size, _):
        play = Definition("play", "frequency", "center", "rq", "position", "level")
        tone = play.unit("SinOsc", AUDIO, [play["frequency"], 0])[0]
        band = play.unit("BPF", AUDIO, [tone, play["center"], play["rq"]])[0]
        play.unit("Out", AUDIO, [0, *play.unit("Pan2", AUDIO, [band, play["position"], play["level"]], 2)], 0)
        notes = []
        for number, voice in enumerate(self.score):
            turn = 2 * math.pi * voice["center"] / 48000
            # Its bandwidth is the tangent of half an angle: the same filter.
            alpha = voice["b0"] / (1 - voice["b0"])
            notes.append(self.start(
                number, "frequency", float(voice["frequency"]), "center", float(voice["center"]), "rq",
                2 * math.atan(alpha) / turn, "position", float(voice["position"]), "level", float(voice["level"])))
        return play, notes

    def w3_gains(self, size, _):
        play = Definition("play", "gain")
        # A constant at audio rate.
        last = play.unit("DC", AUDIO, [1])[0]
        for _ in range(size):
            last = play.times(last, play["gain"])
        play.unit("Out", AUDIO, [0, last, last], 0)
        return play, [self.start(0, "gain", 0.999)]

    def w3_sources(self, size, _):
        play = Definition("play", "level")
        one = play.unit("DC", AUDIO, [play["level"]])[0]
        play.unit("Out", AUDIO, [0, one], 0)
        return play, [self.start(number, "level", 2.0 ** -11) for number in range(size)]

    def w1(self, size, is_converting):
        score = self.score
        play = Definition("play")
        files = []
        for number in range(3):
            if is_converting:
                files.append(play.unit("VDiskIn", AUDIO, [number, 44100 / 48000, 0, 0], 2))
            else:
                files.append(play.unit("DiskIn", AUDIO, [number, 0], 2))
        turn = 2 * math.pi * 1000 / 48000
        alpha = score["b0"] / (1 - score["b0"])
        time = score["delay"] / 48000
        outputs = []
        for channel in range(2):
            band = play.unit("BPF", AUDIO, [files[0][channel], 1000, 2 * math.atan(alpha) / turn])[0]
            both = play.plus(files[1][channel], files[2][channel])
            decay = time * math.log(0.001) / math.log(score["feedback"])
            echo = play.unit("CombN", AUDIO, [both, time + 0.001, time, decay])[0]
            outputs.append(play.plus(band, play.plus(play.times(both, 1 - score["mix"]), play.times(echo, score["mix"]))))
        play.unit("Out", AUDIO, [0, *outputs], 0)
        notes = []
        for number, file in enumerate(score["files"]):
            notes.append(message("/b_alloc", number, 32768, 2))
            notes.append(message("/b_read", number, file, 0, 32768, 0, 1))
        return play, notes + [self.start(0)]
