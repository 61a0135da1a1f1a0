/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The routines of NVSHMEM on CUDA streams. Included by nvshmem_host.h; not for direct use. They are shmemx_NAME_on_stream
 * of shmemx.h, which says when each begins and what it completes; the nbi forms are the same as those without. Without
 * CUDA, those with a status return NVSHMEMX_ERROR_NOT_SUPPORTED, and the others end the job, after a line.
 */
#ifndef MAPSHMEM_NVSHMEM_STREAMS_H
#define MAPSHMEM_NVSHMEM_STREAMS_H

#ifdef __cplusplus
extern "C" {
#endif
/* clang-format off */

#define NVSHMEMI_DECLARE_ON_STREAM(NAME, ...) void nvshmemx_##NAME##_on_stream(__VA_ARGS__, cudaStream_t stream);
#define NVSHMEMI_DECLARE_TRANSFERS_ON(put, get, ELEMENT)                                                               \
    NVSHMEMI_DECLARE_ON_STREAM(put, ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)                       \
    NVSHMEMI_DECLARE_ON_STREAM(get, ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)                       \
    NVSHMEMI_DECLARE_ON_STREAM(put##_nbi, ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)                 \
    NVSHMEMI_DECLARE_ON_STREAM(get##_nbi, ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)                 \
    NVSHMEMI_DECLARE_ON_STREAM(put##_signal, ELEMENT *dest, const ELEMENT *source, size_t nelems, uint64_t *sig_addr,  \
                               uint64_t signal, int sig_op, int pe)                                                    \
    NVSHMEMI_DECLARE_ON_STREAM(put##_signal_nbi, ELEMENT *dest, const ELEMENT *source, size_t nelems,                  \
                               uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
#define NVSHMEMI_DECLARE_STRIDED_ON(iput, ELEMENT)                                                                     \
    NVSHMEMI_DECLARE_ON_STREAM(iput, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst,               \
                               size_t nelems, int pe)

/* nvshmemx_TYPENAME_{put,get,put_signal}[_nbi]_on_stream, _{iput,iget}_on_stream, _p_on_stream;
 * TYPE nvshmemx_TYPENAME_g_on_stream(const TYPE *source, int pe, cudaStream_t stream) waits for the value. */
#define NVSHMEMI_DECLARE_RMA_ON(NAME, TYPE, ...)                                                                       \
    NVSHMEMI_DECLARE_TRANSFERS_ON(NAME##_put, NAME##_get, TYPE)                                                        \
    NVSHMEMI_DECLARE_STRIDED_ON(NAME##_iput, TYPE)                                                                     \
    NVSHMEMI_DECLARE_STRIDED_ON(NAME##_iget, TYPE)                                                                     \
    NVSHMEMI_DECLARE_ON_STREAM(NAME##_p, TYPE *dest, const TYPE value, int pe)                                         \
    TYPE nvshmemx_##NAME##_g_on_stream(const TYPE *source, int pe, cudaStream_t stream);
NVSHMEMI_FOR_RMA_TYPES(NVSHMEMI_DECLARE_RMA_ON, )
#define NVSHMEMI_DECLARE_RMA_SIZE_ON(BITS, BYTES, ...)                                                                 \
    NVSHMEMI_DECLARE_TRANSFERS_ON(put##BITS, get##BITS, void)                                                          \
    NVSHMEMI_DECLARE_STRIDED_ON(iput##BITS, void)                                                                      \
    NVSHMEMI_DECLARE_STRIDED_ON(iget##BITS, void)
NVSHMEMI_FOR_SIZES(NVSHMEMI_DECLARE_RMA_SIZE_ON, )
NVSHMEMI_DECLARE_TRANSFERS_ON(putmem, getmem, void)

NVSHMEMI_DECLARE_ON_STREAM(signal_op, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
NVSHMEMI_DECLARE_ON_STREAM(signal_wait_until, uint64_t *sig_addr, int cmp, uint64_t cmp_value)
#define NVSHMEMI_DECLARE_WAIT_ON(NAME, TYPE, ...)                                                                      \
    NVSHMEMI_DECLARE_ON_STREAM(NAME##_wait_until, TYPE *ivar, int cmp, TYPE cmp_value)                                 \
    NVSHMEMI_DECLARE_ON_STREAM(NAME##_wait_until_all, TYPE *ivars, size_t nelems, const int *status, int cmp,          \
                               TYPE cmp_value)
NVSHMEMI_FOR_AMO_TYPES(NVSHMEMI_DECLARE_WAIT_ON, )

void nvshmemx_quiet_on_stream(cudaStream_t stream);
void nvshmemx_barrier_all_on_stream(cudaStream_t stream);
void nvshmemx_sync_all_on_stream(cudaStream_t stream);
int nvshmemx_barrier_on_stream(nvshmem_team_t team, cudaStream_t stream);
int nvshmemx_team_sync_on_stream(nvshmem_team_t team, cudaStream_t stream);

#define NVSHMEMI_DECLARE_COLLECTIVES_ON(broadcast, fcollect, alltoall, ELEMENT)                                        \
    int nvshmemx_##broadcast##_on_stream(nvshmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems,     \
                                         int PE_root, cudaStream_t stream);                                            \
    int nvshmemx_##fcollect##_on_stream(nvshmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems,      \
                                        cudaStream_t stream);                                                          \
    int nvshmemx_##alltoall##_on_stream(nvshmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems,      \
                                        cudaStream_t stream);
#define NVSHMEMI_DECLARE_TYPED_COLLECTIVES_ON(NAME, TYPE, ...)                                                         \
    NVSHMEMI_DECLARE_COLLECTIVES_ON(NAME##_broadcast, NAME##_fcollect, NAME##_alltoall, TYPE)
NVSHMEMI_FOR_RMA_TYPES(NVSHMEMI_DECLARE_TYPED_COLLECTIVES_ON, )
NVSHMEMI_DECLARE_COLLECTIVES_ON(broadcastmem, fcollectmem, alltoallmem, void)

#define NVSHMEMI_DECLARE_REDUCE_ON(NAME, TYPE, OP, ...)                                                                 \
    int nvshmemx_##NAME##_##OP##_reduce_on_stream(nvshmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce, \
                                                  cudaStream_t stream);                                                \
    int nvshmemx_##NAME##_##OP##_reducescatter_on_stream(nvshmem_team_t team, TYPE *dest, const TYPE *source,          \
                                                         size_t nreduce, cudaStream_t stream);
NVSHMEMI_FOR_REDUCTIONS(NVSHMEMI_DECLARE_REDUCE_ON, )

/* clang-format on */
#ifdef __cplusplus
}
#endif
#endif
