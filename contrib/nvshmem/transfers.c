/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers, signals, order and atomic operations of the host. All typed transfers are those of as many bytes.
 */
#include "library.h"

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

#define DEFINE_CONTIGUOUS(PUT, GET, ELEMENT, BYTES)                                                                    \
    NVS_EXPORT void nvshmem_##PUT(ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)                         \
    {                                                                                                                  \
        shmem_putmem(nvs_symmetric(dest), source, nvs_bytes(nelems, BYTES), pe);                                       \
    }                                                                                                                  \
    NVS_EXPORT void nvshmem_##GET(ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)                         \
    {                                                                                                                  \
        shmem_getmem(dest, nvs_symmetric(source), nvs_bytes(nelems, BYTES), pe);                                       \
    }                                                                                                                  \
    NVS_EXPORT void nvshmem_##PUT##_nbi(ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)                   \
    {                                                                                                                  \
        shmem_putmem_nbi(nvs_symmetric(dest), source, nvs_bytes(nelems, BYTES), pe);                                   \
    }                                                                                                                  \
    NVS_EXPORT void nvshmem_##GET##_nbi(ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)                   \
    {                                                                                                                  \
        shmem_getmem_nbi(dest, nvs_symmetric(source), nvs_bytes(nelems, BYTES), pe);                                   \
    }
#define DEFINE_STRIDED(IPUT, IGET, ELEMENT, BITS)                                                                      \
    NVS_EXPORT void nvshmem_##IPUT(ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,  \
                                   int pe)                                                                             \
    {                                                                                                                  \
        shmem_iput##BITS(nvs_symmetric(dest), source, dst, sst, nelems, pe);                                           \
    }                                                                                                                  \
    NVS_EXPORT void nvshmem_##IGET(ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,  \
                                   int pe)                                                                             \
    {                                                                                                                  \
        shmem_iget##BITS(dest, nvs_symmetric(source), dst, sst, nelems, pe);                                           \
    }

#define DEFINE_TYPED(NAME, TYPE, ...)                                                                                  \
    DEFINE_CONTIGUOUS(NAME##_put, NAME##_get, TYPE, sizeof(TYPE))                                                      \
    NVS_EXPORT void nvshmem_##NAME##_p(TYPE *dest, const TYPE value, int pe)                                           \
    {                                                                                                                  \
        shmem_putmem(nvs_symmetric(dest), &value, sizeof value, pe);                                                   \
    }                                                                                                                  \
    NVS_EXPORT TYPE nvshmem_##NAME##_g(const TYPE *source, int pe)                                                     \
    {                                                                                                                  \
        TYPE value;                                                                                                    \
        shmem_getmem(&value, nvs_symmetric(source), sizeof value, pe);                                                 \
        return value;                                                                                                  \
    }                                                                                                                  \
    DEFINE_TYPED_STRIDED(NAME, TYPE)
#define DEFINE_TYPED_STRIDED(NAME, TYPE)                                                                               \
    NVS_EXPORT void nvshmem_##NAME##_iput(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
                                          int pe)                                                                      \
    {                                                                                                                  \
        strided_put(sizeof(TYPE))(nvs_symmetric(dest), source, dst, sst, nelems, pe);                                  \
    }                                                                                                                  \
    NVS_EXPORT void nvshmem_##NAME##_iget(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
                                          int pe)                                                                      \
    {                                                                                                                  \
        strided_get(sizeof(TYPE))(dest, nvs_symmetric(source), dst, sst, nelems, pe);                                  \
    }

typedef void (*strided_routine)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);

static inline strided_routine strided_put(size_t size)
{
    return size == 1 ? shmem_iput8 : size == 2 ? shmem_iput16 : size == 4 ? shmem_iput32 : shmem_iput64;
}

static inline strided_routine strided_get(size_t size)
{
    return size == 1 ? shmem_iget8 : size == 2 ? shmem_iget16 : size == 4 ? shmem_iget32 : shmem_iget64;
}

NVSHMEMI_FOR_RMA_TYPES(DEFINE_TYPED, )

