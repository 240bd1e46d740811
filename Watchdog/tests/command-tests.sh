#!/bin/sh
# Runs the command against small programs and checks what it says: text, JSON, page, exit statuses, signals.
# Usage: command-tests.sh [build folder], from Watchdog/. Needs cc, python3.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-$here/../build}" && pwd)
rtwatch=$build/rtwatch
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset NO_COLOR RTWATCH_LIBRARY LD_PRELOAD
passed=0 failed=0

check() { # description, command…
    what=$1; shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $what"; fi
}
is() { [ "$1" = "$2" ] || { echo "  expected \"$2\", got \"$1\""; return 1; }; }
says() { grep -q -e "$1" "$2" || { echo "  \"$1\" is not in:"; sed 's/^/  | /' "$2" | head -40; return 1; }; }
silent() { ! grep -q -e "$1" "$2" || { echo "  \"$1\" is in:"; grep -e "$1" "$2" | sed 's/^/  | /' | head -5; return 1; }; }
run() { # runs rtwatch; leaves out, err and status
    timeout -k 5 60 "$rtwatch" "$@" >out 2>err </dev/null; status=$?
}
until_started() { # the program writes so to out
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do grep -q started out && return; sleep 0.5; done
}
json() { # an expression over the report r
    /usr/bin/python3 -IS - "$1" <<'PYTHON'
import json, sys
r = json.load(open("report.json"))
places = {(p["function"], p["called"]): p for p in r["places"]}
calls = {f["call"]: f for p in r["places"] for f in p["findings"]}
good = bool(eval(sys.argv[1]))
if not good: print("  not so:", sys.argv[1], "\n ", json.dumps(r)[:1500])
sys.exit(not good)
PYTHON
}
line() { grep -n "// line: $1" "$here/programs/violations.c" | cut -d: -f1; }

flags="-g -O2 -Wall -Wextra -Werror -fno-omit-frame-pointer -fno-optimize-sibling-calls"
for program in violations flood scribble loader; do
    cc $flags -o $program "$here/programs/$program.c" -lpthread -ldl || exit 1
done
cc $flags -fno-builtin -o own-malloc "$here/programs/violations.c" "$here/programs/own-malloc.c" -lpthread || exit 1
cc $flags -shared -fPIC -o plugin.so "$here/programs/plugin.c" || exit 1
cc $flags -static -o static-program "$here/programs/violations.c" -lpthread || exit 1

cc $flags -fno-builtin -Wno-builtin-declaration-mismatch -shared -fPIC -o libforeign.so "$here/programs/foreign.c" || exit 1
cc $flags -fno-builtin -o arguments "$here/programs/arguments.c" -L. -lforeign -Wl,-rpath,"$work" -lpthread || exit 1

# -- What is called gets and gives what it would without the watchdog

./arguments >expected 2>err; check "arguments: alone" is $? 0
run --json report.json -- ./arguments; check "arguments come through" is $status 0; check "arguments: nothing wrong" silent wrong err
check "arguments: printed" cmp -s out expected; check "arguments: watched" json "sum(p['count'] for p in r['places'] if p['called'] == 'fprintf') == 8 and calls['printf']['count'] == 2"
run --json report.json --no-syscalls -- ./arguments; check "arguments, --no-syscalls" is $status 0
check "the library touches no vector register" is "$(objdump -d "$build/librtwatch.so" | grep -c '%[xyz]mm')" 0
check "the library calls no memcpy of libc's" is "$(nm -u "$build/librtwatch.so" | grep -c ' \(mem\|str\)')" 0

cc $flags -fno-builtin -o races "$here/programs/races.c" "$here/programs/own-malloc.c" -lpthread -ldl || exit 1
cc $flags -shared -fPIC -o libfake-jack.so "$here/programs/fake-jack.c" || exit 1
cc $flags -fno-builtin -o fake-jack-client "$here/programs/fake-jack-client.c" -L. -lfake-jack -Wl,-rpath,"$work" -lpthread || exit 1
run --follow -- ./races fork 100; check "fork while others become audio threads" is $status 0
run -- ./races unload; check "dlsym while a library is closed" is $status 0
run --json report.json -- ./fake-jack-client; check "a JACK client's memory taken again" is "$(cat out)" "1 1 1"
check "JACK clients are watched" json "r['found']['blocks'] == 6 and {t['found_by'] for t in r['threads']} == {\"JACK's process callback\"}"

cc $flags -o foreign-code "$here/programs/foreign-code.c" || exit 1
./foreign-code; check "foreign code: alone" is $? 0
run --json report.json -- ./foreign-code; check "foreign code: its names nest" is $status 0
check "foreign code: told by its name" json "sorted((p['findings'][0].get('foreign_code', ''), p['count']) for p in r['places'] if p['called'] == 'malloc') == [('', 2), ('its host', 1), ('reverb', 2)]"
check "foreign code: in the text" says 'in the foreign code "reverb"' err

cc $flags -fno-builtin -o leaves "$here/programs/leaves.c" -lpthread || exit 1
for way in main filter; do
    run --json report.json -- ./leaves $way; check "leaves, $way: ends" is $status 0
    check "leaves, $way: all seen" json "r['cycles'] == 100 and sum(p['count'] for p in r['places'] if p['called'] == 'malloc') == 100 and places['audio', 'malloc']['line'] == $(grep -n '// line: malloc' "$here/programs/leaves.c" | cut -d: -f1)"
done

# -- What cannot be run

