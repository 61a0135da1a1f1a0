/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A step of a stream: an update of a shared word of 8 bytes, or a wait for it. Plain C that nvcc reads too.
 */
#ifndef SHMEMI_WORD_STEP_H
#define SHMEMI_WORD_STEP_H

#include <stdint.h>

enum shmemi_word_step {
    SHMEMI_STEP_SET,      /* a reader that sees the new value also sees the stream's earlier effects */
    SHMEMI_STEP_ADD,      /* the same */
    SHMEMI_STEP_UNTIL_EQ, /* in the order of SHMEM_CMP_* */
    SHMEMI_STEP_UNTIL_NE,
    SHMEMI_STEP_UNTIL_GT,
    SHMEMI_STEP_UNTIL_GE,
    SHMEMI_STEP_UNTIL_LT,
    SHMEMI_STEP_UNTIL_LE,
};

enum { SHMEMI_STEPS_MAX = 32 };

#ifdef __CUDACC__
#define SHMEMI_HOST_AND_DEVICE __host__ __device__
#else
#define SHMEMI_HOST_AND_DEVICE
#endif

/* Is a wait over? Values are compared by the sign of their difference, as the GPU's own waits do; this is right for
 * values less than 2^63 apart. */
SHMEMI_HOST_AND_DEVICE static inline int shmemi_step_is_met(uint32_t step, uint64_t found, uint64_t value)
{
    int64_t above = (int64_t)(found - value);
    switch (step) {
    case SHMEMI_STEP_UNTIL_EQ:
        return above == 0;
    case SHMEMI_STEP_UNTIL_NE:
        return above != 0;
    case SHMEMI_STEP_UNTIL_GT:
        return above > 0;
    case SHMEMI_STEP_UNTIL_LE:
        return above <= 0;
    case SHMEMI_STEP_UNTIL_LT:
        return above < 0;
    default:
        return above >= 0;
    }
}

/* shmemi_step_is_met for words of 4 bytes, less than 2^31 apart. */
SHMEMI_HOST_AND_DEVICE static inline int shmemi_half_step_is_met(uint32_t step, uint32_t found, uint32_t value)
{
    return shmemi_step_is_met(step, (uint64_t)found << 32, (uint64_t)value << 32);
}

#endif
