/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bijections of the numbers below some limit: products with odd factors and shifts, modulo the next power of two; what
 * comes out too large is scrambled again.
 */
#include "scramble.h"

struct scramble scramble_make(uint64_t seed, uint64_t limit)
{
    struct scramble s = {.limit = limit};
    int bits = 1;

    while (bits < 64 && (limit - 1) >> bits)
        bits++;
    s.mask = UINT64_MAX >> (64 - bits);
    s.shift = (bits + 1) / 2;
    for (int i = 0; i < SCRAMBLES; i++) {
        s.factor[i] = mix64(seed + MIX_STEP * (uint64_t)(2 * i + 1)) | 1;
        s.term[i] = mix64(seed + MIX_STEP * (uint64_t)(2 * i + 2));
    }
    return s;
}

uint64_t scramble(const struct scramble *s, uint64_t number)
{
    do {
        for (int i = 0; i < SCRAMBLES; i++) {
            number = (number * s->factor[i] + s->term[i]) & s->mask;
            number ^= number >> s->shift;
        }
    } while (number >= s->limit);
    return number;
}
