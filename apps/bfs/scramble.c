/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bijections of the numbers below some limit: products with odd factors and shifts, modulo the next power of two; what
 * comes out too large is scrambled again.
 */
#include "scramble.h"

/* Each step doubles the number of bits that are right. */
static uint64_t invert(uint64_t factor)
{
    uint64_t inverse = factor; /* 3 bits */

    for (int bits = 3; bits < 64; bits *= 2)
        inverse *= 2 - factor * inverse;
    return inverse;
}

struct scramble scramble_make(uint64_t seed, uint64_t limit)
{
    struct scramble s = {.limit = limit};
    int bits = 1;

    while (bits < 64 && (limit - 1) >> bits)
        bits++;
    s.mask = UINT64_MAX >> (64 - bits);
    s.shift = (bits + 1) / 2; /* so that the shift is its own inverse */
    for (int i = 0; i < SCRAMBLES; i++) {
        s.factor[i] = mix64(seed + MIX_STEP * (uint64_t)(2 * i + 1)) | 1;
        s.inverse[i] = invert(s.factor[i]);
        s.term[i] = mix64(seed + MIX_STEP * (uint64_t)(2 * i + 2));
    }
    return s;
}

uint64_t scramble(const struct scramble *s, uint64_t number)
{
    if (s->limit == 0)
        return number;
    do {
        for (int i = 0; i < SCRAMBLES; i++) {
            number = (number * s->factor[i] + s->term[i]) & s->mask;
            number ^= number >> s->shift;
        }
    } while (number >= s->limit);
    return number;
}

uint64_t unscramble(const struct scramble *s, uint64_t number)
{
    if (s->limit == 0)
        return number;
    do {
        for (int i = SCRAMBLES - 1; i >= 0; i--) {
            number ^= number >> s->shift;
            number = (number - s->term[i]) * s->inverse[i] & s->mask;
        }
    } while (number >= s->limit);
    return number;
}
