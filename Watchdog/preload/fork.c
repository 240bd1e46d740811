// fork: the child has a copy of everything but the watch. Its memory page rtw_alive was wiped by the kernel, so it is
// off whatever way it was forked; with follow=1 it gets a channel of its own.

#include "preload.h"
#include "system.h"

#include <pthread.h>

static void in_child(void) {
    bool was_watched = rtw_channel != NULL;
    rtw_channel = NULL;   // not mapped here
    rtw_forget_threads();
    rtw_monitor_forget();
    if (was_watched && rtw_options.follow) rtw_start();
}

void rtw_process_prepare(void) { pthread_atfork(NULL, NULL, in_child); }
