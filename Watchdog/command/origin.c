#include "origin.h"

#include "buffer.h"
#include "demangle.h"

#include <stdlib.h>
#include <string.h>

static bool one_of(const char *text, const char *const *list, size_t count, bool prefix) {
    for (size_t i = 0; text && i < count; i++)
        if (prefix ? starts_with(text, list[i]) : !strcmp(text, list[i])) return true;
    return false;
}

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool is_runtime_library(const char *path) {
    static const char *const names[] = {
        "librtwatch.so",    "libc.so", "libc-",    "libpthread",    "ld-linux",       "ld.so",
        "libm.so",          "libm-",   "libdl",    "librt.so",      "librt-",         "libgcc_s",
        "libstdc++",        "libc++",  "libswift", "libFoundation", "lib_Foundation", "libdispatch",
        "libBlocksRuntime", "libasan", "libtsan",  "libubsan",      "[vdso]",         "linux-vdso"};
    return one_of(base_name(path), names, COUNT(names), true);
}

bool is_system_library(const char *path) {
    static const char *const folders[] = {"/lib/", "/usr/lib/", "/lib64/", "/usr/lib64/"};
    static const char *const machines[] = {"x86_64-linux-gnu/", "aarch64-linux-gnu/"};
    if (!path || !strstr(base_name(path), ".so")) return false;
    for (size_t i = 0; i < COUNT(folders); i++) {
        if (!starts_with(path, folders[i])) continue;
        path += strlen(folders[i]);
        for (size_t j = 0; j < COUNT(machines); j++)
            if (starts_with(path, machines[j])) path += strlen(machines[j]);
        // A file in a folder below (lv2, ladspa, a program's own folder) is a plug-in: third-party code.
        return !strchr(path, '/');
    }
    return false;
}

static bool is_runtime_module(const char *module) {
    static const char *const modules[] = {
        "Swift",          "Synchronization",   "_Concurrency", "Foundation",      "FoundationEssentials",
        "Dispatch",       "_StringProcessing", "_RegexParser", "Observation",     "Glibc",
        "SwiftShims",     "Builtin",           "__C",          "__C_Synthesized", "FoundationInternationalization",
        "_Builtin_float", "Distributed",       "Testing",         "RealtimeWatch"};
    return one_of(module, modules, COUNT(modules), false);
}

static bool is_library_source(const char *file) {
    static const char *const folders[] = {"/usr/include/", "/usr/local/include/", "/usr/lib/gcc/", "/rustc/"};
    return file && (one_of(file, folders, COUNT(folders), true) || strstr(file, "/include/c++/")
                    || strstr(file, "/swift/stdlib/public/") || strstr(file, "/usr/lib/clang/"));
}

static bool is_cpp_runtime(const char *name) {
    static const char *const prefixes[] = {"std::", "__gnu_cxx::", "__cxxabiv1::", "operator new", "operator delete",
        "void std::", "bool std::", "swift::", "core::", "alloc::", "<alloc::", "<core::", "__rust_"};
    return one_of(name, prefixes, COUNT(prefixes), true);
}

// Entry points of the Swift runtime, which are in the program itself with -static-stdlib, and helpers made by
// compilers.
static bool is_runtime_symbol(const char *symbol) {
    static const char *const prefixes[] = {"swift_",    "_swift_", "__swift_", "_dispatch_",
                                           "dispatch_", "__libc_", "__GI_",    "__asan_",
                                           "__tsan_",   "_start",  "_dl_",     "__interceptor_",
                                           "objectdestroy", "block_copy_helper", "block_destroy_helper"};
    // A program's own allocator is not the place of a finding: its caller is.
    static const char *const names[] = {"malloc", "calloc", "realloc", "free", "memalign", "aligned_alloc",
                                        "posix_memalign", "reallocarray"};
    return one_of(symbol, prefixes, COUNT(prefixes), true) || one_of(symbol, names, COUNT(names), false);
}

// One body stands for several functions that read the same; the symbol names only one of them.
static const char *merged_name(const char *function) {
    char *text = format("%s or one like it (merged)", function);
    const char *name = intern(text);
    free(text);
    return name;
}

void name_frame(struct frame *frame) {
    const char *symbol = frame->symbol, *whole = symbol ? demangled(symbol) : NULL;
    bool runtime = is_runtime_library(frame->module) || is_library_source(frame->file);
    frame->function = symbol;
    if (whole && is_swift_symbol(symbol)) {
        frame->function = short_swift_name(whole);
        if (starts_with(whole, "merged ") && !frame->file) frame->function = merged_name(frame->function);
        runtime = runtime || is_swift_helper(whole) || is_runtime_module(swift_module(whole));
    } else if (whole) {
        frame->function = short_cpp_name(whole);
        // Swift's runtime is C++; with -static-stdlib it is in the program itself.
        runtime = runtime || is_cpp_runtime(whole) || strstr(whole, "swift::");
    } else if (is_swift_symbol(symbol)) {
        // Not demangled: at least the standard library can be told ("$ss…", "$sSa…"; "$sSa4Demo…" is an extension).
        runtime = runtime || ((starts_with(symbol, "$ss") || starts_with(symbol, "$sS"))
                              && !(symbol[4] >= '1' && symbol[4] <= '9' && strchr(symbol, 'E')));
    }
    runtime = runtime || is_runtime_symbol(symbol);
    // C functions of the standard library are named with their versions: "write@@GLIBC_2.2.5".
    if (frame->function && frame->function == symbol && strchr(symbol, '@') > symbol)
        frame->function = intern_part(symbol, strcspn(symbol, "@"));
    frame->origin = runtime ? ORIGIN_RUNTIME
        : !frame->module ? ORIGIN_SYSTEM
        : is_system_library(frame->module) ? ORIGIN_SYSTEM : ORIGIN_USER;
}
