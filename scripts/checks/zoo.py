"""The zoo of violations: its cases, what is to be reported of each, and whether it was."""

import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
watchdog = root / "Watchdog"
rtwatch = watchdog / "build" / "rtwatch"
TIERS = ["blocks", "may-block", "notes"]

# places: the files and lines that may be named. thread: the name of its thread, or None where all cases share one.
# call: what must be reported, or None where any call will do.
Case = collections.namedtuple("Case", "name family expected seen functions places thread call")
# A finding of the report, with the frame that it shows as its place.
Finding = collections.namedtuple("Finding", "tier call function file line")


def run(*command, timeout=600, **options):
    return subprocess.run(
        list(map(str, command)), cwd=root, capture_output=True, text=True, errors="replace", timeout=timeout, **options)


def must(*command, **options):
    result = run(*command, **options)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def release_build(built=None):
    """The folder of a release build with its tests: of `built` (a --scratch-path), or of a new one of our own."""
    scratch = built or pathlib.Path(".build/watchdog")
    words = ["-c", "release", "-Xswiftc", "-enable-testing", "--scratch-path", scratch]
    if not built:
        # Anew: what an incremental release build inlined may be older than its source.
        shutil.rmtree(root / scratch, ignore_errors=True)
        must("swift", "build", "--build-tests", *words, timeout=3600)
    return pathlib.Path(must("swift", "build", "--show-bin-path", *words).strip())


def linked(folder, name, at, *words):
    """Links a program of a release build once more, with other words for the linker, and says where it is."""
    libraries = []
    for line in must("ldd", folder / name).splitlines():
        library = re.match(r"\s+(\S+) => (/\S+)", line)
        if library and not re.match(r"lib(swift|_?Foundation|dispatch|Blocks|c\.so|stdc)", library.group(1)):
            libraries.append(library.group(2))
    # SwiftPM calls a program's main by its name, so that tests can have it too.
    must("swiftc", "-o", at, f"@{folder}/{name}.product/Objects.LinkFileList",
         "-Xlinker", f"--defsym=main={name}_main", *libraries, *words)
    return at


def marks():
    """Returns the lines of the marks HERE in the Swift zoo, by function or global, and the file of each function."""
    lines, files = collections.defaultdict(set), {}
    for path in sorted((watchdog / "zoo").glob("*.swift")):
        function, depth = None, 0
        for number, line in enumerate(path.read_text().splitlines(), 1):
            start = re.match(r".*\bfunc (\w+)", line)
            if start:
                function = start.group(1)
                files[function] = path.stem
            # A function releases what it owns at its closing brace.
            if line == "}" and function:
                lines[function].add((path.name, number))
                function = None
            if line.rstrip().endswith("// HERE"):
                name = re.match(r"(?:nonisolated\(unsafe\) |enum \w+ \{ static |\s+lazy )?(?:let|var) (\w+)", line)
                lines[name.group(1) if name and not function else function].add((path.name, number))
    return lines, files


def swift_cases(program):
    lines, files = marks()
    cases = []
    for number, line in enumerate(must(program, "--list").splitlines()):
        name, expected, seen, _, functions = line.split("\t")
        functions = functions.split("|")
        places = set().union(*(lines[function.split(".")[-1].split()[-1]] for function in functions))
        family = files.get(functions[0], files.get(functions[-1], ""))
        cases.append(Case(name, family, expected, seen, functions, places, f"zoo-{number}", None))
        if expected != "clean" and not places:
            sys.exit(f"zoo: no line of {functions[0]} is marked HERE")
    return cases


def c_cases(program):
    cases = []
    for line in must(program, "--list").splitlines():
        name, tier, call, function, file, place, alone = line.split("\t")
        expected = (["clean"] + TIERS)[int(tier)]
        cases.append((Case(
            name, "C " + pathlib.Path(file).stem.removeprefix("zoo-"), expected, "libc", [function],
            {(file, int(place))}, None, None if call == "-" else call), alone))
    return [case for case, _ in cases], [case.name for case, alone in cases if alone]


