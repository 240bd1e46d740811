"""A naive model of ramps and maps of the tempo in decimals of 60 digits: reads scripts with the beats that were heard, and says where
they differ.

Usage: tempo.py SCRIPTS.json        Prints a line for each script that differs, and at the end how many beats were compared.
"""

import json
import sys
from decimal import Decimal as D, getcontext

getcontext().prec = 60
CLOSE = D("1e-6")


class Tie(Exception):
    """A beat lies so near the middle between two frames that rounding decides."""


class Ramp:
    """The tempo of some beats, from its first one on."""

    def __init__(self, first, last, beats, shape):
        self.first, self.last, self.beats, self.shape = first, last, beats, shape if first != last else "step"

    def tempo(self, x):
        if self.shape == "step":
            return self.first
        if self.shape == "line":
            return self.first + (self.last - self.first) * x / self.beats
        return self.first * ((self.last / self.first).ln() * x / self.beats).exp()

    def minutes(self, x):
        """The integral of one over the tempo."""
        if self.shape == "step":
            return x / self.first
        if self.shape == "line":
            k = (self.last - self.first) / self.beats
            return (1 + k * x / self.first).ln() / k
        k = (self.last / self.first).ln() / self.beats
        return (1 - (-k * x).exp()) / (self.first * k)

    def after(self, minutes):
        if self.shape == "step":
            return minutes * self.first
        if self.shape == "line":
            k = (self.last - self.first) / self.beats
            return self.first / k * ((k * minutes).exp() - 1)
        k = (self.last / self.first).ln() / self.beats
        return -(1 - self.first * k * minutes).ln() / k

    def rest(self, x):
        return Ramp(self.tempo(x), self.last, self.beats - x, self.shape)


class Way:
    """Ramps one after the other from a beat on, the last of which never ends."""

    def __init__(self, beat, ramps):
        self.pieces, minutes = [], D(0)
        for ramp in ramps:
            self.pieces.append((beat, minutes, ramp))
            if ramp.beats is not None:
                minutes += ramp.minutes(ramp.beats)
                beat += ramp.beats

    def minutes(self, beat):
        start, minutes, ramp = [p for p in self.pieces if p[0] <= beat or p is self.pieces[0]][-1]
        return minutes + (ramp.minutes(beat - start) if beat >= start else (beat - start) / ramp.first)

    def beat(self, minutes):
        start, begun, ramp = [p for p in self.pieces if p[1] <= minutes or p is self.pieces[0]][-1]
        return start + (ramp.after(minutes - begun) if minutes >= begun else (minutes - begun) * ramp.first)

    def from_(self, beat):
        """Returns this way from one of its beats on."""
        index = max([i for i, p in enumerate(self.pieces) if p[0] <= beat] or [0])
        start, _, ramp = self.pieces[index]
        if beat < start:
            before = [Ramp(ramp.first, ramp.first, start - beat, "step")] + [p[2] for p in self.pieces]
            return Way(beat, before)
        rest = ramp if ramp.beats is None else ramp.rest(beat - start)
        return Way(beat, [rest] + [p[2] for p in self.pieces[index + 1:]])


def way_of(points):
    ordered = sorted(points, key=lambda p: D(p["beat"]))
    ramps = []
    first = D(ordered[0]["beat"])
    if first > 0:
        ramps.append(Ramp(D(ordered[0]["tempo"]), D(ordered[0]["tempo"]), first, "step"))
    for here, following in zip(ordered, ordered[1:]):
        length = D(following["beat"]) - D(here["beat"])
        if length > 0:
            last = following if here["shape"] != "step" else here
            ramps.append(Ramp(D(here["tempo"]), D(last["tempo"]), length, here["shape"]))
    ramps.append(Ramp(D(ordered[-1]["tempo"]), D(ordered[-1]["tempo"]), None, "step"))
    return Way(D(0), ramps)


def seconds_ramp(first, action):
    """A ramp that takes so many minutes: that of one beat, stretched."""
    one = Ramp(first, D(action["tempo"]), D(1), action["shape"])
    return D(action["seconds"]) / 60 / one.minutes(D(1))


class Clock:
    def __init__(self, rate):
        self.per_minute = D(60 * rate)
        self.frame, self.way, self.first, self.map = 0, Way(D(0), [Ramp(D(120), D(120), None, "step")]), None, None

    def position(self, frame):
        return self.way.beat((D(frame) - self.frame) / self.per_minute)

    def nearest(self, beat):
        exact = self.way.minutes(beat) * self.per_minute
        whole = (exact + D("0.5")).to_integral_value("ROUND_FLOOR")
        if abs(exact - whole) > D("0.5") - CLOSE:
            raise Tie
        return self.frame + int(whole)

    def act(self, action):
        frame = action["frame"]
        here, before = self.position(frame), self.position(D(frame) - D("0.5"))
        rest = self.way.from_(here)
        tempo = rest.pieces[0][2].first
        kind = action["kind"]
        if kind == "tempo":
            self.way, self.map = Way(here, [Ramp(D(action["tempo"]), D(action["tempo"]), None, "step")]), None
        elif kind == "ramp":
            beats = D(action["beats"]) if action.get("beats") is not None else seconds_ramp(tempo, action)
            last = D(action["tempo"])
            self.way, self.map = Way(here, [Ramp(tempo, last, beats, action["shape"]), Ramp(last, last, None, "step")]), None
        elif kind == "map":
            self.map = way_of(action["points"])
            self.way = self.map.from_(here)
        else:
            here = D(action["beat"])
            self.way = self.map.from_(here) if self.map else Way(here, [p[2] for p in rest.pieces])
            before = here - self.way.pieces[0][2].first / 2 / self.per_minute
        self.frame, self.first = frame, before


def heard(script):
    """The frames of the beats, as pairs of a number and a frame."""
    clock, out, step = Clock(script["rate"]), [], D(1) / 4
    bounds = [a["frame"] for a in script["actions"]] + [script["frames"]]
    number = 0
    for index, bound in enumerate(bounds):
        while True:
            frame = max(clock.nearest(number * step), clock.frame)
            if frame >= bound:
                break
            out.append((number, frame))
            number += 1
        if index < len(script["actions"]):
            clock.act(script["actions"][index])
            # The first beat that is not nearest to an earlier frame.
            exact = clock.first / step
            number = int(exact.to_integral_value("ROUND_CEILING"))
            if abs(exact - exact.to_integral_value()) < D("1e-9"):
                raise Tie
    return out


def main(path):
    compared, wrong, ties = 0, 0, 0
    for number, script in enumerate(json.load(open(path))):
        try:
            expected = heard(script)
        except Tie:
            ties += 1
            continue
        found = [tuple(x) for x in script["heard"]]
        compared += len(expected)
        if found != expected:
            wrong += 1
            place = next((i for i, (a, b) in enumerate(zip(found, expected)) if a != b), min(len(found), len(expected)))
            print([a for a in script["actions"] if a["frame"] <= expected[place][1]][-3:], script["rate"])
            print(f"script {number}: {found[place:place + 3]} instead of {expected[place:place + 3]} at {place}")
    print(f"{compared} beats, {wrong} scripts differ, {ties} left out for a tie")
    return 0 if wrong == 0 and compared > 1_000 and ties * 3 < number else 1


sys.exit(main(sys.argv[1]))
