#include "Dispatch.h"

// The voices of a sampler: first each reads its sample, then eight at a time go through their filters and into the sums.
// Each lane's numbers depend on nothing but the frames of the voice, so that the bits are the same however they are cut.

// MARK: - Reading

// Copies frames of a sample that lie side by side, all inside of it.
INLINE void copy(const struct kernel_sampler_source *s, int64_t first, float *out, int64_t count) {
    if (s->floats) {
        __builtin_memcpy(out, s->floats + first, (size_t)count * sizeof *out);
        return;
    }
    const int16_t *words = s->words + first;
    if (s->low) {
        const uint8_t *low = s->low + first;
        for (int64_t i = 0; i < count; i++) out[i] = (float)(words[i] * 256 + low[i]) * 0x1p-23f;
        return;
    }
    for (int64_t i = 0; i < count; i++) out[i] = (float)words[i] * 0x1p-15f;
}

// Copies frames of a longer sample out of its ring; what has not come is silent.
INLINE int64_t copy_ring(const struct kernel_sampler_source *s, int64_t first, float *out, int64_t count) {
    int64_t missing = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t frame = first + i;
        int come = frame < s->written && frame > s->written - s->mask - 1;
        out[i] = come ? (float)s->ring[frame & s->mask] * 0x1p-15f : 0;
        missing += !come;
    }
    return missing;
}

// Fills the window with the frames from `first` on, as the voice goes through them.
INLINE int64_t fill(
    const struct kernel_sampler_source *s, const struct kernel_sampler_place *p, int64_t first, float *out, int64_t count
) {
    int64_t length = s->loopEnd - s->loopStart, missing = 0;
    // The neighbours before the loop's first frame are those at its end.
    if (p->loops && p->hasLooped && first < s->loopStart) first += (s->loopStart - first + length - 1) / length * length;
    while (count > 0) {
        int64_t end = s->end;
        if (p->loops) {
            if (first >= s->loopEnd) first = s->loopStart + (first - s->loopStart) % length;
            end = s->loopEnd;
        }
        int64_t run;
        if (first < 0) {
            // Before its beginning the sample is as at its first frame.
            run = -first < count ? -first : count;
            float value = 0;
            if (s->end > 0 && (!s->ring || s->resident > 0)) copy(s, 0, &value, 1);
            for (int64_t i = 0; i < run; i++) out[i] = value;
        } else if (first >= end) {
            run = count;
            for (int64_t i = 0; i < run; i++) out[i] = 0;
        } else {
            run = end - first < count ? end - first : count;
            if (s->ring && first >= s->resident) {
                missing += copy_ring(s, first, out, run);
            } else {
                if (s->ring && s->resident - first < run) run = s->resident - first;
                copy(s, first, out, run);
            }
        }
        out += run;
        first += run;
        count -= run;
    }
    return missing;
}

