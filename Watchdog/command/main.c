// rtwatch: runs a program and says which calls on its audio threads were unsafe, where, and how often.

#include "channel.h"
#include "report.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool use_color(const struct options *options) {
    const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (options->color != COLOR_AUTO) return options->color == COLOR_ALWAYS;
    return isatty(STDERR_FILENO) && !(none && *none) && !(terminal && !strcmp(terminal, "dumb"));
}

static int terminal_width(void) {
    struct winsize size;
    if (!isatty(STDERR_FILENO) || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 40) return 110;
    return size.ws_col < 140 ? size.ws_col : 140;
}

int main(int count, char **arguments) {
    struct options options = {.hang = DEFAULT_HANG};
    struct run run = {0};
    read_options(&options, count, arguments);
    run.library = find_library();
    run.program = find_program(options.program[0]);
    // The report must come out whatever became of the one who reads it.
    run.pipe_handler = signal(SIGPIPE, SIG_IGN);
    make_channel();
    atexit(remove_channel);
    bool color = use_color(&options);
    use_live_color(color);
    if (options.live) on_new_finding(write_live);
    run_program(&run, &options);

    struct report report = make_report(&options, &run);
    struct buffer text = {0};
    bool saved = true;
    if (!options.quiet) {
        write_text(&report, color, terminal_width(), &text);
        ssize_t written = write(STDERR_FILENO, text.text, text.length);
        (void)written;
    }
    clear(&text);
    if (options.json) {
        write_json(&report, &text);
        saved = save(options.json, &text) && saved;
    }
    clear(&text);
    if (options.html) {
        write_html(&report, &text);
        saved = save(options.html, &text) && saved;
    }
    return saved ? report.status : STATUS_TROUBLE;
}
