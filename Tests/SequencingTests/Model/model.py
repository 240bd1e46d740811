"""A naive model of the sequencer in exact fractions: reads scripts with what was played, and says where they differ.

Usage: model.py SCRIPTS.json        Prints a line for each script that differs, and at the end how many scripts and events were compared.
"""

import json
import sys
from fractions import Fraction as F

CLOSE = F(1, 10**6)


class Tie(Exception):
    """A beat lies so near the middle between two frames that rounding decides."""


class Model:
    def __init__(self, script):
        self.rate, self.tempo = script["rate"], F(script["tempo"])
        self.anchor, self.beat = 0, F(0)
        self.playing, self.origin, self.stopped, self.loop, self.loop_beat = False, F(0), F(0), None, None
        self.tracks = [{"clip": clip, "muted": False} for clip in map(read, script["clips"])]
        self.sounding, self.out = [], []

    def position(self, frame):
        return self.beat + (frame - self.anchor) * self.tempo / (60 * self.rate)

    def frame(self, beat):
        exact = self.anchor + (beat - self.beat) * 60 * self.rate / self.tempo
        whole = (exact + F(1, 2)).__floor__()
        if abs(exact - whole) > F(1, 2) - CLOSE:
            raise Tie
        return max(whole, self.anchor)

    def next_on(self, index, beat):
        """The first beat of the clock at or after `beat` at which the track has a note, and the notes there."""
        events, length = self.tracks[index]["clip"]
        if not self.playing or not events:
            return None
        song = max(beat - self.origin, F(0))
        turn = song // length
        for start, duration, number in events:
            if start >= song - turn * length:
                return (self.origin + start + turn * length, start, duration, number)
        start, duration, number = events[0]
        return (self.origin + start + (turn + 1) * length, start, duration, number)

    def put(self, frame, kind, number):
        self.out.append((frame, kind, number))

    def end(self, keep, frame):
        for note in [n for n in self.sounding if not keep(n)]:
            self.sounding.remove(note)
            self.put(frame, "off", note[1])

    def run(self, first, before, limit):
        """Plays what is before a frame, or at it and before a beat, from `first` on."""
        while True:
            ons = []
            for index in range(len(self.tracks)):
                key = self.place[index]
                if key is not None:
                    ons.append((key[0], index))
            on = min(ons) if ons else None
            off = min(self.sounding) if self.sounding else None
            wrap = self.loop_beat
            beat = min(x for x in (on and on[0], off and off[0], wrap, F(10**12)) if x is not None)
            frame = max(self.frame(beat), first) if beat < F(10**12) else None
            if frame is None or (limit is None and frame >= before):
                return
            if limit is not None and (frame > before or beat > limit or (beat == limit and not (off and off[0] == beat))):
                return
            if off and off[0] <= beat:
                self.sounding.remove(off)
                self.put(frame, "off", off[1])
            elif wrap is not None and wrap <= beat:
                self.end(lambda n: False, frame)
                self.origin += self.loop[1] - self.loop[0]
                self.loop_beat = self.origin + self.loop[1]
                self.seek(beat)
            else:
                index = on[1]
                _, start, duration, number = self.place[index]
                # All notes of one beat one after the other.
                self.step(index)
                if not self.tracks[index]["muted"]:
                    self.put(frame, "on", number)
                    self.sounding.append((beat + duration, number, index, start))

    def step(self, index):
        events, length = self.tracks[index]["clip"]
        turn, item = self.turn[index]
        item += 1
        if item == len(events):
            turn, item = turn + 1, 0
        self.turn[index] = (turn, item)
        self.look(index)

    def look(self, index):
        events, length = self.tracks[index]["clip"]
        turn, item = self.turn[index]
        if not self.playing or not events:
            self.place[index] = None
        else:
            start, duration, number = events[item]
            self.place[index] = (self.origin + start + turn * length, start, duration, number)

    place, turn = None, None

    def seek(self, beat, only=None):
        if self.place is None:
            self.place, self.turn = [None] * len(self.tracks), [(0, 0)] * len(self.tracks)
        for index in range(len(self.tracks)) if only is None else [only]:
            events, length = self.tracks[index]["clip"]
            song = max(beat - self.origin, F(0))
            turn = song // length
            item = next((i for i, e in enumerate(events) if e[0] >= song - turn * length), len(events))
            if item == len(events):
                turn, item = turn + 1, 0
            self.turn[index] = (turn, item)
            self.look(index)

    def find_loop(self, beat):
        ahead = self.playing and self.loop and beat - self.origin < self.loop[1]
        self.loop_beat = self.origin + self.loop[1] if ahead else None

    def act(self, action):
        frame, kind = action["frame"], action["kind"]
        here = self.position(frame)
        if kind in ("start", "stop", "locate"):
            if kind == "stop":
                if self.playing:
                    self.stopped = here - self.origin
                self.end(lambda n: False, frame)
                self.playing, self.loop_beat = False, None
            else:
                target = F(*action["beat"])
                self.end(lambda n: False, frame)
                if kind == "start":
                    self.playing = True
                if self.playing:
                    self.origin = here - target
                else:
                    self.stopped = target
            self.find_loop(here)
            self.seek(here)
        elif kind == "tempo":
            self.anchor, self.beat, self.tempo = frame, here, F(action["tempo"])
        elif kind == "loop":
            self.loop = [F(*x) for x in action["loop"]] if action.get("loop") else None
            self.find_loop(here)
        elif kind == "mute":
            self.tracks[action["track"]]["muted"] = action["muted"]
            if action["muted"]:
                self.end(lambda n: n[2] != action["track"], frame)
        elif kind == "replace":
            index = action["track"]
            self.tracks[index]["clip"] = read(action["clip"])
            events = self.tracks[index]["clip"][0]
            self.seek(here - F(1, 2) * self.tempo / (60 * self.rate), index)
            while self.place[index] and self.exact_frame(self.place[index][0]) < frame:
                self.step(index)
            self.end(lambda n: n[2] != index or any(e[0] == n[3] and e[2] == n[1] for e in events), frame)

    def exact_frame(self, beat):
        exact = self.anchor + (beat - self.beat) * 60 * self.rate / self.tempo
        return (exact + F(1, 2)).__floor__()


def read(clip):
    events = [(F(*e["start"]), F(*e["length"]), e["number"]) for e in clip["events"]]
    return sorted(events, key=lambda e: e[0]), F(*clip["length"])


def play(script):
    model = Model(script)
    model.seek(F(0))
    first = 0
    for action in script["actions"]:
        isCommand = action["kind"] in ("start", "stop", "locate")
        limit = model.position(action["frame"]) if isCommand else None
        model.run(first, action["frame"], limit)
        model.act(action)
        first = action["frame"]
    model.run(first, script["frames"], None)
    return model.out


def main():
    compared, events, ties, wrong = 0, 0, 0, 0
    for number, script in enumerate(json.load(open(sys.argv[1]))):
        try:
            expected = sorted(play(script))
        except Tie:
            ties += 1
            continue
        compared += 1
        found = sorted((e["frame"], e["kind"], e["number"]) for e in script["played"])
        events += len(expected)
        if found != expected:
            wrong += 1
            missing = [e for e in expected if e not in found][:4]
            extra = [e for e in found if e not in expected][:4]
            print(f"script {number}: {len(found)} events, {len(expected)} expected; missing {missing}, too many {extra}")
            print("  actions:", [(a["frame"], a["kind"]) for a in script["actions"]])
    print(f"{compared} scripts, {events} events, {ties} left out for a tie, {wrong} wrong")
    return 1 if wrong or not events else 0


sys.exit(main())
