/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The public routines for numbers of 16 bits (mapshmem/half.h), beside those on streams (stream_collectives.c).
 */
#include "shmem/coll/collectives.h"

#include "shmem/shmemx.h"

static struct shmemi_context *default_context(const char *routine)
{
    shmemi_require_init(routine);
    return &shmemi_default_ctx.transport;
}

/* clang-format off */
#define DEFINE_REDUCE(NAME, TYPE, KIND, OP)                                                                            \
    SHMEMI_EXPORT int shmemx_##NAME##_##OP##_reduce(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce) \
    {                                                                                                                  \
        static const char routine[] = "shmemx_" #NAME "_" #OP "_reduce";                                               \
        shmemi_call_reduce(routine, &shmemi_ops[SHMEMI_OP_##OP][SHMEMI_KIND_##KIND],                                   \
                           shmemi_require_team(routine, team), dest, source, nreduce);                                 \
        return 0;                                                                                                      \
    }
#define DEFINE_TRANSFER(NAME, TYPE, KIND, VERB)                                                                        \
    SHMEMI_EXPORT void shmemx_##NAME##_##VERB(TYPE *dest, const TYPE *source, size_t nelems, int pe)                   \
    {                                                                                                                  \
        static const char routine[] = "shmemx_" #NAME "_" #VERB;                                                       \
        shmemi_##VERB(default_context(routine), routine, dest, source, shmemi_bytes_of(nelems, sizeof *dest), pe);     \
    }
SHMEMI_FOR_HALF_TYPES(DEFINE_REDUCE, sum)
SHMEMI_FOR_HALF_TYPES(DEFINE_REDUCE, min)
SHMEMI_FOR_HALF_TYPES(DEFINE_REDUCE, max)
SHMEMI_FOR_HALF_TYPES(DEFINE_TRANSFER, put)
SHMEMI_FOR_HALF_TYPES(DEFINE_TRANSFER, get)
SHMEMI_FOR_HALF_TYPES(DEFINE_TRANSFER, put_nbi)
SHMEMI_FOR_HALF_TYPES(DEFINE_TRANSFER, get_nbi)
/* clang-format on */
