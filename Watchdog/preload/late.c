// dlsym: a program that opens libjack or libasound at run time asks it for their functions by name and is given ours;
// one that asks whether a function exists at all is not given a trampoline for a function that nobody has.

#include "late.h"
#include "preload.h"

#include <dlfcn.h>
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

static bool intercepted(const char *name) {
    for (int i = 0; i < SYMBOL_COUNT; i++)
        if (rtw_equal(rtw_symbols[i].name, name)) return true;
    for (int i = 0; i < LATE_COUNT; i++)
        if (rtw_equal(functions[i].name, name)) return true;
    return false;
}

static void *libc_handle(void) {
    for (struct link_map *map = _r_debug.r_map; map; map = map->l_next)
        for (const char *at = map->l_name; *at; at++)
            if (at[0] == 'l' && at[1] == 'i' && at[2] == 'b' && at[3] == 'c' && at[4] == '.') return map;
    return NULL;
}

uint32_t rtw_hit(struct rtw_frame *frame);

// From dlsym's trampoline: what to return, or null to go on to the real one (with the handle in `frame`).
void *rtw_dlsym(struct rtw_frame *frame) {
    if (rtw_self.mode) rtw_hit(frame);
    uint8_t selector = rtw_self.selector;
    rtw_self.selector = SELECTOR_ALLOW;
    const char *name = (const char *)frame->rsi;
    void *handle = (void *)frame->rdi, *answer = NULL;
    if (handle == RTLD_DEFAULT) {
        if (name && intercepted(name) && !rtw_find(name, true)) {
            void *libc = libc_handle();
            if (libc) frame->rdi = (uint64_t)(uintptr_t)libc;
        }
    } else if (handle != RTLD_NEXT && name && rtw_watching()) {
        for (int i = 0; i < LATE_COUNT && !answer; i++) {
            if (!rtw_equal(functions[i].name, name)) continue;
            void *real = real_dlsym()(handle, name);
            if (!real) break;
            if (real != functions[i].ours) {
                atomic_store(&functions[i].real, real);
                atomic_store(&functions[i].handle, handle);
            }
            answer = functions[i].ours;
        }
    }
    rtw_self.selector = selector;
    return answer;
}
