"""The Synthesis ToolKit, a program in C++ that is written here."""

import os

from peer import Peer, compiled

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stk.cpp")


class STK(Peer):
    name = "STK"
    packages = ["libstk-dev", "g++"]
    needs = ["/usr/include/stk/Stk.h", "g++"]
    workloads = {"W1": None, "W1-44": None, "W2": None}
    note = "44.1 kHz: linear"

    def prepare(self, workload, size, folder, score):
        self.program = os.path.join(folder, "stk")
        compiled(SOURCE, self.program, "-I/usr/include/stk", "-lstk")
        numbers = os.path.join(folder, "numbers.txt")
        with open(numbers, "w") as file:
            if workload == "W2":
                for v in score:
                    file.write(" ".join(f"{v[key]:.12g}" for key in ("frequency", "level", "b0", "a1", "a2", "left",
                                                                      "right")) + "\n")
            else:
                file.write(" ".join(f"{score[key]:.12g}" for key in ("b0", "a1", "a2", "delay", "feedback", "mix")))
                file.write("\n" + "\n".join(score["files"]) + "\n")

    def command(self, workload, size, folder, seconds, output):
        return [self.program, workload[:2], os.path.join(folder, "numbers.txt"), str(seconds), output]