run; check "no program" is $status 125; check "no program: said" says "no program given" err
run --; check "no program behind --" is $status 125
run -- ./no-such-program; check "not found" is $status 127; check "not found: said" says "no such program" err
run -- no-such-program-in-path; check "not in PATH" is $status 127; check "not in PATH: said" says "in PATH" err
echo text > text-file; run -- ./text-file; check "not executable" is $status 126; check "not executable: said" says "may not be run" err
chmod +x text-file; run -- ./text-file; check "not a program" is $status 126; check "not a program: said" says "neither" err
: > empty; chmod +x empty; run -- ./empty; check "empty file" is $status 126
printf '#!/no/such/interpreter\n' > orphan; chmod +x orphan; run -- ./orphan
check "interpreter missing" is $status 126; check "interpreter missing: said" says "/no/such/interpreter" err
run -- /; check "a folder" is $status 126; check "a folder: said" says "is a folder" err
run -- ./static-program; check "static" is $status 126; check "static: said" says "linked statically" err
cp violations setuid-program
if chown 65534 setuid-program 2>/dev/null && chmod u+s setuid-program; then
    run -- ./setuid-program; check "setuid" is $status 126; check "setuid: said" says "setuid" err
else
    echo "left out here: a setuid program was not made, for want of: root-rights"
fi
/usr/bin/python3 - <<'PYTHON'
data = bytearray(open("violations", "rb").read()); data[18] = 0xF3; data[19] = 0
open("other-machine", "wb").write(data)
PYTHON
chmod +x other-machine; run -- ./other-machine; check "other machine" is $status 126; check "other machine: said" says "processor" err
mkdir alone; cp "$rtwatch" alone/; timeout 10 alone/rtwatch -- ./violations >out 2>err; status=$?
check "library missing" is $status 125; check "library missing: said" says "librtwatch.so is missing" err
mkdir -p tree/bin tree/lib; cp "$rtwatch" tree/bin/; cp "$build/librtwatch.so" tree/lib/
timeout 20 tree/bin/rtwatch -- ./violations 10 1000 allocate >out 2>err; check "library in ../lib" says "malloc" err
mkdir -p "with blank/bin"; cp "$rtwatch" "$build/librtwatch.so" "with blank/bin/"
timeout 20 "with blank/bin/rtwatch" -- ./violations 10 1000 allocate >out 2>err; check "library in a folder with a blank" says "malloc" err
run --no-such-option -- ./violations; check "unknown option" is $status 125
run --fail-on everything -- ./violations; check "--fail-on everything" is $status 125
run --hang many -- ./violations; check "--hang many" is $status 125
run --duration -1 -- ./violations; check "--duration -1" is $status 125
run --suppress malloc -- ./violations; check "--suppress without kind" is $status 125
run --suppressions no-file -- ./violations; check "--suppressions of no file" is $status 125
run --help; check "--help" is $status 0; check "--help: said" says "Usage: rtwatch" out
grep -o -e '--[a-z][a-z-]*' out | sort -u > in-help
sed 's/\\-/-/g' "$here/../rtwatch.1" | grep '^\.B' | grep -o -e '--[a-z][a-z-]*' | sort -u > in-manual
check "the manual has the options of --help" is "$(cat in-help)" "$(cat in-manual)"
run --version; check "--version" says "^rtwatch [0-9]" out

# -- What is found

run --json report.json --html report.html -- ./violations 100 2000 allocate print lock raw
check "status of a clean end" is $status 0
check "program's output untouched" is "$(grep -c '^level' out)" 10
check "text: place and line" says "allocate_buffer  .*violations.c:$(line allocate)" err
check "text: what to do" says "→" err
check "text: the place is marked" says "▶ allocate_buffer" err
check "no colours in a file" silent "$(printf '\033')" err
check "line of malloc" json "places['allocate_buffer', 'malloc']['line'] == $(line allocate)"
check "line of free" json "places['allocate_buffer', 'free']['line'] == $(line free)"
check "line of an inlined function" json "places['take_lock', 'pthread_mutex_lock']['line'] == $(line lock)"
check "inlined frame" json "any(f['inlined'] and f['function'] == 'take_lock' and f['place'] for f in calls['pthread_mutex_lock']['stack'] if 'place' in f)"
check "line of printf" json "places['log_level', 'printf']['line'] == $(line print)"
check "counts" json "calls['malloc']['count'] == 100 and calls['printf']['count'] == 10"
check "cycles" json "calls['malloc']['first_cycle'] == 0 and calls['malloc']['last_cycle'] == 99 and calls['printf']['last_cycle'] == 90"
check "durations" json "calls['malloc']['measured'] == 100 and 0 < calls['malloc']['total_ns'] and calls['malloc']['longest_ns'] <= calls['malloc']['total_ns']"
check "tiers" json "calls['malloc']['tier'] == 'blocks' and calls['pthread_mutex_unlock']['tier'] == 'may-block'"
check "whole stack" json "[f['function'] for f in calls['malloc']['stack']][:3] == ['allocate_buffer', 'render', 'audio']"
check "advice" json "all(p['instead'] and p['does'] and p['family'] for p in r['places'])"
check "system call" json "any('getpid' in call for call in calls)"
check "thread" json "r['threads'][0]['name'] == 'audio' and r['threads'][0]['cycles'] == 100 and r['threads'][0]['period_ns'] == 2000000"
check "timeline" json "sum(p[5] for p in r['threads'][0]['timeline']) == 100"
check "marks" json "sum(m[1] for m in r['threads'][0]['marks']) == r['found']['blocks']"
check "program" json "r['program']['exit_status'] == 0 and r['command'][1] == '100' and r['status'] == 0"
check "page: one file" silent 'src="\|href="http\|@import\|url(' report.html
check "page: holds the report" says '"allocate_buffer"' report.html

