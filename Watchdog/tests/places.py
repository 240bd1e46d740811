#!/usr/bin/python3
"""Judges the places of programs/places.swift: places.py REPORT NAMES, its report and the names of its cases, one a cycle.

Prints how many findings have the right place, of how many only the caller or one of several merged functions is known,
and said to be no more than that, and how many are wrong. Fails if one is wrong, or if less than nine tenths are right.
"""

import collections
import json
import pathlib
import re
import sys

source = pathlib.Path(__file__).parent / "programs" / "places.swift"
lines = source.read_text().splitlines()
report, names = json.load(open(sys.argv[1])), open(sys.argv[2]).read().split()

marks, function = collections.defaultdict(set), None
for number, line in enumerate(lines, 1):
    declared = re.search(r"\bfunc (\w+)", line)
    function = declared.group(1) if declared else function
    mark = re.search(r"// HERE ?(\w*)$", line)
    if mark:
        marks[mark.group(1) or function].add(number)


def verdict(case, place):
    line, name = place["line"], place["function"] or ""
    here = lines[line - 1] if line and (place["file"] or "").endswith("/" + source.name) else ""
    # A global's first use runs what stands at its declaration.
    first_use = re.fullmatch(r"one-time initialization function for (\w+)", name)
    if first_use and re.search(rf"\b(let|var)\b.*\b{first_use.group(1)}\b", here):
        return "right"
    if here and (line in marks[case] or f'("{case}", ' in here):
        return "right"
    return "caller" if place["only_caller_known"] else "merged" if name.endswith("or one like it (merged)") else "wrong"


counts, seen = collections.Counter(), set()
for place in report["places"]:
    for finding in place["findings"]:
        # A finding of code that two cases share stands for the cases of its first and its last cycle.
        for cycle in {finding["first_cycle"], finding["last_cycle"]}:
            said = verdict(names[cycle], place)
            counts[said] += 1
            seen.add(names[cycle])
            if said == "wrong":
                print(f"  {names[cycle]}: {finding['call']} in {place['function']} {place['file']}:{place['line']}")
missed = [name for name in names if name not in seen]
total = sum(counts.values())
print(f"{len(names)} cases, {total} findings: {counts['right']} right, {counts['caller']} only the caller known, "
      f"{counts['merged']} merged, {counts['wrong']} wrong; not seen: {', '.join(missed) or 'none'}")
sys.exit(bool(counts["wrong"] or missed or counts["right"] < 0.9 * total))
