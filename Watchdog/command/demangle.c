#include "demangle.h"

#include "buffer.h"

#include <dlfcn.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef char *swift_demangler(const char *name, size_t length, char *out, size_t *out_length, uint32_t flags);
typedef char *cpp_demangler(const char *name, char *out, size_t *length, int *status);

static swift_demangler *by_library;
static const char *by;
static struct { const char **symbols, **names; size_t count, capacity; } known;

bool is_swift_symbol(const char *symbol) {
    return starts_with(symbol, "$s") || starts_with(symbol, "$S") || starts_with(symbol, "_$s")
        || starts_with(symbol, "$e") || starts_with(symbol, "_T0");
}

bool is_cpp_symbol(const char *symbol) { return starts_with(symbol, "_Z") || starts_with(symbol, "___Z"); }
const char *swift_names_by(void) { return by; }

// Symbols are interned: a pointer is as good as its text.
static size_t slot_of(const char *symbol) {
    size_t at = ((uintptr_t)symbol >> 3) * 0x9E3779B97F4A7C15u & (known.capacity - 1);
    while (known.symbols[at] && known.symbols[at] != symbol) at = (at + 1) & (known.capacity - 1);
    return at;
}

static void remember(const char *symbol, const char *name) {
    if (known.count * 2 >= known.capacity) {
        size_t before = known.capacity;
        const char **symbols = known.symbols, **names = known.names;
        known.capacity = before ? before * 2 : 1024;
        known.symbols = allocate(known.capacity * sizeof *known.symbols);
        known.names = allocate(known.capacity * sizeof *known.names);
        for (size_t i = 0; i < before; i++) {
            if (!symbols[i]) continue;
            size_t at = slot_of(symbols[i]);
            known.symbols[at] = symbols[i];
            known.names[at] = names[i];
        }
        free(symbols);
        free(names);
    }
    size_t at = slot_of(symbol);
    known.count += !known.symbols[at];
    known.symbols[at] = symbol;
    known.names[at] = name;
}

static bool is_known(const char *symbol) { return known.capacity && known.symbols[slot_of(symbol)]; }
const char *demangled(const char *symbol) { return known.capacity ? known.names[slot_of(symbol)] : NULL; }

static const char *cpp_name(const char *symbol) {
    static cpp_demangler *demangler;
    static bool tried;
    if (!tried) {
        void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        if (library) demangler = (cpp_demangler *)dlsym(library, "__cxa_demangle");
        tried = true;
    }
    int status = 0;
    char *text = demangler ? demangler(symbol, NULL, NULL, &status) : NULL;
    const char *name = text && !status ? intern(text) : NULL;
    free(text);
    return name;
}

// One run of `swift-demangle` for up to 64 names, which are its arguments; it prints a line for each.
static bool ask_program(const char **symbols, size_t count) {
    char *arguments[64 + 3] = {(char *)"swift-demangle", (char *)"-compact"};
    int ends[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    for (size_t i = 0; i < count; i++) arguments[i + 2] = (char *)symbols[i];
    if (pipe2(ends, 02000000 /* O_CLOEXEC */)) return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
    int error = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    struct buffer out = {0};
    char part[4096];
    for (ssize_t length; !error && (length = read(ends[0], part, sizeof part)) > 0;)
        add_bytes(&out, part, (size_t)length);
    close(ends[0]);
    int status = 1;
    if (!error) waitpid(child, &status, 0);
    char *line = out.text;
    for (size_t i = 0; !status && line && *line && i < count; i++) {
        char *end = strchrnul(line, '\n');
        const char *name = intern_part(line, (size_t)(end - line));
        remember(symbols[i], strcmp(name, symbols[i]) ? name : NULL);
        line = *end ? end + 1 : end;
    }
    release(&out);
    return !error && !status;
}

static void find_library_demangler(const char *library) {
    static bool tried;
    if (by_library || tried || !library) return;
    tried = true;
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (handle) by_library = (swift_demangler *)dlsym(handle, "swift_demangle");
    if (by_library) by = "libswiftCore";
}

void prepare_names(const char **symbols, size_t count, const char *library) {
    static bool no_program;
    const char *asked[64];
    size_t waiting = 0;
    find_library_demangler(library);
    for (size_t i = 0; i < count; i++) {
        const char *symbol = symbols[i];
        if (!symbol || is_known(symbol)) continue;
        if (is_cpp_symbol(symbol)) {
            remember(symbol, cpp_name(symbol));
        } else if (is_swift_symbol(symbol) && by_library) {
            char *text = by_library(symbol, strlen(symbol), NULL, NULL, 0);
            remember(symbol, intern(text));
            free(text);
        } else if (is_swift_symbol(symbol) && !no_program) {
            remember(symbol, NULL);
            asked[waiting++] = symbol;
        }
        if (waiting == 64 || (waiting && i + 1 == count)) {
            if (ask_program(asked, waiting)) by = "swift-demangle"; else no_program = true;
            waiting = 0;
        }
    }
    if (waiting && !no_program && ask_program(asked, waiting)) by = "swift-demangle";
}