tail_line() { grep -n "// line: $1" "$here/programs/tails.c" | cut -d: -f1; }
for words in "-O2" "-O2 -fno-plt" "-O2 -fomit-frame-pointer -fcf-protection=none"; do
    cc -g -Wall -Wextra -fno-builtin $words -o tails "$here/programs/tails.c" -lpthread || exit 1
    run --json report.json --html report.html -- ./tails
    check "tail call, $words" json "places['release', 'free']['line'] == $(tail_line release) and places['obtain', 'malloc']['line'] == $(tail_line obtain)"
    check "tail call: frames, $words" json "[(f['function'], f.get('left_the_stack', False)) for f in calls['free']['stack'][:2]] == [('release', True), ('render', False)]"
    check "tail call through two, $words" json "places['inner', 'pthread_mutex_unlock']['line'] == $(tail_line inner) and [(f['function'], f['line']) for f in calls['pthread_mutex_unlock']['stack'][:2]] == [('inner', $(tail_line inner)), ('outer', $(tail_line outer))]"
    check "tail call through a pointer, $words" json "places['render', 'pthread_mutex_lock']['line'] == $(tail_line pointer) and [p['function'] for p in r['places'] if p['only_caller_known']] == ['render']"
    check "tail call: said, $words" says "(left the stack)" err; check "tail call: caller, said, $words" says "only the caller is known" err
done
cc $flags -fno-builtin -o hidden-calls "$here/programs/hidden-calls.c" -ldl || exit 1
for way in handle version; do
    run --json report.json -- ./hidden-calls $way; check "malloc by dlsym, $way" json "places['use', 'malloc']['count'] == 5 and calls['free']['count'] == 5"
