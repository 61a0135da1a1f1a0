/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the members of a team contribute in the test of meetings, and what comes out when it is combined.
 */
#ifndef MEETING_CONTRIBUTIONS_H
#define MEETING_CONTRIBUTIONS_H

#include "gpu/half_floats.h"
#include "meeting_members.h"
#include "shmem/coll/op.h"

enum { GIVEN_BYTES = 1100 << 10, COMBINED_BYTES = 400 << 10 };

static _Alignas(16) char given_bytes[MEMBERS][GIVEN_BYTES]; /* what each member contributes */
static const char *given[MEMBERS];

static inline void name_contributions(void)
{
    for (int i = 0; i < MEMBERS; i++)
        given[i] = given_bytes[i];
}

static inline void give(size_t nbytes)
{
    CHECK(nbytes <= GIVEN_BYTES);
    for (int i = 0; i < team.n; i++)
        fill(given_bytes[i], nbytes, (unsigned)(team.exchanges * MEMBERS + (unsigned)i));
}

/* Values whose sums and products stay within the range of the type. */
static inline void fill_numbers(char *into, enum shmemi_kind kind, size_t nbytes, unsigned seed)
{
    fill(into, nbytes, seed);
    for (size_t i = 0; i < nbytes; i++) {
        const float number = (float)(1 + (int)((i * 7919 + seed * 31) % 1000)) / 512 - 1;
        if ((kind == SHMEMI_KIND_F32 || kind == SHMEMI_KIND_C32) && i < nbytes / sizeof number)
            ((float *)into)[i] = number;
        if ((kind == SHMEMI_KIND_F64 || kind == SHMEMI_KIND_C64) && i < nbytes / sizeof(double))
            ((double *)into)[i] = number / 3.0;
        if (kind == SHMEMI_KIND_F16 && i < nbytes / sizeof(uint16_t))
            ((uint16_t *)into)[i] = shmemi_half_of_float(number);
        if (kind == SHMEMI_KIND_BF16 && i < nbytes / sizeof(uint16_t))
            ((uint16_t *)into)[i] = shmemi_bfloat16_of_float(number);
    }
}

static inline void give_numbers(const struct shmemi_op *op, size_t nbytes)
{
    CHECK(nbytes <= COMBINED_BYTES);
    for (int i = 0; i < team.n; i++)
        fill_numbers(given_bytes[i], shmemi_kind_of(op), nbytes, (unsigned)(team.exchanges * MEMBERS + (unsigned)i));
}

/* Sums of numbers of 16 bits, rounded once. */
static inline void sum_wide(const struct shmemi_op *op, int end, size_t nbytes, char *result)
{
    static float total[COMBINED_BYTES / 2], next[COMBINED_BYTES / 2];
    const size_t nelems = nbytes / op->size;
    op->widen(total, given[0], nelems);
    for (int i = 1; i < end; i++) {
        op->widen(next, given[i], nelems);
        for (size_t k = 0; k < nelems; k++)
            total[k] += next[k];
    }
    op->narrow(result, total, nelems);
}

/* What the members before `end` have, from left to right. */
static inline void combine_given(const struct shmemi_op *op, int end, size_t nbytes, char *into, bool rounds_once)
{
    static _Alignas(16) char result[COMBINED_BYTES];
    memset(result, 0, nbytes);
    if (end)
        memcpy(result, given[0], nbytes);
    for (int i = 1; i < end; i++)
        shmemi_combine(op, result, result, given[i], nbytes);
    if (end && op->widen && rounds_once)
        sum_wide(op, end, nbytes, result);
    memcpy(into, result, nbytes);
}

/* Complex numbers need the alignment of their parts. */
static inline size_t alignment_of(const struct shmemi_op *op)
{
    const enum shmemi_kind kind = shmemi_kind_of(op);
    return kind == SHMEMI_KIND_C32 || kind == SHMEMI_KIND_C64 ? op->size / 2 : op->size;
}

static inline int end_of(enum shmemi_combine_form form, int member)
{
    return form == SHMEMI_COMBINE_ALL ? team.n : member + (form == SHMEMI_COMBINE_INCLUSIVE);
}

#endif
