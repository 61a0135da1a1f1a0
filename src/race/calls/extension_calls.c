/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrappers of the extensions' transfers by the host: boxes, and numbers of 16 bits. They have no profiling names.
 */
#include "race/calls/wrapped_call.h"
#include "race/hooks/sync_objects.h"

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

typedef void box_routine(void *, const void *, const shmemx_box_t *, int);
typedef void ctx_box_routine(shmem_ctx_t, void *, const void *, const shmemx_box_t *, int);
typedef void row_access(struct race_call *, void *, const void *, size_t, int, bool);

static void touch_rows(struct race_call *call, void *dest, const void *source, const shmemx_box_t *box, int pe,
                       row_access *access, bool is_nbi)
{
    for (size_t layer = 0; call->thread && layer < box->layers; layer++)
        for (size_t row = 0; row < box->rows; row++)
            access(call, (char *)dest + layer * box->dest_layer_pitch + row * box->dest_row_pitch,
                   (const char *)source + layer * box->source_layer_pitch + row * box->source_row_pitch, box->width, pe,
                   is_nbi);
}

#define WRAP_BOX(NAME, ACCESS, IS_NBI)                                                                                 \
    RACE_WRAPPER void shmemx_##NAME(void *dest, const void *source, const shmemx_box_t *box, int pe)                   \
    {                                                                                                                  \
        static box_routine *next;                                                                                      \
        RACE_BEGIN("shmemx_" #NAME, SHMEM_CTX_DEFAULT);                                                                \
        next = next ? next : (box_routine *)race_next("shmemx_" #NAME);                                                \
        touch_rows(&call, dest, source, box, pe, ACCESS, IS_NBI);                                                      \
        next(dest, source, box, pe);                                                                                   \
        race_call_end(&call);                                                                                          \
    }                                                                                                                  \
    RACE_WRAPPER void shmemx_ctx_##NAME(shmem_ctx_t ctx, void *dest, const void *source, const shmemx_box_t *box,      \
                                        int pe)                                                                        \
    {                                                                                                                  \
        static ctx_box_routine *next;                                                                                  \
        RACE_BEGIN("shmemx_ctx_" #NAME, ctx);                                                                          \
        next = next ? next : (ctx_box_routine *)race_next("shmemx_ctx_" #NAME);                                        \
        touch_rows(&call, dest, source, box, pe, ACCESS, IS_NBI);                                                      \
        next(ctx, dest, source, box, pe);                                                                              \
        race_call_end(&call);                                                                                          \
    }
WRAP_BOX(put_box, race_put, false)
WRAP_BOX(get_box, race_get, false)
WRAP_BOX(put_box_nbi, race_put, true)
WRAP_BOX(get_box_nbi, race_get, true)

/* ---- numbers of 16 bits ------------------------------------------------------------------------------------------ */

#define WRAP_COPY_16(NAME, TYPE, ACCESS, IS_NBI)                                                                       \
    RACE_WRAPPER void shmemx_##NAME(TYPE *dest, const TYPE *source, size_t nelems, int pe)                             \
    {                                                                                                                  \
        static void (*next)(TYPE *, const TYPE *, size_t, int);                                                        \
        RACE_BEGIN("shmemx_" #NAME, SHMEM_CTX_DEFAULT);                                                                \
        next = next ? next : (void (*)(TYPE *, const TYPE *, size_t, int))race_next("shmemx_" #NAME);                  \
        ACCESS(&call, dest, source, nelems * sizeof(TYPE), pe, IS_NBI);                                                \
        next(dest, source, nelems, pe);                                                                                \
        race_call_end(&call);                                                                                          \
    }

#define WRAP_REDUCE_16(NAME, TYPE)                                                                                     \
    RACE_WRAPPER int shmemx_##NAME(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems)                   \
    {                                                                                                                  \
        static int (*next)(shmem_team_t, TYPE *, const TYPE *, size_t);                                                \
        RACE_BEGIN("shmemx_" #NAME, SHMEM_CTX_DEFAULT);                                                                \
        next = next ? next : (int (*)(shmem_team_t, TYPE *, const TYPE *, size_t))race_next("shmemx_" #NAME);          \
        const struct race_buffers buffers = {dest, source, nelems * sizeof(TYPE), nelems * sizeof(TYPE)};              \
        const struct race_collective collective =                                                                      \
            race_buffers_begin(&call, call.thread ? race_team_of(team) : NULL, RACE_ALL, 0, &buffers);                 \
        const int rc = next(team, dest, source, nelems);                                                               \
        race_buffers_end(&collective, &buffers);                                                                       \
        return rc;                                                                                                     \
    }

#define WRAP_16(NAME, TYPE)                                                                                            \
    WRAP_COPY_16(NAME##_put, TYPE, race_put, false)                                                                    \
    WRAP_COPY_16(NAME##_get, TYPE, race_get, false)                                                                    \
    WRAP_COPY_16(NAME##_put_nbi, TYPE, race_put, true)                                                                 \
    WRAP_COPY_16(NAME##_get_nbi, TYPE, race_get, true)                                                                 \
    WRAP_REDUCE_16(NAME##_sum_reduce, TYPE)                                                                            \
    WRAP_REDUCE_16(NAME##_min_reduce, TYPE)                                                                            \
    WRAP_REDUCE_16(NAME##_max_reduce, TYPE)
WRAP_16(half, shmemx_half_t)
WRAP_16(bfloat16, shmemx_bfloat16_t)
