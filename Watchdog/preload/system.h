// System calls made by the library itself: inline, so that they stand in its own text, where Syscall User Dispatch lets
// them pass, and never touch errno.

#ifndef SYSTEM_H
#define SYSTEM_H

#include <sys/syscall.h>

#if defined(__x86_64__)
static inline long rtw_system(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall\n\tnop" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static inline long rtw_system(long number, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}
#else
#error "rtwatch runs on x86-64 and, in part, on arm64"
#endif

#define rtw_system0(n) rtw_system(n, 0, 0, 0, 0, 0, 0)
#define rtw_system1(n, a) rtw_system(n, (long)(a), 0, 0, 0, 0, 0)
#define rtw_system2(n, a, b) rtw_system(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define rtw_system3(n, a, b, c) rtw_system(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define rtw_system4(n, a, b, c, d) rtw_system(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define rtw_system5(n, a, b, c, d, e) rtw_system(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define rtw_system6(n, a, b, c, d, e, f) rtw_system(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
