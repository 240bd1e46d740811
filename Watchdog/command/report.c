#include "report.h"

#include "ends.h"
#include "split.h"
#include "thread-names.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const tier_names[4] = {"", "blocks", "may-block", "note"};

static void add_message(struct report *report, const char *text) {
    for (int i = 0; i < report->message_count; i++)
        if (!strcmp(report->messages[i], text)) return;
    report->messages = reallocate(report->messages, (size_t)(report->message_count + 1) * sizeof *report->messages);
    report->messages[report->message_count++] = intern(text);
}

static void take_messages(struct report *report, const struct process *process) {
    const char *text = process->channel->messages, *end = text + strnlen(text, sizeof process->channel->messages);
    while (text < end) {
        size_t length = strcspn(text, "\n");
        if (text + length > end) length = (size_t)(end - text);
        if (length) {
            char *line = format("%.*s%s", (int)length, text, strchr(".!?", text[length - 1]) ? "" : ".");
            *line = (char)toupper((unsigned char)*line);
            if (process->index && process->channel->pid) {
                char *whole = format("process %u: %s", process->channel->pid, line);
                free(line);
                line = whole;
            }
            add_message(report, line);
            free(line);
        }
        text += length + 1;
    }
}

// A program can handle faults and live. Of a followed process it is not known how it ended.
static bool ended_by(const struct run *run, const struct finding *crash) {
    if (crash->process->index) return !crash->handled;
    return WIFSIGNALED(run->status) && WTERMSIG(run->status) == crash->signal;
}

// The program's own says more than that of a process that it made.
static bool is_later(const struct finding *crash, const struct finding *than) {
    bool own = crash->process->index == 0, other = than->process->index == 0;
    return own != other ? own : crash->last_time > than->last_time;
}

static void count_findings(struct report *report) {
    for (int i = 0; i < finding_count(); i++) {
        const struct finding *finding = finding_at(i);
        if (finding->kind == RTWATCH_CRASH) {
            if (ended_by(report->run, finding) && (!report->crash || is_later(finding, report->crash))) report->crash = finding;
            continue;
        }
        int tier = finding->tier <= 3 ? finding->tier : 3;
        if (finding->suppressed) {
            report->suppressed += finding->count;
            continue;
        }
        if (finding->kind == RTWATCH_PAGE_FAULT) report->fault_count += finding->count;
        if (finding->kind == RTWATCH_PREEMPTED) report->preemption_count += finding->count;
        if (finding->kind == RTWATCH_HANG) report->hang_count += finding->count;
        // The machine takes the processor away, not the program.
        if (finding->kind != RTWATCH_PREEMPTED) report->judged[tier] += finding->count;
        if (finding->kind != RTWATCH_PREEMPTED && finding->kind != RTWATCH_PAGE_FAULT)
            report->found[tier] += finding->count;
    }
}

static void count_processes(struct report *report) {
    for (int i = 0; i < process_count(); i++) {
        const struct process *process = process_at(i);
        const struct rtwatch_channel *channel = process->channel;
        if (!process_started(process)) continue;
        report->loaded = true;
        report->halted = report->halted || channel->state == 3;
        report->refused = report->refused || channel->state == 4;
        for (int tier = 1; tier < 4; tier++) report->lost[tier] += channel->lost[tier];
        report->notes_not_shown += channel->counts[RTWATCH_NOTE];
        report->kernel_lost += channel->kernel_lost;
        report->skipped += channel->skipped;
        report->torn += process->torn;
        report->cycles_lost += process->cycles_lost;
        report->watching = report->watching || channel->thread_count;
        // Of many processes, those without audio have nothing to say, but why they could not be watched.
        if (channel->thread_count || channel->state == 4 || process_count() == 1) take_messages(report, process);
    }
    for (int i = 0; i < thread_count(); i++) {
        report->cycles += thread_at(i)->cycles;
        report->misses += thread_at(i)->misses;
        uint64_t begun = thread_facts(thread_at(i))->cycles, skipped = (uint64_t)report->options->skip_cycles;
        report->judged_cycles += begun > skipped ? begun - skipped : 0;
    }
}

