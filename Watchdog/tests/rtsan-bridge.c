// Lets the zoo run under LLVM's RealtimeSanitizer: what it calls of rtwatch.h, in RTSan's words. The name of the case is
// written to standard error before each cycle, so that reports can be told apart.
#include <stdio.h>
#include <unistd.h>
#include <string.h>

void __rtsan_realtime_enter(void);
void __rtsan_realtime_exit(void);
void __rtsan_disable(void);
void __rtsan_enable(void);

static __thread int depth;

void rtwatch_enter(const char *what, unsigned long long period) {
    (void)period;
    if (depth++ == 0) {
        char line[64];
        int length = snprintf(line, sizeof line, "\n@case %s\n", what);
        if (write(2, line, (size_t)length) < 0) return;
    }
    __rtsan_realtime_enter();
}

void rtwatch_exit(void) {
    __rtsan_realtime_exit();
    if (--depth == 0 && write(2, "\n@end\n", 6) < 0) return;
}

void rtwatch_permit_begin(void) { __rtsan_disable(); }
void rtwatch_permit_end(void) { __rtsan_enable(); }
int rtwatch_is_present(void) { return 1; }
