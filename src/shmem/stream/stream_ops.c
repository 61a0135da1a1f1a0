/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers of which the routines on streams and queues consist, and their arguments.
 */
#include "shmem/stream/stream_ops.h"

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

struct shmemi_place shmemi_enqueued_place(const char *routine, const void *address, size_t nbytes)
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
    transfer.local = shmemi_enqueued_place(routine, local, nbytes);
    return transfer;
}

static_assert(SHMEM_CMP_NE - SHMEM_CMP_EQ == SHMEMI_STEP_UNTIL_NE - SHMEMI_STEP_UNTIL_EQ &&
                  SHMEM_CMP_GT - SHMEM_CMP_EQ == SHMEMI_STEP_UNTIL_GT - SHMEMI_STEP_UNTIL_EQ &&
                  SHMEM_CMP_GE - SHMEM_CMP_EQ == SHMEMI_STEP_UNTIL_GE - SHMEMI_STEP_UNTIL_EQ &&
                  SHMEM_CMP_LT - SHMEM_CMP_EQ == SHMEMI_STEP_UNTIL_LT - SHMEMI_STEP_UNTIL_EQ &&
                  SHMEM_CMP_LE - SHMEM_CMP_EQ == SHMEMI_STEP_UNTIL_LE - SHMEMI_STEP_UNTIL_EQ,
              "steps must be in the order of comparisons");

enum shmemi_word_step shmemi_step_of(const char *routine, int cmp)
{
    if (cmp < SHMEM_CMP_EQ || cmp > SHMEM_CMP_LE)
        shmemi_fatal("%s: %d is not a comparison (SHMEM_CMP_*)", routine, cmp);
    return SHMEMI_STEP_UNTIL_EQ + (enum shmemi_word_step)(cmp - SHMEM_CMP_EQ);
}

static struct shmemi_stream_signal update(const char *routine, const struct shmemi_signal *signal, int pe)
{
    struct shmemi_stream_signal update = {.value = signal->value};
    if (signal->op != SHMEM_SIGNAL_SET && signal->op != SHMEM_SIGNAL_ADD)
        shmemi_fatal("%s: %d is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD", routine, signal->op);
    update.step = signal->op == SHMEM_SIGNAL_SET ? SHMEMI_STEP_SET : SHMEMI_STEP_ADD;
    update.view = shmemi_reach_word(routine, signal->address, sizeof *signal->address, pe, &update.offset);
    return update;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

static void start_transfer(const struct shmemi_stream_call *call, const struct shmemi_stream_transfer *data,
                           bool is_put)
{
    struct shmemi_transfer_call frame = shmemi_transfer_call(call->routine, data->view, data->offset, data->nbytes);
    shmemi_call_begin(&frame.call);
    shmemi_require((is_put ? shmemi_stream_put : shmemi_stream_get)(&call->stream, data));
    shmemi_call_end(&frame.call);
}

/* Without bytes to transfer, quiet handles the events of a queue. */
static void move(const struct shmemi_stream_call *call, const void *symmetric, const void *local, size_t nbytes, int pe,
                 bool is_put)
{
    if (!nbytes) {
        shmemi_require(shmemi_stream_quiet(&call->stream));
        return;
    }
    const struct shmemi_stream_transfer data = transfer(call->routine, symmetric, local, nbytes, pe);
    start_transfer(call, &data, is_put);
}

void shmemi_enqueue_put(const struct shmemi_stream_call *call, void *dest, const void *source, size_t nbytes, int pe)
{
    move(call, dest, source, nbytes, pe, true);
}

void shmemi_enqueue_get(const struct shmemi_stream_call *call, void *dest, const void *source, size_t nbytes, int pe)
{
    move(call, source, dest, nbytes, pe, false);
}

void shmemi_enqueue_put_signal(const struct shmemi_stream_call *call, void *dest, const void *source, size_t nbytes,
                               const struct shmemi_signal *signal, int pe)
{
    struct shmemi_stream_transfer payload;
    const struct shmemi_stream_signal word = update(call->routine, signal, pe);
    if (nbytes)
        payload = transfer(call->routine, dest, source, nbytes, pe);
    struct shmemi_transfer_call frame = shmemi_transfer_call(call->routine, word.view, word.offset, nbytes);
    shmemi_call_begin(&frame.call);
    shmemi_require(shmemi_stream_signal(&call->stream, nbytes ? &payload : NULL, &word));
    shmemi_call_end(&frame.call);
}

void shmemi_enqueue_strided(const struct shmemi_stream_call *call, void *dest, const void *source,
                            const struct shmemi_shape *shape, int pe, bool is_put)
{
    if (shape->rows == 0 || shmemi_shape_is_dense(shape)) {
        const size_t nbytes = shmemi_bytes_of(shape->rows, shape->width);
        move(call, is_put ? dest : source, is_put ? source : dest, nbytes, pe, is_put);
        return;
    }
    const size_t dest_bytes = shmemi_shape_extent(shape, shape->dest_pitch, 0);
    const size_t source_bytes = shmemi_shape_extent(shape, shape->source_pitch, 0);
    struct shmemi_stream_transfer data = {.nbytes = shmemi_bytes_of(shape->rows, shape->width), .shape = *shape};
    data.view =
        shmemi_reach(call->routine, is_put ? dest : source, is_put ? dest_bytes : source_bytes, pe, &data.offset);
    data.local = shmemi_enqueued_place(call->routine, is_put ? source : dest, is_put ? source_bytes : dest_bytes);
    start_transfer(call, &data, is_put);
}
