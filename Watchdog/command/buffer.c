#include "buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void say(const char *pattern, ...) {
    va_list list;
    va_start(list, pattern);
    fputs("rtwatch: ", stderr);
    vfprintf(stderr, pattern, list);
    fputc('\n', stderr);
    va_end(list);
}

void fail(int status, const char *pattern, ...) {
    va_list list;
    va_start(list, pattern);
    fputs("rtwatch: ", stderr);
    vfprintf(stderr, pattern, list);
    fputc('\n', stderr);
    va_end(list);
    exit(status);
}

void *allocate(size_t size) {
    void *memory = calloc(1, size ? size : 1);
    if (!memory) fail(STATUS_TROUBLE, "no memory left");
    return memory;
}

void *reallocate(void *memory, size_t size) {
    memory = realloc(memory, size ? size : 1);
    if (!memory) fail(STATUS_TROUBLE, "no memory left");
    return memory;
}

char *format(const char *pattern, ...) {
    char *text = NULL;
    va_list list;
    va_start(list, pattern);
    if (vasprintf(&text, pattern, list) < 0) fail(STATUS_TROUBLE, "no memory left");
    va_end(list);
    return text;
}

static struct { const char **slots; size_t count, capacity; } interned;

static uint64_t text_hash(const char *text, size_t length) {
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return hash;
}

static void grow_interned(void) {
    size_t capacity = interned.capacity ? interned.capacity * 2 : 1024;
    const char **slots = allocate(capacity * sizeof *slots);
    for (size_t i = 0; i < interned.capacity; i++) {
        const char *text = interned.slots[i];
        if (!text) continue;
        size_t at = text_hash(text, strlen(text)) & (capacity - 1);
        while (slots[at]) at = (at + 1) & (capacity - 1);
        slots[at] = text;
    }
    free(interned.slots);
    interned.slots = slots;
    interned.capacity = capacity;
}

const char *intern_part(const char *text, size_t length) {
    if (interned.count * 2 >= interned.capacity) grow_interned();
    size_t at = text_hash(text, length) & (interned.capacity - 1);
    for (; interned.slots[at]; at = (at + 1) & (interned.capacity - 1))
        if (!strncmp(interned.slots[at], text, length) && !interned.slots[at][length]) return interned.slots[at];
    char *copy = allocate(length + 1);
    memcpy(copy, text, length);
    interned.slots[at] = copy;
    interned.count++;
    return copy;
}

const char *intern(const char *text) { return text ? intern_part(text, strlen(text)) : NULL; }

void add_bytes(struct buffer *buffer, const char *bytes, size_t length) {
    if (buffer->length + length + 1 > buffer->capacity) {
        buffer->capacity = (buffer->length + length + 1) * 2;
        buffer->text = reallocate(buffer->text, buffer->capacity);
    }
    memcpy(buffer->text + buffer->length, bytes, length);
    buffer->length += length;
    buffer->text[buffer->length] = 0;
}

void add_text(struct buffer *buffer, const char *text) { add_bytes(buffer, text, strlen(text)); }

void add(struct buffer *buffer, const char *pattern, ...) {
    char small[512], *text = small;
    va_list list;
    va_start(list, pattern);
    int length = vsnprintf(small, sizeof small, pattern, list);
    va_end(list);
    if (length >= (int)sizeof small) {
        text = allocate((size_t)length + 1);
        va_start(list, pattern);
        vsnprintf(text, (size_t)length + 1, pattern, list);
        va_end(list);
    }
    if (length > 0) add_bytes(buffer, text, (size_t)length);
    if (text != small) free(text);
}

void clear(struct buffer *buffer) {
    buffer->length = 0;
    if (buffer->text) buffer->text[0] = 0;
}

void release(struct buffer *buffer) {
    free(buffer->text);
    *buffer = (struct buffer){0};
}

bool starts_with(const char *text, const char *prefix) { return text && !strncmp(text, prefix, strlen(prefix)); }

bool ends_with(const char *text, const char *suffix) {
    size_t length = text ? strlen(text) : 0, end = strlen(suffix);
    return length >= end && !strcmp(text + length - end, suffix);
}

const char *base_name(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

static char *rotating(void) {
    static char texts[16][40];
    static unsigned next;
    return texts[next++ % 16];
}

const char *with_commas(uint64_t number) {
    char digits[32], *out = rotating();
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number), at = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0) out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
    return out;
}

const char *as_time(uint64_t nanoseconds) {
    char *out = rotating();
    double value = (double)nanoseconds;
    const char *unit = value < 1e3 ? "ns" : value < 1e6 ? "µs" : value < 1e9 ? "ms" : "s";
    value /= value < 1e3 ? 1 : value < 1e6 ? 1e3 : value < 1e9 ? 1e6 : 1e9;
    snprintf(out, 40, nanoseconds < 1000 || value >= 99.95 ? "%.0f %s" : value >= 9.995 ? "%.1f %s" : "%.2f %s",
             value, unit);
    return out;
}
