// Functions of a library of the program's own that have the names of intercepted ones, but take and return what those
// do not: see arguments.c.
#include "arguments.h"

#include <stdarg.h>

double nice(double a, float b, struct mixed c, long double d, double e, double f, double g, double h, double i) {
    return a + (double)b + c.number + (double)c.count + (double)d + e + f + g + h + i;
}

long double alarm(long double a, double b) { return a + (long double)b; }

double sysinfo(int count, ...) {
    va_list list;
    double sum = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++) sum = sum * 10 + va_arg(list, double);
    va_end(list);
    return sum;
}

struct mixed uname(struct mixed a, struct two b) { return (struct mixed){a.number + b.x, a.count + (long)b.y}; }
struct two getrlimit(struct two a, _Complex double b) { return (struct two){a.x + __real__ b, a.y + __imag__ b}; }

// The watchdog watches this family in every library; the call is made so that its end is seen.
double swift_allocObject(double a, double b) { return a - b; }
long double swift_allocError(double a) { return (long double)a + 1; }
struct two swift_allocBox(struct two a) { return (struct two){a.y, a.x}; }
struct mixed swift_slowAlloc(struct mixed a) { return (struct mixed){a.number * 2, a.count * 2}; }

#ifdef __x86_64__
__attribute__((target("avx"))) wide setpriority(wide a, wide b) { return a + b; }
#endif