static bool is_bad(const struct report *report, int level) {
    // Lost notes are mostly page faults and preemptions that the kernel had no room for.
    for (int tier = 1; tier <= level; tier++)
        if (report->judged[tier] || (tier < RTWATCH_NOTE && report->lost[tier])) return true;
    return false;
}

static void judge(struct report *report) {
    int level = report->options->fail_on;
    report->status = status_of(report->run);
    if (!report->loaded && WIFSIGNALED(report->run->status)) {
        report->verdict = NULL;
    } else if (!report->loaded) {
        report->status = STATUS_TROUBLE;
        report->verdict = "the program ran without the watchdog";
    } else if (report->halted) {
        report->status = STATUS_FINDINGS;
        report->verdict = "stopped at the first violation, as --halt wants";
    } else if (level && is_bad(report, level)) {
        report->status = STATUS_FINDINGS;
        report->verdict = level == 1   ? "--fail-on blocks: something blocks"
                          : level == 2 ? "--fail-on may-block: something blocks or may block"
                                       : "--fail-on notes: something was found";
    } else if (level && !report->watching) {
        report->status = STATUS_NOTHING_WATCHED;
        report->verdict = report->refused ? "--fail-on: the program could not be watched, so nothing was proven"
            : "--fail-on: no audio thread was seen, so nothing was proven";
    } else if (level && !report->judged_cycles && report->options->skip_cycles) {
        report->status = STATUS_NOTHING_WATCHED;
        report->verdict = "--fail-on: --skip-cycles left out all cycles there were, so nothing was proven";
    }
}

static void add_thread_names(struct report *report) {
    struct buffer text = {0};
    if (report->watching || report->refused || !thread_name_count()) return;
    add_text(&text, "The names of its threads, for --thread:");
    for (int i = 0; i < thread_name_count(); i++)
        add(&text, "%s \"%s\"%s", i ? "," : "", noted_thread_name(i), noted_thread_is_real_time(i) ? " (real-time)" : "");
    add_text(&text, ".");
    add_message(report, text.text);
    clear(&text);
}

// Of the files that the places are in.
static void add_split_debug(struct report *report) {
    for (int i = 0; i < finding_count(); i++) {
        const struct finding *finding = finding_at(i);
        const struct frame *frame = finding->place >= 0 ? finding->frames[finding->place] : NULL;
        const char *missing = frame && frame->module && frame->origin == ORIGIN_USER ? missing_split_file(frame->module) : NULL;
        if (!missing) continue;
        char *text = format("%s was built with -gsplit-dwarf, and its debug information in %s cannot be read: inlined functions "
                            "have no names. Leave the .dwo files where the compiler put them, or put %s.dwp beside it, neither "
                            "compressed.", base_name(frame->module), missing, base_name(frame->module));
        add_message(report, text);
        free(text);
    }
}

// A daemon, or a program that starts another: the audio may be there.
static void add_forks(struct report *report) {
    uint64_t forks = 0;
    for (int i = 0; i < process_count(); i++)
        if (process_started(process_at(i))) forks += process_at(i)->channel->forks;
    if (report->watching || report->refused || report->options->follow || !forks) return;
    add_message(report, "The program made another process, which is not watched: --follow watches those too.");
}

