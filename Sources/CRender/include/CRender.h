// The few lines of C that the renderer needs: what Swift cannot say about the processor, a thread and the kernel.
//
// Where a function returns int, it is 0 or an errno: nothing here prints, exits or leaves a change half made.

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

/// How the calling thread treats denormal numbers, for `crender_denormals_restore` on another one.
uint64_t crender_denormals_word(void);

// MARK: - The transaction of a thread

/// A pointer of the calling thread, NULL at first: the transaction that it has open. Render thread: yes.
void *_Nullable crender_transaction_get(void);

/// Sets the pointer of the calling thread. It is not owned here.
void crender_transaction_set(void *_Nullable transaction);

// MARK: - Real-time priority

/// What the kernel says about a thread.
struct crender_policy {
    /// SCHED_OTHER, SCHED_FIFO, …, without flags; -1 where it could not be asked.
    int policy;
    /// The real-time priority, 1 to 99, or 0.
    int priority;
    /// Whether threads and processes that this one makes start without it (SCHED_RESET_ON_FORK).
    bool resets_on_fork;
    /// Whether the policy is SCHED_FIFO or SCHED_RR.
    bool is_realtime;
};

/// The policy that the calling thread really has: asks the kernel, not what somebody once requested.
struct crender_policy crender_thread_policy(void);

/// Makes the calling thread SCHED_FIFO, at a priority of 1 to 99. What it starts does not inherit that.
///
/// @param priority 10 is JACK's default for clients, 70 is usual; from 90 on it competes with the kernel.
/// @param guard_microseconds A thread that computes for longer than this without once waiting is put back to ordinary
///     priority, so that a closure that never ends cannot freeze the machine; 500,000 is a good value, 0 sets no guard.
///     The guard is the soft limit RLIMIT_RTTIME with a handler for its signal, SIGXCPU. The limit belongs to the
///     process; a lower one is left as it is, and the hard limit too. Where the program has a handler for SIGXCPU of
///     its own, that one stays and decides. The kernel counts in scheduler ticks, 1 to 10 ms.
/// @return 0; EINVAL for a priority out of range; EPERM where the user may not (see `ulimit -r`, rtkit). With an error
///     the thread keeps the policy that it had. Never fatal: go on without, and say so.
int crender_make_realtime(int priority, uint32_t guard_microseconds);

/// Makes the process ready for a service such as rtkit to raise the calling thread, which it does only where the kernel ends
/// a process that computes for too long. The guard then acts at half of that time. The limit stays.
///
/// @param most_microseconds what the service demands at most; rtkit's RTTimeUSecMax.
int crender_accept_priority(uint32_t most_microseconds);

/// The kernel's number of the calling thread.
int64_t crender_thread_id(void);

/// Puts the calling thread back to ordinary priority (SCHED_OTHER).
int crender_make_ordinary(void);

/// How many threads of this process the guard has put back to ordinary priority.
unsigned crender_guard_count(void);

// MARK: - Memory

/// Keeps the memory of the process from being swapped out: all that is there, and later what is touched.
///
/// A page is locked when it is first touched and not when it is mapped (MCL_ONFAULT): otherwise every new thread would
/// take the whole of its stack, and a mapped sample library all of the memory. Code that is loaded is also read in, so
/// that the first run of a function does not wait for the disk.
///
/// Where RLIMIT_MEMLOCK limits the process, nothing is locked and EPERM returned: the limit would count every mapping
/// in full, and then refuse later allocations and the growth of stacks. Lift it (`ulimit -l unlimited`), or lock the
/// memory of the audio alone with `crender_lock_region`.
int crender_lock_memory(void);

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
/// @param period How long the cycle may take, in nanoseconds; 0 where nobody waits for it.
void crender_cycle_begins(uint64_t period);

/// Tells the watchdog that the calling thread has ended its cycle.
void crender_cycle_ends(void);

