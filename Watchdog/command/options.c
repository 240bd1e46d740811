#include "options.h"

#include "buffer.h"
#include "suppressions.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: rtwatch [options] -- program [arguments…]\n"
    "\n"
    "Runs a program and says which calls on its audio threads were unsafe, where, and how often.\n"
    "\n"
    "What is watched\n"
    "  --thread NAME         take threads of this name as audio threads too (may be repeated)\n"
    "  --follow              also watch the programs that it starts (fork, exec)\n"
    "  --skip-cycles N       do not judge the first N cycles of each thread (warm-up)\n"
    "  --no-syscalls         do not trap system calls (they cost the audio thread some microseconds each)\n"
    "  --no-perf             no perf events: page faults and preemptions from the thread's counters only\n"
    "  --hang N              a cycle that has not ended after N periods is a hang (default 32, at least 100 ms)\n"
    "  --duration SECONDS    end the program after that time and report\n"
    "\n"
    "When something is found\n"
    "  --halt                stop the program at the first violation (exit status 86)\n"
    "  --break               raise SIGTRAP there, for a debugger\n"
    "  --fail-on LEVEL       exit with 86 on findings of this level or worse: blocks, may-block, notes;\n"
    "                        and with 87 if no audio thread was seen\n"
    "  --suppress PATTERN    leave findings out: function:NAME, library:NAME, file:NAME, stack:NAME (with * and ?)\n"
    "  --suppressions FILE   patterns from a file, one a line, # starts a comment\n"
    "\n"
    "What is shown\n"
    "  --live                say findings as they happen, too\n"
    "  --notes               show notes as well: retains, exclusivity checks, clock reads\n"
    "  --stats               more numbers: load of the cycles, page faults, what was watched\n"
    "  --json FILE, --html FILE   write reports; - is standard output\n"
    "  --quiet               no report on the terminal\n"
    "  --color=WHEN          auto, always, never (NO_COLOR is respected)\n"
    "  --help, --version\n"
    "\n"
    "The exit status is the program's own; rtwatch's own troubles are 125 (itself),\n"
    "126 (cannot be run) and 127 (not found).\n";

enum { THREAD = 256, FOLLOW, SKIP, NO_SYSCALLS, NO_PERF, HANG, DURATION, HALT, BREAK, FAIL_ON, SUPPRESS, SUPPRESSIONS,
       LIVE, NOTES, STATS, JSON, HTML, QUIET, COLOR, HELP, VERSION };

static const struct option names[] = {
    {"thread", required_argument, 0, THREAD}, {"follow", no_argument, 0, FOLLOW},
    {"skip-cycles", required_argument, 0, SKIP}, {"no-syscalls", no_argument, 0, NO_SYSCALLS},
    {"no-perf", no_argument, 0, NO_PERF}, {"hang", required_argument, 0, HANG},
    {"duration", required_argument, 0, DURATION}, {"halt", no_argument, 0, HALT}, {"break", no_argument, 0, BREAK},
    {"fail-on", required_argument, 0, FAIL_ON}, {"suppress", required_argument, 0, SUPPRESS},
    {"suppressions", required_argument, 0, SUPPRESSIONS}, {"live", no_argument, 0, LIVE},
    {"notes", no_argument, 0, NOTES}, {"stats", no_argument, 0, STATS}, {"json", required_argument, 0, JSON},
    {"html", required_argument, 0, HTML}, {"quiet", no_argument, 0, QUIET}, {"color", optional_argument, 0, COLOR},
    {"help", no_argument, 0, HELP}, {"version", no_argument, 0, VERSION}, {0, 0, 0, 0},
};

static double number(const char *text, const char *option, double least, double most) {
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || errno || !(value >= least && value <= most))
        fail(STATUS_TROUBLE, "%s wants a number from %g to %g, not \"%s\"", option, least, most, text);
    return value;
}

static long whole(const char *text, const char *option) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < 0)
        fail(STATUS_TROUBLE, "%s wants a whole number, not \"%s\"", option, text);
    return value;
}

static int level(const char *text) {
    static const char *levels[] = {"blocks", "may-block", "notes"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(text, levels[i])) return i + 1;
    fail(STATUS_TROUBLE, "--fail-on wants blocks, may-block or notes, not \"%s\"", text);
}

static void set_color(struct options *options, const char *when) {
    if (!when || !strcmp(when, "always")) options->color = COLOR_ALWAYS;
    else if (!strcmp(when, "never")) options->color = COLOR_NEVER;
    else if (!strcmp(when, "auto")) options->color = COLOR_AUTO;
    else fail(STATUS_TROUBLE, "--color wants auto, always or never, not \"%s\"", when);
}

static void add_thread(struct options *options, const char *name) {
    // The names travel to the library in a list "key=value;key=value".
    if (!*name || strchr(name, ';')) fail(STATUS_TROUBLE, "--thread wants a thread's name without a semicolon");
    if (options->thread_count == 16) fail(STATUS_TROUBLE, "--thread: 16 names at most");
    options->threads[options->thread_count++] = name;
}

static void take(struct options *options, int option, const char *value) {
    switch (option) {
    case THREAD: add_thread(options, value); break;
    case FOLLOW: options->follow = true; break;
    case SKIP: options->skip_cycles = whole(value, "--skip-cycles"); break;
    case NO_SYSCALLS: options->no_syscalls = true; break;
    case NO_PERF: options->no_perf = true; break;
    case HANG: options->hang = whole(value, "--hang"); break;
    case DURATION: options->duration = number(value, "--duration", 0.001, 1e9); break;
    case HALT: options->halt = true; break;
    case BREAK: options->trap = true; break;
    case FAIL_ON: options->fail_on = level(value); break;
    case SUPPRESS: add_suppression(value, "--suppress"); break;
    case SUPPRESSIONS: read_suppressions(value); break;
    case LIVE: options->live = true; break;
    case NOTES: options->notes = true; break;
    case STATS: options->statistics = true; break;
    case JSON: options->json = value; break;
    case HTML: options->html = value; break;
    case QUIET: options->quiet = true; break;
    case COLOR: set_color(options, value); break;
    case HELP: fputs(help, stdout); exit(0);
    case VERSION: puts("rtwatch " RTWATCH_RELEASE); exit(0);
    default: fail(STATUS_TROUBLE, "see rtwatch --help");
    }
}

void read_options(struct options *options, int count, char **arguments) {
    int option;
    arguments[0] = (char *)"rtwatch";
    // "+": the first word that is no option is the program, so that its own options are left alone without "--" too.
    while ((option = getopt_long(count, arguments, "+h", names, NULL)) != -1)
        take(options, option == 'h' ? HELP : option, optarg);
    options->program = arguments + optind;
    if (!options->program[0])
        fail(STATUS_TROUBLE, "no program given: rtwatch [options] -- program [arguments…] (see rtwatch --help)");
    if (options->json && options->html && !strcmp(options->json, "-") && !strcmp(options->html, "-"))
        fail(STATUS_TROUBLE, "--json - and --html - cannot both be standard output");
}
