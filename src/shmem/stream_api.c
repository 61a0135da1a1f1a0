/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations on CUDA streams and OpenCL queues (shmemx.h). Streams and queues differ only in the kind of memory that
 * they belong to, and in the events of queues.
 */
#include "transport/stream/stream.h"

#include "shmem/internal.h"
#include "shmem/shmemx.h"

struct call {
    const char *routine;
    struct shmemi_stream stream;
};

static struct call open_call(const char *routine, int type, void *handle)
{
    char reason[200] = "";
    struct call call = {.routine = routine};
    shmemi_require_init(routine);
    if (shmemi_stream_open(type, handle, &call.stream, reason, sizeof reason))
        shmemi_fatal("%s: %s", routine, reason);
    return call;
}

static struct call on_stream(const char *routine, shmemx_stream_t stream)
{
    return open_call(routine, OSHM_MEMTYPE_CUDA, stream);
}

static struct call on_queue(const char *routine, shmemx_queue_t queue, unsigned n_events, const shmemx_event_t *events,
                            shmemx_event_t *event)
{
    struct call call = open_call(routine, OSHM_MEMTYPE_OPENCL, queue);
    if (n_events && !events)
        shmemi_fatal("%s: %u events, but no list", routine, n_events);
    call.stream.n_events = n_events;
    call.stream.events = n_events ? (void *const *)events : NULL;
    call.stream.event_p = (void **)event;
    return call;
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

/* Unlike shmemi_local_place, this does not wait for the program's own synchronous calls: the stream orders them. */
static struct shmemi_place local_place(const char *routine, const void *address, size_t nbytes)
{
    struct shmemi_place place;
    if (shmemi_is_host(address, nbytes))
        return shmemi_place_host(address);
    if (!shmemi_is_outside(address))
        return shmemi_local_place(routine, address, nbytes);
    shmemi_memory_find(address, &place);
    return place;
}

static struct shmemi_stream_transfer transfer(const char *routine, const void *symmetric, const void *local,
                                              size_t nbytes, int pe)
{
    struct shmemi_stream_transfer transfer = {.nbytes = nbytes};
    transfer.view = shmemi_reach(routine, symmetric, nbytes, pe, &transfer.offset);
    transfer.local = local_place(routine, local, nbytes);
    return transfer;
}

static struct shmemi_stream_signal update(const char *routine, uint64_t *address, uint64_t value, int op, int pe)
{
    struct shmemi_stream_signal signal = {.value = value};
    if (op != SHMEM_SIGNAL_SET && op != SHMEM_SIGNAL_ADD)
        shmemi_fatal("%s: %d is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD", routine, op);
    signal.step = op == SHMEM_SIGNAL_SET ? SHMEMI_STEP_SET : SHMEMI_STEP_ADD;
    signal.view = shmemi_reach_word(routine, address, sizeof *address, pe, &signal.offset);
    return signal;
}

static_assert(SHMEM_CMP_NE - SHMEM_CMP_EQ == SHMEMI_STEP_UNTIL_NE - SHMEMI_STEP_UNTIL_EQ &&
                  SHMEM_CMP_GT - SHMEM_CMP_EQ == SHMEMI_STEP_UNTIL_GT - SHMEMI_STEP_UNTIL_EQ &&
                  SHMEM_CMP_GE - SHMEM_CMP_EQ == SHMEMI_STEP_UNTIL_GE - SHMEMI_STEP_UNTIL_EQ &&
                  SHMEM_CMP_LT - SHMEM_CMP_EQ == SHMEMI_STEP_UNTIL_LT - SHMEMI_STEP_UNTIL_EQ &&
                  SHMEM_CMP_LE - SHMEM_CMP_EQ == SHMEMI_STEP_UNTIL_LE - SHMEMI_STEP_UNTIL_EQ,
              "steps must be in the order of comparisons");

static struct shmemi_stream_signal condition(const char *routine, uint64_t *address, int cmp, uint64_t value)
{
    struct shmemi_stream_signal signal = {.value = value};
    if (cmp < SHMEM_CMP_EQ || cmp > SHMEM_CMP_LE)
        shmemi_fatal("%s: %d is not a comparison (SHMEM_CMP_*)", routine, cmp);
    signal.step = SHMEMI_STEP_UNTIL_EQ + (enum shmemi_word_step)(cmp - SHMEM_CMP_EQ);
    signal.view = shmemi_reach_word(routine, address, sizeof *address, shmemi_job.pe, &signal.offset);
    return signal;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* Without bytes to transfer, quiet handles the events of a queue. */
static void move(const struct call *call, const void *symmetric, const void *local, size_t nbytes, int pe,
                 int (*start)(const struct shmemi_stream *, const struct shmemi_stream_transfer *))
{
    if (!nbytes) {
        shmemi_require(shmemi_stream_quiet(&call->stream));
        return;
    }
    struct shmemi_stream_transfer data = transfer(call->routine, symmetric, local, nbytes, pe);
    struct shmemi_transfer_call frame = shmemi_transfer_call(call->routine, data.view, data.offset, nbytes);
    shmemi_call_begin(&frame.call);
    shmemi_require(start(&call->stream, &data));
    shmemi_call_end(&frame.call);
}

static void put_signal(const struct call *call, void *dest, const void *source, size_t nbytes,
                       struct shmemi_stream_signal signal, int pe)
{
    struct shmemi_stream_transfer payload;
    if (nbytes)
        payload = transfer(call->routine, dest, source, nbytes, pe);
    struct shmemi_transfer_call frame = shmemi_transfer_call(call->routine, signal.view, signal.offset, nbytes);
    shmemi_call_begin(&frame.call);
    shmemi_require(shmemi_stream_signal(&call->stream, nbytes ? &payload : NULL, &signal));
    shmemi_call_end(&frame.call);
}

static void wait_until(const struct call *call, struct shmemi_stream_signal signal)
{
    shmemi_require(shmemi_stream_wait(&call->stream, &signal));
}

/* ---- The public routines, on streams and on queues ---------------------------------------------------------------- */

/* clang-format off */
#define DEFINE(NAME, PARAMETERS, CALL)                                                                                 \
    SHMEMI_EXPORT void shmemx_##NAME##_on_stream(SHMEMI_UNPACK PARAMETERS shmemx_stream_t stream)                      \
    { struct call call = on_stream("shmemx_" #NAME "_on_stream", stream); CALL; }                                      \
    SHMEMI_EXPORT void shmemx_##NAME##_on_queue(SHMEMI_UNPACK PARAMETERS shmemx_queue_t queue, unsigned n_events,      \
                                                const shmemx_event_t *events, shmemx_event_t *event)                   \
    { struct call call = on_queue("shmemx_" #NAME "_on_queue", queue, n_events, events, event); CALL; }
#define SHMEMI_UNPACK(...) __VA_ARGS__

DEFINE(putmem, (void *dest, const void *source, size_t nbytes, int pe,),
       move(&call, dest, source, nbytes, pe, shmemi_stream_put))
DEFINE(getmem, (void *dest, const void *source, size_t nbytes, int pe,),
       move(&call, source, dest, nbytes, pe, shmemi_stream_get))
DEFINE(putmem_signal, (void *dest, const void *source, size_t nbytes, uint64_t *sig_addr, uint64_t signal, int sig_op,
                       int pe,),
       put_signal(&call, dest, source, nbytes, update(call.routine, sig_addr, signal, sig_op, pe), pe))
DEFINE(signal_op, (uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,),
       put_signal(&call, NULL, NULL, 0, update(call.routine, sig_addr, signal, sig_op, pe), pe))
DEFINE(signal_wait_until, (uint64_t *sig_addr, int cmp, uint64_t cmp_value,),
       wait_until(&call, condition(call.routine, sig_addr, cmp, cmp_value)))
DEFINE(quiet, (), shmemi_require(shmemi_stream_quiet(&call.stream)))
DEFINE(sync_all, (), shmemi_require(shmemi_stream_barrier(&call.stream, false)))
DEFINE(barrier_all, (), shmemi_require(shmemi_stream_barrier(&call.stream, true)))
/* clang-format on */
