#include "Dispatch.h"

// The loops of a phase vocoder. A spectrum is two planes of bins: real parts, and `stride` further imaginary parts. Loops over
// bins go on to a multiple of eight, because the planes have room for that and hold zeros there.

INLINE void stretch_window_body(const float *samples, const float *window, float *block, size_t count) {
    for (size_t i = 0; i < count; i += 8) store8(block + i, load8(samples + i) * load8(window + i));
}

KERNEL(void, stretch_window, (const float *samples, const float *window, float *block, size_t count), samples, window, block,
    count)

INLINE void stretch_add_body(const float *block, const float *window, float *sum, size_t count) {
    for (size_t i = 0; i < count; i += 8) store8(sum + i, load8(sum + i) + load8(block + i) * load8(window + i));
}

KERNEL(void, stretch_add, (const float *block, const float *window, float *sum, size_t count), block, window, sum, count)

INLINE void stretch_products_body(
    const float *before, const float *hop, const float *now, float *sums, size_t stride, size_t count
) {
    for (size_t i = 0; i < count; i += 8) {
        f8 re = load8(now + i), im = load8(now + stride + i);
        // The first bin has no lower neighbour: eight floats before the planes are zero.
        f8 lowRe = load8(now + i - 1), lowIm = load8(now + stride + i - 1);
        f8 wasRe = load8(before + i), wasIm = load8(before + stride + i);
        f8 hopRe = load8(hop + i), hopIm = load8(hop + stride + i);
        float *sum = sums + i;
        store8(sum, load8(sum) + (re * re + im * im));
        sum += stride;
        store8(sum, load8(sum) + (re * lowRe + im * lowIm));
        sum += stride;
        store8(sum, load8(sum) + (im * lowRe - re * lowIm));
        sum += stride;
        store8(sum, load8(sum) + (wasRe * hopRe + wasIm * hopIm));
        sum += stride;
        store8(sum, load8(sum) + (wasIm * hopRe - wasRe * hopIm));
    }
}

KERNEL(void, stretch_products,
    (const float *before, const float *hop, const float *now, float *sums, size_t stride, size_t count),
    before, hop, now, sums, stride, count)

INLINE f8 magnitude8(f8 v) { return (f8)((u8)v & 0x7fffffffu); }
INLINE f8 choose8(i8 which, f8 yes, f8 no) { return (f8)((which & (i8)yes) | (~which & (i8)no)); }

// The angle of a complex number in turns, -0.5…0.5, to 3e-8. The polynomial is a Chebyshev fit of atan(x) / (2 pi x) over
// x * x, by numpy.
INLINE f8 angle8(f8 re, f8 im) {
    f8 x = magnitude8(re), y = magnitude8(im);
    i8 isSteep = y > x;
    f8 high = choose8(isSteep, y, x), low = choose8(isSteep, x, y);
    f8 q = low / (high + 1e-37f);
    f8 z = q * q;
    f8 p = z * -0.0007430583499842699f + 0.003846168517810539f;
    p = p * z - 0.009448567547169563f;
    p = p * z + 0.01576604287725044f;
    p = p * z - 0.0223080879470529f;
    p = p * z + 0.031782025228461845f;
    p = p * z - 0.053049461530661285f;
    p = p * z + 0.15915492681891633f;
    f8 angle = q * p;
    angle = choose8(isSteep, 0.25f - angle, angle);
    angle = choose8(re < 0, 0.5f - angle, angle);
    return choose8(im < 0, -angle, angle);
}

