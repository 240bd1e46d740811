#include "Dispatch.h"

// Sixteen voices at once, one in each lane: a sine, its own band-pass, its place between left and right.
//
// Frames come in blocks of eight, which begin where the clock is a multiple of eight. At rest all that a block sounds like, and
// the filter's state behind it, follows from four numbers: the sine and the cosine of the block's fifth frame, and the two
// numbers of the state before it. Each frame is a sum of these four, weighted by numbers that are reckoned once, when the voice
// comes to rest. So no frame waits for the one before it. The state stands at the beginning of the block until the block is over.
//
// The state is in double precision: in single precision a narrow band at 20 Hz would have its noise at -100 dB (at 192 kHz,
// -78). The weighted sums are in single precision, since their rounding does not come back. Voices whose numbers move take the
// slower way: every frame gets numbers of its own, reckoned from the start of the glide, and the state stands at the frame. The
// way of a frame depends on its block and on the glide, so that the bits do not depend on how frames are cut.

INLINE u16 load_words(const uint32_t *p) {
    u16 v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

INLINE void store_words(uint32_t *p, u16 v) { __builtin_memcpy(p, &v, sizeof v); }

// Minimax of the same interval: 2e-8, with the rounding 1e-7.
INLINE f16 cosine_at(f16 z, u16 half) {
    f16 p = z * 0.00085923129f + -0.020813504f;
    p = p * z + 0.253653182f;
    p = p * z + -1.23369889f;
    return (f16)((u16)(1 + p * z) ^ half);
}

INLINE f16 voice_sine(u16 phase) {
    u16 half;
    f16 q = quarter(phase, &half);
    return sine_at(q, q * q, half);
}

INLINE f16 voice_cosine(u16 phase) {
    u16 half;
    f16 q = quarter(phase, &half);
    return cosine_at(q * q, half);
}

// The coefficients of eight filters. The factor 1 / 2Q of their output goes into the weights, or, of voices that move, into the
// gains.
struct numbers {
    d8 g, drive, rest;
};

INLINE struct numbers numbers_of(d8 g, d8 k) {
    d8 rest = 2 / (1 + g * (g + k));
    return (struct numbers){g, g * rest, rest};
}

// The two integrators of `FilterCoefficients`, as u + u' = rest u + drive (x - w): four sums a frame, and the way from one
// frame to the next as short as with more of them.
INLINE d8 band_pass(d8 x, const struct numbers *n, d8 *u, d8 *w) {
    d8 y = (n->rest * *u + n->drive * x) - n->drive * *w;
    *u = y - *u;
    *w += n->g * y;
    return y;
}

INLINE f8 band_pass_of(f8 x, const struct numbers *n, d8 *u, d8 *w) {
    return __builtin_convertvector(band_pass(__builtin_convertvector(x, d8), n, u, w), f8);
}

// The lanes of the first half, or of the second one.
INLINE f8 eight(f16 v, int at) { return at == 0 ? low8(v) : high8(v); }

INLINE d8 unless_tiny(d8 v) { return (d8)((l8)v & ((v > 1e-30) | (v < -1e-30))); }

INLINE void add_lanes(float *lanes, f8 one, f8 two) { store8(lanes, load8(lanes) + (one + two)); }

// States that are too small to be heard become zero: no arithmetic on denormal numbers, of single precision either.
INLINE void end(double *p) { store8d(p, unless_tiny(load8d(p))); }

// Lets each of the four numbers alone be 1 at the beginning of a block, and keeps what comes of it.
INLINE void make_weights(struct kernel_voices *v) {
    u16 step = load_words(v->step);
    f16 cosines[8], sines[8];
    for (uint32_t frame = 0; frame < 8; frame++) {
        cosines[frame] = voice_cosine(step * (frame - 4));
        sines[frame] = voice_sine(step * (frame - 4));
    }
    for (int at = 0; at < 16; at += 8) {
        d8 k = load8d(v->k + at);
        struct numbers n = numbers_of(load8d(v->g + at), k);
        for (int number = 0; number < 4; number++) {
            d8 u = {}, w = {};
            if (number == 2) u += 1;
            if (number == 3) w += 1;
            for (int frame = 0; frame < 8; frame++) {
                f16 x = number == 0 ? cosines[frame] : number == 1 ? sines[frame] : (f16){};
                d8 y = band_pass(__builtin_convertvector(eight(x, at), d8), &n, &u, &w);
                store8(v->weights[frame][number] + at, __builtin_convertvector(unless_tiny(0.5 * k * y), f8));
            }
            u = unless_tiny(u);
            w = unless_tiny(w);
            if (number < 2) {
                store8(v->inputs[0][number] + at, __builtin_convertvector(u, f8));
                store8(v->inputs[1][number] + at, __builtin_convertvector(w, f8));
            } else {
                store8d(v->states[0][number - 2] + at, u);
                store8d(v->states[1][number - 2] + at, w);
            }
        }
    }
    v->isNew = 0;
}

// The state behind a block.
INLINE void step_over(struct kernel_voices *v, f16 s, f16 c) {
    f16 toU = s * load16(v->inputs[0][0]) + c * load16(v->inputs[0][1]);
    f16 toW = s * load16(v->inputs[1][0]) + c * load16(v->inputs[1][1]);
    for (int at = 0; at < 16; at += 8) {
        d8 u = load8d(v->u + at), w = load8d(v->w + at);
        store8d(v->u + at, (u * load8d(v->states[0][0] + at) + w * load8d(v->states[0][1] + at))
            + __builtin_convertvector(eight(toU, at), d8));
        store8d(v->w + at, (u * load8d(v->states[1][0] + at) + w * load8d(v->states[1][1] + at))
            + __builtin_convertvector(eight(toW, at), d8));
    }
}

INLINE f16 single(const double *p) {
    f8 a = __builtin_convertvector(load8d(p), f8), b = __builtin_convertvector(load8d(p + 8), f8);
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

INLINE void add_frame(const float weights[4][kernel_lanes], f16 s, f16 c, f16 u, f16 w, f16 gl, f16 gr, float *left, float *right) {
    f16 y = (s * load16(weights[0]) + c * load16(weights[1])) + (u * load16(weights[2]) + w * load16(weights[3]));
    f16 l = y * gl, r = y * gr;
    add_lanes(left, low8(l), high8(l));
    add_lanes(right, low8(r), high8(r));
}

// Adds a group at rest.
INLINE void add_steady(struct kernel_voices *v, int32_t start, float *left, float *right, size_t count) {
    if (v->isNew) make_weights(v);
    u16 step = load_words(v->step);
    f16 gl = load16(v->left), gr = load16(v->right);
    size_t place = (size_t)start % 8;
    // The phase of the block's fifth frame; unsigned numbers wrap as turns do.
    u16 center = load_words(v->phase) + step * (4 - (uint32_t)place);
    for (size_t i = 0; i < count; place = 0, center += 8 * step) {
        u16 half;
        f16 q = quarter(center, &half), z = q * q, s = sine_at(q, z, half), c = cosine_at(z, half);
        f16 u = single(v->u), w = single(v->w);
        size_t end = count - i < 8 - place ? place + count - i : 8;
        for (size_t frame = place; frame < end; frame++, i++)
            add_frame(v->weights[frame], s, c, u, w, gl, gr, left + 8 * i, right + 8 * i);
        if (end == 8) step_over(v, s, c);
    }
    store_words(v->phase, load_words(v->phase) + step * (uint32_t)count);
}

// From `from` on, by `slope` a frame, until the glide is over.
INLINE d8 on_the_way(const double *from, const double *slope, const double *end, d8 position, d8 length) {
    l8 moves = position < length;
    d8 there = load8d(from) + load8d(slope) * position;
    return (d8)(((l8)there & moves) | ((l8)load8d(end) & ~moves));
}

INLINE f16 on_its_way(const float *from, const float *slope, const float *end, f16 position, f16 length) {
    i16 moves = position < length;
    f16 there = load16(from) + load16(slope) * position;
    return (f16)(((i16)there & moves) | ((i16)load16(end) & ~moves));
}

INLINE void add_moving(
    struct kernel_voices *v, const struct kernel_voice_glides *m, int32_t start, float *left, float *right,
    size_t count
) {
    u16 phase = load_words(v->phase), from = load_words(m->step), slope = load_words(m->stepSlope),
        end = load_words(v->step);
    d8 u = load8d(v->u), u2 = load8d(v->u + 8), w = load8d(v->w), w2 = load8d(v->w + 8);
    f16 begin = __builtin_convertvector((i16)load_words((const uint32_t *)m->begin), f16);
    f16 length = __builtin_convertvector((i16)load_words((const uint32_t *)m->length), f16);
    d8 d = __builtin_convertvector(low8(length), d8), d2 = __builtin_convertvector(high8(length), d8);
    for (size_t i = 0; i < count; i++) {
        // The place of each voice on its way. Whole numbers below 2²⁴: exact.
        f16 position = (float)(start + (int32_t)i) - begin;
        i16 moves = position < length;
        u16 passed = (u16)__builtin_convertvector(position, i16);
        u16 step = ((from + slope * passed) & (u16)moves) | (end & ~(u16)moves);
        d8 p = __builtin_convertvector(low8(position), d8), p2 = __builtin_convertvector(high8(position), d8);
        d8 k = on_the_way(m->k, m->kSlope, v->k, p, d), k2 = on_the_way(m->k + 8, m->kSlope + 8, v->k + 8, p2, d2);
        struct numbers n = numbers_of(on_the_way(m->g, m->gSlope, v->g, p, d), k);
        struct numbers n2 = numbers_of(on_the_way(m->g + 8, m->gSlope + 8, v->g + 8, p2, d2), k2);
        f16 l = on_its_way(m->left, m->leftSlope, v->left, position, length);
        f16 r = on_its_way(m->right, m->rightSlope, v->right, position, length);
        f8 h = 0.5f * __builtin_convertvector(k, f8), h2 = 0.5f * __builtin_convertvector(k2, f8);
        f16 x = voice_sine(phase);
        phase += step;
        f8 y = band_pass_of(low8(x), &n, &u, &w), y2 = band_pass_of(high8(x), &n2, &u2, &w2);
        add_lanes(left + 8 * i, y * (low8(l) * h), y2 * (high8(l) * h2));
        add_lanes(right + 8 * i, y * (low8(r) * h), y2 * (high8(r) * h2));
    }
    store_words(v->phase, phase);
    store8d(v->u, u);
    store8d(v->u + 8, u2);
    store8d(v->w, w);
    store8d(v->w + 8, w2);
}

// The sums of two frames' lanes, each half added to the other: four rows of eight become two, and so on.
INLINE f8 fold4(f8 a, f8 b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) + __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
}

INLINE f8 fold2(f8 a, f8 b) {
    return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13) + __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
}

