/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrappers of the transfers: put, get, p, g, put_signal, and the strided ones.
 */
#include "race/calls/wrapped_call.h"

/* What the two forms of a routine share: without a context, and with one. */
#define BOTH(WRAP, ...)                                                                                                \
    WRAP(, , , SHMEM_CTX_DEFAULT, __VA_ARGS__)                                                                         \
    WRAP(ctx_, CTX_PARAMETER, CTX_PASSED, ctx, __VA_ARGS__)
#define CTX_PARAMETER shmem_ctx_t ctx,
#define CTX_PASSED ctx,

#define WRAP_COPY(CTX_, PARAMETER, PASSED, CTX, NAME, HOW, ELEMENT, BYTES, IS_NBI)                                     \
    RACE_WRAPPER void shmem_##CTX_##NAME(PARAMETER ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)        \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #CTX_ #NAME, CTX);                                                                         \
        race_##HOW(&call, dest, source, nelems *(BYTES), pe, IS_NBI);                                                  \
        pshmem_##CTX_##NAME(PASSED dest, source, nelems, pe);                                                          \
        race_call_end(&call);                                                                                          \
    }

#define WRAP_SIGNAL(CTX_, PARAMETER, PASSED, CTX, NAME, ELEMENT, BYTES, IS_NBI)                                        \
    RACE_WRAPPER void shmem_##CTX_##NAME(PARAMETER ELEMENT *dest, const ELEMENT *source, size_t nelems,                \
                                         uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)                      \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #CTX_ #NAME, CTX);                                                                         \
        race_put_signal(&call, dest, source, nelems *(BYTES), sig_addr, pe, IS_NBI);                                   \
        pshmem_##CTX_##NAME(PASSED dest, source, nelems, sig_addr, signal, sig_op, pe);                                \
        race_call_end(&call);                                                                                          \
    }

#define WRAP_STRIDED(CTX_, PARAMETER, PASSED, CTX, NAME, HOW, ELEMENT, BYTES)                                          \
    RACE_WRAPPER void shmem_##CTX_##NAME(PARAMETER ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, \
                                         size_t nelems, int pe)                                                        \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #CTX_ #NAME, CTX);                                                                         \
        const ptrdiff_t unit = (ptrdiff_t)(BYTES);                                                                     \
        race_##HOW##_blocks(&call, dest, source, &(struct race_blocks){(BYTES), nelems, dst * unit, sst * unit}, pe);  \
        pshmem_##CTX_##NAME(PASSED dest, source, dst, sst, nelems, pe);                                                \
        race_call_end(&call);                                                                                          \
    }

#define WRAP_BLOCKS(CTX_, PARAMETER, PASSED, CTX, NAME, HOW, ELEMENT, BYTES)                                           \
    RACE_WRAPPER void shmem_##CTX_##NAME(PARAMETER ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, \
                                         size_t bsize, size_t nblocks, int pe)                                         \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #CTX_ #NAME, CTX);                                                                         \
        const ptrdiff_t unit = (ptrdiff_t)(BYTES);                                                                     \
        race_##HOW##_blocks(&call, dest, source,                                                                       \
                            &(struct race_blocks){bsize * (BYTES), nblocks, dst * unit, sst * unit}, pe);              \
        pshmem_##CTX_##NAME(PASSED dest, source, dst, sst, bsize, nblocks, pe);                                        \
        race_call_end(&call);                                                                                          \
    }

