/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers, signals and waits on CUDA streams.
 */
#include "driver.h"
#include "library.h"
#include "stream_use.h"

#include <string.h>

#define DEFINE_ON_STREAM(NAME, CALL, ...)                                                                              \
    NVS_EXPORT void nvshmemx_##NAME##_on_stream(__VA_ARGS__, cudaStream_t stream)                                      \
    {                                                                                                                  \
        nvs_need_stream("nvshmemx_" #NAME "_on_stream");                                                               \
        CALL;                                                                                                          \
    }

/* No call waits for its operation, so the nonblocking forms are the others. */
#define DEFINE_CONTIGUOUS(PUT, GET, ELEMENT, BYTES)                                                                    \
    DEFINE_PUT(PUT, ELEMENT, BYTES)                                                                                    \
    DEFINE_PUT(PUT##_nbi, ELEMENT, BYTES)                                                                              \
    DEFINE_GET(GET, ELEMENT, BYTES)                                                                                    \
    DEFINE_GET(GET##_nbi, ELEMENT, BYTES)                                                                              \
    DEFINE_PUT_SIGNAL(PUT##_signal, ELEMENT, BYTES)                                                                    \
    DEFINE_PUT_SIGNAL(PUT##_signal_nbi, ELEMENT, BYTES)
#define DEFINE_PUT(NAME, ELEMENT, BYTES)                                                                               \
    DEFINE_ON_STREAM(NAME, shmemx_putmem_on_stream(nvs_symmetric(dest), source, nvs_bytes(nelems, BYTES), pe, stream), \
                     ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)
#define DEFINE_GET(NAME, ELEMENT, BYTES)                                                                               \
    DEFINE_ON_STREAM(NAME, shmemx_getmem_on_stream(dest, nvs_symmetric(source), nvs_bytes(nelems, BYTES), pe, stream), \
                     ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)
#define DEFINE_PUT_SIGNAL(NAME, ELEMENT, BYTES)                                                                        \
    DEFINE_ON_STREAM(NAME,                                                                                             \
                     shmemx_putmem_signal_on_stream(nvs_symmetric(dest), source, nvs_bytes(nelems, BYTES),             \
                                                    nvs_symmetric(sig_addr), signal, sig_op, pe, stream),              \
                     ELEMENT *dest, const ELEMENT *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,         \
                     int sig_op, int pe)
#define DEFINE_STRIDED(IPUT, IGET, ELEMENT, PUT_ROUTINE, GET_ROUTINE)                                                  \
    DEFINE_ON_STREAM(IPUT, PUT_ROUTINE(nvs_symmetric(dest), source, dst, sst, nelems, pe, stream), ELEMENT *dest,      \
                     const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)                       \
    DEFINE_ON_STREAM(IGET, GET_ROUTINE(dest, nvs_symmetric(source), dst, sst, nelems, pe, stream), ELEMENT *dest,      \
                     const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)

typedef void (*strided_routine)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe,
                                cudaStream_t stream);

static inline strided_routine strided_put(size_t size)
{
    return size == 1   ? shmemx_iput8_on_stream
           : size == 2 ? shmemx_iput16_on_stream
           : size == 4 ? shmemx_iput32_on_stream
                       : shmemx_iput64_on_stream;
}

static inline strided_routine strided_get(size_t size)
{
    return size == 1   ? shmemx_iget8_on_stream
           : size == 2 ? shmemx_iget16_on_stream
           : size == 4 ? shmemx_iget32_on_stream
                       : shmemx_iget64_on_stream;
}

/* A value of 1, 2, 4 or 8 bytes. */
static void put_value(void *dest, const void *value, size_t size, int pe, cudaStream_t stream)
{
    uint8_t byte;
    uint16_t half;
    uint32_t word;
    uint64_t quad;
    void *const symmetric = nvs_symmetric(dest);
    if (size == 1)
        shmemx_uint8_p_on_stream(symmetric, (memcpy(&byte, value, 1), byte), pe, stream);
    else if (size == 2)
        shmemx_uint16_p_on_stream(symmetric, (memcpy(&half, value, 2), half), pe, stream);
    else if (size == 4)
        shmemx_uint32_p_on_stream(symmetric, (memcpy(&word, value, 4), word), pe, stream);
    else
        shmemx_uint64_p_on_stream(symmetric, (memcpy(&quad, value, 8), quad), pe, stream);
}

static void get_value(const char *routine, void *value, const void *source, size_t size, int pe, cudaStream_t stream)
{
    nvs_need_stream(routine);
    shmemx_getmem_on_stream(value, nvs_symmetric(source), size, pe, stream);
    if (nvs_driver_failed(routine, "wait for the stream", nvs_driver.stream_wait(stream)))
        shmem_global_exit(1);
}

#define DEFINE_TYPED(NAME, TYPE, ...)                                                                                  \
    DEFINE_CONTIGUOUS(NAME##_put, NAME##_get, TYPE, sizeof(TYPE))                                                      \
    DEFINE_STRIDED(NAME##_iput, NAME##_iget, TYPE, strided_put(sizeof(TYPE)), strided_get(sizeof(TYPE)))               \
    DEFINE_ON_STREAM(NAME##_p, put_value(dest, &value, sizeof value, pe, stream), TYPE *dest, const TYPE value,        \
                     int pe)                                                                                           \
    NVS_EXPORT TYPE nvshmemx_##NAME##_g_on_stream(const TYPE *source, int pe, cudaStream_t stream)                     \
    {                                                                                                                  \
        TYPE value;                                                                                                    \
        get_value("nvshmemx_" #NAME "_g_on_stream", &value, source, sizeof value, pe, stream);                         \
        return value;                                                                                                  \
    }
NVSHMEMI_FOR_RMA_TYPES(DEFINE_TYPED, )

#define DEFINE_SIZE(BITS, BYTES, ...)                                                                                  \
    DEFINE_CONTIGUOUS(put##BITS, get##BITS, void, BYTES)                                                               \
    DEFINE_STRIDED(iput##BITS, iget##BITS, void, shmemx_iput##BITS##_on_stream, shmemx_iget##BITS##_on_stream)
NVSHMEMI_FOR_SIZES(DEFINE_SIZE, )
DEFINE_CONTIGUOUS(putmem, getmem, void, 1)

DEFINE_ON_STREAM(signal_op, shmemx_signal_op_on_stream(nvs_symmetric(sig_addr), signal, sig_op, pe, stream),
                 uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
DEFINE_ON_STREAM(signal_wait_until, shmemx_signal_wait_until_on_stream(nvs_symmetric(sig_addr), cmp, cmp_value, stream),
                 uint64_t *sig_addr, int cmp, uint64_t cmp_value)

#define DEFINE_WAIT(NAME, TYPE, ...)                                                                                   \
    DEFINE_ON_STREAM(NAME##_wait_until,                                                                                \
                     shmemx_##NAME##_wait_until_on_stream(nvs_symmetric(ivar), cmp, cmp_value, stream), TYPE *ivar,    \
                     int cmp, TYPE cmp_value)                                                                          \
    DEFINE_ON_STREAM(                                                                                                  \
        NAME##_wait_until_all,                                                                                         \
        shmemx_##NAME##_wait_until_all_on_stream(nvs_symmetric(ivars), nelems, status, cmp, cmp_value, stream),        \
        TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value)
NVSHMEMI_FOR_AMO_TYPES(DEFINE_WAIT, )

NVS_EXPORT void nvshmemx_quiet_on_stream(cudaStream_t stream)
{
    nvs_need_stream("nvshmemx_quiet_on_stream");
    shmemx_quiet_on_stream(stream);
}