static void add_own_messages(struct report *report) {
    const struct run *run = report->run;
    add_split_debug(report);
    add_forks(report);
    add_thread_names(report);
    if (!report->loaded && WIFSIGNALED(run->status))
        add_message(report, "The program ended before the preload library came up in it.");
    else if (!report->loaded)
        add_message(
            report,
            "The preload library did not come up in the program: LD_PRELOAD was cleared on the way, or the program "
            "handed over to a setuid or static one.");
    if (report->loaded && run->program.script && !report->options->follow)
        add_message(report, "The program is a script: what it starts is watched with --follow only.");
    if (run->ended_by_us && run->ending_signal == SIGKILL)
        add_message(report, "--duration: the program did not end at SIGINT and SIGTERM and was killed.");
    if (WIFSIGNALED(run->status) && !(run->ended_by_us && WTERMSIG(run->status) == run->ending_signal)
        && WTERMSIG(run->status) != run->passed_signal) {
        const struct finding *crash = report->crash && report->crash->process->index == 0 ? report->crash : NULL;
        const struct frame *frame = crash && crash->place >= 0 ? crash->frames[crash->place] : NULL;
        const char *source = frame && frame->file ? near_path(frame_source(frame)) : NULL;
        char *text = format("The program died of signal %d (%s)%s%s%s%s; the report covers it up to there.",
                            WTERMSIG(run->status), strsignal(WTERMSIG(run->status)), frame ? " in " : "",
                            frame ? frame_name(frame) : "", source ? ", " : "", source ? source : "");
        add_message(report, text);
        free(text);
    }
    if (findings_dropped()) {
        char *text = format("%s records had stacks of their own beyond the first 65,536 and are not listed.",
                            with_commas(findings_dropped()));
        add_message(report, text);
        free(text);
    }
    for (int i = 1; i < process_count(); i++) {
        const struct rtwatch_channel *channel = process_at(i)->channel;
        if (!process_started(process_at(i)) || channel->state != 1 || kill((pid_t)channel->pid, 0)) continue;
        char *text = format("Process %u still runs; the report covers it up to the end of the program.", channel->pid);
        add_message(report, text);
        free(text);
    }
    if (processes_left_out()) add_message(report, "--follow: only the first 256 processes are in the report.");
    bool swift = false;
    for (int i = 0; i < finding_count() && !swift; i++)
        for (int j = 0; j < finding_at(i)->frame_count && !swift; j++)
            swift = starts_with(finding_at(i)->frames[j]->symbol, "$s");
    if (swift && !swift_names_by())
        add_message(report,
                    "Swift names stay mangled: the program has no libswiftCore.so, and swift-demangle is not in PATH.");
}

static void leave_out_notes(struct place_list *places) {
    int kept = 0;
    for (int i = 0; i < places->count; i++)
        if (places->list[i].tier < RTWATCH_NOTE) places->list[kept++] = places->list[i];
    places->count = kept;
}

struct report make_report(const struct options *options, const struct run *run) {
    struct report report = {.options = options, .run = run};
    finish_cycles();
    resolve_findings();
    sort_threads();
    report.places = find_places(RTWATCH_CALL);
    if (!options->notes) leave_out_notes(&report.places);
    report.faults = find_places(RTWATCH_PAGE_FAULT);
    report.preemptions = find_places(RTWATCH_PREEMPTED);
    count_findings(&report);
    count_processes(&report);
    // Of the notes, page faults, preemptions and missed deadlines have their own lines.
    uint64_t own = report.judged[3] - report.found[3] + report.preemption_count + report.misses
        + (options->notes ? report.found[3] : 0);
    report.notes_not_shown = !options->notes && report.notes_not_shown > own ? report.notes_not_shown - own : 0;
    add_own_messages(&report);
    judge(&report);
    return report;
}

bool save(const char *path, const struct buffer *text) {
    bool standard = !strcmp(path, "-");
    int file = standard ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    size_t at = 0;
    while (file >= 0 && at < text->length) {
        ssize_t written = write(file, text->text + at, text->length - at);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) break;
        at += (size_t)written;
    }
    bool good = file >= 0 && at == text->length;
    if (!standard && file >= 0 && close(file)) good = false;
    if (!good) say("%s cannot be written: %m", standard ? "standard output" : path);
    return good;
}

const char *near_path(const char *path) {
    static char folder[PATH_MAX];
    if (!folder[0] && !getcwd(folder, sizeof folder)) strcpy(folder, "?");
    size_t length = strlen(folder);
    return path && length > 1 && !strncmp(path, folder, length) && path[length] == '/' ? path + length + 1 : path;
}
