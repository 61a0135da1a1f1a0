/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Public transfers of numbers of 16 bits (mapshmem/half.h); collective_api.c has their reductions.
 */
#include "shmem/internal.h"

#include "shmem/shmemx.h"

static struct shmemi_context *default_context(const char *routine)
{
    shmemi_require_init(routine);
    return &shmemi_default_ctx.transport;
}

/* clang-format off */
#define DEFINE_TRANSFER(NAME, TYPE, KIND, VERB, FORM)                                                                  \
    SHMEMI_EXPORT void shmemx_##NAME##_##VERB(TYPE *dest, const TYPE *source, size_t nelems, int pe)                   \
    {                                                                                                                  \
        static const char routine[] = "shmemx_" #NAME "_" #VERB;                                                       \
        shmemi_rma(FORM, default_context(routine), routine, dest, source, shmemi_bytes_of(nelems, sizeof *dest), pe);  \
    }
SHMEMI_FOR_HALF_TYPES(DEFINE_TRANSFER, put, SHMEMI_PUT)
SHMEMI_FOR_HALF_TYPES(DEFINE_TRANSFER, get, SHMEMI_GET)
SHMEMI_FOR_HALF_TYPES(DEFINE_TRANSFER, put_nbi, SHMEMI_PUT_NBI)
SHMEMI_FOR_HALF_TYPES(DEFINE_TRANSFER, get_nbi, SHMEMI_GET_NBI)
/* clang-format on */
