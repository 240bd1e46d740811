#include "run.h"

#include "buffer.h"
#include "channel.h"
#include "drain.h"
#include "suppressions.h"
#include "thread-names.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// --halt stops in the library, which knows no stacks: what it can be told is which functions do not count.
static void add_functions_off(struct buffer *options) {
    bool first = true;
    for (int i = 0; i < suppression_count(); i++) {
        const struct suppression *suppression = suppression_at(i);
        if (suppression->what != SUPPRESS_FUNCTION || strpbrk(suppression->pattern, "*?[;,= ")) continue;
        add(options, "%s%s", first ? "off=" : ",", suppression->pattern);
        first = false;
    }
    if (!first) add_text(options, ";");
}

static char *library_options(const struct options *options) {
    struct buffer text = {0};
    int level = options->fail_on ? options->fail_on : RTWATCH_MAY_BLOCK;
    add(&text, "tier=%d;", options->notes || options->fail_on == RTWATCH_NOTE ? RTWATCH_NOTE : RTWATCH_MAY_BLOCK);
    if (options->halt) add(&text, "halt=%d;", level);
    if (options->trap) add(&text, "break=%d;", level);
    if (options->halt || options->trap) add_functions_off(&text);
    if (options->skip_cycles) add(&text, "skip=%ld;", options->skip_cycles);
    add(&text, "hang=%ld;", options->hang);
    if (options->no_syscalls) add_text(&text, "syscalls=0;");
    if (options->no_perf) add_text(&text, "perf=0;");
    if (options->follow) add_text(&text, "follow=1;");
    for (int i = 0; i < options->thread_count; i++) add(&text, "thread=%s;", options->threads[i]);
    return text.text;
}

// LD_PRELOAD is split at blanks and colons: a library in such a folder is reached by a link.
static const char *preloadable(const char *library) {
    if (!strpbrk(library, " \t\n:")) return library;
    char *link = format("%s/librtwatch.so", channel_folder());
    if (symlink(library, link)) fail(STATUS_TROUBLE, "%s: %m", link);
    return link;
}

static void set_surroundings(const struct run *run, const struct options *options) {
    const char *before = getenv("LD_PRELOAD"), *library = preloadable(run->library), *first = run->program.sanitizer;
    char *preload = format("%s%s%s%s%s", first ? first : "", first ? ":" : "", library,
                           before && *before ? ":" : "", before && *before ? before : "");
    setenv("LD_PRELOAD", preload, 1);
    setenv(RTWATCH_ENV_CHANNEL, channel_path(), 1);
    char *text = library_options(options);
    setenv(RTWATCH_ENV_OPTIONS, text, 1);
    free(text);
    free(preload);
}

static void start(struct run *run, const struct options *options, const sigset_t *own_mask) {
    int ends[2], error = 0;
    if (pipe2(ends, O_CLOEXEC)) fail(STATUS_TROUBLE, "pipe: %m");
    run->began = now();
    run->pid = fork();
    if (run->pid < 0) fail(STATUS_TROUBLE, "fork: %m");
    if (!run->pid) {
        set_surroundings(run, options);
        sigprocmask(SIG_SETMASK, own_mask, NULL);
        signal(SIGPIPE, run->pipe_handler);
        execv(run->program.path, options->program);
        error = errno;
        ssize_t sent = write(ends[1], &error, sizeof error);
        _exit(sent == sizeof error ? STATUS_NOT_RUNNABLE : STATUS_TROUBLE);
    }
    close(ends[1]);
    if (read(ends[0], &error, sizeof error) == sizeof error) {
        waitpid(run->pid, NULL, 0);
        fail(STATUS_NOT_RUNNABLE, "%s cannot be run: %s", run->program.path, strerror(error));
    }
    close(ends[0]);
}

static bool ignores(int pid, int signal) {
    char *path = format("/proc/%d/status", pid), line[256];
    unsigned long long ignored = 0;
    FILE *file = fopen(path, "re");
    free(path);
    while (file && fgets(line, sizeof line, file)) sscanf(line, "SigIgn: %llx", &ignored);
    if (file) fclose(file);
    return ignored >> (signal - 1) & 1;
}

// Ctrl-C first, which lets a recorder close its file; then harder, two seconds apart.
static void end_by_duration(struct run *run, double over) {
    int signal = over > 5 ? SIGKILL : over > 2 || ignores(run->pid, SIGINT) ? SIGTERM : SIGINT;
    if (run->ending_signal == SIGKILL || signal == run->ending_signal) return;
    if (run->ending_signal == SIGTERM && signal == SIGINT) return;
    run->ended_by_us = true;
    run->ending_signal = signal;
    kill(run->pid, signal);
}

static void pass_on(struct run *run, const siginfo_t *info) {
    run->passed_signal = info->si_signo;
    // From the terminal the whole group gets it, the program too; only what was sent to rtwatch alone is passed on.
    if (info->si_code != SI_KERNEL) kill(run->pid, info->si_signo);
}

// As long as no audio thread is found, looks at the names of threads: one may show itself by its name only.
static void look_at_names(const struct run *run) {
    for (int i = 0; i < process_count(); i++)
        if (process_at(i)->channel->thread_count) return;
    for (int i = 0; i < process_count(); i++)
        if (i == 0 || process_started(process_at(i))) note_thread_names(i ? (int)process_at(i)->channel->pid : run->pid);
}

void run_program(struct run *run, const struct options *options) {
    sigset_t waited, own_mask;
    sigemptyset(&waited);
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) sigaddset(&waited, passed[i]);
    sigaddset(&waited, SIGCHLD);
    sigprocmask(SIG_BLOCK, &waited, &own_mask);
    start(run, options, &own_mask);
    for (long pause = 20000000, round = 0;; round++) {
        struct timespec time = {0, pause};
        siginfo_t info = {0};
        int signal = sigtimedwait(&waited, &info, &time);
        if (signal > 0 && signal != SIGCHLD) pass_on(run, &info);
        if (waitpid(run->pid, &run->status, WNOHANG) == run->pid) break;
        if (options->follow && round % 8 == 0) look_for_processes();
        if (round < 8 || round % 8 == 0) look_at_names(run);
        // A flood is not slept through; where something comes at all, more will soon.
        uint64_t taken = 0, latest = 1;
        for (int again = 0; again < 64 && (!again || latest > RTWATCH_RECORDS / 8); again++)
            taken += latest = drain(false);
        pause = latest > RTWATCH_RECORDS / 8 ? 100000 : taken ? 5000000 : 20000000;
        double ran = (double)(now() - run->began) / 1e9;
        if (options->duration > 0 && ran >= options->duration) end_by_duration(run, ran - options->duration);
    }
    run->ended = now();
    // A second Ctrl-C, typed while the report is written, must not lose it: it stays blocked. The others end rtwatch
    // again.
    struct timespec none = {0, 0};
    while (sigtimedwait(&waited, NULL, &none) > 0) {}
    sigaddset(&own_mask, SIGINT);
    sigprocmask(SIG_SETMASK, &own_mask, NULL);
    if (options->follow) look_for_processes();
    drain(true);
}

int status_of(const struct run *run) {
    if (WIFEXITED(run->status)) return WEXITSTATUS(run->status);
    int signal = WTERMSIG(run->status);
    return run->ended_by_us && signal == run->ending_signal && signal != SIGKILL ? 0 : 128 + signal;
}
