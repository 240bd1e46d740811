// Threads whose cycles are parted by the function in which they wait: those of thread=NAME, and ALSA programs that poll
// their device themselves.

#include "preload.h"
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>

static bool is_named(struct rtw_self *self) {
    if (self->named) return true;
    char name[16] = "";
    rtw_system5(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
    for (int i = 0; i < rtw_options.thread_count; i++)
        if (rtw_equal(name, rtw_options.threads[i])) self->named = 1;
    return self->named;
}

// A thread waits for its next cycle at the place where it waits longest: a loop that polls and then reads what woke it
// waits in the poll. Of each place the time is kept, and forgotten by and by. Cycles begin at that place; waits
// elsewhere in a cycle are violations.
static void choose_pace(struct rtw_self *self, uint64_t site, uint64_t took) {
    struct rtw_pace *paces = self->paces, *here = NULL, *longest = paces;
    for (int i = 0; i < RTW_PACES && !here; i++)
        if (paces[i].site == site) here = &paces[i];
    for (int i = 0; i < RTW_PACES && !here; i++)
        if (!paces[i].site) here = &paces[i];
    for (int i = 0; i < RTW_PACES && !here; i++)
        if (paces[i].site != self->pace_site && paces[i].time <= longest->time) here = longest = &paces[i];
    if (!here) return;
    if (here->site != site) *here = (struct rtw_pace){.site = site};
    here->time += took;
    here->count++;
    for (int i = 0; i < RTW_PACES; i++)
        if (paces[i].time >= longest->time) longest = &paces[i];
    if (!self->pace_site && here->count < 3) return;
    if (++self->pace_waits % 32 == 0)
        for (int i = 0; i < RTW_PACES; i++) paces[i].time /= 2;
    uint64_t known = 0;
    for (int i = 0; i < RTW_PACES; i++)
        if (paces[i].site == self->pace_site) known = paces[i].time;
    if (!self->pace_site || longest->time > 2 * known) self->pace_site = longest->site;
}

static bool is_read(uint32_t symbol) {
    return symbol == SYMBOL_read || symbol == SYMBOL___read_chk || symbol == SYMBOL_eventfd_read;
}

// A descriptor through which others wake a thread: an event, a timer, a pipe. Reading it is the end of the wait.
static bool wakes(int descriptor) {
    static const char *const kinds[] = {"anon_inode:[eventfd]", "anon_inode:[timerfd]", "anon_inode:[signalfd]"};
    char path[32] = "/proc/self/fd/", link[32] = "", digits[12];
    size_t at = rtw_length(path), count = 0;
    if (descriptor < 0) return false;
    do digits[count++] = (char)('0' + descriptor % 10);
    while (descriptor /= 10);
    while (count) path[at++] = digits[--count];
    path[at] = 0;
    rtw_system4(SYS_readlinkat, AT_FDCWD, path, link, sizeof link - 1);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (rtw_equal(link, kinds[i])) return true;
    return link[0] == 'p' && link[1] == 'i' && link[2] == 'p' && link[3] == 'e' && link[4] == ':';
}

// Runs before a wait-function, in a cycle or not. Returns 0 if its end does not matter, else how it is to be taken
// then.
uint8_t rtw_wait_begins(struct rtw_self *self, uint32_t symbol, struct rtw_frame *frame) {
    if (self->busy) return 0;
    uint8_t waits = 0;
    if (rtw_options.thread_count && (!self->registered || self->found_by == FOUND_BY_NAME)) {
        self->busy = 1;
        if (is_named(self)) {
            bool pace = frame->ret == self->pace_site;
            bool woken = !pace && self->depth && !self->violations && is_read(symbol) && wakes((int)frame->rdi);
            waits = pace || woken ? WAIT_PACE : WAIT_MEASURED;
            self->wait_start = rtw_now();
            if (woken) rtw_take_back();
        }
        self->busy = 0;
    }
    if (waits != WAIT_PACE && rtw_options.alsa && (!self->registered || self->found_by == FOUND_BY_ALSA) &&
        rtw_alsa_waits(symbol, frame)) waits = WAIT_PACE;
    if (waits == WAIT_PACE && self->depth) rtw_end();
    return waits;
}

void rtw_wait_ended(uint32_t symbol, struct rtw_frame *frame, int64_t result) {
    struct rtw_self *self = &rtw_self;
    if (self->busy) return;
    self->busy = 1;
    if (self->named && self->wait_start) {
        uint64_t now = rtw_now();
        choose_pace(self, frame->ret, now > self->wait_start ? now - self->wait_start : 0);
        self->wait_start = 0;
    }
    if (!self->depth && frame->waiting == WAIT_PACE) {
        if (self->named) {
            rtw_begin(rtw_symbols[symbol].name, 0, FOUND_BY_NAME);
        } else if (result > 0 && rtw_alsa_ready(symbol, frame)) {
            self->alsa_writes = 0;
            rtw_begin("ALSA", rtw_alsa_period(), FOUND_BY_ALSA);
        }
    }
    self->busy = 0;
}

// What a cycle asks the kernel is trapped, and done there.
static bool traps(const struct rtw_self *self) { return self->mode & MODE_CYCLE && self->selector == SELECTOR_BLOCK; }

// From syscall's trampoline: a futex that is waited for by libc's syscall(), outside of a cycle or at the pace, is waited
// for here, and a signal's handler is installed here. 1: done, and what it returned is in the frame.
uint32_t rtw_system_function(struct rtw_frame *frame) {
    struct rtw_self *self = &rtw_self;
    const uint64_t *stack = &frame->ret + 1;
    uint64_t operation = frame->rdx & 127;
    long result;
    if (frame->rdi == SYS_rt_sigaction) {
        if (!rtw_watching() || traps(self)) return 0;
        result = rtw_install((long)frame->rsi, (const void *)frame->rdx, (void *)frame->rcx, (long)frame->r8);
    } else {
        bool wait = frame->rdi == SYS_futex && (operation == 0 || operation == 9 || operation == 11);
        if (!wait || !rtw_waits || !*rtw_alive || (self->depth && frame->ret != self->pace_site)) return 0;
        frame->waiting = rtw_wait_begins(self, SYMBOL_syscall, frame);
        if (!frame->waiting) return 0;
        result = rtw_system6(SYS_futex, frame->rsi, frame->rdx, frame->rcx, frame->r8, frame->r9, stack[0]);
        rtw_wait_ended(SYMBOL_syscall, frame, result);
    }
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        result = -1;
    }
    frame->rax = (uint64_t)result;
    return 1;
}
