// A lock between threads of any priority: who waits sleeps, and lends the holder its own priority (a futex with priority
// inheritance), because a real-time thread that spins keeps an ordinary holder on its processor from ever going on.

#include "preload.h"
#include "system.h"

#include <errno.h>
#include <time.h>

enum { LOCK_PI = 6 | 128, UNLOCK_PI = 7 | 128 };

// false: this thread holds it already (a signal handler on top of the holder).
bool rtw_lock(_Atomic uint32_t *lock) {
    uint32_t self = (uint32_t)rtw_system0(SYS_gettid);
    for (;;) {
        uint32_t holder = 0;
        if (atomic_compare_exchange_strong(lock, &holder, self)) return true;
        if ((holder & 0x3fffffff) == self) return false;
        long error = rtw_system4(SYS_futex, lock, LOCK_PI, 0, NULL);
        if (error == 0) return true;
        if (error == -EDEADLK) return false;
        if (error == -ESRCH) {   // its holder is gone
            atomic_compare_exchange_strong(lock, &holder, 0);
        } else if (error != -EINTR && error != -EAGAIN) {
            struct timespec pause = {0, 100000};
            rtw_system4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
        }
    }
}

bool rtw_try_lock(_Atomic uint32_t *lock) {
    uint32_t holder = 0;
    return atomic_compare_exchange_strong(lock, &holder, (uint32_t)rtw_system0(SYS_gettid));
}

void rtw_unlock(_Atomic uint32_t *lock) {
    uint32_t self = (uint32_t)rtw_system0(SYS_gettid);
    if (!atomic_compare_exchange_strong(lock, &self, 0)) rtw_system2(SYS_futex, lock, UNLOCK_PI);
}
