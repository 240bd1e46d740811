"""Finds the plug-ins that allocate, lock, wait or enter the kernel in run(): a table by package, and their names. See scripts/watch-plugins."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("program")
parser.add_argument("--packages", required=True)
parser.add_argument("--seconds", default="1")
parser.add_argument("--json")
options = parser.parse_args()
root = pathlib.Path(__file__).resolve().parents[2]
options.program = str(pathlib.Path(options.program).resolve())
watchdog = root / "Watchdog/build/rtwatch"


def watch(uri):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        try:
            subprocess.run(
                [watchdog, "--quiet", "--no-perf", "--json", report, "--", options.program, "play", uri, "--seconds", options.seconds,
                 "--output", "clock"], stdin=subprocess.DEVNULL, capture_output=True, timeout=90, cwd=folder)
        except subprocess.TimeoutExpired:
            return uri, None
        if not report.exists():
            return uri, None
        data = json.loads(report.read_text(errors="replace"))
    if not data["cycles"]:
        return uri, None
    found = collections.Counter()
    late = 0
    for place in data["places"]:
        inside = any(finding.get("foreign_code") for finding in place["findings"])
        if not inside or place["tier"] == "notes" or place["module"] == options.program:
            continue
        found[place["family"]] += 1
        # Work of the first cycles is often a plug-in that sets itself up late; what goes on is worse.
        late += place["last_cycle"] > 20
    return uri, {"found": dict(found), "goes on": late}


uris_of = {}
for package in options.packages.split():
    files = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True).stdout.split("\n")
    folders = sorted({str(pathlib.Path(f).parent) for f in files if f.endswith("/manifest.ttl")})
    uris_of[package] = folders
environment = dict(os.environ)
table, names = {}, []
for package, folders in uris_of.items():
    uris = []
    with tempfile.TemporaryDirectory() as place:
        for folder in folders:
            os.symlink(folder, f"{place}/{pathlib.Path(folder).name}")
        uris = subprocess.run(["lv2ls"], capture_output=True, text=True, env=dict(environment, LV2_PATH=place)).stdout.split()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(watch, uris))
    sums = collections.Counter(plugins=len(uris))
    for uri, result in results:
        if result is None:
            sums["not watched"] += 1
            continue
        if result["found"]:
            sums["with findings"] += 1
            sums["that go on"] += result["goes on"] > 0
            names.append((package, uri, result))
        for word in result["found"]:
            sums[word] += 1
    table[package] = sums
    print(package, dict(sums), flush=True)
families = sorted({word for sums in table.values() for word in sums} - {"plugins", "with findings", "that go on", "not watched"})
columns = ["plugins", "with findings", "that go on", *families, "not watched"]
print("\n| package | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
for package, sums in table.items():
    print(f"| {package} | " + " | ".join(str(sums[column]) for column in columns) + " |")
for package, uri, result in names:
    print(f"{package}: {uri}: {result}")
if options.json:
    pathlib.Path(options.json).write_text(json.dumps({"table": table, "names": names}, indent=1))
if not sum(sums["plugins"] - sums["not watched"] for sums in table.values()):
    raise SystemExit("watch-plugins: no plug-in could be watched")
