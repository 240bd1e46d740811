// rtwatch.h: tell the watchdog where your audio thread's cycles begin and end.
//
// All functions are weak: a program links and runs without the watchdog, and the inline forms below then cost one load
// and a branch. Run the program under `rtwatch` and they mark what is to be watched:
//
//     void process(float *out, int frames) {
//         rtwatch_cycle_begin("render", 1000000000ull * frames / rate);
//         …
//         rtwatch_cycle_end();
//     }

#ifndef RTWATCH_H
#define RTWATCH_H

#ifdef __cplusplus
extern "C" {
#endif

#define RTWATCH_WEAK __attribute__((weak))

/// A cycle begins on this thread. `what` names it in reports; `period_ns` is the time it has, 0 if it has no deadline.
/// Nested calls count: the outermost pair is the cycle.
extern RTWATCH_WEAK void rtwatch_enter(const char *what, unsigned long long period_ns);

/// The cycle ends.
extern RTWATCH_WEAK void rtwatch_exit(void);

/// Calls between these two on this thread are not judged. They nest.
extern RTWATCH_WEAK void rtwatch_permit_begin(void);
extern RTWATCH_WEAK void rtwatch_permit_end(void);

/// From here on, calls on this thread are those of foreign code, a plug-in or a library, whose name the reports say.
/// NULL ends that. The name is copied when it is needed; it must live until the thread sets another one.
/// @return The name before, to be given back at the end, so that these nest.
extern RTWATCH_WEAK const char *rtwatch_foreign(const char *name);

/// 1 where the watchdog is loaded and watches this process. (A null pointer where it is not loaded.)
extern RTWATCH_WEAK int rtwatch_is_present(void);

/// Returns the number of violations of this thread in its cycles, in tier 1 (blocks), 2 (may block), 3 (notes), or 0
/// for 1 and 2 together; permitted and skipped ones are not counted.
extern RTWATCH_WEAK unsigned long long rtwatch_violations(int tier);

/// The name of the function (or "system call N") of this thread's latest violation up to tier 2; "" if there was none.
extern RTWATCH_WEAK const char *rtwatch_latest(void);

/// One of the functions that this thread called in its cycles although they block or may block, the latest 16 different
/// ones kept: its name (or "system call N"), its tier, and how often since rtwatch_forget(). 0 when there is no n-th.
extern RTWATCH_WEAK int rtwatch_found(int n, const char **function, int *tier, unsigned long long *count);

/// Empties that list.
extern RTWATCH_WEAK void rtwatch_forget(void);

static inline int rtwatch_loaded(void) { return rtwatch_is_present ? rtwatch_is_present() : 0; }
static inline void rtwatch_cycle_begin(const char *what, unsigned long long period_ns) {
    if (rtwatch_enter) rtwatch_enter(what, period_ns);
}
static inline void rtwatch_cycle_end(void) { if (rtwatch_exit) rtwatch_exit(); }
static inline void rtwatch_permitted_begin(void) { if (rtwatch_permit_begin) rtwatch_permit_begin(); }
static inline void rtwatch_permitted_end(void) { if (rtwatch_permit_end) rtwatch_permit_end(); }

#ifdef __cplusplus
}
#endif
#endif
