/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers of 16 bits: IEEE 754's binary16 (half) and the upper half of a float (bfloat16), from and to float. Plain C
 * that nvcc reads too, so that the CPU and kernels get the same bits. To 16 bits: rounded to nearest, ties to even.
 * NaNs stay NaNs, with their sign and as much of their payload as fits.
 */
#ifndef SHMEMI_HALF_H
#define SHMEMI_HALF_H

#include "gpu/word_step.h"

#include <stdint.h>
#include <string.h>

SHMEMI_HOST_AND_DEVICE static inline float shmemi_float_of_bits(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

SHMEMI_HOST_AND_DEVICE static inline uint32_t shmemi_bits_of_float(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* The upper bits of a number, rounded by those that are shifted out. */
SHMEMI_HOST_AND_DEVICE static inline uint32_t shmemi_round_bits(uint32_t bits, uint32_t shift)
{
    const uint32_t above = bits >> shift, rest = bits & ((UINT32_C(1) << shift) - 1),
                   middle = UINT32_C(1) << (shift - 1);
    return above + (rest > middle || (rest == middle && (above & 1)));
}

SHMEMI_HOST_AND_DEVICE static inline float shmemi_float_of_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
    if (exponent == 31)
        return shmemi_float_of_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent)
        return shmemi_float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    return shmemi_float_of_bits(sign | shmemi_bits_of_float((float)fraction * (1.0f / (1 << 24))));
}

SHMEMI_HOST_AND_DEVICE static inline uint16_t shmemi_half_of_float(float number)
{
    enum { INFINITE = 0x7f800000, BEYOND = 0x477ff000, NORMAL = 0x38800000, TINY = 0x33000000 };
    const uint32_t bits = shmemi_bits_of_float(number), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > INFINITE)
        return (uint16_t)(sign | 0x7c00 | (size >> 13 & 0x3ff ? size >> 13 & 0x3ff : 0x200));
    if (size >= BEYOND) /* the middle between the largest half and the next power of two, or more */
        return (uint16_t)(sign | 0x7c00);
    if (size >= NORMAL)
        return (uint16_t)(sign | shmemi_round_bits(size - (UINT32_C(112) << 23), 13));
    if (size < TINY)
        return (uint16_t)sign;
    return (uint16_t)(sign | shmemi_round_bits((size & 0x7fffff) | 0x800000, 126 - (size >> 23)));
}

SHMEMI_HOST_AND_DEVICE static inline float shmemi_float_of_bfloat16(uint16_t half)
{
    return shmemi_float_of_bits((uint32_t)half << 16);
}

SHMEMI_HOST_AND_DEVICE static inline uint16_t shmemi_bfloat16_of_float(float number)
{
    const uint32_t bits = shmemi_bits_of_float(number);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 & 0x7f ? bits >> 16 : bits >> 16 | 0x40);
    return (uint16_t)shmemi_round_bits(bits, 16);
}

#endif
