// dlsym: a program that opens libjack or libasound at run time asks it for their functions by name, and gets ours. A
// program that asks whether a function exists at all gets no trampoline for a function that does not exist.

#include "late.h"
#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#define X(name) extern char name[] __attribute__((visibility("default")));
LATE_NAMES(X)
#undef X

static struct { const char *name; void *ours; void *_Atomic real; void *_Atomic handle; } functions[LATE_COUNT] = {
#define X(name) {#name, name, NULL, NULL},
    LATE_NAMES(X)
#undef X
};

typedef void *dlsym_function(void *, const char *);

static dlsym_function *real_dlsym(void) {
    void **real = &rtw_real[SYMBOL_dlsym];
    static _Atomic int found;
    if (!atomic_load(&found)) {
        rtw_resolve(SYMBOL_dlsym);
        atomic_store(&found, 1);
    }
    return (dlsym_function *)*real;
}

void *late(enum late which) {
    void *real = atomic_load(&functions[which].real);
    if (real) return real;
    real = rtw_find(functions[which].name, true);
    atomic_store(&functions[which].real, real);
    return real;
}

void *late_beside(enum late which, const char *name) {
    void *handle = atomic_load(&functions[which].handle);
    return handle ? real_dlsym()(handle, name) : rtw_find(name, true);
}

// By this library alone, as far as is known?
static bool intercepted(const char *name) {
    for (int i = 0; i < SYMBOL_COUNT; i++)
        if (rtw_equal(rtw_symbols[i].name, name)) return rtw_owner[i] == OWNER_UNKNOWN;   // else it was found
    for (int i = 0; i < LATE_COUNT; i++)
        if (rtw_equal(functions[i].name, name)) return true;
    return false;
}

uint32_t rtw_hit(struct rtw_frame *frame);

// A library was asked for a function by name: the program gets the one that this library puts in front of it. A
// function of that name which is not the one that is called from here is another's.
static void *ours_for(const char *name, const void *real) {
#if defined(__x86_64__)
    for (int i = 0; i < SYMBOL_COUNT; i++)
        if (real == rtw_real[i] && rtw_owner[i] == OWNER_KNOWN && rtw_equal(rtw_symbols[i].name, name))
            return rtw_trampolines[i];
#else
    (void)name, (void)real;
#endif
    return NULL;
}

static void *look_for(void *handle, const char *name, const char *version, void *real) {
    for (int i = 0; i < LATE_COUNT; i++) {
        if (!rtw_equal(functions[i].name, name)) continue;
        if (real != functions[i].ours && !version) {
            atomic_store(&functions[i].real, real);
            atomic_store(&functions[i].handle, handle);
        }
        return functions[i].ours;
    }
    return ours_for(name, real);
}

static void look_at_opening(uint32_t symbol, const struct rtw_frame *frame) {
    enum { DEEP = 8 };   // RTLD_DEEPBIND
    if (symbol == SYMBOL_dlmopen && (long)frame->rdi != LM_ID_BASE)
        rtw_say("the program opens a library in a namespace of its own (dlmopen): rtwatch sees only the system calls "
                "of that library");
    else if ((symbol == SYMBOL_dlmopen ? frame->rdx : frame->rsi) & DEEP)
        rtw_say("the program opens a library with RTLD_DEEPBIND, which then calls libc past the watchdog: rtwatch "
                "sees only the system calls of that library");
}

// From the trampolines of the loader's functions: what to return, or null to go on to the real one (with the handle in
// `frame`).
void *rtw_look(struct rtw_frame *frame) {
    uint32_t symbol = (uint32_t)frame->symbol;
    if (rtw_self.mode) rtw_hit(frame);
    uint8_t selector = rtw_self.selector;
    int before = errno;
    rtw_self.selector = SELECTOR_ALLOW;
    const char *name = (const char *)frame->rsi;
    void *handle = (void *)frame->rdi, *answer = NULL;
    if (rtw_owner[symbol] == OWNER_UNKNOWN) rtw_resolve(symbol);
    if (symbol == SYMBOL_dlopen || symbol == SYMBOL_dlmopen) {
        rtw_forked = false;
        if (rtw_watching()) look_at_opening(symbol, frame);
    } else if (handle == RTLD_DEFAULT) {
        if (symbol == SYMBOL_dlsym && name && intercepted(name) && !rtw_find(name, true)) {
            void *libc = rtw_libc();
            if (libc) frame->rdi = (uint64_t)(uintptr_t)libc;
        }
    } else if (handle != RTLD_NEXT && name && rtw_watching()) {
        const char *version = symbol == SYMBOL_dlvsym ? (const char *)frame->rdx : NULL;
        void *(*versioned)(void *, const char *, const char *) = rtw_real[SYMBOL_dlvsym];
        void *real = version ? versioned(handle, name, version) : real_dlsym()(handle, name);
        if (real) answer = look_for(handle, name, version, real);
    }
    rtw_self.selector = selector;
    errno = before;
    return answer;
}
