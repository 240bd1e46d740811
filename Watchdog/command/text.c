#include "report.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define MOST_PLACES 25
#define MOST_CALLS 6
#define MOST_USERS 6
#define MOST_FRAMES 14

struct style { const char *bold, *dim, *off, *tier[4], *good; };

static const struct style plain = {"", "", "", {"", "", "", ""}, ""};
static const struct style colored = {
    "\033[1m", "\033[2m", "\033[0m", {"", "\033[1;31m", "\033[1;33m", "\033[1;36m"}, "\033[1;32m"};
static bool live_color;

static const char *count_of(uint64_t count, const char *one, const char *many) {
    char *text = format("%s %s", with_commas(count), count == 1 ? one : many);
    const char *kept = intern(text);
    free(text);
    return kept;
}

static const char *cycles_of(uint64_t first, uint64_t last) {
    char *text = first == last ? format("in cycle %s", with_commas(first))
                               : format("in cycles %s to %s", with_commas(first), with_commas(last));
    const char *kept = intern(text);
    free(text);
    return kept;
}

// Characters as they stand on a terminal: bytes that do not continue another.
static int width_of(const char *text) {
    int width = 0;
    for (; *text; text++) width += (*text & 0xC0) != 0x80;
    return width;
}

static void wrapped(struct buffer *out, const char *text, int indent, int width) {
    int column = indent;
    while (*text) {
        size_t length = strcspn(text, " ");
        char word[256];
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        if (column > indent && column + 1 + width_of(word) > width) {
            add(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            add_text(out, " ");
            column++;
        }
        add_bytes(out, text, length);
        column += width_of(word);
        text += length;
        while (*text == ' ') text++;
    }
    add_text(out, "\n");
}

static const char *where(const struct frame *frame) {
    if (!frame) return "";
    if (frame->file) {
        char *text =
            frame->line ? format("%s:%d", near_path(frame->file), frame->line) : format("%s", near_path(frame->file));
        const char *kept = intern(text);
        free(text);
        return kept;
    }
    return frame->module ? base_name(frame->module) : "";
}

static const char *frame_line(const struct finding *finding, int index, const struct style *style) {
    const struct frame *frame = finding->frames[index];
    bool place = index == finding->place;
    char *name = format("%s", frame_name(frame)), *text;
    if (width_of(name) > 60) {
        int end = 57;
        while ((name[end] & 0xC0) == 0x80) end--;
        strcpy(name + end, "…");
    }
    int fill = 44 - width_of(name);
    const char *weight = place ? style->bold : frame->origin == ORIGIN_USER ? "" : style->dim;
    text = format("     %s %s%s%*s %s%s%s", place ? "▶" : " ", weight,
                  name, fill > 0 ? fill : 1, "", where(frame), frame->inlined ? " (inlined)" : frame->left ? " (left the stack)" : "", style->off);
    const char *kept = intern(text);
    free(name);
    free(text);
    return kept;
}

static void stack(struct buffer *out, const struct finding *finding, const struct style *style) {
    // Long stacks lose their middle inside the runtime, and their outermost end, but never the user's own frame.
    int count = finding->frame_count, inner = finding->place;
    int skipped_from = inner > 7 ? 4 : inner, skipped_to = inner > 7 ? inner - 2 : inner;
    int end = count > inner + MOST_FRAMES - 6 ? inner + MOST_FRAMES - 6 : count;
    for (int i = 0; i < end; i++) {
        if (i >= skipped_from && i < skipped_to) {
            if (i == skipped_from)
                add(out, "       %s… %d more%s\n", style->dim, skipped_to - skipped_from, style->off);
            continue;
        }
        add(out, "%s\n", frame_line(finding, i, style));
    }
    if (end < count) add(out, "       %s… %d more%s\n", style->dim, count - end, style->off);
}

static void calls(struct buffer *out, const struct place *place, const struct style *style) {
    struct line { const char *call; int tier; uint64_t count, measured, total, longest; } lines[64];
    int count = 0;
    // A function that is reached on several ways is one line here.
    for (const struct finding *at = place->findings; at; at = at->next) {
        int i = 0;
        while (i < count && (lines[i].call != at->call || lines[i].tier != at->tier)) i++;
        if (i == 64) break;
        if (i == count) lines[count++] = (struct line){.call = at->call, .tier = at->tier};
        lines[i].count += at->count;
        lines[i].measured += at->measured;
        lines[i].total += at->total;
        if (at->longest > lines[i].longest) lines[i].longest = at->longest;
    }
    int widest = 26;
    for (int i = 0; i < count && i < MOST_CALLS; i++)
        if (width_of(lines[i].call) > widest) widest = width_of(lines[i].call);
    for (int i = 0; i < count && i < MOST_CALLS; i++) {
        add(out, "     %s%-*s%s %10s ×", lines[i].tier == place->tier ? "" : style->dim, widest, lines[i].call,
            style->off, with_commas(lines[i].count));
        if (lines[i].measured)
            add(out, "   %smean %s, longest %s%s", style->dim, as_time(lines[i].total / lines[i].measured),
                as_time(lines[i].longest), style->off);
        add_text(out, "\n");
    }
    if (count > MOST_CALLS) add(out, "     %s… %d more%s\n", style->dim, count - MOST_CALLS, style->off);
}

// Code of a header stands in each function that uses it: which these are, with their counts.
static void users_of_header(struct buffer *out, const struct place *place, const struct style *style) {
    struct { const struct frame *frame; uint64_t count; } users[64];
    int count = 0;
    for (const struct finding *at = place->findings; at; at = at->next) {
        const struct frame *user = at->place >= 0 ? at->frames[at->place] : NULL;
        const char *file = user ? user->file : NULL;
        for (int i = at->place; user && user->inlined && user->file == file && i + 1 < at->frame_count;) user = at->frames[++i];
        if (!user || !file || !user->file || user->file == file || user->origin != ORIGIN_USER) continue;
        int i = 0;
        while (i < count && (users[i].frame->function != user->function || users[i].frame->line != user->line)) i++;
        if (i == 64) continue;
        if (i == count) users[count++].frame = user, users[i].count = 0;
        users[i].count += at->count;
    }
    for (int i = 0; i < count && i < MOST_USERS; i++)
        add(out, "     %sinlined into %s  %s%s%s\n", style->dim, frame_name(users[i].frame), where(users[i].frame),
            count > 1 ? format(": %s ×", with_commas(users[i].count)) : "", style->off);
    if (count > MOST_USERS) add(out, "     %s… %d more%s\n", style->dim, count - MOST_USERS, style->off);
}

static void place(struct buffer *out, const struct place *place, int number, const struct style *style, int width) {
    static const char *const words[] = {"", "BLOCKS", "MAY BLOCK", "NOTE"};
    const struct finding *first = place->findings;
    add(out, "%3d  %s%s%s  %s%s%s", number, style->tier[place->tier], words[place->tier], style->off, style->bold,
        frame_name(place->frame), style->off);
    if (place->frame && *where(place->frame)) add(out, "  %s", where(place->frame));
    add_text(out, "\n     ");
    if (first->only_caller)
        add_text(out, "(or in a function that it calls through a pointer, and that left the stack: only the caller is known)\n     ");
    if (first->foreign) add(out, "in the foreign code \"%s\"\n     ", first->foreign);
    if (first->kind == RTWATCH_HANG) {
        add(out, "a cycle hangs: seen here %s %s, it took up to %s\n",
            count_of(place->count, "time", "times"), cycles_of(place->first_cycle, place->last_cycle),
            as_time(place->longest));
    } else {
        char *text = format("calls %s, which %s: %s %s", place->called, place->advice->does,
                            count_of(place->count, "time", "times"), cycles_of(place->first_cycle, place->last_cycle));
        wrapped(out, text, 5, width);
        free(text);
        calls(out, place, style);
    }
    users_of_header(out, place, style);
    char *advice = format("→ %s", place->advice->instead);
    add(out, "     %s", style->good);
    wrapped(out, advice, 5, width);
    add_text(out, style->off);
    free(advice);
    stack(out, first, style);
    add_text(out, "\n");
}

static void thread_line(struct buffer *out, const struct thread *thread, const struct style *style) {
    const struct rtwatch_thread *facts = thread_facts(thread);
    uint64_t cycles = facts->cycles > thread->cycles ? facts->cycles : thread->cycles;
    add(out, "  %s%s%s%s, found by %s: %s", style->bold, thread_name(facts), style->off, whose(thread),
        found_by(facts->found_by), count_of(cycles, "cycle", "cycles"));
    if (thread->period) {
        add(out, " of %s, load p50 %.0f %%, p99 %.0f %%, worst %.0f %%", as_time(thread->period),
            load_at(thread, 0.5) * 100, load_at(thread, 0.99) * 100, thread->worst_load * 100);
        if (thread->misses)
            add(out, "; %s%s missed%s", style->tier[2], count_of(thread->misses, "deadline", "deadlines"), style->off);
    } else if (thread->cycles) {
        add(out, ", mean %s, longest %s (no deadline known)", as_time(thread->total / thread->cycles),
            as_time(thread->longest));
    }
    add_text(out, "\n");
}

static void head(struct buffer *out, const struct report *report, const struct style *style) {
    add(out, "%srtwatch%s ", style->bold, style->off);
    for (char **at = report->options->program; *at; at++) add(out, " %s", *at);
    add(out, "  %s(ran %s)%s\n", style->dim, as_time(report->run->ended - report->run->began), style->off);
    int shown = report->options->statistics ? thread_count() : 8;
    for (int i = 0; i < thread_count() && i < shown; i++) thread_line(out, thread_at(i), style);
    if (thread_count() > shown) add(out, "  … and %d more audio threads (--stats lists all)\n", thread_count() - shown);
    if (report->refused && !report->watching)
        add_text(out, "  The program ran unwatched.\n");
    else if (report->loaded && !report->watching)
        add_text(out, "  No audio thread was seen. Found are RenderCore's, JACK's, PipeWire's and ALSA's, those of "
                      "--thread NAME,\n"
                      "  and what the program marks itself by rtwatch.h.\n");
    add_text(out, "\n");
}

static void verdict(struct buffer *out, const struct report *report, const struct style *style) {
    int places[4] = {0};
    for (int i = 0; i < report->places.count; i++) places[report->places.list[i].tier]++;
    if (!report->watching) return;
    if (!places[1] && !places[2] && !places[3] && !report->lost[1] && !report->lost[2]) {
        add(out, "%sNothing found%s that blocks or may block.\n", style->good, style->off);
        return;
    }
    const char *comma = "";
    if (places[1]) {
        add(out, "%s%s%s", style->tier[1], count_of((uint64_t)places[1], "place blocks", "places block"), style->off);
        comma = ", ";
    }
    if (places[2]) {
        add(out, "%s%s%s%s", comma, style->tier[2],
            count_of((uint64_t)places[2], "place may block", "places may block"), style->off);
        comma = ", ";
    }
    if (places[3])
        add(out, "%s%s%s%s", comma, style->tier[3], count_of((uint64_t)places[3], "note", "notes"), style->off);
    if (!places[1] && !places[2] && !places[3]) add_text(out, "Nothing could be recorded");
    add_text(out, ".\n\n");
}

static void event_line(struct buffer *out, const char *what, uint64_t count, const struct place_list *list) {
    if (!count) return;
    uint64_t first = UINT64_MAX, last = 0;
    for (int i = 0; i < list->count; i++) {
        if (list->list[i].first_cycle < first) first = list->list[i].first_cycle;
        if (list->list[i].last_cycle > last) last = list->list[i].last_cycle;
    }
    add(out, "%s: %s, %s", what, with_commas(count), cycles_of(first, last));
    int shown = 0;
    for (int i = 0; i < list->count && shown < 3; i++) {
        const struct place *at = &list->list[i];
        if (!at->frame) continue;
        add(out, "%s %s× in %s%s%s", shown++ ? "," : ";", with_commas(at->count), frame_name(at->frame),
            at->frame->file ? " " : "", at->frame->file ? where(at->frame) : "");
    }
    add_text(out, "\n");
}

static void losses(struct buffer *out, const struct report *report, const struct style *style) {
    uint64_t lost = report->lost[1] + report->lost[2] + report->lost[3];
    if (lost)
        add(out,
            "%sLost: %s found no room (%s that block, %s that may block, notes: %s): they are counted, but have no "
            "stack.%s\n",
            style->tier[2], count_of(lost, "record", "records"), with_commas(report->lost[1]),
            with_commas(report->lost[2]), with_commas(report->lost[3]), style->off);
    if (report->kernel_lost)
        add(out, "The kernel had no room for %s: they are not counted.\n",
            count_of(report->kernel_lost, "page fault or context switch", "page faults and context switches"));
    if (report->torn)
        add(out, "Unfinished: %s, left by threads that ended inside.\n", count_of(report->torn, "record", "records"));
    if (report->cycles_lost)
        add(out, "Cycle times: %s were overwritten before they were read.\n", with_commas(report->cycles_lost));
}

static void suppressions(struct buffer *out, const struct report *report) {
    if (report->suppressed) add(out, "Suppressed: %s.\n", count_of(report->suppressed, "violation", "violations"));
    for (int i = 0; i < suppression_count() && !report->options->halt; i++)
        if (!suppression_at(i)->used)
            add(out, "Unused suppression: %s (%s)\n", suppression_at(i)->text, suppression_at(i)->origin);
}

static void statistics(struct buffer *out) {
    add_text(out, "Functions called in cycles, all in all:\n");
    for (int i = 0; i < process_count(); i++) {
        const struct rtwatch_channel *channel = process_at(i)->channel;
        if (!process_started(process_at(i))) continue;
        add(out, "  process %u: %s violations block, %s may block, %s notes\n", channel->pid,
            with_commas(channel->counts[1]), with_commas(channel->counts[2]), with_commas(channel->counts[3]));
        add(out,
            "  watched: interposed functions %s, system calls %s, page faults by %s, preemptions by %s, Swift's "
            "runtime %s\n",
            channel->features & RTWATCH_HAS_CALLS ? "yes" : "no",
            channel->features & RTWATCH_HAS_SYSCALLS ? "yes" : "no",
            channel->features & RTWATCH_HAS_PAGE_FAULTS ? "perf events" : "counters",
            channel->features & RTWATCH_HAS_SWITCHES ? "perf events" : "counters",
            channel->features & RTWATCH_HAS_SWIFT ? "yes" : "no");
        for (uint32_t j = 1; j < channel->name_count && j < RTWATCH_NAMES; j++)
            if (channel->names[j].count)
                add(out, "  %-36s %12s ×\n", channel->names[j].name, with_commas(channel->names[j].count));
    }
}

static void crash(struct buffer *out, const struct report *report, const struct style *style) {
    const struct finding *finding = report->crash;
    if (!finding) return;
    add(out, "%sCrash%s: signal %d (%s)", style->tier[1], style->off, finding->signal, strsignal(finding->signal));
    if (finding->signal == SIGSEGV || finding->signal == SIGBUS)
        add(out, " at address 0x%llx", (unsigned long long)finding->address);
    add(out, "%s\n", finding->frame_count ? ", in" : "");
    stack(out, finding, style);
}

void write_text(const struct report *report, bool color, int width, struct buffer *out) {
    const struct style *style = color ? &colored : &plain;
    add_text(out, "\n");
    head(out, report, style);
    verdict(out, report, style);
    for (int i = 0; i < report->places.count && i < MOST_PLACES; i++)
        place(out, &report->places.list[i], i + 1, style, width);
    if (report->places.count > MOST_PLACES)
        add(out, "… and %d more places: --json and --html have all.\n", report->places.count - MOST_PLACES);
    if (report->misses) {
        uint64_t worst = 0;
        for (int i = 0; i < thread_count(); i++)
            if (thread_at(i)->misses && thread_at(i)->longest > worst) worst = thread_at(i)->longest;
        add(out, "Deadlines: %s of %s took longer than their period, the worst %s.\n", with_commas(report->misses),
            count_of(report->cycles, "cycle", "cycles"), as_time(worst));
    }
    crash(out, report, style);
    event_line(out, "Page faults", report->fault_count, &report->faults);
    event_line(out, "Preemptions", report->preemption_count, &report->preemptions);
    losses(out, report, style);
    if (report->skipped)
        add(out, "Skipped: %s in the first cycles (--skip-cycles).\n",
            count_of(report->skipped, "violation", "violations"));
    if (report->notes_not_shown) add(out, "Notes: %s not shown (--notes).\n", with_commas(report->notes_not_shown));
    suppressions(out, report);
    for (int i = 0; i < report->message_count; i++) wrapped(out, report->messages[i], 0, width);
    if (report->options->statistics) statistics(out);
    if (report->verdict)
        add(out, "%sExit status %d%s: %s.\n", style->bold, report->status, style->off, report->verdict);
}

void use_live_color(bool color) { live_color = color; }

void write_live(struct finding *finding, uint64_t count) {
    const struct style *style = live_color ? &colored : &plain;
    resolve_finding(finding);
    if (finding->suppressed) return;
    const struct frame *frame = finding->place >= 0 ? finding->frames[finding->place] : NULL;
    // One line for a call at a place, whatever the ways to it.
    static const char *said[4096];
    char *text = format("%s in %s %s %llu", finding->call, frame_name(frame), where(frame), (unsigned long long)count);
    const char *key = intern(text);
    size_t slot = ((uintptr_t)key >> 4) % (sizeof said / sizeof *said);
    free(text);
    if (said[slot] == key) return;
    said[slot] = key;
    fprintf(stderr, "rtwatch: cycle %s  %s%s%s  %s in %s  %s", with_commas(finding->last_cycle),
            style->tier[finding->tier & 3], tier_names[finding->tier & 3], style->off, finding->call, frame_name(frame),
            where(frame));
    if (count > 1) fprintf(stderr, "  (%s times by now)", with_commas(count));
    fputc('\n', stderr);
}
