/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations on CUDA streams and OpenCL queues (shmemx.h, mapshmem/streams.h). Streams and queues differ only in the
 * kind of memory that they belong to, and in the events of queues.
 */
#include "shmem/stream/stream_ops.h"
#include "transport/stream/watched.h"

static struct shmemi_stream_signal condition(const char *routine, uint64_t *address, int cmp, uint64_t value)
{
    struct shmemi_stream_signal signal = {.value = value, .step = shmemi_step_of(routine, cmp)};
    signal.view = shmemi_reach_word(routine, address, sizeof *address, shmemi_job.pe, &signal.offset);
    return signal;
}

static void wait_until(const struct shmemi_stream_call *call, struct shmemi_stream_signal signal, const uint64_t *then)
{
    struct shmemi_transfer_call frame =
        shmemi_transfer_call(call->routine, signal.view, signal.offset, sizeof signal.value);
    const struct shmemi_stream_wait word = {
        .n = 1, .size = sizeof signal.value, .step = signal.step, .value = signal.value};
    struct shmemi_stream stream = call->stream;
    shmemi_call_begin(&frame.call);
    shmemi_words_watch(&stream, call->routine, signal.view, signal.offset, &word, false);
    const int rc = shmemi_stream_wait(&stream, &signal, then);
    shmemi_watched_end(&stream, rc);
    shmemi_require(rc);
    shmemi_call_end(&frame.call);
}

static void store(const struct shmemi_stream_call *call, void *dest, const void *value, size_t nbytes, int pe)
{
    size_t offset;
    const struct shmemi_view *view = shmemi_reach(call->routine, dest, nbytes, pe, &offset);
    struct shmemi_transfer_call frame = shmemi_transfer_call(call->routine, view, offset, nbytes);
    shmemi_call_begin(&frame.call);
    shmemi_require(shmemi_stream_store(&call->stream, view, offset, value, nbytes));
    shmemi_call_end(&frame.call);
}

static void complete(const struct shmemi_stream_call *call)
{
    shmemi_await_kernels(call);
    shmemi_require(shmemi_stream_quiet(&call->stream));
}

/* clang-format off */

/* ---- Bytes, signals, order --------------------------------------------------------------------------------------- */

SHMEMI_DEFINE_ENQUEUED(putmem, (void *dest, const void *source, size_t nbytes, int pe,),
                       shmemi_enqueue_put(&call, dest, source, nbytes, pe))
SHMEMI_DEFINE_ENQUEUED(getmem, (void *dest, const void *source, size_t nbytes, int pe,),
                       shmemi_enqueue_get(&call, dest, source, nbytes, pe))
SHMEMI_DEFINE_ENQUEUED(putmem_signal, (void *dest, const void *source, size_t nbytes, uint64_t *sig_addr,
                                       uint64_t signal, int sig_op, int pe,),
                       shmemi_enqueue_put_signal(&call, dest, source, nbytes,
                                                 &(struct shmemi_signal){sig_addr, signal, sig_op}, pe))
SHMEMI_DEFINE_ENQUEUED(signal_op, (uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,),
                       shmemi_enqueue_put_signal(&call, NULL, NULL, 0,
                                                 &(struct shmemi_signal){sig_addr, signal, sig_op}, pe))
SHMEMI_DEFINE_ENQUEUED(signal_wait_until, (uint64_t *sig_addr, int cmp, uint64_t cmp_value,),
                       wait_until(&call, condition(call.routine, sig_addr, cmp, cmp_value), NULL))
SHMEMI_DEFINE_ENQUEUED(signal_wait_until_set, (uint64_t *sig_addr, int cmp, uint64_t cmp_value, uint64_t new_value,),
                       wait_until(&call, condition(call.routine, sig_addr, cmp, cmp_value), &new_value))
SHMEMI_DEFINE_ENQUEUED(quiet, (), complete(&call))
SHMEMI_DEFINE_ENQUEUED(fence, (), complete(&call))
SHMEMI_DEFINE_ENQUEUED(sync_all, (), shmemi_require(shmemi_stream_barrier(&call.stream, call.routine, false)))
SHMEMI_DEFINE_ENQUEUED(barrier_all, (), shmemi_await_kernels(&call);
                       shmemi_require(shmemi_stream_barrier(&call.stream, call.routine, true)))

/* ---- Typed transfers --------------------------------------------------------------------------------------------- */

#define DEFINE_TRANSFERS(put, get, iput, iget, ELEMENT, SIZE)                                                          \
    SHMEMI_DEFINE_ENQUEUED(put, (ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe,),                        \
                           shmemi_enqueue_put(&call, dest, source, shmemi_bytes_of(nelems, SIZE), pe))                 \
    SHMEMI_DEFINE_ENQUEUED(get, (ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe,),                        \
                           shmemi_enqueue_get(&call, dest, source, shmemi_bytes_of(nelems, SIZE), pe))                 \
    SHMEMI_DEFINE_ENQUEUED(put##_signal, (ELEMENT *dest, const ELEMENT *source, size_t nelems, uint64_t *sig_addr,     \
                                          uint64_t signal, int sig_op, int pe,),                                       \
                           shmemi_enqueue_put_signal(&call, dest, source, shmemi_bytes_of(nelems, SIZE),               \
                                                     &(struct shmemi_signal){sig_addr, signal, sig_op}, pe))           \
    DEFINE_STRIDED(iput, ELEMENT, SIZE, true)                                                                          \
    DEFINE_STRIDED(iget, ELEMENT, SIZE, false)
#define DEFINE_STRIDED(NAME, ELEMENT, SIZE, IS_PUT)                                                                    \
    SHMEMI_DEFINE_ENQUEUED(NAME, (ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,   \
                                  int pe,),                                                                            \
                           const struct shmemi_shape shape = shmemi_elements_shape(call.routine, SIZE, nelems, dst, sst); \
                           shmemi_enqueue_strided(&call, dest, source, &shape, pe, IS_PUT))

#define DEFINE_TYPE(NAME, TYPE, ...)                                                                                   \
    DEFINE_TRANSFERS(NAME##_put, NAME##_get, NAME##_iput, NAME##_iget, TYPE, sizeof(TYPE))                             \
    SHMEMI_DEFINE_ENQUEUED(NAME##_p, (TYPE *dest, TYPE value, int pe,), store(&call, dest, &value, sizeof value, pe))  \
    SHMEMI_DEFINE_ENQUEUED(NAME##_g, (TYPE *dest, const TYPE *source, int pe,),                                        \
                           shmemi_enqueue_get(&call, dest, source, sizeof(TYPE), pe))
#define DEFINE_SIZE(BITS, BYTES, ...) DEFINE_TRANSFERS(put##BITS, get##BITS, iput##BITS, iget##BITS, void, BYTES)

SHMEMI_FOR_RMA_TYPES(DEFINE_TYPE, )
SHMEMI_FOR_SIZES(DEFINE_SIZE, )
/* clang-format on */
