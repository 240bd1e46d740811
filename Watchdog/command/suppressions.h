// Findings that the user knows and does not want to see: function:, library:, file: and stack: patterns.

#ifndef COMMAND_SUPPRESSIONS_H
#define COMMAND_SUPPRESSIONS_H

#include <stdbool.h>
#include <stdint.h>

struct finding;

struct suppression {
    enum { SUPPRESS_FUNCTION, SUPPRESS_LIBRARY, SUPPRESS_FILE, SUPPRESS_STACK } what;
    const char *text;         // as written: "function:malloc"
    const char *pattern;      // behind the colon
    const char *origin;       // "--suppress" or "file:line"
    uint64_t used;            // violations that it took out
};

void add_suppression(const char *text, const char *origin);
void read_suppressions(const char *path);
struct suppression *suppression_for(const struct finding *finding);   // the first that fits, or NULL
int suppression_count(void);
struct suppression *suppression_at(int index);

#endif
