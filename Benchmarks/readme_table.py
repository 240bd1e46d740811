"""README's table of speed: what runs of `scripts/bench --readme` measured, a machine a file in Benchmarks/Machines.

The table is written from these files and from nothing else, so that README cannot claim what no run has shown.
"""

import json
import re
import statistics

BEGIN, END = "<!-- speed: scripts/bench --readme writes this table -->\n", "<!-- speed: end -->\n"
C = "C, AVX2"
# The rows: a workload, its size, and what README calls it.
ROWS = [
    ("W1", "", "three files, band-pass, echo, into a file"),
    ("W1-44", "", "the same from 44.1 kHz"),
    ("W2", "1024", "1,024 voices of three modules"),
    ("W2-bank", "1024", "1,024 voices in one module"),
    ("W2-lanes", "1024", "1,024 voices that a user writes for lanes"),
    ("W3-gains", "1000", "1,000 gains in a row"),
    ("W3-sources", "1000", "1,000 constants mixed"),
    ("W5", "", "live resampling, 44.1 to 48 kHz"),
    ("W6-limiter", "", "limiter, true peak"),
    ("W6-compressor", "", "compressor"),
    ("W6-clip", "", "hard clip, antialiased"),
    ("W6-chorus", "", "chorus of three voices a side"),
    ("W7-reverb", "", "reverb of 16 lines"),
    ("W7-convolution", "64", "convolution with 2 s of stereo, in cycles of 64"),
    ("W8-stretch", "", "1.25 times the tempo"),
]
UNITS = {"W1": "× real time", "W1-44": "× real time", "W2": "ns a voice and sample", "W2-bank": "ns a voice and sample", "W2-lanes": "ns a voice and sample",
         "W3-gains": "ns a module and cycle of 64", "W3-sources": "ns a module and cycle of 64", "W5": "ns a stereo frame", "W6-limiter": "ns a stereo frame",
         "W6-compressor": "ns a channel and sample", "W6-clip": "ns a sample", "W6-chorus": "ns a stereo frame",
         "W7-reverb": "ns a stereo frame", "W7-convolution": "ns a stereo frame, all threads",
         "W8-stretch": "ns a stereo frame of output"}
# Of the resamplers, those count as peers whose noise is as low as C's, and which a render thread can use: soxr cannot
# change its ratio there.
LOWEST_QUALITY, NO_PEERS = {"W5": 110}, ("C,", "soxr", "RenderStack,")


def ratios(ours, theirs, is_speed):
    """Returns the ratio of the peer's time to ours, in each round."""
    return sorted(a / b if is_speed else b / a for a, b in zip(ours, theirs))


def spread(values):
    """A median, and the lowest and the highest round."""
    middle = statistics.median(values)
    digits = 2 if middle < 3 else 1
    return f"{middle:.{digits}f} ({values[0]:.{digits}f} to {values[-1]:.{digits}f})"


def figure(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def counts(row):
    """Returns whether a peer does the same work as RenderStack, and as well."""
    noise = re.match(r"(\d+) dB", row.get("note", ""))
    return (row["same"] and not f"{row['name']},".startswith(NO_PEERS)
            and (not noise or int(noise.group(1)) >= LOWEST_QUALITY.get(row["workload"], 0)))


def best_peer(rows, is_speed):
    """The best of those that do the same work as we do, as well; None if there is none."""
    return (max if is_speed else min)(filter(counts, rows), key=lambda row: row["value"], default=None)


def table(machine, results):
    """One machine's part: ratios to the best peer and to C, the median of the rounds and their range."""
    lines = [f"{machine['processor']}, {machine['processors']} processors, {machine['date']}, {machine['rounds']} rounds:", "",
             "| | RenderStack | × the best peer | × C with AVX2 |", "|---|---|---|---|"]
    for workload, size, title in ROWS:
        rows = {row["name"]: row for row in results if row["workload"] == workload and row["size"] == size and row["values"]}
        ours = rows.pop("RenderStack", None)
        if ours is None:
            continue
        is_speed = workload.startswith("W1")
        tuned = rows.pop(C, None)
        best = best_peer(rows.values(), is_speed)
        beside = f"{best['name']}: {spread(ratios(ours['values'], best['values'], is_speed))}" if best else ""
        by_hand = spread(ratios(ours["values"], tuned["values"], is_speed)) if tuned else ""
        lines.append(f"| {title} | {figure(ours['value'])} {UNITS[workload]} | {beside} | {by_hand} |")
    return "\n".join(lines) + "\n"


def text(folder):
    """The tables of all machines that are kept, the newest first."""
    kept = sorted((json.loads(path.read_text()) for path in folder.glob("*.json")),
                  key=lambda one: one["machine"]["date"], reverse=True)
    return "\n".join(table(one["machine"], one["results"]) for one in kept)


def keep(folder, machine, results):
    """Keeps a machine's figures, in place of those that it had before."""
    folder.mkdir(exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", machine["processor"].lower()).strip("-")
    rows = [row for row in results if (row["workload"], row["size"]) in {(workload, size) for workload, size, _ in ROWS}]
    for row in rows:
        row["values"] = [float(f"{value:.4g}") for value in row["values"]]
        row["value"] = statistics.median(row["values"])
    (folder / f"{name}.json").write_text(json.dumps({"machine": machine, "results": rows}, indent=1) + "\n")


def section(folder):
    """The part of README between its two marks, with them."""
    return f"{BEGIN}\n{text(folder)}\n{END}"


def write(readme, folder):
    old = readme.read_text()
    before, rest = old.split(BEGIN)
    readme.write_text(before + section(folder) + rest.split(END)[1])