/// Marks, for the watchdog, what a cycle may do: the set-up of somebody else's audio thread, waiting for a disk offline.
void crender_permitted_begins(void);
/// The end of that.
void crender_permitted_ends(void);

// MARK: - Threads that help

/// How many processors the calling thread may run on: 1 or more.
int crender_processor_count(void);

/// Tells the processor that the thread waits in a loop for another one.
static inline void crender_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/// Sleeps until somebody wakes whoever waits for this word; not at all if the word is not `expected` any more. May return
/// without a reason. A system call (futex).
void crender_wait(const void *_Nonnull word, uint32_t expected);

/// Wakes at most so many threads that wait for a word. A system call that does not wait (futex).
void crender_wake(const void *_Nonnull word, int threads);

// MARK: - Ctrl-C

/// Has SIGINT and SIGTERM noted instead of ending the process; one that is ignored stays ignored. Not to be nested, nor
/// called by two threads at once.
///
/// @return A descriptor that can be read when one has come; -1 where there is none.
int crender_catch_interruptions(void);

/// Whether one has come since the last call.
bool crender_take_interruption(void);

/// Gives the signals the effect that they had before.
void crender_release_interruptions(void);

// MARK: - Kernels
//
// The inner loops of the engine, for the processor that runs them: AVX-512 or AVX2 where there is one, else what the compiler
// makes of plain C. All forms give the same bits. None keeps anything, allocates or waits; where two pointers are given their
// memory does not overlap. Swift calls them through `Kernel` of RenderCore.

#ifdef __swift__
#define CRENDER_KERNEL __attribute__((swift_attr("@_noLocks"))) __attribute__((swift_attr("@_noAllocation")))
#else
#define CRENDER_KERNEL
#endif

/// Takes the kernels for vectors of four numbers (0: SSE2), eight (1: AVX2) or sixteen (2: AVX-512): for tests and
/// measurements. Not while any is running.
///
/// @return Which are taken: fewer where the processor has no more.
int crender_use_vectors(int wanted);

/// `target = source`.
CRENDER_KERNEL void crender_copy(float *_Nonnull target, const float *_Nonnull source, size_t count);

/// `sum += a`.
CRENDER_KERNEL void crender_add(float *_Nonnull sum, const float *_Nonnull a, size_t count);

/// `sum = ((sum + a) + b) + c`.
CRENDER_KERNEL void crender_add_three(
    float *_Nonnull sum, const float *_Nonnull a, const float *_Nonnull b, const float *_Nonnull c, size_t count);

/// `sum += a * gain`.
CRENDER_KERNEL void crender_add_scaled(float *_Nonnull sum, const float *_Nonnull a, float gain, size_t count);

/// `samples *= gain`.
CRENDER_KERNEL void crender_scale(float *_Nonnull samples, float gain, size_t count);

/// `samples = value`.
CRENDER_KERNEL void crender_fill(float *_Nonnull samples, float value, size_t count);

/// A channel onto two: `right = left * rightGain`, `left *= leftGain`.
CRENDER_KERNEL void crender_spread(
    float *_Nonnull left, float *_Nonnull right, float leftGain, float rightGain, size_t count);

/// Integers as samples: 32,768 is full scale.
CRENDER_KERNEL void crender_from_int16(const int16_t *_Nonnull integers, float *_Nonnull samples, size_t count);

/// Samples as integers, rounded to the nearest and clipped.
///
/// @return How many were outside of -1...1 or no numbers.
CRENDER_KERNEL size_t crender_to_int16(const float *_Nonnull samples, int16_t *_Nonnull integers, size_t count);

/// Integers whose two channels take turns.
CRENDER_KERNEL void crender_from_int16_pairs(
    const int16_t *_Nonnull pairs, float *_Nonnull left, float *_Nonnull right, size_t count);