INLINE void stretch_turns_body(float *sums, const float *turns, float excess, size_t stride, size_t count) {
    float *lowRe = sums + stride, *lowIm = sums + 2 * stride, *hopRe = sums + 3 * stride, *hopIm = sums + 4 * stride;
    float *weights = sums + 5 * stride;
    for (size_t i = 0; i < count; i += 8) {
        // A block's middle is where its window is highest: there the phases of neighbours are alike, while those of a
        // transform that begins at the block's first sample are half a turn apart.
        f8 angle = angle8(-load8(lowRe + i), -load8(lowIm + i));
        // A bin that seems to be at an end of the window is a lobe beside a sine's, and turns as the sine does.
        f8 share = (0.4f - magnitude8(angle)) * 4.0f;
        share = choose8(share > 1.0f, spread8(1), choose8(share > 0.0f, share, spread8(0)));
        f8 there = (0.5f - magnitude8(angle) * (1.0f + excess)) * 4.0f;
        share *= choose8(there > 1.0f, spread8(1), choose8(there > 0.0f, there, spread8(0)));
        f8 turn = angle * share * excess;
        turn -= (turn + 12582912.0f) - 12582912.0f;
        // A sample that is not a number turns nothing, so that it is forgotten with its block.
        turn = choose8(turn == turn, turn, spread8(0));
        f8 z = turn * turn;
        f8 s = z * 0.07765766029935518f - 0.5982912856170749f;
        s = s * z + 2.550077523214028f;
        s = s * z - 5.167710083507863f;
        s = (s * z + 3.1415926401307073f) * turn;
        f8 c = z * -0.024396324293507608f + 0.2349373137801819f;
        c = c * z - 1.335212003042424f;
        c = c * z + 4.058709159555581f;
        c = c * z - 4.9348021370788f;
        c = c * z + 1.0f;
        store8(lowRe + i, c * c - s * s);
        store8(lowIm + i, 2.0f * s * c);
        f8 re = load8(hopRe + i), im = load8(hopIm + i), wasRe = load8(turns + i), wasIm = load8(turns + stride + i);
        f8 nowRe = wasRe * re - wasIm * im, nowIm = wasRe * im + wasIm * re;
        f8 power = nowRe * nowRe + nowIm * nowIm;
        // Of what is zero, too large or not a number the turn stays.
        i8 isGood = (power > 1e-30f) & (power < 1e30f);
        f8 weight = __builtin_elementwise_sqrt(choose8(isGood, power, spread8(1)));
        store8(weights + i, choose8(isGood, weight, spread8(0)));
        f8 scale = 1.0f / weight;
        store8(hopRe + i, choose8(isGood, nowRe * scale, wasRe));
        store8(hopIm + i, choose8(isGood, nowIm * scale, wasIm));
    }
}

KERNEL(void, stretch_turns, (float *sums, const float *turns, float excess, size_t stride, size_t count), sums, turns, excess,
    stride, count)

enum { levels = 1024 };

// Four levels for each doubling of the power: its exponent and the first two bits behind it. There is no sign.
static inline int32_t level_of(float power) {
    uint32_t bits;
    __builtin_memcpy(&bits, &power, sizeof bits);
    return (int32_t)(bits >> 21) & (levels - 1);
}

// Each level has a list of the bins that are still to be looked at. Numbers below `count` are bins of the block before, those from
// `count` on are bins of this block, whose neighbours may turn as they do.
void kernel_stretch_lock(
    const float *before, const float *sums, float *turns, int32_t *links, int32_t *heads, size_t stride, size_t count,
    bool isFirst, size_t most
) {
    const float *power = sums, *lowRe = sums + stride, *lowIm = sums + 2 * stride, *hopRe = sums + 3 * stride,
                *hopIm = sums + 4 * stride;
    float *re = turns, *im = turns + stride;
    int32_t bins = (int32_t)count, left = heads[levels], top = heads[levels + 1];
    if (isFirst) {
        left = bins;
        top = 0;
        for (int32_t i = 0; i < levels; i++) heads[i] = -1;
        for (int32_t i = 0; i < bins; i++) {
            int32_t level = level_of(before[i]);
            links[i] = heads[level];
            heads[level] = i;
            if (level > top) top = level;
            // No turn is that large.
            re[i] = 2;
        }
    }
    while (left > 0 && top >= 0 && most > 0) {
        int32_t entry = heads[top];
        if (entry < 0) {
            top--;
            continue;
        }
        heads[top] = links[entry];
        most--;
        if (entry < bins) {
            if (re[entry] != 2) continue;
            re[entry] = hopRe[entry];
            im[entry] = hopIm[entry];
            left--;
            int32_t level = level_of(power[entry]);
            links[bins + entry] = heads[level];
            heads[level] = bins + entry;
            if (level > top) top = level;
            continue;
        }
        int32_t bin = entry - bins;
        float thisRe = re[bin], thisIm = im[bin];
        for (int32_t side = -1; side <= 1; side += 2) {
            int32_t other = bin + side;
            if (other < 0 || other >= bins || re[other] != 2) continue;
            // The step leads to a bin from its lower neighbour.
            float stepRe = side > 0 ? lowRe[other] : lowRe[bin];
            float stepIm = side > 0 ? lowIm[other] : -lowIm[bin];
            re[other] = thisRe * stepRe - thisIm * stepIm;
            im[other] = thisRe * stepIm + thisIm * stepRe;
            left--;
            int32_t level = level_of(power[other]);
            links[bins + other] = heads[level];
            heads[level] = bins + other;
            if (level > top) top = level;
        }
    }
    heads[levels] = left;
    heads[levels + 1] = top;
}