def watch(program, *arguments, cycles=1):
    """Returns the report of rtwatch on a program: by thread and by function, a list of findings.

    Fewer cycles than these are an error (nothing was judged in those), and so are findings lost, but for single cases.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        result = run(rtwatch, "--notes", "--quiet", "--json", report, "--", program, *arguments, timeout=300)
        if not report.exists():
            sys.exit(f"rtwatch wrote no report: status {result.returncode}\n{result.stderr}")
        data = json.loads(report.read_text())
    if not data["watched"]:
        sys.exit(f"{program} was not watched: {data['verdict']}\n{' '.join(data['messages'])}\n{result.stderr[-2000:]}")
    if result.returncode:
        ended = f"status {result.returncode}, {' '.join(data['messages'])}"
        sys.exit(f"{program.name} {' '.join(arguments)} under rtwatch: {ended}\n{result.stderr}")
    if data["cycles"] < cycles:
        sys.exit(f"{program.name} under rtwatch: {data['cycles']} cycles instead of {cycles}")
    # Notes may be: on a busy machine there are more preemptions than perf's ring takes.
    if cycles > 1 and data["lost"]["blocks"] + data["lost"]["may_block"]:
        sys.exit(f"{program.name} {' '.join(arguments)} under rtwatch: findings were lost: {data['lost']}")
    names = {thread["tid"]: thread["name"] for thread in data["threads"]}
    threads, functions = collections.defaultdict(list), collections.defaultdict(list)
    for place in data["places"] + data["page_faults"]:
        for finding in place["findings"]:
            frame = next((frame for frame in finding["stack"] if frame.get("place")), {})
            short = Finding(
                "notes" if finding["tier"] == "note" else finding["tier"], finding["call"] or finding["kind"],
                frame.get("function") or "", pathlib.Path(frame.get("file") or "").name, frame.get("line"))
            functions[short.function].append(short)
            for tid in finding["threads"]:
                threads[names.get(tid)].append(short)
    return threads, functions


def names(case, finding):
    return any(re.search(rf"\b{re.escape(function)}\b", finding.function) for function in case.functions)


def called(case, finding):
    """Returns whether it is the call that rtwatch should report; `syscall` and `hang` are said more exactly."""
    plain = case.call.removeprefix("system call ")
    return finding.call == plain or finding.call.startswith((f"{plain}(", f"{plain} "))


def judge(case, found, static=False):
    """Returns the outcome of a case: right, line, function, worse, missed, hidden; clean, false. And the report, as text.

    right: all that blocks or may block is reported for the case's function, on its lines. worse: in a worse tier.
    hidden: not visible because the standard library is static.
    """
    # A page that the machine reads back from the disk is no doing of a case, unless its case is about page faults.
    serious = [finding for finding in found if finding.tier in TIERS[:2] and
               (finding.call != "page fault" or case.call == "page fault")]
    text = "; ".join(sorted({
        f"{finding.tier}: {finding.call} in {finding.function[:60] or '?'} {finding.file}:{finding.line}"
        for finding in serious or found}))
    if case.expected == "clean":
        return ("false" if serious else "clean"), text
    of_tier = [finding for finding in found if finding.tier == case.expected]
    hidden = static and case.seen == "swift"
    if not of_tier or (case.call and not any(called(case, finding) for finding in found)):
        return ("hidden" if hidden else "worse" if serious and not case.call else "missed"), text
    if case.expected != "blocks" and any(finding.tier == "blocks" or case.expected == "notes" for finding in serious):
        return "worse", text
    judged = serious if case.expected != "notes" else [finding for finding in of_tier if names(case, finding)]
    if case.call:
        judged = [finding for finding in found if called(case, finding)]
    if not judged or not all(names(case, finding) for finding in judged):
        return "function", text
    lines = [(finding.file, finding.line) in case.places for finding in judged]
    if not (any(lines) if case.call else all(lines)):
        return "line", text
    return "right", text
