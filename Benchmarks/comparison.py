"""Runs of scripts/bench: how far their rounds differ, how noisy the machine was, and what got slower from one to another."""

import json
import os
import statistics
import sys
import time

sys.dont_write_bytecode = True

import readme_table

# Rounds that differ by more than this are repeated.
STEADY = 1.2
# A smaller change is none, however steady the rounds are.
LEAST = 0.02


def by_row(results):
    """The contestants of each row that have figures, by workload and size."""
    rows = {}
    for one in results:
        if one["values"]:
            rows.setdefault((one["workload"], one["size"]), {})[one["name"]] = one
    return rows


def reference(row):
    """The contestant beside which ours is judged: C, or else the best peer that does the same work."""
    if readme_table.C in row:
        return row[readme_table.C]
    return readme_table.best_peer(row.values(), row["RenderStack"]["workload"].startswith("W1"))


def costs(row, beside=None):
    """What ours costs in each round, beside the reference if there is one: more is worse."""
    ours = row["RenderStack"]
    is_speed = ours["workload"].startswith("W1")
    theirs = beside["values"] if beside else [1.0] * len(ours["values"])
    return [b / a if is_speed else a / b for a, b in zip(ours["values"], theirs)]


def spread(values):
    return max(values) / min(values) if values and min(values) > 0 else 1.0


def widest(results):
    """How far the rounds of a row differ, at most."""
    return max((spread(costs(row, reference(row))) for row in by_row(results).values() if "RenderStack" in row), default=1.0)


def processors():
    """Seconds that all processors worked, and that a machine around this one took them away; and those of this script."""
    fields = [int(field) / os.sysconf("SC_CLK_TCK") for field in open("/proc/stat").readline().split()[1:9]]
    user, nice, system, idle, wait, interrupts, soft, stolen = fields
    own = os.times()
    return (user + nice + system + interrupts + soft, stolen, sum(own[:4]), time.monotonic())


def noise(results, before):
    """How noisy the machine was while a run measured, from what processors() said at its start."""
    work, stolen, own, seconds = (b - a for a, b in zip(before, processors()))
    whole = max(1e-9, seconds * os.cpu_count())
    same = [spread(one["values"]) for one in results
            if len(one["values"]) > 1 and (one["name"] == "C" or one["name"].startswith("C, "))]
    return {"others": round(max(0.0, work - own) / whole, 3), "stolen": round(stolen / whole, 3),
            "spread": round(statistics.median(same), 3) if same else None, "widest": round(max(same), 3) if same else None}


def sentence(noise):
    said = (f"Noise: other programs took {noise['others']:.0%} of the processors, and the machine around this one took away "
            f"{noise['stolen']:.0%}.")
    if noise["spread"]:
        said += f" C's own figures differed between the rounds by {noise['spread']:.2f} × (median), {noise['widest']:.2f} × at most."
    return said


def compared(old, new):
    """The rows that both runs have: how many times as long ours takes in the new one, and whether that is more than noise."""
    before, after = by_row(old), by_row(new)
    for key in before:
        if key not in after or "RenderStack" not in before[key] or "RenderStack" not in after[key]:
            continue
        # The one judge for both, so that a peer that is missing in one of them changes nothing.
        judge = reference(before[key])
        name = judge["name"] if judge and judge["name"] in after[key] else None
        sides = [sorted(costs(row[key], row[key][name] if name else None)) for row in (before, after)]
        if not all(sides):
            continue
        a, b = map(statistics.median, sides)
        # Each median lies outside of what the other run's rounds were.
        is_clear = (b > sides[0][-1] and a < sides[1][0]) or (b < sides[0][0] and a > sides[1][-1])
        yield key, name, sides, b / a, is_clear and abs(b / a - 1) > LEAST


def main(first, second):
    runs = []
    for path in (first, second):
        try:
            with open(path) as file:
                runs.append(json.load(file))
            by_row(runs[-1]["results"])
        except OSError as error:
            print(f"scripts/bench: {path}: {error.strerror}", file=sys.stderr)
            return 2
        except (ValueError, KeyError, TypeError):
            print(f"scripts/bench: {path} is not what scripts/bench --json writes", file=sys.stderr)
            return 2
    machines = [run.get("machine", {}) for run in runs]
    if machines[0].get("processor") != machines[1].get("processor"):
        print(f"The runs are of two processors, {machines[0].get('processor')} and {machines[1].get('processor')}.")
    for path, machine in zip((first, second), machines):
        if machine.get("others") is not None:
            print(f"{path}: {sentence(machine)}")
    slower, rows = [], 0
    for (workload, size), name, sides, times, is_clear in compared(*(run["results"] for run in runs)):
        rows += 1
        title = f"{workload} {size}".strip()
        if is_clear and times > 1:
            slower.append(title)
        verdict = ("SLOWER" if times > 1 else "faster") if is_clear else "within the noise"
        ranges = ", then ".join(f"{side[0]:.3g} to {side[-1]:.3g}" for side in sides)
        print(f"  {title:38}{times:6.2f} × as long   {verdict:18}{f'beside {name}' if name else 'by itself'}: {ranges}")
    if not rows:
        print("The two runs have no row in common.", file=sys.stderr)
        return 2
    print(f"Slower: {', '.join(slower)}." if slower else "Nothing got slower beyond the noise.")
    return 1 if slower else 0
