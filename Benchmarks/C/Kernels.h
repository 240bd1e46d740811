// The kernels, once for each instruction set: the including file has chosen it, and defines NAME(x).
//
// Vectors of eight floats: two SSE registers or one of AVX. Loops that a compiler vectorises by itself are left to it.

#include "Types.h"

// Vectors are handed to functions that are inlined only.
#pragma clang diagnostic ignored "-Wpsabi"

typedef float f8 __attribute__((vector_size(32)));
typedef int32_t i8 __attribute__((vector_size(32)));
typedef uint32_t u8 __attribute__((vector_size(32)));
typedef float f8u __attribute__((vector_size(32), aligned(4)));
typedef int16_t s8 __attribute__((vector_size(16), aligned(2)));

// The number in which filters compute: float, if the file does not say double.
#ifndef REAL
#define REAL float
#endif
typedef REAL NAME(r8) __attribute__((vector_size(8 * sizeof(REAL))));

#define LOAD(p) (*(const f8u *)(p))
#define STORE(p, v) (*(f8u *)(p) = (v))
#define ALL(x) ((f8){} + (float)(x))

static void NAME(mix_add)(float *restrict into, const float *restrict from, int frames) {
    for (int i = 0; i < frames; i++) into[i] += from[i];
}

static void NAME(mix_four)(float *restrict into, const float *const from[4], int frames) {
    const float *a = from[0], *b = from[1], *c = from[2], *d = from[3];
    for (int i = 0; i + 8 <= frames; i += 8) STORE(into + i, (LOAD(a + i) + LOAD(b + i)) + (LOAD(c + i) + LOAD(d + i)));
    for (int i = frames & ~7; i < frames; i++) into[i] = a[i] + b[i] + c[i] + d[i];
}

static void NAME(from_int16)(const int16_t *restrict from, float *restrict into, int frames) {
    for (int i = 0; i < frames; i++) into[i] = (float)from[i] * 0x1p-15f;
}

static int NAME(to_int16)(const float *restrict from, int16_t *restrict into, int frames) {
    int fine = 0;
    for (int i = 0; i < frames; i++) {
        float x = from[i] * 32768.0f;
        float held = x < 32767.0f ? x : 32767.0f;
        held = held > -32768.0f ? held : -32768.0f;
        fine += x < 32767.5f && x > -32768.5f;
        // The nearest whole number, by the sum with a large one.
        into[i] = (int16_t)(int)((held + 12582912.0f) - 12582912.0f);
    }
    return frames - fine;
}

// Eight outputs at once: each is a weighted sum of the eight inputs and of two inputs and two outputs before them.
static void NAME(bandpass)(struct bench_bandpass filter, void *memory, float *samples, int frames) {
    REAL *state = memory;
    REAL b0 = filter.b0, a1 = filter.a1, a2 = filter.a2;
    REAL h[8];
    NAME(r8) columns[12];
    REAL y1 = 0, y2 = 0;
    for (int n = 0; n < 8; n++) {
        REAL x = n == 0 ? b0 : n == 2 ? -b0 : 0;
        h[n] = x - a1 * y1 - a2 * y2;
        y2 = y1;
        y1 = h[n];
    }
    for (int column = 0; column < 8; column++) {
        for (int n = 0; n < 8; n++) columns[column][n] = n >= column ? h[n - column] : 0;
    }
    // Answers to x[-1], x[-2], y[-1], y[-2] alone.
    for (int kind = 0; kind < 4; kind++) {
        REAL x[2] = {kind == 0, kind == 1};
        REAL y[2] = {kind == 2, kind == 3};
        for (int n = 0; n < 8; n++) {
            REAL in = n == 0 ? -b0 * x[1] : n == 1 ? -b0 * x[0] : 0;
            REAL out = in - a1 * y[0] - a2 * y[1];
            columns[8 + kind][n] = out;
            y[1] = y[0];
            y[0] = out;
        }
    }
    REAL x1 = state[0], x2 = state[1];
    y1 = state[2];
    y2 = state[3];
    int i = 0;
    for (; i + 8 <= frames; i += 8) {
        float *s = samples + i;
        NAME(r8) a = columns[0] * (REAL)s[0] + columns[1] * (REAL)s[1];
        NAME(r8) b = columns[2] * (REAL)s[2] + columns[3] * (REAL)s[3];
        a += columns[4] * (REAL)s[4] + columns[5] * (REAL)s[5];
        b += columns[6] * (REAL)s[6] + columns[7] * (REAL)s[7];
        a += columns[8] * x1 + columns[9] * x2;
        x1 = s[7];
        x2 = s[6];
        NAME(r8) y = (a + b) + (columns[10] * y1 + columns[11] * y2);
        STORE(s, __builtin_convertvector(y, f8));
        y1 = y[7];
        y2 = y[6];
    }
    for (; i < frames; i++) {
        REAL x = samples[i];
        REAL y = b0 * (x - x2) - a1 * y1 - a2 * y2;
        x2 = x1;
        x1 = x;
        y2 = y1;
        y1 = y;
        samples[i] = y;
    }
    state[0] = x1;
    state[1] = x2;
    state[2] = y1;
    state[3] = y2;
}