#define WRAP_PUTS_AND_GETS(PUT, GET, ELEMENT, BYTES)                                                                   \
    BOTH(WRAP_COPY, PUT, put, ELEMENT, BYTES, false)                                                                   \
    BOTH(WRAP_COPY, GET, get, ELEMENT, BYTES, false)                                                                   \
    BOTH(WRAP_COPY, PUT##_nbi, put, ELEMENT, BYTES, true)                                                              \
    BOTH(WRAP_COPY, GET##_nbi, get, ELEMENT, BYTES, true)                                                              \
    BOTH(WRAP_SIGNAL, PUT##_signal, ELEMENT, BYTES, false)                                                             \
    BOTH(WRAP_SIGNAL, PUT##_signal_nbi, ELEMENT, BYTES, true)

#define WRAP_ALL_STRIDED(IPUT, IGET, IBPUT, IBGET, ELEMENT, BYTES)                                                     \
    BOTH(WRAP_STRIDED, IPUT, put, ELEMENT, BYTES)                                                                      \
    BOTH(WRAP_STRIDED, IGET, get, ELEMENT, BYTES)                                                                      \
    BOTH(WRAP_BLOCKS, IBPUT, put, ELEMENT, BYTES)                                                                      \
    BOTH(WRAP_BLOCKS, IBGET, get, ELEMENT, BYTES)

#define WRAP_P(CTX_, PARAMETER, PASSED, CTX, NAME, TYPE)                                                               \
    RACE_WRAPPER void shmem_##CTX_##NAME##_p(PARAMETER TYPE *dest, TYPE value, int pe)                                 \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #CTX_ #NAME "_p", CTX);                                                                    \
        race_put(&call, dest, NULL, sizeof *dest, pe, false);                                                          \
        pshmem_##CTX_##NAME##_p(PASSED dest, value, pe);                                                               \
        race_call_end(&call);                                                                                          \
    }

#define WRAP_G(CTX_, PARAMETER, PASSED, CTX, NAME, TYPE)                                                               \
    RACE_WRAPPER TYPE shmem_##CTX_##NAME##_g(PARAMETER const TYPE *source, int pe)                                     \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #CTX_ #NAME "_g", CTX);                                                                    \
        race_get(&call, NULL, source, sizeof *source, pe, false);                                                      \
        const TYPE value = pshmem_##CTX_##NAME##_g(PASSED source, pe);                                                 \
        race_call_end(&call);                                                                                          \
        return value;                                                                                                  \
    }

#define WRAP_TYPE(NAME, TYPE, ...)                                                                                     \
    WRAP_PUTS_AND_GETS(NAME##_put, NAME##_get, TYPE, sizeof(TYPE))                                                     \
    WRAP_ALL_STRIDED(NAME##_iput, NAME##_iget, NAME##_ibput, NAME##_ibget, TYPE, sizeof(TYPE))                         \
    BOTH(WRAP_P, NAME, TYPE)                                                                                           \
    BOTH(WRAP_G, NAME, TYPE)

#define WRAP_SIZE(BITS, BYTES, ...)                                                                                    \
    WRAP_PUTS_AND_GETS(put##BITS, get##BITS, void, BYTES)                                                              \
    WRAP_ALL_STRIDED(iput##BITS, iget##BITS, ibput##BITS, ibget##BITS, void, BYTES)

SHMEMI_FOR_RMA_TYPES(WRAP_TYPE, )
SHMEMI_FOR_SIZES(WRAP_SIZE, )
BOTH(WRAP_COPY, putmem, put, void, 1, false)
BOTH(WRAP_COPY, getmem, get, void, 1, false)
BOTH(WRAP_COPY, putmem_nbi, put, void, 1, true)
BOTH(WRAP_COPY, getmem_nbi, get, void, 1, true)
BOTH(WRAP_SIGNAL, putmem_signal, void, 1, false)
BOTH(WRAP_SIGNAL, putmem_signal_nbi, void, 1, true)

#define WRAP_SIGNAL_OP(CTX_, PARAMETER, PASSED, CTX, NAME)                                                             \
    RACE_WRAPPER void shmem_##CTX_##NAME(PARAMETER uint64_t *sig_addr, uint64_t signal, int pe)                        \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #CTX_ #NAME, CTX);                                                                         \
        race_amo(&call, sig_addr, sizeof *sig_addr, false, pe);                                                        \
        pshmem_##CTX_##NAME(PASSED sig_addr, signal, pe);                                                              \
        race_call_end(&call);                                                                                          \
    }
BOTH(WRAP_SIGNAL_OP, signal_add)
BOTH(WRAP_SIGNAL_OP, signal_set)
