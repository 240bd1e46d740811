#define _GNU_SOURCE

#include "CRender.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Declared where it is given to a library, in the form that the library wants.
void crender_note_message(
    const char *file, int line, const char *function, int error, const char *format, va_list arguments);

// Of each thread: a library calls its handler on the thread that has called the library.
static _Thread_local char text[2048];

void crender_note_message(
    const char *file, int line, const char *function, int error, const char *format, va_list arguments) {
    (void)file, (void)line, (void)error;
    size_t used = strlen(text);
    if (used + 2 >= sizeof text) return;
    if (used > 0) text[used++] = '\n';
    int count = snprintf(text + used, sizeof text - used, "%s: ", function ? function : "?");
    if (count > 0) used += (size_t)count;
    if (used < sizeof text) vsnprintf(text + used, sizeof text - used, format, arguments);
}

const char *crender_noted_messages(void) { return text; }

void crender_forget_messages(void) { text[0] = 0; }