INLINE f8 fold1(f8 a, f8 b) {
    return __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14) + __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
}

// The sum of the eight lanes of each frame.
INLINE void sum_lanes(const float *lanes, float *sums, size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const float *at = lanes + 8 * i;
        // Frames 0 and 4, 1 and 5, 2 and 6, 3 and 7, each in its half of a register.
        f8 a = fold4(load8(at), load8(at + 32)), b = fold4(load8(at + 8), load8(at + 40));
        f8 c = fold4(load8(at + 16), load8(at + 48)), d = fold4(load8(at + 24), load8(at + 56));
        // Each half: 0 0 2 2 and 1 1 3 3; then 0 1 2 3.
        store8(sums + i, fold1(fold2(a, c), fold2(b, d)));
    }
    for (; i < count; i++) {
        const float *l = lanes + 8 * i;
        sums[i] = ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
    }
}

// The number of frames of a group that take the slower way. The block in which the last glide ends is the last one of them.
INLINE size_t moving_part(int32_t end, int32_t start, size_t count) {
    int32_t moving = ((end + 7) & ~7) - start;
    return moving <= 0 ? 0 : (size_t)moving < count ? (size_t)moving : count;
}

INLINE void voices_body(
    struct kernel_voices *voices, const struct kernel_voice_glides *glides, const int32_t *ends, size_t groups,
    int32_t start, float *left, float *right, float *lanes, size_t count
) {
    float *rightLanes = lanes + 8 * count;
    for (size_t i = 0; i < 16 * count; i++) lanes[i] = 0;
    for (size_t group = 0; group < groups; group++) {
        struct kernel_voices *v = voices + group;
        if (start % 64 == 0) {
            end(v->u);
            end(v->u + 8);
            end(v->w);
            end(v->w + 8);
        }
        size_t part = moving_part(ends[group], start, count);
        if (part > 0) add_moving(v, glides + group, start, lanes, rightLanes, part);
        if (part < count)
            add_steady(v, start + (int32_t)part, lanes + 8 * part, rightLanes + 8 * part, count - part);
    }
    sum_lanes(lanes, left, count);
    sum_lanes(rightLanes, right, count);
}

