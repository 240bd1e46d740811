// The functions of Watchdog/rtwatch.h that Swift calls: each does nothing, or returns 0, if the watchdog is not loaded.

#ifndef CREALTIMEWATCH_H
#define CREALTIMEWATCH_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns whether the watchdog is loaded and watches this process.
bool crealtimewatch_is_present(void);

/// A cycle begins on the calling thread. Real-time safe.
///
/// @param name Kept by address: it must live as long as the program.
void crealtimewatch_enter(const char *_Nonnull name, uint64_t period);

/// The cycle ends. Real-time safe.
void crealtimewatch_exit(void);

/// Begins what is not judged. Real-time safe.
void crealtimewatch_permit_begin(void);

/// Ends what is not judged. Real-time safe.
void crealtimewatch_permit_end(void);

/// Returns the number of violations of the calling thread: tier 1, 2 or 3, or 0 for 1 and 2 together.
uint64_t crealtimewatch_violations(int tier);

/// A call of the tiers 1 and 2 that the calling thread made since crealtimewatch_forget(): the function's name, valid until
/// the thread asks again, its tier and how often. NULL when there is no n-th.
const char *_Nullable crealtimewatch_found(int n, int *_Nonnull tier, uint64_t *_Nonnull count);

/// Forgets these calls.
void crealtimewatch_forget(void);

#ifdef __cplusplus
}
#endif
#endif
