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
    update.step = shmemi_signal_is_set(routine, signal->op) ? SHMEMI_STEP_SET : SHMEMI_STEP_ADD;
    update.view = shmemi_reach_word(routine, signal->address, sizeof *signal->address, pe, &update.offset);
    return update;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* Without bytes to transfer, quiet handles the events of a queue. */
static void move(const struct shmemi_stream_call *call, const void *symmetric, const void *local,
                 struct shmemi_shape shape, int pe, bool is_put)
{
    if (!shape.width || !shape.rows) {
        shmemi_require(shmemi_stream_quiet(&call->stream));
        return;
    }
    const struct shmemi_transfer data =
        shmemi_transfer_of(call->routine, symmetric, local, &shape, pe, is_put, shmemi_enqueued_place);
    struct shmemi_transfer_call frame =
        shmemi_transfer_call(call->routine, data.view, data.offset, shmemi_transfer_bytes(&data));
    shmemi_call_begin(&frame.call);
    shmemi_require(shmemi_stream_transfer(&call->stream, &data));
    shmemi_call_end(&frame.call);
}

void shmemi_enqueue_put(const struct shmemi_stream_call *call, void *dest, const void *source, size_t nbytes, int pe)
{
    move(call, dest, source, shmemi_shape_linear(nbytes), pe, true);
}

void shmemi_enqueue_get(const struct shmemi_stream_call *call, void *dest, const void *source, size_t nbytes, int pe)
{
    move(call, source, dest, shmemi_shape_linear(nbytes), pe, false);
}

void shmemi_enqueue_put_signal(const struct shmemi_stream_call *call, void *dest, const void *source, size_t nbytes,
                               const struct shmemi_signal *signal, int pe)
{
    struct shmemi_transfer payload;
    const struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    const struct shmemi_stream_signal word = update(call->routine, signal, pe);
    if (nbytes)
        payload = shmemi_transfer_of(call->routine, dest, source, &shape, pe, true, shmemi_enqueued_place);
    struct shmemi_transfer_call frame = shmemi_transfer_call(call->routine, word.view, word.offset, nbytes);
    shmemi_call_begin(&frame.call);
    shmemi_require(shmemi_stream_signal(&call->stream, nbytes ? &payload : NULL, &word));
    shmemi_call_end(&frame.call);
}

void shmemi_enqueue_strided(const struct shmemi_stream_call *call, void *dest, const void *source,
                            const struct shmemi_shape *shape, int pe, bool is_put)
{
    const bool is_dense = shape->rows == 0 || shmemi_shape_is_dense(shape);
    move(call, is_put ? dest : source, is_put ? source : dest,
         is_dense ? shmemi_shape_linear(shmemi_bytes_of(shape->rows, shape->width)) : *shape, pe, is_put);
}
