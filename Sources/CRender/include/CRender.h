// The few lines of C that the renderer needs, for operations of the processor, a thread and the kernel that Swift
// cannot express.
//
// Functions that return int return 0 or an errno: nothing here prints, exits or leaves a change half made.

#ifndef CRENDER_H
#define CRENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// MARK: - Denormals

/// Makes the calling thread treat denormal numbers (below 1.2e-38) as 0, in operands and in results.
///
/// The tail of a filter or a reverb ends in such numbers, and each costs the processor some hundred cycles. x86-64:
/// FTZ and DAZ in MXCSR; arm64: FZ in FPCR; elsewhere nothing. The setting belongs to the thread. Render thread: yes.
///
/// @return What `crender_denormals_restore` needs.
uint64_t crender_denormals_off(void);

/// Gives the calling thread back the setting that `crender_denormals_off` found. Touches nothing else of the word.
void crender_denormals_restore(uint64_t word);

/// Returns the calling thread's rounding and its treatment of denormal numbers, for `crender_rounding_restore` after
/// code that may change them. Render thread: yes.
uint64_t crender_rounding_word(void);

/// Gives the calling thread back what `crender_rounding_word` found, where it is not so still. (x86-64: the x87 control
/// word, and all of MXCSR but the flags that say what has happened; arm64: FPCR.)
void crender_rounding_restore(uint64_t word);

/// Returns the calling thread's treatment of denormal numbers, for `crender_denormals_restore` on another one.
uint64_t crender_denormals_word(void);

// MARK: - What a thread is doing

/// A pointer of the calling thread, NULL at first: the transaction that it has open. Render thread: yes.
void *_Nullable crender_transaction_get(void);

/// Sets the pointer of the calling thread. It is not owned here.
void crender_transaction_set(void *_Nullable transaction);

/// The locks that the calling thread holds, a bit for each rank: debug builds check their order with it.
uint64_t crender_held_locks_get(void);
void crender_held_locks_set(uint64_t ranks);

/// What the calling thread is preparing; NULL for nothing. It is not owned here.
const void *_Nullable crender_preparing_get(void);
void crender_preparing_set(const void *_Nullable preparing);

/// The dry runs that are under way: an atomic number, of all threads; whether the calling thread is in one; and its
/// beginning and end.
const void *_Nonnull crender_dry_runs(void);
int crender_is_in_dry_run(void);
void crender_dry_run_begins(void);
void crender_dry_run_ends(void);

/// The number of loops that the calling thread is putting in place, one inside of the other.
int crender_installing_get(void);
void crender_installing_set(int count);

/// Reads a word that another thread may be writing at this moment, for diagnosis only. Sanitizers overlook it.
uintptr_t crender_peek(const void *_Nonnull word);

// MARK: - Real-time priority

/// The scheduling policy of a thread, from the kernel.
struct crender_policy {
    /// SCHED_OTHER, SCHED_FIFO, …, without flags; -1 if it could not be asked.
    int policy;
    /// The real-time priority, 1 to 99, or 0.
    int priority;
    /// Indicates whether threads and processes that this one makes start without it (SCHED_RESET_ON_FORK).
    bool resets_on_fork;
    /// Indicates whether the policy is SCHED_FIFO or SCHED_RR.
    bool is_realtime;
};

/// Returns the policy that the calling thread really has: it asks the kernel, and does not repeat an earlier request.
struct crender_policy crender_thread_policy(void);

/// Makes the calling thread SCHED_FIFO, at a priority of 1 to 99. Threads that it starts do not inherit that.
///
/// @param priority 10 is JACK's default for clients, 70 is usual; from 90 on it competes with the kernel.
/// @param guard_microseconds A thread that computes for longer than this without once waiting is put back to ordinary
///     priority, so that a closure that never ends cannot freeze the machine; 500,000 is a good value, 0 sets no guard.
///     The guard is the soft limit RLIMIT_RTTIME with a handler for its signal, SIGXCPU. The limit belongs to the
///     process; a lower one is left as it is, and the hard limit too. If the program has a handler for SIGXCPU of
///     its own, that one stays and decides. The kernel counts in scheduler ticks, 1 to 10 ms.
/// @return 0; EINVAL for a priority out of range; EPERM if the user may not (see `ulimit -r`, rtkit). With an error
///     the thread keeps the policy that it had. Never fatal: go on without, and say so.
int crender_make_realtime(int priority, uint32_t guard_microseconds);

/// Makes the process ready for a service such as rtkit to raise the calling thread, which it does only where the kernel ends
/// a process that computes for too long. The guard then acts at half of that time. The limit stays.
///
/// @param most_microseconds what the service demands at most; rtkit's RTTimeUSecMax.
int crender_accept_priority(uint32_t most_microseconds);

/// A number of the calling thread that no other thread of the process has had, not even one that has ended.
uint64_t crender_thread_number(void);

/// The kernel's number of the calling thread.
int64_t crender_thread_id(void);

/// Puts the calling thread back to ordinary priority (SCHED_OTHER).
int crender_make_ordinary(void);

/// Returns the number of threads of this process that the guard has put back to ordinary priority.
unsigned crender_guard_count(void);

// MARK: - Memory

/// Memory for samples and for what else the render thread touches: zeroed, mapped, and on a cache line. It is the first
/// that is locked, and locked from the beginning once `crender_lock_memory` has been called. NULL where there is none.
void *_Nullable crender_take_memory(size_t bytes);