INLINE f4 load4(const float *p) {
    f4 v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

// Four frames by the polynomial of Catmull and Rom, from four neighbours each.
INLINE f4 cubic(f4 a, f4 b, f4 c, f4 d, f4 t) {
    f4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    f4 AB = __builtin_shufflevector(a, b, 2, 6, 3, 7), CD = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    f4 x0 = __builtin_shufflevector(ab, cd, 0, 1, 4, 5), x1 = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    f4 x2 = __builtin_shufflevector(AB, CD, 0, 1, 4, 5), x3 = __builtin_shufflevector(AB, CD, 2, 3, 6, 7);
    f4 c1 = x2 - x0, c2 = x0 + x0 - 5 * x1 + 4 * x2 - x3, c3 = x3 - x0 + 3 * (x1 - x2);
    return x1 + ((c3 * t + c2) * t + c1) * t * 0.5f;
}

INLINE void read4(const float *window, int64_t position, int64_t step, float *output, size_t count) {
    typedef int32_t i4 __attribute__((vector_size(16)));
    float left[32];
    for (size_t i = 0; i < count; i += 4) {
        const int64_t p0 = position, p1 = p0 + step, p2 = p1 + step, p3 = p2 + step;
        i4 fractions = {(int32_t)((uint32_t)p0 >> 1), (int32_t)((uint32_t)p1 >> 1), (int32_t)((uint32_t)p2 >> 1),
                        (int32_t)((uint32_t)p3 >> 1)};
        f4 t = __builtin_convertvector(fractions, f4) * 0x1p-31f;
        f4 y = cubic(load4(window + (p0 >> 32)), load4(window + (p1 >> 32)), load4(window + (p2 >> 32)),
            load4(window + (p3 >> 32)), t);
        float *o = i + 4 <= count ? output + 8 * i : left;
        o[0] = y[0];
        o[8] = y[1];
        o[16] = y[2];
        o[24] = y[3];
        if (o == left)
            for (size_t k = i; k < count; k++) output[8 * k] = left[8 * (k - i)];
        position = p3 + step;
    }
}

// Sixteen neighbours: between two rows of taps by a straight line.
INLINE void read16(
    const float *window, int64_t position, int64_t step, const float *taps, float *output, size_t count
) {
    for (size_t i = 0; i < count; i++) {
        const float *x = window + (position >> 32);
        uint32_t fraction = (uint32_t)position;
        const float *row = taps + (fraction >> 24) * 16;
        float t = (float)(int32_t)(fraction & 0xFFFFFF) * 0x1p-24f;
        f8 a = load8(row), b = load8(row + 8);
        a = a + (load8(row + 16) - a) * t;
        b = b + (load8(row + 24) - b) * t;
        f8 s = a * load8(x) + b * load8(x + 8);
        f4 four = __builtin_shufflevector(s, s, 0, 1, 2, 3) + __builtin_shufflevector(s, s, 4, 5, 6, 7);
        output[8 * i] = (four[0] + four[2]) + (four[1] + four[3]);
        position += step;
    }
}

INLINE size_t sampler_read_body(
    const struct kernel_sampler_source *source, struct kernel_sampler_place *place, const float *taps, float *window,
    float *output, size_t count
) {
    int64_t end = place->loops ? INT64_MAX : source->end;
    size_t lasts = count;
    if (!place->loops) {
        int64_t rest = (end << 32) - place->position;
        int64_t frames = rest > 0 ? (rest - 1) / place->step + 1 : 0;
        if (frames < (int64_t)count) lasts = (size_t)frames;
    }
    if (lasts > 0) {
        int64_t before = taps ? 7 : 1, behind = taps ? 8 : 2;
        int64_t first = place->position >> 32, fraction = place->position & 0xFFFFFFFF;
        // Frames are read four at a time: up to three more than are wanted.
        int64_t last = (fraction + place->step * (int64_t)(lasts + 3)) >> 32;
        place->missing += fill(source, place, first - before, window, last + before + behind + 1);
        if (taps) read16(window, fraction, place->step, taps, output, lasts);
        else read4(window, fraction, place->step, output, lasts);
        place->position += place->step * (int64_t)lasts;
        if (place->loops && place->position >= source->loopEnd << 32) {
            int64_t length = (source->loopEnd - source->loopStart) << 32;
            place->position = (source->loopStart << 32) + (place->position - (source->loopStart << 32)) % length;
            place->hasLooped = 1;
        }
    }
    for (size_t i = lasts; i < count; i++) output[8 * i] = 0;
    return lasts;
}

KERNEL(size_t, sampler_read,
    (const struct kernel_sampler_source *source, struct kernel_sampler_place *place, const float *taps, float *window,
        float *output, size_t count),
    source, place, taps, window, output, count)

// MARK: - Filters and sums

INLINE void sampler_mix_body(
    struct kernel_sampler *voices, const float *samples, float *sums, size_t outputs, bool sweeps, size_t count
) {
    f8 band = load8(voices->band), low = load8(voices->low), passed = load8(voices->passed);
    const f8 k = load8(voices->k), g0 = load8(voices->g), slope = load8(voices->gSlope);
    f8 g = g0 + slope * passed, a = 1 / (1 + g * (g + k));
    // The steps of the two states. The trapezoidal filter adds them, so that little is lost at low cutoffs.
    f8 p = -2 * (g * (g + k) * a), q = 2 * (g * a), r = 2 * (g * (g * a));
    for (size_t i = 0; i < count; i++) {
        if (sweeps) {
            g = g0 + slope * passed;
            a = 1 / (1 + g * (g + k));
            p = -2 * (g * (g + k) * a);
            q = 2 * (g * a);
            r = 2 * (g * (g * a));
        }
        f8 away = load8(samples + 8 * i) - low;
        f8 next = low + (q * band + r * away);
        band = band + (p * band + q * away);
        f8 y = (low + next) * 0.5f;
        low = next;
        for (size_t output = 0; output < outputs; output++) {
            float *sum = sums + (output * kernel_sampler_frames + i) * 8;
            store8(sum, load8(sum) + y * (load8(voices->gains[output]) + load8(voices->slopes[output]) * passed));
        }
        passed = passed + 1;
    }
    store8(voices->band, band);
    store8(voices->low, low);
    store8(voices->passed, passed);
}

INLINE void sampler_mix_two(
    struct kernel_sampler *voices, const float *samples, float *sums, size_t outputs, bool sweeps, size_t count
) {
    // Each of the four is a loop of its own, without a decision in it.
    if (outputs == 2 && !sweeps) sampler_mix_body(voices, samples, sums, 2, false, count);
    else if (outputs == 2) sampler_mix_body(voices, samples, sums, 2, true, count);
    else if (!sweeps) sampler_mix_body(voices, samples, sums, 4, false, count);
    else sampler_mix_body(voices, samples, sums, 4, true, count);
}

KERNEL_OF(void, sampler_mix, sampler_mix_two, sampler_mix_two,
    (struct kernel_sampler *voices, const float *samples, float *sums, size_t outputs, bool sweeps, size_t count),
    voices, samples, sums, outputs, sweeps, count)

INLINE void sampler_sum_body(const float *lanes, float *output, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const float *l = lanes + 8 * i;
        output[i] = ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
    }
}

KERNEL(void, sampler_sum, (const float *lanes, float *output, size_t count), lanes, output, count)

// MARK: - Changes

void kernel_sampler_aim(
    struct kernel_sampler *voices, size_t lane, float g, float k, float left, float right, float reverb, float chorus,
    int32_t frames
) {
    const float gains[4] = {left, right, reverb, chorus};
    float passed = voices->passed[lane], share = frames > 0 ? 1 / (float)frames : 0;
    float from = voices->g[lane] + voices->gSlope[lane] * passed;
    voices->gSlope[lane] = (g - from) * share;
    voices->g[lane] = frames > 0 ? from : g;
    voices->k[lane] = k;
    for (int output = 0; output < 4; output++) {
        float now = voices->gains[output][lane] + voices->slopes[output][lane] * passed;
        voices->slopes[output][lane] = (gains[output] - now) * share;
        voices->gains[output][lane] = frames > 0 ? now : gains[output];
    }
    voices->passed[lane] = 0;
}

void kernel_sampler_begin(struct kernel_sampler *voices, size_t lane, float g, float k) {
    voices->band[lane] = voices->low[lane] = voices->passed[lane] = 0;
    voices->g[lane] = g;
    voices->k[lane] = k;
    voices->gSlope[lane] = 0;
    for (int output = 0; output < 4; output++) voices->gains[output][lane] = voices->slopes[output][lane] = 0;
}
