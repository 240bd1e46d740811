#include "report.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

// Text as a JSON string; "<" is escaped as well, because the HTML page holds the same text in a script element. Bytes
// that are not UTF-8 become "?".
static void string(struct buffer *out, const char *text) {
    if (!text) {
        add_text(out, "null");
        return;
    }
    add_text(out, "\"");
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        int length = *at < 0x80 ? 1 : *at >= 0xC2 && *at < 0xE0 ? 2 : *at >= 0xE0 && *at < 0xF0 ? 3
            : *at >= 0xF0 && *at < 0xF5 ? 4 : 0;
        for (int i = 1; i < length; i++)
            if ((at[i] & 0xC0) != 0x80) length = 0;
        if (*at < 0x20 || *at == '<' || *at == 0x7F) add(out, "\\u%04x", *at), at++;
        else if (*at == '"' || *at == '\\') add(out, "\\%c", *at), at++;
        else if (!length) add_text(out, "?"), at++;
        else add_bytes(out, (const char *)at, (size_t)length), at += length;
    }
    add_text(out, "\"");
}

static void key(struct buffer *out, const char *name) { add(out, "\"%s\": ", name); }

static void text_field(struct buffer *out, const char *name, const char *text) {
    key(out, name);
    string(out, text);
    add_text(out, ", ");
}

static void number_field(struct buffer *out, const char *name, uint64_t value) {
    add(out, "\"%s\": %llu, ", name, (unsigned long long)value);
}

static void flag_field(struct buffer *out, const char *name, bool value) {
    add(out, "\"%s\": %s, ", name, value ? "true" : "false");
}

// Takes the comma and blank behind the last member away and closes.
static void end(struct buffer *out, const char *bracket) {
    while (out->length && strchr(", \n", out->text[out->length - 1])) out->length--;
    add_text(out, bracket);
}

static void tiers(struct buffer *out, const char *name, const uint64_t *counts) {
    key(out, name);
    add(out, "{\"blocks\": %llu, \"may_block\": %llu, \"notes\": %llu}, ", (unsigned long long)counts[1],
        (unsigned long long)counts[2], (unsigned long long)counts[3]);
}

static void frame(struct buffer *out, const struct frame *frame, bool place) {
    static const char *const origins[] = {"user", "system", "runtime"};
    add_text(out, "{");
    text_field(out, "function", frame->function);
    if (frame->symbol && frame->symbol != frame->function) text_field(out, "symbol", frame->symbol);
    text_field(out, "file", frame->file);
    key(out, "line");
    if (frame->file && frame->line) add(out, "%d, ", frame->line); else add_text(out, "null, ");
    text_field(out, "module", frame->module);
    number_field(out, "offset", frame->offset);
    flag_field(out, "inlined", frame->inlined);
    if (frame->left) flag_field(out, "left_the_stack", true);
    text_field(out, "origin", origins[frame->origin]);
    if (place) flag_field(out, "place", true);
    end(out, "}");
}

static void finding(struct buffer *out, const struct finding *finding) {
    static const char *const kinds[] = {"", "call", "system-call", "page-fault", "preemption", "hang", "deadline", "crash"};
    add_text(out, "      {");
    text_field(out, "call", finding->call);
    text_field(out, "kind", kinds[finding->kind <= RTWATCH_CRASH ? finding->kind : 0]);
    text_field(out, "tier", tier_names[finding->tier <= 3 ? finding->tier : 3]);
    number_field(out, "count", finding->count);
    number_field(out, "first_cycle", finding->first_cycle);
    number_field(out, "last_cycle", finding->last_cycle);
    number_field(out, "measured", finding->measured);
    number_field(out, "total_ns", finding->total);
    number_field(out, "longest_ns", finding->longest);
    number_field(out, "process", finding->process->channel->pid);
    key(out, "threads");
    add_text(out, "[");
    for (uint32_t i = 0; i < finding->thread_count; i++) {
        uint32_t index = finding->threads[i] < RTWATCH_THREADS ? finding->threads[i] : RTWATCH_THREADS - 1;
        add(out, "%d, ", finding->process->channel->threads[index].tid);
    }
    end(out, "], ");
    if (finding->foreign) text_field(out, "foreign_code", finding->foreign);
    if (finding->suppressed) text_field(out, "suppressed_by", finding->suppressed->text);
    key(out, "stack");
    add_text(out, "[");
    for (int i = 0; i < finding->frame_count; i++) {
        add_text(out, "\n        ");
        frame(out, finding->frames[i], i == finding->place);
        add_text(out, ",");
    }
    end(out, "]");
    add_text(out, "},\n");
}

