"""Csound, into a file as fast as it goes."""

import os

from peer import Peer

HEAD = """<CsoundSynthesizer>
<CsOptions>
-d -m0 -W {form} -o {output}
</CsOptions>
<CsInstruments>
sr = 48000
ksmps = 64
nchnls = 2
0dbfs = 1
giSine ftgen 1, 0, 16384, 10, 1
"""


class Csound(Peer):
    name = "Csound"
    packages = ["csound"]
    needs = ["csound"]
    workloads = {"W1": None, "W1-44": None, "W2": None, "W3-gains": None, "W3-sources": None}

    def prepare(self, workload, size, folder, score):
        self.score = score

    def command(self, workload, size, folder, seconds, output):
        body = getattr(self, workload.split("-4")[0].replace("-", "_").lower())(size, seconds)
        path = os.path.join(folder, "play.csd")
        with open(path, "w") as file:
            file.write(HEAD.format(form="-s" if workload.startswith("W1") else "-f", output=output))
            file.write(body + "\n</CsScore>\n</CsoundSynthesizer>\n")
        return ["csound", path]

    def w2(self, size, seconds):
        notes = "\n".join(
            f"i1 0 {seconds} {v['frequency']:.9g} {v['b0']:.12g} {v['a1']:.12g} {v['a2']:.12g}"
            f" {v['left'] * v['level']:.9g} {v['right'] * v['level']:.9g}" for v in self.score)
        return ("instr 1\na1 poscil 1, p4, giSine\na2 biquad a1, p5, 0, -p5, 1, p6, p7\nouts a2 * p8, a2 * p9\nendin\n"
                f"</CsInstruments>\n<CsScore>\n{notes}")

    def w3_gains(self, size, seconds):
        lines = "\n".join("a1 = a1 * k1" for _ in range(size))
        return f"instr 1\nk1 init 0.999\na1 = 1\n{lines}\nouts a1, a1\nendin\n</CsInstruments>\n<CsScore>\ni1 0 {seconds}"

    def w3_sources(self, size, seconds):
        notes = "\n".join(f"i1 0 {seconds} {2 ** -11}" for _ in range(size))
        return ("instr 1\nk1 init p4\na1 = k1\nouts a1, a1\nendin\n</CsInstruments>\n<CsScore>\n" + notes)

    def w1(self, size, seconds):
        s, (a, b, c) = self.score, self.score["files"]
        channel = """a{to} biquad a{first}, {b0}, 0, -({b0}), 1, {a1}, {a2}
abuf{to} delayr {time}
ax{to} = a{second} + a{third}
delayw ax{to} + abuf{to} * {feedback}
ay{to} = a{to} + ax{to} * {dry} + abuf{to} * {wet}
"""
        numbers = dict(b0=f"{s['b0']:.12g}", a1=f"{s['a1']:.12g}", a2=f"{s['a2']:.12g}", time=s["delay"] / 48000,
                       feedback=s["feedback"], dry=1 - s["mix"], wet=s["mix"])
        return (f'instr 1\na11, a12 diskin2 "{a}", 1\na21, a22 diskin2 "{b}", 1\na31, a32 diskin2 "{c}", 1\n'
                + channel.format(to=1, first=11, second=21, third=31, **numbers)
                + channel.format(to=2, first=12, second=22, third=32, **numbers)
                + f"outs ay1, ay2\nendin\n</CsInstruments>\n<CsScore>\ni1 0 {seconds}")
