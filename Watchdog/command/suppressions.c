#include "suppressions.h"

#include "buffer.h"
#include "findings.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct suppression *list;
static int count;

int suppression_count(void) { return count; }
struct suppression *suppression_at(int index) { return &list[index]; }

void add_suppression(const char *text, const char *origin) {
    static const char *const kinds[] = {"function:", "library:", "file:", "stack:"};   // as in the enumeration
    for (int i = 0; i < 4; i++) {
        if (!starts_with(text, kinds[i])) continue;
        const char *pattern = text + strlen(kinds[i]);
        while (*pattern == ' ') pattern++;
        if (!*pattern) fail(STATUS_TROUBLE, "%s: \"%s\" names nothing behind the colon", origin, text);
        list = reallocate(list, (size_t)(count + 1) * sizeof *list);
        list[count++] =
            (struct suppression){.what = i, .text = intern(text), .pattern = intern(pattern), .origin = intern(origin)};
        return;
    }
    fail(STATUS_TROUBLE, "%s: \"%s\" should begin with function:, library:, file: or stack:", origin, text);
}

void read_suppressions(const char *path) {
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    if (!file) fail(STATUS_TROUBLE, "--suppressions %s: %m", path);
    for (int number = 1; getline(&line, &size, file) > 0; number++) {
        char *text = line + strspn(line, " \t");
        // A comment begins a line or follows a blank: "closure #1 in main" is a name.
        size_t length = strcspn(text, "\n");
        text[length] = 0;
        if (*text == '#') continue;
        while (length && strchr(" \t\r", text[length - 1])) text[--length] = 0;
        if (!length) continue;
        char *origin = format("%s:%d", path, number);
        add_suppression(text, origin);
        free(origin);
    }
    free(line);
    fclose(file);
}

// A name without wildcards is the whole name, with or without the argument labels: "Voice.render" is
// "Voice.render(_:)".
static bool fits(const char *pattern, const char *name) {
    if (!name) return false;
    // The pattern is compared with the printed name: Swift's names have brackets in them.
    if (!strcmp(pattern, name) || !fnmatch(pattern, name, 0)) return true;
    size_t length = strlen(pattern);
    // Long names are printed without their end.
    if (ends_with(pattern, "…") && !strncmp(pattern, name, length - strlen("…"))) return true;
    return !strncmp(pattern, name, length) && (name[length] == '(' || starts_with(name + length, " or one like it"));
}

static bool fits_function(const char *pattern, const struct frame *frame) {
    return fits(pattern, frame->function) || fits(pattern, frame->symbol);
}

static bool fits_library(const char *pattern, const struct frame *frame) {
    return frame->module && (fits(pattern, frame->module) || fits(pattern, base_name(frame->module)));
}

// Also the end of a path: reports print it as seen from the folder where they were made.
static bool fits_path(const char *pattern, const char *path) {
    if (fits(pattern, path)) return true;
    for (const char *slash = path ? strchr(path, '/') : NULL; slash; slash = strchr(slash + 1, '/'))
        if (fits(pattern, slash + 1)) return true;
    return false;
}

// "Voice.swift" is any file of that name.
static bool fits_file(const char *pattern, const struct frame *frame) {
    return frame->file && frame->origin != ORIGIN_RUNTIME
        && fits_path(pattern, frame->file);
}

static bool fits_frame(const struct suppression *suppression, const struct frame *frame) {
    switch (suppression->what) {
    case SUPPRESS_LIBRARY: return fits_library(suppression->pattern, frame);
    case SUPPRESS_FILE: return fits_file(suppression->pattern, frame);
    case SUPPRESS_STACK:
        return fits_function(suppression->pattern, frame) || fits_path(suppression->pattern, frame_source(frame));
    default: return fits_function(suppression->pattern, frame);
    }
}

struct suppression *suppression_for(const struct finding *finding) {
    for (int i = 0; i < count; i++) {
        bool found = list[i].what == SUPPRESS_FUNCTION && fits(list[i].pattern, finding->call);
        // stack: looks at all, the others from the call out to the user's own place.
        int end = list[i].what == SUPPRESS_STACK ? finding->frame_count : finding->place + 1;
        for (int j = 0; j < end && !found; j++) found = fits_frame(&list[i], finding->frames[j]);
        if (found) return &list[i];
    }
    return NULL;
}