#define DEFINE_SIZE(BITS, BYTES, ...)                                                                                  \
    DEFINE_CONTIGUOUS(put##BITS, get##BITS, void, BYTES)                                                               \
    DEFINE_STRIDED(iput##BITS, iget##BITS, void, BITS)
NVSHMEMI_FOR_SIZES(DEFINE_SIZE, )
DEFINE_CONTIGUOUS(putmem, getmem, void, 1)

/* ---- Signals, order ----------------------------------------------------------------------------------------------- */

NVS_EXPORT void nvshmemx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    if (sig_op == NVSHMEM_SIGNAL_SET)
        shmem_signal_set(nvs_symmetric(sig_addr), signal, pe);
    else if (sig_op == NVSHMEM_SIGNAL_ADD)
        shmem_signal_add(nvs_symmetric(sig_addr), signal, pe);
    else
        shmemi_fatal("nvshmemx_signal_op: sig_op is %d, neither NVSHMEM_SIGNAL_SET nor _ADD", sig_op);
}

NVS_EXPORT uint64_t nvshmem_signal_fetch(uint64_t *sig_addr)
{
    return shmem_signal_fetch(nvs_symmetric(sig_addr));
}

NVS_EXPORT void nvshmem_fence(void)
{
    nvs_enter("nvshmem_fence");
    shmem_fence();
}

NVS_EXPORT void nvshmem_quiet(void)
{
    nvs_enter("nvshmem_quiet");
    shmem_quiet();
}

/* ---- Atomic operations --------------------------------------------------------------------------------------------- */

#define DEFINE_XAMO(NAME, TYPE, ...)                                                                                   \
    NVS_EXPORT TYPE nvshmem_##NAME##_atomic_fetch(const TYPE *source, int pe)                                          \
    {                                                                                                                  \
        return shmem_##NAME##_atomic_fetch(nvs_symmetric(source), pe);                                                 \
    }                                                                                                                  \
    NVS_EXPORT void nvshmem_##NAME##_atomic_set(TYPE *dest, TYPE value, int pe)                                        \
    {                                                                                                                  \
        shmem_##NAME##_atomic_set(nvs_symmetric(dest), value, pe);                                                     \
    }                                                                                                                  \
    NVS_EXPORT TYPE nvshmem_##NAME##_atomic_swap(TYPE *dest, TYPE value, int pe)                                       \
    {                                                                                                                  \
        return shmem_##NAME##_atomic_swap(nvs_symmetric(dest), value, pe);                                             \
    }
NVSHMEMI_FOR_EXTENDED_AMO_TYPES(DEFINE_XAMO, )

#define DEFINE_AMO(NAME, TYPE, ...)                                                                                    \
    NVS_EXPORT TYPE nvshmem_##NAME##_atomic_compare_swap(TYPE *dest, TYPE cond, TYPE value, int pe)                    \
    {                                                                                                                  \
        return shmem_##NAME##_atomic_compare_swap(nvs_symmetric(dest), cond, value, pe);                               \
    }                                                                                                                  \
    NVS_EXPORT TYPE nvshmem_##NAME##_atomic_fetch_inc(TYPE *dest, int pe)                                              \
    {                                                                                                                  \
        return shmem_##NAME##_atomic_fetch_inc(nvs_symmetric(dest), pe);                                               \
    }                                                                                                                  \
    NVS_EXPORT void nvshmem_##NAME##_atomic_inc(TYPE *dest, int pe)                                                    \
    {                                                                                                                  \
        shmem_##NAME##_atomic_inc(nvs_symmetric(dest), pe);                                                            \
    }                                                                                                                  \
    DEFINE_UPDATE(NAME, TYPE, add)
#define DEFINE_UPDATE(NAME, TYPE, OP, ...)                                                                             \
    NVS_EXPORT TYPE nvshmem_##NAME##_atomic_fetch_##OP(TYPE *dest, TYPE value, int pe)                                 \
    {                                                                                                                  \
        return shmem_##NAME##_atomic_fetch_##OP(nvs_symmetric(dest), value, pe);                                       \
    }                                                                                                                  \
    NVS_EXPORT void nvshmem_##NAME##_atomic_##OP(TYPE *dest, TYPE value, int pe)                                       \
    {                                                                                                                  \
        shmem_##NAME##_atomic_##OP(nvs_symmetric(dest), value, pe);                                                    \
    }
NVSHMEMI_FOR_AMO_TYPES(DEFINE_AMO, )
NVSHMEMI_FOR_BITWISE_AMO_TYPES(DEFINE_UPDATE, and)
NVSHMEMI_FOR_BITWISE_AMO_TYPES(DEFINE_UPDATE, or)
NVSHMEMI_FOR_BITWISE_AMO_TYPES(DEFINE_UPDATE, xor)