static void places(struct buffer *out, const char *name, const struct place_list *list) {
    key(out, name);
    add_text(out, "[\n");
    for (int i = 0; i < list->count; i++) {
        const struct place *place = &list->list[i];
        add_text(out, "    {");
        text_field(out, "tier", tier_names[place->tier]);
        text_field(out, "function", place->frame ? frame_name(place->frame) : NULL);
        text_field(out, "file", place->frame ? place->frame->file : NULL);
        key(out, "line");
        if (place->frame && place->frame->line) add(out, "%d, ", place->frame->line); else add_text(out, "null, ");
        text_field(out, "module", place->frame ? place->frame->module : NULL);
        flag_field(out, "only_caller_known", place->findings && place->findings->only_caller);
        text_field(out, "called", place->called);
        text_field(out, "family", place->advice->family);
        text_field(out, "does", place->advice->does);
        text_field(out, "instead", place->advice->instead);
        number_field(out, "count", place->count);
        number_field(out, "first_cycle", place->first_cycle);
        number_field(out, "last_cycle", place->last_cycle);
        number_field(out, "longest_ns", place->longest);
        key(out, "findings");
        add_text(out, "[\n");
        for (const struct finding *at = place->findings; at; at = at->next) finding(out, at);
        end(out, "]},\n");
    }
    end(out, "],\n  ");
}

static void timeline(struct buffer *out, const struct thread *thread) {
    uint64_t started = process_at(0)->channel->started;
    key(out, "timeline");
    add_text(out, "[");
    for (int i = 0; i < thread->point_count; i++) {
        const struct point *point = &thread->points[i];
        add(out, "[%llu,%llu,%llu,%llu,%llu,%u,%u],",
            (unsigned long long)(point->start > started ? point->start - started : 0),
            (unsigned long long)(point->end > started ? point->end - started : 0), (unsigned long long)point->longest,
            (unsigned long long)(point->cycles ? point->total / point->cycles : 0), (unsigned long long)point->period,
            point->cycles, point->misses);
    }
    end(out, "], ");
    number_field(out, "mark_width_ns", thread->mark_width);
    key(out, "marks");
    add_text(out, "[");
    for (int i = 0; thread->marks && i < TIMELINE_POINTS; i++) {
        const uint32_t *count = thread->marks[i].count;
        if (count[1] || count[2] || count[3]) add(out, "[%d,%u,%u,%u],", i, count[1], count[2], count[3]);
    }
    end(out, "], ");
}

static void threads(struct buffer *out) {
    key(out, "threads");
    add_text(out, "[\n");
    for (int i = 0; i < thread_count(); i++) {
        const struct thread *thread = thread_at(i);
        const struct rtwatch_thread *facts = thread_facts(thread);
        add_text(out, "    {");
        text_field(out, "name", thread_name(facts));
        number_field(out, "tid", (uint64_t)facts->tid);
        number_field(out, "process", thread->process->channel->pid);
        text_field(out, "found_by", found_by(facts->found_by));
        number_field(out, "cycles", facts->cycles > thread->cycles ? facts->cycles : thread->cycles);
        number_field(out, "period_ns", thread->period);
        number_field(out, "mean_ns", thread->cycles ? thread->total / thread->cycles : 0);
        number_field(out, "longest_ns", thread->longest);
        if (thread->with_period)
            add(out, "\"load\": {\"p50\": %.4f, \"p99\": %.4f, \"max\": %.4f}, ", load_at(thread, 0.5),
                load_at(thread, 0.99), thread->worst_load);
        number_field(out, "deadline_misses", thread->misses);
        number_field(out, "page_faults", thread->faults);
        number_field(out, "preemptions", thread->preemptions);
        number_field(out, "hangs", thread->hangs);
        tiers(out, "violations", thread->violations);
        timeline(out, thread);
        end(out, "},\n");
    }
    end(out, "],\n  ");
}

