// Threads whose cycles are parted by the function in which they wait: those of thread=NAME, and ALSA programs that poll
// their device themselves.

#include "preload.h"
#include "system.h"

#include <sys/prctl.h>

static bool is_named(struct rtw_self *self) {
    if (self->named) return true;
    char name[16] = "";
    rtw_system5(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
    for (int i = 0; i < rtw_options.thread_count; i++)
        if (rtw_equal(name, rtw_options.threads[i])) self->named = 1;
    return self->named;
}

// A thread waits for its next cycle always at the same place: one where it waited three times with no wait at the known
// place in between. Cycles begin there; waits elsewhere in a cycle are violations.
static bool is_pace(struct rtw_self *self, uint64_t site) {
    if (site != self->pace_site) {
        if (site != self->other_site) self->other_count = 0;
        self->other_site = site;
        if (++self->other_count < 3) return false;
        self->pace_site = site;
    }
    self->other_count = 0;
    return true;
}

// Before a wait-function, in a cycle or not; true to be told of its end.
bool rtw_wait_begins(struct rtw_self *self, uint32_t symbol, struct rtw_frame *frame) {
    if (self->busy) return false;
    bool waits = false;
    if (rtw_options.thread_count && (!self->registered || self->how == 5)) {
        self->busy = 1;
        waits = is_named(self) && is_pace(self, frame->ret);
        self->busy = 0;
    }
    if (!waits && rtw_options.alsa && (!self->registered || self->how == 4)) waits = rtw_alsa_waits(symbol, frame);
    if (waits && self->depth) rtw_end();
    return waits;
}

void rtw_wait_ended(uint32_t symbol, struct rtw_frame *frame, int64_t result) {
    struct rtw_self *self = &rtw_self;
    if (self->busy || self->depth) return;
    self->busy = 1;
    if (self->named) {
        rtw_begin(rtw_symbols[symbol].name, 0, 5);
    } else if (result > 0 && rtw_alsa_ready(symbol, frame)) {
        self->alsa_writes = 0;
        rtw_begin("ALSA", rtw_alsa_period(), 4);
    }
    self->busy = 0;
}