/// The same, into integers.
CRENDER_KERNEL size_t crender_to_int16_pairs(
    const float *_Nonnull left, const float *_Nonnull right, int16_t *_Nonnull pairs, size_t count);

/// One frame of a resampler: taps from groups of 32 coefficients, weighed with as many samples.
CRENDER_KERNEL float crender_resample(
    const float *_Nonnull table, size_t groups, float place, const float *_Nonnull samples);

/// One frame of two channels.
CRENDER_KERNEL void crender_resample_pair(
    const float *_Nonnull table, size_t groups, float place, const float *_Nonnull left, const float *_Nonnull right,
    float *_Nonnull pair);

/// The taps alone, for more channels.
CRENDER_KERNEL void crender_taps(const float *_Nonnull table, size_t groups, float place, float *_Nonnull taps);

/// One frame of one channel, with the taps at hand.
CRENDER_KERNEL float crender_weigh(const float *_Nonnull taps, size_t groups, const float *_Nonnull samples);

/// The same of two channels.
CRENDER_KERNEL void crender_weigh_pair(
    const float *_Nonnull taps, size_t groups, const float *_Nonnull left, const float *_Nonnull right,
    float *_Nonnull pair);

/// A sine. Phase and step count 2^64 to the turn.
CRENDER_KERNEL void crender_sine(uint64_t phase, uint64_t step, float level, float *_Nonnull samples, size_t count);

/// Whether no sample is infinite, and none is no number.
CRENDER_KERNEL bool crender_is_finite(const float *_Nonnull samples, size_t count);

/// Weighted sums of neighbours: `output[i]` is the sum of `weights[t] * past[i + taps - 1 - t]`.
CRENDER_KERNEL void crender_combine(
    const float *_Nonnull weights, size_t taps, const float *_Nonnull past, float *_Nonnull output, size_t count);

/// The loop of a delay: `samples` becomes the mix of itself and the echo, `line` what goes round.
///
/// @param round The echo as it has passed the loop's filter.
CRENDER_KERNEL void crender_feed(
    const float *_Nonnull echo, const float *_Nonnull round, const float *_Nonnull feedback, const float *_Nonnull mix,
    float *_Nonnull samples, float *_Nonnull line, size_t count);

/// A second-order filter at rest, in place, by blocks of eight frames.
///
/// @param numbers 48 of them: four zeros, the impulse response, the eight answers to `u` and to `w`, the eight effects
///     on `u` and on `w`, and what the state becomes of itself.
/// @param u The state at the start of the block that the first frame lies in, and `w`.
/// @param pending The frames of that block which were filtered before; the rest of it is room for what follows.
/// @param pendingCount How many those are: 0…7. The caller counts on.
CRENDER_KERNEL void crender_filter(
    const double *_Nonnull numbers, double *_Nonnull u, double *_Nonnull w, float *_Nonnull pending,
    size_t pendingCount, float *_Nonnull samples, size_t count);

/// The same for eight channels with the same numbers: eight states, eight times eight pending frames, and eight places,
/// `offset` frames behind those in the table.
CRENDER_KERNEL void crender_filter_eight(
    const double *_Nonnull numbers, double *_Nonnull u, double *_Nonnull w, float *_Nonnull pending,
    size_t pendingCount, float *_Nonnull const *_Nonnull channels, size_t offset, size_t count);

/// Voices in one of the structures below.
enum { crender_lanes = 16 };

/// Sixteen voices: the state of their filters, `tan(πf / rate)` and `1 / Q`, their gains, phase and step (2^32 to the turn).
/// Where they are on their way, the numbers are those at the end of it.
struct crender_voices {
    double u[crender_lanes], w[crender_lanes], g[crender_lanes], k[crender_lanes];
    float left[crender_lanes], right[crender_lanes];
    uint32_t phase[crender_lanes], step[crender_lanes];
    /// Of one to four steps, unless the steps are new.
    float cosines[4][crender_lanes], sines[4][crender_lanes];
    int32_t isTurned;
};