done
run -- ./hidden-calls deep; check "RTLD_DEEPBIND: said" says "RTLD_DEEPBIND" err
run -- ./hidden-calls space; check "dlmopen: said" says "dlmopen" err
run --json report.json -- ./hidden-calls clocks; check "clocks of processor time" json "[p['count'] for p in r['places']] == [5, 5] and r['notes_not_shown'] == 5"
run --json report.json -- ./hidden-calls random; check "rand, random" json "calls['rand']['count'] == 5 and calls['random']['count'] == 5"
# C++: what is inlined from the system's headers is the user's line, what is inlined from a header of one's own is that line.
cxx_line() { grep -n "// line: $1" "$here/programs/inlined.$2" | cut -d: -f1; }
cxx_stacks() { # of the report: functions and lines, without the program's name
    /usr/bin/python3 -c 'import json, os; r = json.load(open("report.json")); print(*sorted(str([p["function"], p["line"], p["called"]] + [(s["function"], os.path.basename(s["file"] or ""), s["line"], s["inlined"]) for f in p["findings"] for s in f["stack"] if s["origin"] == "user" and s["function"] != "_start"]) for p in r["places"]), sep="\n")'
}
for compiler in c++ clang++; do
    command -v $compiler >/dev/null || { echo "(no $compiler)"; continue; }
    for version in 4 5; do
        title="$compiler, DWARF $version" words="-std=c++17 -g -gdwarf-$version -O2 -fno-omit-frame-pointer"
        $compiler $words -o whole "$here/programs/inlined.cpp" || { check "$title" false; continue; }
        run --json report.json -- ./whole; cxx_stacks > whole-stacks
        check "$title: the system's headers" json "places['push', 'malloc']['line'] == $(cxx_line push cpp) and places['name', 'malloc']['line'] == $(cxx_line string cpp)"
        check "$title: a header of one's own" json "[(p['file'].rsplit('/')[-1], p['line']) for p in (places['Ring::add', 'malloc'], places['Ring::grow', 'malloc'], places['take_memory', 'malloc'])] == [('inlined.h', n) for n in ($(cxx_line 'header push' h), $(cxx_line 'header reserve' h), $(cxx_line 'header malloc' h))]"
        check "$title: who uses it" says "inlined into take  .*inlined.cpp:$(cxx_line take cpp)$" err
        check "$title: who uses it, twice" [ "$(grep -c "inlined into .*through_header  .*inlined.cpp:\($(cxx_line 'through header' cpp)\|$(cxx_line 'also through header' cpp)\): 1 ×" err)" = 2 ]
        $compiler $words -gsplit-dwarf -o split "$here/programs/inlined.cpp" || { check "$title, split" false; continue; }
        run --json report.json -- ./split; cxx_stacks > split-stacks
        check "$title, split: as if it were whole" cmp whole-stacks split-stacks; check "$title, split: nothing is missing" silent "gsplit-dwarf" err
        mkdir -p moved; mv ./*.dwo split moved; run --json report.json -- moved/split; cxx_stacks > split-stacks
        check "$title, split: moved with its files" cmp whole-stacks split-stacks
        mv moved/split .; run --json report.json -- ./split; check "$title, split: missing, said" says "in .*split-inlined.dwo cannot be read" err
        mv moved/*.dwo .
        # binutils' dwp cannot do all; LLVM's can.
        if dwp -e split -o split.dwp >/dev/null 2>&1 || llvm-dwp -e split -o split.dwp 2>/dev/null; then
            rm -f ./*.dwo; run --json report.json -- ./split; cxx_stacks > split-stacks
            check "$title, package: as if it were whole" cmp whole-stacks split-stacks
        fi
        rm -f ./*.dwo ./*.dwp
    done
done
run -- ./violations 5 1000 allocate; check "no split debug information" silent "gsplit-dwarf" err
run -- ./violations 50 2000 clean; check "clean" says "Nothing found" err
run --json - --quiet -- ./violations 20 2000 allocate; cp out report.json
check "--json - on standard output" json "calls['malloc']['count'] == 20"; check "--quiet" is "$(wc -c < err)" 0
run --color=always -- ./violations 10 2000 allocate; check "--color" says "$(printf '\033')\[1;31m" err
NO_COLOR=1 script -qec "$rtwatch -- ./violations 10 2000 allocate" /dev/null > out 2>&1 < /dev/null
check "NO_COLOR on a terminal" silent "$(printf '\033')" out
script -qec "$rtwatch -- ./violations 10 2000 allocate" /dev/null > out 2>&1 < /dev/null
check "colour on a terminal" says "$(printf '\033')\[1;31m" out
run --live -- ./violations 30 2000 allocate; check "--live" says "rtwatch: cycle .* blocks  malloc in allocate_buffer" err
check "--live: ten times" says "(10 times by now)" err
run --json report.json --skip-cycles 40 -- ./violations 50 2000 allocate
check "--skip-cycles" json "calls['malloc']['count'] == 10 and calls['malloc']['first_cycle'] == 40 and r['skipped'] >= 40"
run --json report.json --notes -- ./violations 60 1000 late; check "--notes" json "calls['clock_gettime']['tier'] == 'note'"
run --json report.json -- ./violations 60 1000 late; check "notes not shown" json "'clock_gettime' not in calls and r['notes_not_shown'] > 0"
check "deadlines" json "r['deadline_misses'] >= 1 and r['threads'][0]['load']['max'] > 1.2"; check "deadlines: said" says "Deadlines: " err
run --stats -- ./violations 10 1000 allocate; check "--stats" says "malloc  *10 ×" err
run --json /no/such/folder/report.json -- ./violations 2 1000; check "report that cannot be written" is $status 125
run --json report.json -- ./violations 30 1000 unmarked allocate; check "unmarked thread" json "not r['watched'] and not r['places']"
run --json report.json --thread audio -- ./violations 30 1000 unmarked allocate
check "--thread" json "calls['malloc']['count'] >= 25 and r['threads'][0]['found_by'] == '--thread'"
cc $flags -fno-builtin -o paces "$here/programs/paces.c" -lpthread || exit 1
for way in read poll epoll select eventfd futex; do
    run --json report.json --thread worker -- ./paces $way; check "pace: $way, status" is $status 0
    check "pace: $way" json "[t['found_by'] for t in r['threads']] == ['--thread'] and calls['malloc']['count'] >= 10 and calls['malloc']['count'] == r['threads'][0]['cycles'] and set(calls) == {'malloc', 'free'}"
done
cc $flags -shared -fPIC -o libfake-pipewire.so "$here/programs/fake-pipewire.c" || exit 1
cc $flags -fno-builtin -o fake-pipewire-client "$here/programs/fake-pipewire-client.c" -L. -lfake-pipewire -Wl,-rpath,"$work" -lpthread || exit 1
run --json report.json -- ./fake-pipewire-client; check "PipeWire: all comes through" is "$(cat out)" "5 5 5, 0 wrong"
check "PipeWire: the real-time ones" json "[(t['found_by'], t['cycles'], t['period_ns']) for t in r['threads']] == [(\"PipeWire's process function\", 10, 10000000)] and r['found']['blocks'] == 20"
run --json report.json -- ./violations 40 1000 hang; check "hang" json "r['hangs'] >= 1 and any(f['kind'] == 'hang' and any(s['function'] == 'spin' for s in f['stack']) for p in r['places'] for f in p['findings'])"
check "hang: how long it took" json "all(f['longest_ns'] > 2900000000 for p in r['places'] for f in p['findings'] if f['kind'] == 'hang')"
check "hang: said" says "a cycle hangs: seen here .* it took up to [1-9]" err
run --json report.json -- ./violations 400 1000 stuck; check "hang to the end" json "r['hangs'] >= 1 and r['deadline_misses'] >= 1 and r['cycles'] == 21 and any(f['longest_ns'] > 1800000000 for p in r['places'] for f in p['findings'])"
check "hang to the end: said" says "[1-9][0-9]* of 21 cycles took longer" err
run --json report.json -- ./violations 20 1000 stall; check "60 ms are no hang" json "(r['hangs'] == 0 or r['threads'][0]['longest_ns'] > 100000000) and r['deadline_misses'] >= 1"
run --json report.json -- ./violations 30 1000 starved; check "a cycle without a processor is no hang" json "r['hangs'] == 0 and r['cycles'] == 30 and r['threads'][0]['longest_ns'] > 500000000"
run --json report.json -- ./violations 30 0 hang; check "no deadline: 3 s are no hang" json "r['hangs'] == 0 and r['cycles'] == 30"
run --json report.json --hang 1 -- ./violations 30 0 hang; check "no deadline: --hang 1" json "r['hangs'] == 1"
run --json report.json -- ./violations 30 1000 hang permitted; check "permitted: no hang" json "not any(s['function'] == 'spin' for p in r['places'] for f in p['findings'] if f['kind'] == 'hang' for s in f['stack']) and r['deadline_misses'] >= 1"
run --json report.json --hang 0 -- ./violations 40 1000 hang; check "--hang 0" json "r['hangs'] == 0"
run --json report.json -- ./violations 5 1000 deep; check "deep stack: place" json "places['render', 'malloc']['line'] == $(line deep) and places['render', 'malloc']['count'] == 5"
check "deep stack: both ends" json "[f['function'] for f in calls['malloc']['stack']].count('(frames left out)') == 1 and any(f['function'] == 'audio' for f in calls['malloc']['stack'][-4:]) and calls['malloc']['stack'][15]['function'] == 'swift_descend'"
run --json report.json -- ./violations 60 1000 fault; check "page faults without --notes" json "r['page_fault_count'] >= 16 and (not r['processes'][0]['page_fault_events'] or any(p['function'] == 'render' and p['line'] == $(line fault) for p in r['page_faults']))"
run --json report.json -- ./violations 60 1000 fault sealed; check "perf events are not opened by the audio thread" json "not r['processes'][0]['page_fault_events'] or (not any('refused' in m for m in r['messages']) and any(p['function'] == 'render' and p['line'] == $(line fault) for p in r['page_faults']))"
check "page faults before the perf events: counted" json "r['page_fault_count'] >= 36"
check "page faults: said" says "^Page faults: " err
run --json report.json --no-syscalls -- ./violations 20 1000 inline; check "--no-syscalls" json "'getppid' not in calls"
run --json report.json -- ./violations 20 1000 inline; check "inline system call" json "calls['getppid']['kind'] == 'system-call' and calls['getppid']['count'] == 20 and places['inline_call', 'getppid']['line'] == $(line inline)"

run --json report.json -- ./own-malloc 20 1000 allocate
check "own malloc: seen" json "places['allocate_buffer', 'malloc']['line'] == $(line allocate) and calls['free']['count'] == 20"
check "own malloc: said" says "a malloc of its own" err

run --json report.json -- ./flood 4 50 2000
check "flood: no lost count" json "r['found']['blocks'] + r['lost']['blocks'] - r['hangs'] == 4 * (50 * 2000 * 2 + 2)"
check "flood: equal stacks folded" json "sum(1 for p in r['places'] for f in p['findings'] if f['kind'] == 'call') <= 6"
run --json report.json --html report.html -- ./flood 1000 5 2
check "thousand threads" json "len(r['threads']) == 1000 and r['cycles'] + r['cycles_lost'] == 5000 and r['found']['blocks'] + r['lost']['blocks'] - r['hangs'] == 1000 * (5 * 2 * 2 + 2)"
check "thousand threads: said" says "more audio threads" err
# A command that is stopped takes nothing out. What repeats is counted then, and what is new has room, whatever the flood.
comes() { # a file, within a minute
    for _ in $(seq 3000); do [ ! -e "$1" ] || return; sleep 0.02; done
}
flooded() { # a stopped command, and a flood of that kind
    rm -f begun stopped over
    FLOOD_WAITS=1 "$rtwatch" --json report.json -- ./flood 2 100 2000 "$@" >out 2>err & child=$!
    comes begun; kill -STOP $child; : > stopped; comes over; kill -CONT $child; wait $child
}
for kind in "" notes; do
    flooded $kind
    check "full ring, $kind: nothing lost" json "r['lost']['blocks'] == 0 and r['found']['blocks'] - r['hangs'] == 2 * (100 * 2000 * 2 + 2)"
    check "full ring, $kind: what is new has its place" json "calls['calloc']['count'] == 2 and places['at_the_end', 'calloc']['line'] == $(grep -n '// line: calloc' "$here/programs/flood.c" | cut -d: -f1)"
    # A full ring does not wait for a call that is under way, so the duration of that call may be missing.
    check "full ring, $kind: durations, cycles" json "0 <= 2 * 100 * 2000 - calls['malloc']['measured'] < 10 and calls['malloc']['first_cycle'] == 0 and calls['malloc']['last_cycle'] == 99"
    check "full ring, $kind: per thread" json "[t['violations']['blocks'] - t['hangs'] for t in r['threads']] == [400002, 400002]"
done
flooded ways
check "full ring, ways: no lost count" json "r['found']['blocks'] + r['lost']['blocks'] - r['hangs'] == 2 * (100 * 2000 * 2 + 2)"
check "full ring, ways: lost" json "r['lost']['blocks'] > 0"; check "full ring, ways: said" says "Lost: .* records found no room" err
run --json report.json -- ./loader 300; check "in dlopen: status" is $status 0
check "in dlopen: all seen" json "places['violate', 'malloc']['count'] == 300 and places['closed', 'free']['count'] == 300 and places['audio', 'malloc']['count'] >= 10"
for seed in 1 2 3 4 5; do
    run --json report.json --html report.html --stats -- ./scribble $seed
    check "damaged mapping $seed" [ $status -eq 0 -o $status -eq 86 ]; check "damaged mapping $seed: JSON" json "r['schema'] == 1"
done

# -- Handlers and masks: whatever a program blocks, its cycles go on, are watched, and do what they do without the watchdog

cc $flags -shared -fPIC -o libearly.so "$here/programs/early-handler.c" || exit 1
cc $flags -fno-builtin -o masks "$here/programs/masks.c" -lpthread || exit 1
cc $flags -fno-builtin -o masks-early "$here/programs/masks.c" -Wl,--no-as-needed -L. -learly -Wl,-rpath,"$work" -lpthread || exit 1
while read -r way; do
    program=./masks; [ "$way" = constructor ] && program=./masks-early
    "$program" "$way" >expected; status=$?
    [ $status = 77 ] && { echo "left out here: $way, for want of: io_uring"; continue; }
    check "mask, $way: alone" is $status 0
    run --json report.json -- "$program" "$way"; check "mask, $way: ends" is $status 0; check "mask, $way: does the same" cmp out expected
    check "mask, $way: seen" json "places['violate', 'malloc']['count'] >= 12 and places['violate', 'fprintf']['count'] >= 12 and sum(p['count'] for p in r['places'] if 'getppid' in p['called']) >= 24"
done <<'WAYS'
before
after
constructor
syscall sigaction
direct sigaction
in a cycle
in a cycle, syscall
context
sigsuspend
ppoll
pselect
epoll_pwait
epoll_pwait2
sigpause
syscall sigsuspend
syscall pselect
direct sigsuspend
direct ppoll
direct pselect
direct epoll_pwait
uring
uring, extended
bad
sigprocmask
pthread_sigmask
syscall sigprocmask
direct sigprocmask
sighold
sigset
sigblock
sigsetmask
swapcontext
setcontext
siglongjmp
own SIGSYS
attribute
inherited
WAYS
run --json report.json --follow -- ./masks spawn; check "mask, spawn: ends" is $status 0
check "mask, spawn: seen" json "places['violate', 'malloc']['count'] >= 12"

if command -v swiftc >/dev/null; then
    export SWIFT_BACKTRACE=enable=yes,color=no,interactive=no
    swiftc -O -g -parse-as-library -Xcc -fno-omit-frame-pointer -import-objc-header "$here/../rtwatch.h" -o crashes \
        "$here/programs/crashes.swift" 2>swift-errors || { cat swift-errors; check "swiftc, crashes" false; }
    for way in bounds overflow nil fatal abort null division cast recursion; do
        ./crashes $way >out 2>err; alone=$?
        run --json report.json -- ./crashes $way; check "Swift dies, $way" is $status $alone
        check "Swift dies, $way: its backtrace" says "Backtrace took" err
        check "Swift dies, $way: its place" json "r['crash']['signal'] == $alone - 128 and any((f['function'] or '').startswith('die(') for f in r['crash']['stack'])"
    done
    unset SWIFT_BACKTRACE
else
    echo "left out here: no crash in Swift was watched, for want of: swiftc"
fi

# -- Other allocators, linked and preloaded

c++ -std=c++17 $flags -fno-builtin -o allocators "$here/programs/allocators.cpp" || exit 1
c++ -std=c++17 $flags -foptimize-sibling-calls -fno-builtin -o allocators-jumping "$here/programs/allocators.cpp" || exit 1
others=
allocated="r['found']['blocks'] == 140 and {p['function'] for p in r['places']} == {'c', 'one', 'many', 'wide', 'quiet', 'grow', 'main', 'last'} and all(p['count'] == 10 for p in r['places'])"
run --json report.json -- ./allocators; check "libc's own allocator" json "$allocated"
for library in libtcmalloc_minimal.so.4 libtcmalloc.so.4 libmimalloc.so.2 libtbbmalloc_proxy.so.2 libjemalloc.so.2; do
    path=$(ldconfig -p | sed -n "s/.*$library .*=> //p" | head -1)
    [ "$path" ] || continue
    others=yes
    c++ -std=c++17 $flags -fno-builtin -o allocators-linked "$here/programs/allocators.cpp" -Wl,--no-as-needed "$path" || exit 1
    run --json report.json -- ./allocators-linked; check "$library, linked" json "$allocated"
    check "$library: what it is" json "places['one', 'operator new']['family'] == 'memory' and places['many', 'operator delete[]']['count'] == 10"
    export LD_PRELOAD="$path"; run --json report.json -- ./allocators; check "$library, preloaded" json "$allocated"
    run --json report.json -- ./allocators-jumping; unset LD_PRELOAD
    check "$library: a tail call" json "places['last', 'operator delete']['count'] == 10"
done
check "some other allocator is here" is "$others" yes

# -- The page, in a browser where there is one

if command -v chromium >/dev/null; then
    run --notes --html report.html -- ./violations 100 2000 allocate print lock late raw clock
    timeout -k 5 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" --enable-logging=stderr \
        --dump-dom "file://$work/report.html" > page 2> console
    check "page: no errors" silent "CONSOLE" console
    check "page: places" is "$(sed '/id="events-section"/q' page | grep -o '<details class="card"' | wc -l)" "$(grep -c '^ *[0-9]*  \(BLOCKS\|MAY BLOCK\|NOTE\)' err)"
    check "page: flames" says 'class="flame leaf blocks"' page; check "page: timeline" says 'class="deadline"' page
else
    echo "left out here: the page was not opened, for want of: browser"
fi

# -- Swift, with the runtime as a library and inside the program

swift_line() { grep -n "// $1\$" "$here/programs/voice.swift" | cut -d: -f1; }
if command -v swiftc >/dev/null; then
    for kind in dynamic static; do
        flags="-O -g -Xcc -fno-omit-frame-pointer -import-objc-header $here/../rtwatch.h"
        [ $kind = static ] && flags="$flags -static-stdlib"
        swiftc $flags -o voice-$kind "$here/programs/voice.swift" 2>swift-errors || { cat swift-errors; check "swiftc, $kind" false; continue; }
        run --json report.json -- ./voice-$kind; check "Swift, $kind: runs" is $status 0
        for function in grow log make doubled; do
            check "Swift, $kind: $function" json "any((p['function'] or '').split('(')[0].endswith('.$function') and p['line'] == $(swift_line $function) and p['tier'] == 'blocks' for p in r['places'])"
        done
        check "Swift, $kind: print" json "any(p['called'].startswith('print(') and p['family'] == 'print' for p in r['places'])"
        check "Swift, $kind: append" json "any(p['called'] == 'Array.append(_:)' and 'InlineArray' in p['instead'] for p in r['places'])"
        check "Swift, $kind: cast" json "any(p['family'] in ('cast', 'metadata') and p['line'] == $(swift_line cast) for p in r['places'])"
        check "Swift, $kind: clean" json "not any('clean' in (p['function'] or '') for p in r['places'])"
        check "Swift, $kind: no runtime place" json "not any('swift::' in (p['function'] or '') or (p['function'] or '').startswith('swift_') for p in r['places'])"
        run --suppress 'function:Voice.grow' --suppress 'stack:Voice.log(_:)' --json report.json -- ./voice-$kind
        check "Swift, $kind: suppressed" json "not any('grow' in p['function'] or '.log' in p['function'] for p in r['places'])"
    done
    # The figure of all: in how many of a release build's findings is the place right, and is any wrong?
    for kind in "-O" "-O -static-stdlib"; do
        swiftc $kind -wmo -g -parse-as-library -swift-version 6 -import-objc-header "$here/../rtwatch.h" -o places \
            "$here/programs/places.swift" 2>swift-errors || { cat swift-errors; check "swiftc, places, $kind" false; continue; }
        run --json report.json -- ./places; grep -x '[a-zA-Z]*' err > names
        check "Swift, places, $kind" /usr/bin/python3 "$here/places.py" report.json names
    done
else
    echo "left out here: no program in Swift was watched, for want of: swiftc"
fi

# -- Exit statuses

run -- ./violations 5 1000 status=7; check "program's status" is $status 7
run --fail-on blocks -- ./violations 5 1000 allocate; check "--fail-on blocks" is $status 86; check "--fail-on: said" says "Exit status 86" err
run --fail-on blocks -- ./violations 5 1000 wake; check "--fail-on blocks, may block" is $status 0
run --fail-on may-block -- ./violations 5 1000 wake; check "--fail-on may-block" is $status 86
run --fail-on notes -- ./violations 5 1000 clock; check "--fail-on notes" is $status 86
run --fail-on may-block -- ./violations 5 1000 clock; check "--fail-on may-block, note" is $status 0
run --fail-on blocks -- ./violations 5 1000 allocate status=7; check "--fail-on before the status" is $status 86
run --fail-on blocks -- ./violations 5 1000 status=7; check "--fail-on, clean, own status" is $status 7
run --fail-on blocks -- /bin/true; check "--fail-on, nothing watched" is $status 87
run -- /bin/true; check "nothing watched" is $status 0; check "nothing watched: said" says "No audio thread was seen" err
run -- ./violations 2000 1000 unmarked; check "nothing watched: names" says '"violations", "audio"' err
run --fail-on blocks --skip-cycles 20 -- ./violations 20 1000 allocate; check "--fail-on, all cycles skipped" is $status 87
check "--fail-on, all cycles skipped: said" says "left out all cycles" err
run --fail-on blocks --skip-cycles 19 -- ./violations 20 1000 allocate; check "--fail-on, one cycle not skipped" is $status 86
run --halt --json report.json -- ./violations 500 1000 allocate; check "--halt" is $status 86
check "--halt: at the first" json "r['found']['blocks'] == 1"
run --break --json report.json -- ./violations 500 1000 allocate; check "--break" is $status 133

# -- Ends of all kinds

run --json report.json -- ./violations 100 1000 allocate crash; check "crash" is $status 139
check "crash: said" says "^The program died of signal 11 (Segmentation fault) in render," err
check "crash: its stack" json "r['crash']['signal'] == 11 and r['crash']['address'] == 8 and [f['function'] for f in r['crash']['stack']][:2] == ['render', 'audio'] and r['crash']['stack'][0]['line'] == $(line crash)"
check "crash: stack said" says "▶ render .*violations.c:$(line crash)" err
check "crash: report" json "25 <= calls['malloc']['count'] <= 31 and r['program']['signal'] == 11"
run --json report.json -- ./violations 100 1000 abort; check "abort" is $status 134
check "abort: its stack" json "r['crash']['signal'] == 6 and any(f['function'] == 'render' and f['line'] == $(line abort) for f in r['crash']['stack'])"
run --json report.json -- ./violations 100 1000 handled crash; check "its own handler" is $status 9; check "its own handler: said" json "r['crash'] is None"
check "its own handler: none before" says "no handler before" out
run --json report.json -- ./violations 100 1000 allocate crash; check "crash: once more" is $status 139; check "crash: report" json "25 <= calls['malloc']['count'] <= 31 and r['program']['signal'] == 11"

"$rtwatch" --json report.json -- ./violations 1 1000 forever allocate >out 2>err & child=$!
until_started; kill -INT $child; wait $child; check "INT: status" is $? 0
check "INT: passed on" says "ended by Ctrl-C" out; check "INT: report" json "calls['malloc']['count'] > 20"
"$rtwatch" --json report.json -- ./violations 1 1000 forever allocate >out 2>err & child=$!
until_started; kill -TERM $child; wait $child; check "TERM: status" is $? 143; check "TERM: report" json "calls['malloc']['count'] > 20"
# Ctrl-C on a terminal reaches program and command at once: the program must get it once only.
/usr/bin/python3 - "$rtwatch" <<'PYTHON' > out
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], [sys.argv[1], "--json", "report.json", "--", "./violations", "1", "1000", "forever", "once", "allocate"])
text = b""
while True:
    if b"started" in text: os.write(terminal, b"\x03"); text = b""
    try: part = os.read(terminal, 4096)
    except OSError: break
    if not part: break
    text += part
print(text.decode(), "status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
check "Ctrl-C on a terminal" says "status 0" out; check "Ctrl-C: once" says "signals: 1" out; check "Ctrl-C: report" says "allocate_buffer" out
for_a_while() { # once more, if the machine has kept the program from beginning in its time
    for _ in 1 2 3 4 5; do run --json report.json --duration "$@"; ! grep -q started out || return; done
}
for_a_while 2 -- ./violations 1 1000 forever allocate; check "--duration" is $status 0
check "--duration: report" json "r['program']['ended_by_duration'] and calls['malloc']['count'] > 20"; check "--duration: by INT" says "ended by Ctrl-C" out
for_a_while 0.5 -- ./violations 1 1000 forever deaf allocate; check "--duration, deaf" is $status 137
check "--duration, deaf: said" says "was killed" err
ls -d /dev/shm/rtwatch.* "${TMPDIR:-/tmp}"/rtwatch.* 2>/dev/null > left; check "nothing is left behind" is "$(grep -c "rtwatch\.$$" left)" 0

# -- Sanitizers replace the same functions: the program runs unwatched and it is said.

if cc -fsanitize=address -g -o sanitized "$here/programs/violations.c" -lpthread 2>/dev/null; then
    run --json report.json -- ./sanitized 10 1000 allocate status=4; check "AddressSanitizer: runs" is $status 4
    check "AddressSanitizer: said" says "AddressSanitizer" err; check "AddressSanitizer: JSON" json "r['refused'] and not r['watched']"
    run --fail-on blocks -- ./sanitized 10 1000 allocate; check "AddressSanitizer: --fail-on" is $status 87
fi
if cc -fsanitize=thread -g -o sanitized "$here/programs/violations.c" -lpthread 2>/dev/null; then
    run -- ./sanitized 10 1000 allocate status=4; check "ThreadSanitizer: runs" is $status 4
    check "ThreadSanitizer: said" says "ThreadSanitizer" err
fi

# -- Processes

run --json report.json -- ./violations 20 1000 fork allocate; check "fork: only the program" json "calls['malloc']['count'] == 20 and len(r['processes']) == 1"
run -- sh -c '(./violations 20 1000 allocate; true); true'; check "fork without audio in the program: said" says "made another process, which is not watched: --follow" err
run -- ./violations 20 1000 fork allocate; check "fork, but audio in the program" silent "is not watched: --follow" err
run --json report.json --follow -- ./violations 20 1000 fork allocate
check "--follow, fork" json "len(r['processes']) == 2 and sum(f['count'] for p in r['places'] for f in p['findings'] if f['call'] == 'malloc') == 40"
check "--follow: which is which" is "$(grep -c '(process [0-9]*), found by' err)" 2
printf '#!/bin/sh\n./violations 20 1000 allocate\nexit 3\n' > script; chmod +x script
run -- ./script; check "script" is $status 3; check "script: said" says "is a script" err
run --json report.json --follow -- ./script; check "--follow, exec" json "calls['malloc']['count'] == 20"
run --json report.json -- sh -c 'exec ./violations 20 1000 allocate'; check "exec in place" json "calls['malloc']['count'] == 20"

# -- Suppressions

run --suppress function:malloc --suppress function:free --json report.json --fail-on blocks -- ./violations 20 1000 allocate
check "suppressed calls" is $status 0; check "suppressed: counted" json "r['suppressed'] == 40 and not r['places']"
run --suppress 'function:allocate_*' --json report.json -- ./violations 20 1000 allocate lock
check "suppressed function" json "r['suppressed'] == 40 and 'malloc' not in calls and 'pthread_mutex_lock' in calls"
run --suppress 'library:violations' --json report.json -- ./violations 20 1000 allocate; check "suppressed library" json "not r['places']"
run --suppress 'stack:render' --json report.json -- ./violations 20 1000 allocate; check "suppressed stack" json "not r['places']"
run --json report.json -- ./violations 20 1000 allocate; printed=$(sed -n 's/^     ▶ allocate_buffer  *\([^ ]*\)$/\1/p' err | head -1)
# A page fault can have the same stack.
run --suppress "stack:$printed" --json report.json -- ./violations 20 1000 allocate; check "suppressed as printed" json "'malloc' not in calls and 20 <= r['suppressed'] <= 20 + r['page_fault_count']"
cd /; "$rtwatch" --suppress "stack:${printed#/}" --json "$work/report.json" -- "$work/violations" 20 1000 allocate 2>/dev/null >&2; cd "$work"
check "suppressed as printed, from /" json "'malloc' not in calls and 20 <= r['suppressed'] <= 20 + r['page_fault_count']"
run --suppress "stack:programs/violations.c:$(line allocate)" --json report.json -- ./violations 20 1000 allocate; check "suppressed by a path's end" json "'malloc' not in calls and 20 <= r['suppressed'] <= 20 + r['page_fault_count']"
run --suppress 'function:render' --json report.json -- ./violations 20 1000 allocate; check "function: ends at the place" json "r['places']"
printf '# known\n\nfunction:malloc\n  stack:no_such_*\t\n' > known
run --suppressions known --suppress library:libnothing.so --json report.json -- ./violations 20 1000 allocate
check "suppressions file" json "'malloc' not in calls and 'free' in calls"
check "unused, from the file" says "Unused suppression: stack:no_such_\* (known:4)" err
check "unused, option" says "Unused suppression: library:libnothing.so (--suppress)" err
check "used is not unused" silent "Unused suppression: function:malloc" err
check "suppressions in JSON" json "[s['used'] for s in r['suppressions']] == [20, 0, 0]"
run --halt --suppress function:malloc --suppress function:free -- ./violations 20 1000 allocate; check "--halt respects functions" is $status 0

echo "command: $passed passed, $failed failed"
[ $failed -eq 0 ]
