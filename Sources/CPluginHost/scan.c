// A scan of plug-ins in a child process, which any of them may bring down.
//
// The child is this same program, started again: a constructor finds a word in the environment, does the scan instead of `main`,
// and exits. It reads URIs, a line each, and writes for each "begin URI", and then "good LATENCY" or "bad SENTENCE". What plug-ins
// print goes nowhere. Who started it reads the answers, and kills it if one does not come.

#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifdef CLV2_HAS_LILV

#include <dlfcn.h>

extern char **environ;

#define WORD "RENDERSTACK_LV2_SCAN"

static void try_plugin(const char *uri, FILE *answers) {
    char error[CLV2_ERROR] = "";
    fprintf(answers, "begin %s\n", uri);
    fflush(answers);
    int frames = 256;
    struct cplugin_memory *memory = cplugin_memory_new(1024);
    struct clv2_instance *instance = memory ? clv2_instance_new(uri, 48000, frames, 0, memory, error) : NULL;
    bool is_whole = true;
    int latency = 0;
    if (instance) {
        for (int i = 0; i < 4; i++) {
            clv2_begin(instance, true);
            clv2_run(instance, frames);
            clv2_end(instance);
            if (!cplugin_memory_is_whole(memory)) is_whole = false;
        }
        latency = clv2_latency(instance);
        clv2_instance_free(instance);
    }
    cplugin_memory_free(memory);
    if (!instance)
        fprintf(answers, "bad %s\n", error);
    else if (!is_whole)
        fprintf(answers, "bad It writes beyond the memory of its ports\n");
    else
        fprintf(answers, "good %d\n", latency);
    fflush(answers);
}

/// In a program that was started as such a child this function does the child's work, and `main` never runs.
__attribute__((constructor)) static void scan_if_asked(void) {
    const char *word = getenv(WORD);
    if (!word) return;
    int descriptor = atoi(word);
    unsetenv(WORD);
    // It ends with the program that has started it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    FILE *answers = descriptor > 2 ? fdopen(descriptor, "w") : NULL;
    if (!answers) _exit(1);
    // Programs that plug-ins start do not keep the pipe open.
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    // Handlers by which this program reports a crash of its own are not for plug-ins: the signal ends the child.
    const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
    char line[4096];
    int input = dup(0), nothing = open("/dev/null", O_RDWR);
    FILE *uris = fdopen(input, "r");
    dup2(nothing, 0);
    dup2(nothing, 1);
    dup2(nothing, 2);
    while (uris && fgets(line, sizeof line, uris)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "bundle ", 7) == 0) {
            char error[CLV2_ERROR];
            clv2_load_bundle(line + 7, error);
        } else {
            try_plugin(line, answers);
        }
    }
    fprintf(answers, "end\n");
    fflush(answers);
    _exit(0);
}

int clv2_scan_start(int *to, int *from, char *error) {
    // Inside of a library that another program has loaded, this program is not the one that has the constructor.
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    Dl_info here;
    char *mine = dladdr((void *)scan_if_asked, &here) && here.dli_fname ? realpath(here.dli_fname, NULL) : NULL;
    bool is_program = length > 0 && mine && (program[length] = 0, strcmp(mine, program) == 0);
    free(mine);
    if (!is_program) {
        clv2_say(error, "A scan starts the program anew, and this code is in a library of the program %.200s", program);
        return -1;
    }
    int questions[2], answers[2];
    if (pipe2(questions, O_CLOEXEC)) return clv2_say(error, "%s", strerror(errno)), -1;
    if (pipe2(answers, O_CLOEXEC)) {
        clv2_say(error, "%s", strerror(errno));
        close(questions[0]);
        close(questions[1]);
        return -1;
    }
    // A number that the program's own files do not have.
    int kept = fcntl(answers[1], F_DUPFD_CLOEXEC, 200);
    char value[32];
    snprintf(value, sizeof value, WORD "=%d", kept < 0 ? 0 : kept + 1);
    int count = 0;
    while (environ[count]) count++;
    char **environment = calloc((size_t)count + 2, sizeof *environment);
    if (environment) {
        for (int i = 0; i < count; i++) environment[i] = environ[i];
        environment[count] = value;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, questions[0], 0);
    posix_spawn_file_actions_adddup2(&actions, kept, kept + 1);
    pid_t child = -1;
    char *arguments[] = {program, NULL};
    int failure = kept < 0 || !environment ? ENOMEM
                                           : posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    close(questions[0]);
    close(answers[1]);
    if (kept >= 0) close(kept);
    if (failure) {
        clv2_say(error, "The child process of a scan cannot be started: %s", strerror(failure));
        close(questions[1]);
        close(answers[0]);
        return -1;
    }
    *to = questions[1];
    *from = answers[0];
    return child;
}

#endif
