/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The routines of remote memory access of every type and size.
 */
#include "typed.h"

const char *const verb_names[N_VERBS] = {"put",  "get",  "put_nbi", "get_nbi", "put_signal", "put_signal_nbi",
                                         "iput", "iget", "ibput",   "ibget",   "p",          "g"};

/* clang-format off */
#define EITHER(c, NAME, ...) \
    do { if ((c)->ctx == SHMEM_CTX_INVALID) shmem_##NAME(__VA_ARGS__); else shmem_ctx_##NAME((c)->ctx, __VA_ARGS__); } while (0)
#define CONTIGUOUS_CASES(c, put, get) \
    case PUT: EITHER(c, put, (c)->dest, (c)->source, (c)->nelems, (c)->pe); break;                                     \
    case GET: EITHER(c, get, (c)->dest, (c)->source, (c)->nelems, (c)->pe); break;                                     \
    case PUT_NBI: EITHER(c, put##_nbi, (c)->dest, (c)->source, (c)->nelems, (c)->pe); break;                           \
    case GET_NBI: EITHER(c, get##_nbi, (c)->dest, (c)->source, (c)->nelems, (c)->pe); break;                           \
    case PUT_SIGNAL:                                                                                                   \
        EITHER(c, put##_signal, (c)->dest, (c)->source, (c)->nelems, (c)->sig_addr, (c)->signal, (c)->sig_op, (c)->pe); \
        break;                                                                                                         \
    case PUT_SIGNAL_NBI:                                                                                               \
        EITHER(c, put##_signal_nbi, (c)->dest, (c)->source, (c)->nelems, (c)->sig_addr, (c)->signal, (c)->sig_op, (c)->pe); \
        break;
#define STRIDED_CASES(c, iput, iget, ibput, ibget) \
    case IPUT: EITHER(c, iput, (c)->dest, (c)->source, (c)->dst, (c)->sst, (c)->nelems, (c)->pe); break;               \
    case IGET: EITHER(c, iget, (c)->dest, (c)->source, (c)->dst, (c)->sst, (c)->nelems, (c)->pe); break;               \
    case IBPUT: EITHER(c, ibput, (c)->dest, (c)->source, (c)->dst, (c)->sst, (c)->bsize, (c)->nelems, (c)->pe); break; \
    case IBGET: EITHER(c, ibget, (c)->dest, (c)->source, (c)->dst, (c)->sst, (c)->bsize, (c)->nelems, (c)->pe); break;

#define CALL_TYPE(NAME, TYPE, ...)                                                                                     \
    static void call_##NAME(const struct typed_call *c)                                                                      \
    {                                                                                                                  \
        switch (c->verb) {                                                                                             \
        CONTIGUOUS_CASES(c, NAME##_put, NAME##_get)                                                                    \
        STRIDED_CASES(c, NAME##_iput, NAME##_iget, NAME##_ibput, NAME##_ibget)                                         \
        case P: EITHER(c, NAME##_p, c->dest, *(const TYPE *)c->source, c->pe); break;                                  \
        default:                                                                                                       \
            *(TYPE *)c->dest = c->ctx == SHMEM_CTX_INVALID ? shmem_##NAME##_g(c->source, c->pe)                        \
                                                           : shmem_ctx_##NAME##_g(c->ctx, c->source, c->pe);           \
        }                                                                                                              \
    }
#define CALL_SIZE(BITS, BYTES, ...)                                                                                    \
    static void call_##BITS(const struct typed_call *c)                                                                      \
    {                                                                                                                  \
        switch (c->verb) {                                                                                             \
        CONTIGUOUS_CASES(c, put##BITS, get##BITS)                                                                      \
        STRIDED_CASES(c, iput##BITS, iget##BITS, ibput##BITS, ibget##BITS)                                             \
        default: break;                                                                                                \
        }                                                                                                              \
    }
/* clang-format on */

SHMEMI_FOR_RMA_TYPES(CALL_TYPE, )
SHMEMI_FOR_SIZES(CALL_SIZE, )

static void call_mem(const struct typed_call *c)
{
    switch (c->verb) {
        CONTIGUOUS_CASES(c, putmem, getmem)
    default:
        break;
    }
}

/* clang-format off */
#define CALL_HALF(NAME, TYPE, KIND, ...)                                                                               \
    static void call_##NAME(const struct typed_call *c)                                                                \
    {                                                                                                                  \
        switch (c->verb) {                                                                                             \
        case PUT: shmemx_##NAME##_put(c->dest, c->source, c->nelems, c->pe); break;                                    \
        case GET: shmemx_##NAME##_get(c->dest, c->source, c->nelems, c->pe); break;                                    \
        case PUT_NBI: shmemx_##NAME##_put_nbi(c->dest, c->source, c->nelems, c->pe); break;                            \
        default: shmemx_##NAME##_get_nbi(c->dest, c->source, c->nelems, c->pe);                                        \
        }                                                                                                              \
    }
/* clang-format on */

SHMEMI_FOR_HALF_TYPES(CALL_HALF, )

#define VALUE_BYTES(TYPE) (sizeof(TYPE) == 16 ? 10 : sizeof(TYPE))
#define TYPE_ROW(NAME, TYPE, ...) {#NAME, sizeof(TYPE), VALUE_BYTES(TYPE), true, true, false, call_##NAME},
#define SIZE_ROW(BITS, BYTES, ...) {#BITS, BYTES, BYTES, false, true, false, call_##BITS},
#define HALF_ROW(NAME, TYPE, KIND, ...) {#NAME, sizeof(TYPE), sizeof(TYPE), false, false, true, call_##NAME},

const struct rma_type rma_types[] = {{"mem", 1, 1, false, false, false, call_mem},
                                     SHMEMI_FOR_SIZES(SIZE_ROW, ) SHMEMI_FOR_RMA_TYPES(TYPE_ROW, )
                                         SHMEMI_FOR_HALF_TYPES(HALF_ROW, )};
const int n_rma_types = sizeof rma_types / sizeof rma_types[0];
