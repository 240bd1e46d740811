// Everything that the reports say, gathered once.

#ifndef COMMAND_REPORT_H
#define COMMAND_REPORT_H

#include "buffer.h"
#include "cycles.h"
#include "findings.h"
#include "run.h"

struct report {
    const struct options *options;
    const struct run *run;
    struct place_list places;             // calls, system calls and hangs; notes only if they are shown
    struct place_list faults, preemptions;
    uint64_t found[4];                    // recorded and not suppressed, by tier, without faults and preemptions
    uint64_t judged[4];                   // those with page faults: --fail-on looks at these
    uint64_t suppressed, lost[4], notes_not_shown, skipped, torn, cycles_lost, kernel_lost;
    uint64_t cycles, misses;
    const struct finding *crash;          // the finding of the crash that ended the program, or NULL
    uint64_t judged_cycles;               // without those that --skip-cycles left out
    uint64_t fault_count, preemption_count, hang_count;
    bool loaded, refused, watching, halted;
    int status;                           // the exit status of the command
    const char *verdict;                  // the reason why it is not that of the program, or NULL
    const char **messages;                // the library's sentences and the command's own
    int message_count;
};

extern const char *const tier_names[4];   // "", "blocks", "may-block", "note"

struct report make_report(const struct options *options, const struct run *run);

void write_text(const struct report *report, bool color, int width, struct buffer *out);
void write_json(const struct report *report, struct buffer *out);
void write_html(const struct report *report, struct buffer *out);
void write_live(struct finding *finding, uint64_t count);      // a line on standard error
void use_live_color(bool color);

bool save(const char *path, const struct buffer *text);        // "-" is standard output

const char *near_path(const char *path);  // shortened when it is under the current folder

#endif
