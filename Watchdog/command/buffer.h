// Growing text, memory that is checked, and strings that are kept once and never freed.

#ifndef COMMAND_BUFFER_H
#define COMMAND_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer { char *text; size_t length, capacity; };

void *allocate(size_t size);                            // zeroed; ends the command with a sentence when there is none
void *reallocate(void *memory, size_t size);
char *format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
const char *intern(const char *text);                   // equal texts give equal pointers
const char *intern_part(const char *text, size_t length);

void add(struct buffer *buffer, const char *pattern, ...) __attribute__((format(printf, 2, 3)));
void add_text(struct buffer *buffer, const char *text);
void add_bytes(struct buffer *buffer, const char *bytes, size_t length);
void clear(struct buffer *buffer);
void release(struct buffer *buffer);

bool starts_with(const char *text, const char *prefix);
bool ends_with(const char *text, const char *suffix);
const char *base_name(const char *path);

// Numbers as people read them: "1,204", "0.31 µs". Each returns one of a few rotating buffers.
const char *with_commas(uint64_t number);
const char *as_time(uint64_t nanoseconds);

_Noreturn void fail(int status, const char *pattern, ...) __attribute__((format(printf, 2, 3)));
void say(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

// The exit status of the command itself; otherwise it is the program's status.
enum { STATUS_FINDINGS = 86, STATUS_NOTHING_WATCHED = 87, STATUS_TROUBLE = 125, STATUS_NOT_RUNNABLE = 126,
       STATUS_NOT_FOUND = 127 };

#endif