WIDE_KERNEL(void, voices,
    (struct kernel_voices *voices, const struct kernel_voice_glides *glides, const int32_t *ends, size_t groups,
        int32_t start, float *left, float *right, float *lanes, size_t count),
    voices, glides, ends, groups, start, left, right, lanes, count)

// MARK: - Changes

void kernel_voice_put(
    struct kernel_voices *voices, struct kernel_voice_glides *glides, size_t voice, struct kernel_voice numbers
) {
    struct kernel_voices *v = voices + voice / kernel_lanes;
    size_t lane = voice % kernel_lanes;
    v->step[lane] = numbers.step;
    v->isNew = 1;
    v->g[lane] = numbers.g;
    v->k[lane] = numbers.k;
    v->left[lane] = numbers.left;
    v->right[lane] = numbers.right;
    glides[voice / kernel_lanes].length[lane] = 0;
}

// Returns the numbers of a voice on its way, as the kernel reckons them.
static struct kernel_voice place(
    const struct kernel_voices *v, const struct kernel_voice_glides *m, size_t lane, int32_t now
) {
    int32_t passed = now - m->begin[lane];
    if (passed >= m->length[lane])
        return (struct kernel_voice){v->g[lane], v->k[lane], v->left[lane], v->right[lane], v->step[lane]};
    return (struct kernel_voice){
        m->g[lane] + m->gSlope[lane] * passed, m->k[lane] + m->kSlope[lane] * passed,
        m->left[lane] + m->leftSlope[lane] * (float)passed, m->right[lane] + m->rightSlope[lane] * (float)passed,
        m->step[lane] + m->stepSlope[lane] * (uint32_t)passed};
}