static void program(struct buffer *out, const struct report *report) {
    const struct run *run = report->run;
    add_text(out, "  \"command\": [");
    for (char **at = report->options->program; *at; at++) string(out, *at), add_text(out, ", ");
    end(out, "],\n  ");
    key(out, "program");
    add_text(out, "{");
    text_field(out, "path", run->program.path);
    if (WIFEXITED(run->status)) number_field(out, "exit_status", (uint64_t)WEXITSTATUS(run->status));
    else number_field(out, "signal", (uint64_t)WTERMSIG(run->status));
    flag_field(out, "ended_by_duration", run->ended_by_us);
    number_field(out, "ran_ns", run->ended - run->began);
    end(out, "},\n  ");
    number_field(out, "status", (uint64_t)report->status);
    text_field(out, "verdict", report->verdict);
    add_text(out, "\n  ");
}

static void processes(struct buffer *out) {
    static const struct feature { uint64_t bit; const char *name; } features[] = {
        {RTWATCH_HAS_CALLS, "calls"}, {RTWATCH_HAS_SYSCALLS, "system_calls"}, {RTWATCH_HAS_SWIFT, "swift_runtime"},
        {RTWATCH_HAS_PAGE_FAULTS, "page_fault_events"}, {RTWATCH_HAS_SWITCHES, "switch_events"}};
    key(out, "processes");
    add_text(out, "[");
    for (int i = 0; i < process_count(); i++) {
        const struct rtwatch_channel *channel = process_at(i)->channel;
        if (!process_started(process_at(i))) continue;
        add(out, "{\"pid\": %u, ", channel->pid);
        for (unsigned j = 0; j < sizeof features / sizeof *features; j++)
            flag_field(out, features[j].name, channel->features & features[j].bit);
        end(out, "}, ");
    }
    end(out, "],\n  ");
}

void write_json(const struct report *report, struct buffer *out) {
    add_text(out, "{\n  \"rtwatch\": \"" RTWATCH_RELEASE "\", \"schema\": 1,\n");
    program(out, report);
    flag_field(out, "watched", report->watching);
    flag_field(out, "refused", report->refused);
    number_field(out, "cycles", report->cycles);
    number_field(out, "deadline_misses", report->misses);
    add_text(out, "\n  ");
    tiers(out, "found", report->found);
    tiers(out, "lost", report->lost);
    number_field(out, "suppressed", report->suppressed);
    number_field(out, "skipped", report->skipped);
    number_field(out, "notes_not_shown", report->notes_not_shown);
    number_field(out, "cycles_lost", report->cycles_lost);
    number_field(out, "kernel_lost", report->kernel_lost);
    number_field(out, "hangs", report->hang_count);
    add_text(out, "\n  ");
    number_field(out, "page_fault_count", report->fault_count);
    number_field(out, "preemption_count", report->preemption_count);
    add_text(out, "\n  ");
    key(out, "crash");
    if (report->crash) {
        add(out, "{\"signal\": %d, \"address\": %llu, \"stack\": [", report->crash->signal,
            (unsigned long long)report->crash->address);
        for (int i = 0; i < report->crash->frame_count; i++)
            frame(out, report->crash->frames[i], i == report->crash->place), add_text(out, ", ");
        end(out, "]},\n  ");
    } else {
        add_text(out, "null, ");
    }
    processes(out);
    key(out, "messages");
    add_text(out, "[");
    for (int i = 0; i < report->message_count; i++) string(out, report->messages[i]), add_text(out, ", ");
    end(out, "],\n  ");
    key(out, "suppressions");
    add_text(out, "[");
    for (int i = 0; i < suppression_count(); i++) {
        const struct suppression *suppression = suppression_at(i);
        add_text(out, "{");
        text_field(out, "pattern", suppression->text);
        text_field(out, "from", suppression->origin);
        number_field(out, "used", suppression->used);
        end(out, "}, ");
    }
    end(out, "],\n  ");
    threads(out);
    places(out, "places", &report->places);
    places(out, "page_faults", &report->faults);
    places(out, "preemptions", &report->preemptions);
    end(out, "\n}\n");
}