/// Gives such memory back.
void crender_give_memory(void *_Nonnull memory);

/// The bytes that `crender_lock_memory` has locked.
struct crender_locks {
    /// The audio's memory, and how much of it is locked.
    size_t audio_wanted, audio;
    /// The memory that the program has touched, the audio's included, with the code that render threads run; and how much of
    /// both is locked.
    size_t wanted, locked;
    /// Why not all of it is locked; 0 if all is.
    int error;
};

/// Keeps memory from being swapped out, what the render thread touches first: the audio's memory, then the memory that the
/// program has touched, then the code that render threads run, which is also read in, so that the first run of a function does
/// not wait for the disk.
///
/// It does not lock mappings as a whole (mlockall): the kernel would count every thread's stack and all that the C
/// library has reserved, which is many times as much as a program uses. If RLIMIT_MEMLOCK limits the process, it locks as much
/// as the limit allows but for 1.5 MB, which stay for the stacks of render threads and for what libjack locks itself, and later
/// allocations succeed all the same.
///
/// @param runs_servers whether render threads run code of the sound servers' and the cards' libraries.
struct crender_locks crender_lock_memory(bool runs_servers);

/// Locks what the program has touched since, where memory is locked without limit. Costs little if it has taken none from
/// the system.
void crender_lock_new_memory(void);

/// Returns whether the process may lock as much as it likes, which it finds out by trying.
bool crender_may_lock_memory(void);

/// Returns whether this is a build with AddressSanitizer or ThreadSanitizer.
bool crender_has_sanitizer(void);

/// Undoes `crender_lock_memory` and every `crender_lock_region`.
int crender_unlock_memory(void);

/// Keeps a part of memory from being swapped out, and maps it now. ENOMEM or EPERM where the limit does not allow it,
/// which harms nothing.
int crender_lock_region(const void *_Nonnull start, size_t bytes);

/// Touches the calling thread's stack below the caller, so that deep calls meet no page fault later.
///
/// @return How many bytes were touched: `bytes`, or what the stack has but for 64 KiB.
size_t crender_prefault_stack(size_t bytes);

// MARK: - The watchdog

/// Tells the watchdog, if its library was loaded before the program, that the calling thread begins a cycle.
///
/// @param period The time that the cycle may take, in nanoseconds; 0 if nothing waits for it.
void crender_cycle_begins(uint64_t period);

/// Tells the watchdog that the calling thread has ended its cycle.
void crender_cycle_ends(void);

/// Returns whether the calling thread is in a cycle. Render thread: yes.
bool crender_is_in_cycle(void);

/// Returns whether the calling thread is in a cycle, and not between crender_permitted_begins and crender_permitted_ends: once in a
/// cycle, because what it may not do there leads to more of it.
int crender_is_first_lock_of_cycle(void);

/// Begins, for the watchdog, work that a cycle may do: the set-up of a foreign audio thread, or waiting for a disk
/// offline.
void crender_permitted_begins(void);
/// Ends that work.
void crender_permitted_ends(void);

/// Names, for the watchdog, the foreign code that the calling thread runs from here on. Render thread: yes.
///
/// @return The name before, for `crender_foreign_ends`.
const char *_Nullable crender_foreign_begins(const char *_Nonnull name);
/// The end of that.
void crender_foreign_ends(const char *_Nullable before);

// MARK: - Threads that help

/// Returns the number of processors that the calling thread may run on: 1 or more.
int crender_processor_count(void);

/// Tells the processor that the thread waits in a loop for another one.
static inline void crender_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/// Sleeps until another thread wakes those that wait for this word; not at all if the word is not `expected` any more.
/// May return without a reason. A system call (futex).
void crender_wait(const void *_Nonnull word, uint32_t expected);

/// Wakes at most that many threads that wait for a word. A system call that does not wait (futex).
void crender_wake(const void *_Nonnull word, int threads);

// MARK: - What libraries say

/// The calling thread's messages since `crender_forget_messages`, a line each: what `crender_note_message` got, which
/// is a handler in the form that ALSA has it.
const char *_Nonnull crender_noted_messages(void);

/// Empties them.
void crender_forget_messages(void);

// MARK: - Ctrl-C

/// Has SIGINT and SIGTERM noted instead of ending the process; one that is ignored stays ignored. Not to be nested, nor
/// called by two threads at once.
///
/// @return A descriptor that can be read when one has come; -1 if there is none.
int crender_catch_interruptions(void);

/// Returns whether an interruption has come since the last call.
bool crender_take_interruption(void);

/// Returns the host time at which the last interruption came: a thread that handles it may be much later.
int64_t crender_last_interruption(void);

/// Gives the signals the effect that they had before.
void crender_release_interruptions(void);

// MARK: - The processor

/// Has the processor fetch memory that is soon to be read. Render thread: yes.
#ifdef __swift__
__attribute__((swift_attr("@_noLocks"))) __attribute__((swift_attr("@_noAllocation")))
#endif
static inline void crender_prefetch(const void *_Nonnull address) { __builtin_prefetch(address, 0, 3); }

// MARK: - Names

/// Gives the calling thread a name of at most 15 characters, for `top -H`, gdb and the watchdog.
void crender_name_thread(const char *_Nonnull name);

#ifdef __cplusplus
}
#endif

#endif