enum { group = 32 };

INLINE void stretch_make_up_body(
    const float *sums, const float *before, const float *turns, float slowness, float *gains, size_t stride, size_t count
) {
    const float *hopRe = sums + 3 * stride, *hopIm = sums + 4 * stride, *weights = sums + 5 * stride;
    size_t groups = count / group;
    for (size_t g = 0; g < groups; g++) {
        f8 power = spread8(0), powerBefore = power, weight = power, alike = power;
        for (size_t i = g * group; i < (g + 1) * group; i += 8) {
            f8 w = load8(weights + i);
            power += load8(sums + i);
            powerBefore += load8(before + i);
            weight += w;
            alike += w * (load8(turns + i) * load8(hopRe + i) + load8(turns + stride + i) * load8(hopIm + i));
        }
        float now = total(power), was = total(powerBefore), whole = total(weight);
        float loss = whole > 0 ? (1 - total(alike) / whole) * slowness : 0;
        // Where the level changes, the louder block is heard almost alone, and loses nothing.
        loss *= 2 * __builtin_elementwise_sqrt(now) * __builtin_elementwise_sqrt(was) / (now + was + 1e-30f);
        // A comparison with a value that is not a number is false.
        loss = loss > 0 ? (loss < 1 ? loss : 1) : 0;
        gains[g] = 1 / __builtin_elementwise_sqrt(1 - 0.47f * loss);
    }
    gains[groups] = 1;
}

KERNEL(void, stretch_make_up,
    (const float *sums, const float *before, const float *turns, float slowness, float *gains, size_t stride, size_t count),
    sums, before, turns, slowness, gains, stride, count)

INLINE void stretch_turn_body(
    const float *spectrum, const float *turns, const float *gains, float *turned, size_t stride, size_t count
) {
    for (size_t i = 0; i < count; i += 8) {
        f8 re = load8(spectrum + i), im = load8(spectrum + stride + i), gain = spread8(gains[i / group]);
        f8 turnRe = load8(turns + i) * gain, turnIm = load8(turns + stride + i) * gain;
        store8(turned + i, re * turnRe - im * turnIm);
        store8(turned + stride + i, re * turnIm + im * turnRe);
    }
}

KERNEL(void, stretch_turn,
    (const float *spectrum, const float *turns, const float *gains, float *turned, size_t stride, size_t count),
    spectrum, turns, gains, turned, stride, count)

INLINE void stretch_gain_body(float *turned, const float *gains, size_t stride, size_t count) {
    for (size_t i = 0; i < count; i += 8) {
        f8 gain = load8(gains + i);
        store8(turned + i, load8(turned + i) * gain);
        store8(turned + stride + i, load8(turned + stride + i) * gain);
    }
}

KERNEL(void, stretch_gain, (float *turned, const float *gains, size_t stride, size_t count), turned, gains, stride, count)
