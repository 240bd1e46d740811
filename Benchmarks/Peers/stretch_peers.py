"""The peers of W8: a stereo sound at 1.25 times its tempo and at its own pitch."""

import os
import subprocess

from effect_peers import HERE, Command, Effect
from effects import RATE, TEMPO
from peer import timed, wav

#: Where scripts/bench --install puts the Python package with Signalsmith's library, which Debian does not have.
PLACE = os.path.join(HERE, "../../.build/bench-python")


class Signalsmith(Command):
    """Signalsmith's library at its preset for quality, by way of Python, which hands it the whole sound at once."""
    packages = ["python-stretch, by pip"]
    needs = [os.path.abspath(os.path.join(PLACE, "python_stretch"))]

    def __init__(self):
        super().__init__("Signalsmith Stretch")

    def command(self, *words):
        return ["/usr/bin/python3", "-B", os.path.join(HERE, "signalsmith.py"), os.path.abspath(PLACE), str(TEMPO), *words]


class RubberBand(Effect):
    """Rubber Band's program with its finer engine: a long sound minus a short one."""
    packages, needs = ["rubberband-cli", "sox"], ["rubberband-r3", "sox"]
    short, long = 5, 25

    def __init__(self):
        super().__init__("Rubber Band R3")

    def stretch(self, sound, output):
        return timed(["rubberband-r3", "-q", "-t", repr(1 / TEMPO), sound, output], cwd=self.folder)[0]

    def heard(self):
        output = os.path.join(self.folder, "heard.wav")
        self.stretch(f"{self.checked[:-4]}.wav", output)
        return wav(output)

    def measure(self):
        costs = []
        for seconds in (self.short, self.long):
            sound = os.path.join(self.folder, f"{seconds}.wav")
            if not os.path.exists(sound):
                subprocess.run(["sox", f"{self.sound[:-4]}.wav", sound, "repeat", str(seconds - 1)], check=True)
            costs.append(self.stretch(sound, os.path.join(self.folder, "timed.wav")))
        return max(1e-3, (costs[1] - costs[0]) / ((self.long - self.short) / TEMPO * RATE) * 1e9)


def contestants():
    return [Signalsmith(), RubberBand()]