/// What one voice is made of.
struct crender_voice {
    double g, k;
    float left, right;
    uint32_t step;
};

/// Where sixteen voices come from, how they change in each frame, when that began and how long it takes.
struct crender_voice_glides {
    double g[crender_lanes], gSlope[crender_lanes], k[crender_lanes], kSlope[crender_lanes];
    float left[crender_lanes], leftSlope[crender_lanes], right[crender_lanes], rightSlope[crender_lanes];
    uint32_t step[crender_lanes], stepSlope[crender_lanes];
    int32_t begin[crender_lanes], length[crender_lanes];
};

/// Renders voices: each a sine through its band-pass, on two channels.
///
/// @param ends For each sixteen when the last of their glides is over.
/// @param start When the first frame is: counts as `begin` and `ends` do, and is less than 2^23. Filters that have faded are
///     emptied where it is a multiple of 64.
/// @param lanes Room for 16 numbers a frame.
CRENDER_KERNEL void crender_voices(
    struct crender_voices *_Nonnull voices, const struct crender_voice_glides *_Nonnull glides,
    const int32_t *_Nonnull ends, size_t groups, int32_t start, float *_Nonnull left, float *_Nonnull right,
    float *_Nonnull lanes, size_t count);

/// Gives a voice other numbers at once.
CRENDER_KERNEL void crender_voice_put(
    struct crender_voices *_Nonnull voices, struct crender_voice_glides *_Nonnull glides, size_t voice,
    struct crender_voice numbers);

/// Lets a voice glide to other numbers from wherever it is, unless it has them or is on its way there.
CRENDER_KERNEL void crender_voice_glide(
    struct crender_voices *_Nonnull voices, struct crender_voice_glides *_Nonnull glides, int32_t *_Nonnull ends,
    size_t voice, struct crender_voice numbers, int32_t now, int32_t frames);

/// Begins all turns anew, empties the filters and ends the glides.
CRENDER_KERNEL void crender_voices_reset(
    struct crender_voices *_Nonnull voices, struct crender_voice_glides *_Nonnull glides, int32_t *_Nonnull ends,
    size_t groups);

/// Makes `now` the moment that is counted from.
CRENDER_KERNEL void crender_voices_turn_back(
    struct crender_voice_glides *_Nonnull glides, int32_t *_Nonnull ends, size_t groups, int32_t now);

/// A fixed ratio of sample rates: see KernelsFiles.c.
struct crender_ratio {
    /// `up` rows of taps. Before the first of them, and behind each, 16 zeros.
    const float *_Nonnull table;
    /// Taps in a row, and numbers from a row to the next: 16 more.
    size_t taps, stride;
    /// `up` output frames come from `down` input frames.
    size_t up, down;
    /// A sixteenth of what is computed at once, a multiple of `up` and of 8; and of the input that goes with it.
    size_t rows, advance;
    /// Frames of the input that a sixteenth looks at: at least `advance + taps + 16`.
    size_t columns;
};

/// Sixteen times `rows` frames of one channel, and the first lies `taps / 2 - 1` frames behind the first sample.
///
/// @param samples `15 * advance + columns` of them.
/// @param scratch Room for `16 * (columns + rows)` numbers, aligned to 64 bytes.
CRENDER_KERNEL void crender_resample_fixed(
    const struct crender_ratio *_Nonnull ratio, const float *_Nonnull samples, float *_Nonnull scratch,
    float *_Nonnull output);

/// Has the processor fetch memory that is soon to be read.
CRENDER_KERNEL static inline void crender_prefetch(const void *_Nonnull address) { __builtin_prefetch(address, 0, 3); }

// MARK: - Names

/// Gives the calling thread a name of at most 15 characters, for `top -H`, gdb and the watchdog.
void crender_name_thread(const char *_Nonnull name);

#ifdef __cplusplus
}
#endif

#endif
