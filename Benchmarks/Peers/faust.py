"""Faust: C++ that its compiler generates, compiled as its users do, in a loop that is written here."""

import os
import subprocess

from peer import Failure, Peer, compiled, timed, RATE

# The generated code stands in this.
HEAD = r"""
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
struct Meta { void declare(const char *, const char *) {} };
struct UI {
    void openVerticalBox(const char *) {}
    void closeBox() {}
};
struct dsp {};
<<includeIntrinsic>>
<<includeclass>>
"""

MAIN = HEAD + r"""
int main(int count, char **words) {
    long frames = (long)(atof(words[1]) * 48000);
    FILE *file = fopen(words[2], "wb");
    mydsp *dsp = new mydsp;
    dsp->init(48000);
    static float left[64], right[64], both[128];
    float *outputs[2] = {left, right};
    for (long done = 0; done < frames; done += 64) {
        dsp->compute(64, nullptr, outputs);
        for (int i = 0; i < 64; i++) both[2 * i] = left[i], both[2 * i + 1] = right[i];
        if (fwrite(both, 4, 128, file) != 128) return 1;
    }
    fclose(file);
    return 0;
}
"""


def ways(folder, source, *flags):
    """Generates the code in both of Faust's ways around main.cpp, and compiles it: programs, of which the faster one counts."""
    for form, more in (("scalar", []), ("vector", ["-vec", "-vs", "64"])):
        generated, program = os.path.join(folder, f"{form}.cpp"), os.path.join(folder, form)
        done = subprocess.run(["faust", "-a", "main.cpp", *flags, *more, "-o", generated, source], cwd=folder,
                              capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"faust failed: {done.stderr[-300:]}")
        compiled(generated, program)
        yield program


def way(program):
    return "-vec" if program.endswith("vector") else "scalar"


class Faust(Peer):
    name = "Faust"
    packages = ["faust", "g++"]
    needs = ["faust", "g++"]
    # Its code for each voice is written out: g++ takes minutes for more.
    workloads = {"W2": (64,), "W3-gains": ()}

    def prepare(self, workload, size, folder, score):
        source = os.path.join(folder, "play.dsp")
        voices = ",\n".join(
            f"(os.osc({v['frequency']:.9g}) : fi.tf2({v['b0']:.12g}, 0, {-v['b0']:.12g}, {v['a1']:.12g}, {v['a2']:.12g})"
            f" <: *({v['left'] * v['level']:.9g}), *({v['right'] * v['level']:.9g}))" for v in score)
        with open(source, "w") as file:
            file.write(f'import("stdfaust.lib");\nprocess = {voices} :> _, _;\n')
        with open(os.path.join(folder, "main.cpp"), "w") as file:
            file.write(MAIN)
        self.programs = []
        for program in ways(folder, source):
            self.programs.append((timed([program, "4", "/dev/null"], cwd=folder)[0], program))
        self.program = min(self.programs)[1]
        self.note = way(self.program)

    def command(self, workload, size, folder, seconds, output):
        return [self.program, str(seconds), output]

    def heard(self, path):
        import numpy
        return numpy.fromfile(path, "<f4").astype(float).reshape(-1, 2)