// Brings the state of a group at rest from the beginning of the block to `now`; the rest of the block takes the slower way.
static void bring_to(int32_t now, struct kernel_voices *v) {
    u16 step = load_words(v->step), phase = load_words(v->phase);
    for (int at = 0; at < 16; at += 8) {
        d8 u = load8d(v->u + at), w = load8d(v->w + at);
        struct numbers n = numbers_of(load8d(v->g + at), load8d(v->k + at));
        for (uint32_t passed = (uint32_t)now % 8; passed > 0; passed--) {
            band_pass_of(eight(voice_sine(phase - step * passed), at), &n, &u, &w);
        }
        store8d(v->u + at, u);
        store8d(v->w + at, w);
    }
}

void kernel_voice_glide(
    struct kernel_voices *voices, struct kernel_voice_glides *glides, int32_t *ends, size_t voice,
    struct kernel_voice numbers, int32_t now, int32_t frames
) {
    struct kernel_voices *v = voices + voice / kernel_lanes;
    struct kernel_voice_glides *m = glides + voice / kernel_lanes;
    size_t lane = voice % kernel_lanes;
    if (v->step[lane] == numbers.step && v->g[lane] == numbers.g && v->k[lane] == numbers.k
        && v->left[lane] == numbers.left && v->right[lane] == numbers.right)
        return;
    int32_t *last = ends + voice / kernel_lanes;
    if (now % 8 != 0 && moving_part(*last, now, 1) == 0) bring_to(now, v);
    struct kernel_voice from = place(v, m, lane, now);
    kernel_voice_put(voices, glides, voice, numbers);
    if (frames < 0) frames = 0;
    if (*last < now + frames) *last = now + frames;
    if (frames == 0) return;
    m->step[lane] = from.step;
    m->stepSlope[lane] = (uint32_t)(((int64_t)numbers.step - (int64_t)from.step) / frames);
    m->g[lane] = from.g;
    m->gSlope[lane] = (numbers.g - from.g) / frames;
    m->k[lane] = from.k;
    m->kSlope[lane] = (numbers.k - from.k) / frames;
    m->left[lane] = from.left;
    m->leftSlope[lane] = (numbers.left - from.left) / (float)frames;
    m->right[lane] = from.right;
    m->rightSlope[lane] = (numbers.right - from.right) / (float)frames;
    m->begin[lane] = now;
    m->length[lane] = frames;
}

void kernel_voices_reset(
    struct kernel_voices *voices, struct kernel_voice_glides *glides, int32_t *ends, size_t groups
) {
    for (size_t group = 0; group < groups; group++) {
        for (int lane = 0; lane < kernel_lanes; lane++) {
            voices[group].u[lane] = voices[group].w[lane] = 0;
            voices[group].phase[lane] = 0;
            // The clock begins anew too: a glide that began later would be one to come, and its way would lead from far off.
            glides[group].begin[lane] = glides[group].length[lane] = 0;
        }
        ends[group] = 0;
    }
}

void kernel_voices_turn_back(struct kernel_voice_glides *glides, int32_t *ends, size_t groups, int32_t now) {
    for (size_t group = 0; group < groups; group++) {
        ends[group] = ends[group] > now ? ends[group] - now : 0;
        for (int lane = 0; lane < kernel_lanes; lane++) {
            int32_t begin = glides[group].begin[lane] - now, length = glides[group].length[lane];
            glides[group].begin[lane] = begin + length > 0 ? begin : 0;
            glides[group].length[lane] = begin + length > 0 ? length : 0;
        }
    }
}
