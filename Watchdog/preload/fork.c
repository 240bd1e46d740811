// fork: the child has a copy of everything but the watch. Its memory page rtw_alive was wiped by the kernel, so it is
// off whatever way it was forked; with follow=1 it gets a channel of its own.

#include "preload.h"
#include "system.h"

#include <pthread.h>

static __thread bool has_paused __attribute__((tls_model("initial-exec")));

static void before(void) { has_paused = rtw_channel && *rtw_alive && rtw_pause_finding(); }

static void in_child(void) {
    bool was_watched = rtw_channel != NULL;
    rtw_channel = NULL;   // not mapped here
    rtw_forked = true;
    rtw_forget_saying();
    rtw_forget_finding();
    rtw_forget_perf();
    rtw_forget_dispatch();
    rtw_forget_threads();
    rtw_monitor_forget();
    if (was_watched && rtw_options.follow) rtw_start();
}

static void in_parent(void) {
    if (has_paused) rtw_resume_finding();
    if (rtw_channel && *rtw_alive) __atomic_fetch_add(&rtw_channel->forks, 1, __ATOMIC_RELAXED);
}

void rtw_process_prepare(void) {
    rtw_notice_exits();
    pthread_atfork(before, in_parent, in_child);
}