__attribute__((always_inline)) static inline void NAME(transpose)(f8 r[8]) {
    f8 t[8];
    for (int i = 0; i < 4; i++) {
        t[2 * i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        t[2 * i + 1] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    f8 u[8];
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            u[4 * i + j] = __builtin_shufflevector(t[4 * i + j], t[4 * i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            u[4 * i + j + 2] = __builtin_shufflevector(t[4 * i + j], t[4 * i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
    for (int i = 0; i < 4; i++) {
        r[i] = __builtin_shufflevector(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = __builtin_shufflevector(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

static void NAME(bandpass_eight)(struct bench_bandpass filter, void *memory, float *const samples[8], int frames) {
    NAME(r8) *state = memory;
    NAME(r8) s1 = state[0], s2 = state[1];
    REAL b0 = filter.b0, a1 = -filter.a1, a2 = -filter.a2;
    for (int i = 0; i + 8 <= frames; i += 8) {
        f8 r[8];
        for (int c = 0; c < 8; c++) r[c] = LOAD(samples[c] + i);
        NAME(transpose)(r);
        for (int n = 0; n < 8; n++) {
            NAME(r8) in = b0 * __builtin_convertvector(r[n], NAME(r8));
            NAME(r8) y = in + s1;
            s1 = a1 * y + s2;
            s2 = a2 * y - in;
            r[n] = __builtin_convertvector(y, f8);
        }
        NAME(transpose)(r);
        for (int c = 0; c < 8; c++) STORE(samples[c] + i, r[c]);
    }
    state[0] = s1;
    state[1] = s2;
}

static void NAME(combine)(const float weights[16], const float *from, float *restrict into, int frames) {
    int i = 0;
    for (; i + 16 <= frames; i += 16) {
        f8 a = {}, b = {};
        for (int tap = 0; tap < 16; tap++) {
            a += weights[tap] * LOAD(from + i + 15 - tap);
            b += weights[tap] * LOAD(from + i + 23 - tap);
        }
        STORE(into + i, a);
        STORE(into + i + 8, b);
    }
    for (; i < frames; i++) {
        float sum = 0;
        for (int tap = 0; tap < 16; tap++) sum += weights[tap] * from[i + 15 - tap];
        into[i] = sum;
    }
}

// The sine of a phase of 2^32 to the turn. The phase is folded onto a quarter turn either side of 0 (x in -1…1); the
// polynomial's coefficients are fitted to the smallest error, 3e-9; with floats it is 1e-7.
__attribute__((always_inline)) static inline f8 NAME(sine_of)(u8 phase) {
    i8 whole = (i8)phase;
    // Beyond a quarter turn: half a turn minus it.
    i8 other = (i8)(0x80000000u - phase);
    i8 beyond = (whole ^ (whole + whole)) >> 31;
    i8 folded = (other & beyond) | (whole & ~beyond);
    f8 x = __builtin_convertvector(folded, f8) * 0x1p-30f;
    f8 z = x * x;
    f8 p = z * 0.000150820554f + -0.0046722279f;
    p = z * p + 0.0796884805f;
    p = z * p + -0.64596336f;
    p = z * p + 1.57079629f;
    return x * p;
}

static uint32_t NAME(sine)(uint32_t phase, uint32_t step, float level, float *into, int frames) {
    u8 at = {0, 1, 2, 3, 4, 5, 6, 7};
    at = at * step + phase;
    int i = 0;
    for (; i + 8 <= frames; i += 8) {
        STORE(into + i, NAME(sine_of)(at) * level);
        at += step * 8;
    }
    if (i < frames) {
        f8 rest = NAME(sine_of)(at) * level;
        for (int n = 0; i + n < frames; n++) into[i + n] = rest[n];
    }
    return phase + step * (uint32_t)frames;
}

static void NAME(voices)(struct bench_bank *bank, float *restrict left, float *restrict right, int frames) {
    for (int i = 0; i < frames; i++) left[i] = right[i] = 0;
    float *restrict buffer = bank->scratch;
    for (int v = 0; v < bank->count; v++) {
        const struct bench_voice *voice = bank->voices + v;
        bank->phases[v] = NAME(sine)(bank->phases[v], voice->step, voice->level, buffer, frames);
        NAME(bandpass)(voice->filter, bank->states[v], buffer, frames);
        float l = voice->left, r = voice->right;
        for (int i = 0; i < frames; i++) {
            left[i] += l * buffer[i];
            right[i] += r * buffer[i];
        }
    }
}

static void NAME(bank)(struct bench_bank *bank, float *left, float *right, int frames) {
    // A sum in lanes for each frame; added across at the end, once for all voices.
    f8 *restrict l = (f8 *)bank->scratch, *restrict r = l + frames;
    for (int i = 0; i < frames; i++) l[i] = r[i] = (f8){};
    for (int group = 0; group * 8 < bank->count; group++) {
        float *lanes = bank->lanes + group * 8 * lane_kinds;
        u8 phase = *(u8 *)(bank->lane_phases + group * 8), step = *(u8 *)(bank->lane_steps + group * 8);
        f8 level = LOAD(lanes + 8 * lane_level) * LOAD(lanes + 8 * lane_b0);
        f8 gl = LOAD(lanes + 8 * lane_left), gr = LOAD(lanes + 8 * lane_right);
        f8 a1 = -LOAD(lanes + 8 * lane_a1), a2 = -LOAD(lanes + 8 * lane_a2);
        f8 s1 = LOAD(lanes + 8 * lane_s1), s2 = LOAD(lanes + 8 * lane_s2);
        for (int i = 0; i < frames; i++) {
            f8 in = NAME(sine_of)(phase) * level;
            phase += step;
            f8 y = in + s1;
            s1 = a1 * y + s2;
            s2 = a2 * y - in;
            l[i] += gl * y;
            r[i] += gr * y;
        }
        *(u8 *)(bank->lane_phases + group * 8) = phase;
        STORE(lanes + 8 * lane_s1, s1);
        STORE(lanes + 8 * lane_s2, s2);
    }
    for (int i = 0; i < frames; i++) {
        f8 a = l[i], b = r[i];
        left[i] = ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
        right[i] = ((b[0] + b[1]) + (b[2] + b[3])) + ((b[4] + b[5]) + (b[6] + b[7]));
    }
}

// Calls that a compiler may not look through: a module is one.
__attribute__((noinline)) static void NAME(gain)(float gain, float *samples, int frames) {
    for (int i = 0; i < frames; i++) samples[i] *= gain;
}

static void NAME(gains)(const float *gains, int count, float *samples, int frames) {
    void (*volatile call)(float, float *, int) = NAME(gain);
    for (int n = 0; n < count; n++) call(gains[n], samples, frames);
}

__attribute__((noinline)) static void NAME(constant)(float value, float *samples, int frames) {
    for (int i = 0; i < frames; i++) samples[i] = value;
}

static void NAME(sources)(const float *values, int count, float *restrict buffer, float *restrict sum, int frames) {
    void (*volatile call)(float, float *, int) = NAME(constant);
    for (int i = 0; i < frames; i++) sum[i] = 0;
    for (int n = 0; n < count; n++) {
        call(values[n], buffer, frames);
        for (int i = 0; i < frames; i++) sum[i] += buffer[i];
    }
}

static void NAME(flow)(struct bench_flow *flow, const int16_t *const from[3], int16_t *into, int frames) {
    float *restrict a = flow->scratch, *restrict b = a + frames;
    int16_t *restrict out = into;
    for (int channel = 0; channel < 2; channel++) {
        const int16_t *first = from[0] + channel, *second = from[1] + channel, *third = from[2] + channel;
        for (int i = 0; i < frames; i++) a[i] = (float)first[2 * i] * 0x1p-15f;
        for (int i = 0; i < frames; i++) b[i] = ((float)second[2 * i] + (float)third[2 * i]) * 0x1p-15f;
        NAME(bandpass)(flow->filter, flow->states[channel], a, frames);
        float *restrict line = flow->line[channel];
        int position = flow->position, done = 0;
        while (done < frames) {
            int count = flow->delay - position;
            if (count > frames - done) count = frames - done;
            float feedback = flow->feedback, wet = flow->mix, dry = 1 - flow->mix;
            for (int i = 0; i < count; i++) {
                float old = line[position + i], x = b[done + i];
                line[position + i] = x + feedback * old;
                a[done + i] += dry * x + wet * old;
            }
            done += count;
            position = position + count == flow->delay ? 0 : position + count;
        }
        if (channel == 1) flow->position = position;
        for (int i = 0; i < frames; i++) {
            float x = a[i] * 32768.0f;
            x = x < 32767.0f ? x : 32767.0f;
            x = x > -32768.0f ? x : -32768.0f;
            out[2 * i + channel] = (int16_t)(int)((x + 12582912.0f) - 12582912.0f);
        }
    }
}

static void NAME(echo)(struct bench_echo *echo, float *samples, int frames) {
    float *restrict line = echo->line, *restrict wet = echo->scratch;
    int first = (echo->position - echo->whole - 8) & (echo_length - 1);
    NAME(combine)(echo->weights, line + first, wet, frames);
    int position = echo->position;
    float feedback = echo->feedback, mix = echo->mix, dry = 1 - mix;
    int part = echo_length - position < frames ? echo_length - position : frames;
    for (int half = 0; half < 2; half++) {
        int from = half ? part : 0, to = half ? frames : part;
        float *restrict a = line + (half ? -part : position), *restrict b = a + echo_length;
        for (int i = from; i < to; i++) {
            float x = samples[i], old = wet[i];
            a[i] = b[i] = x + feedback * old;
            samples[i] = dry * x + mix * old;
        }
    }
    echo->position = (position + frames) & (echo_length - 1);
}

__attribute__((always_inline)) static inline float NAME(across)(f8 a) { return ((a[0] + a[4]) + (a[1] + a[5])) + ((a[2] + a[6]) + (a[3] + a[7])); }

static int NAME(resample)(
    struct bench_resampler *resampler, const float *const from[2], float *const into[2], int frames) {
    uint64_t position = resampler->position;
    int start = (int)(position >> 32);
    for (int i = 0; i < frames; i++) {
        const float *l = from[0] + (position >> 32) - start, *r = from[1] + (position >> 32) - start;
        uint32_t fraction = (uint32_t)position;
        const float *row = resampler->table + (fraction >> 21) * resampler_taps;
        f8 part = ALL((float)(fraction & 0x1fffff) * 0x1p-21f);
        f8 a = {}, b = {}, c = {}, d = {};
        for (int tap = 0; tap < resampler_taps; tap += 16) {
            f8 low = LOAD(row + tap), high = LOAD(row + tap + 8);
            low += part * (LOAD(row + tap + resampler_taps) - low);
            high += part * (LOAD(row + tap + 8 + resampler_taps) - high);
            a += low * LOAD(l + tap);
            b += low * LOAD(r + tap);
            c += high * LOAD(l + tap + 8);
            d += high * LOAD(r + tap + 8);
        }
        into[0][i] = NAME(across)(a + c);
        into[1][i] = NAME(across)(b + d);
        position += resampler->step;
    }
    int used = (int)(position >> 32) - start;
    resampler->position = position;
    return used;
}

static const struct bench_kernels NAME(table) = {
    BENCH_NAME, NAME(mix_add), NAME(mix_four), NAME(from_int16), NAME(to_int16), NAME(bandpass), NAME(bandpass_eight),
    NAME(combine), NAME(sine), NAME(voices), NAME(bank), NAME(gains), NAME(sources), NAME(flow), NAME(echo), NAME(resample),
};
