/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking deep copies that quiet completes: the buffers from which puts, and into which gets, are in progress.
 */
#include "shmem/deep/deep.h"

#include <stdlib.h>

struct shmemi_deep_left {
    struct shmemi_deep_left *next;
    struct shmemi_graph graph; /* of a get: the objects that its bytes are copied to; of a put: empty */
    bool is_get;
    size_t size;
    size_t n_buffers;
    char *buffers[SHMEMI_DEEP_BUFFERS_MAX];
};

static void give_buffers(struct shmemi_deep_left *left)
{
    while (left->n_buffers)
        shmemi_pipeline_give_buffer(left->buffers[--left->n_buffers]);
}

/* Takes all the buffers that the copy needs, or none. */
static bool take_buffers(struct shmemi_deep_left *left, const struct shmemi_far_side *far)
{
    for (size_t at = 0; at < left->size; at += SHMEMI_PIPELINE_SMALL) {
        char *buffer = shmemi_pipeline_take_buffer(far);
        if (!buffer) {
            give_buffers(left);
            return false;
        }
        left->buffers[left->n_buffers++] = buffer;
    }
    return true;
}

struct shmemi_deep_left *shmemi_deep_leave(const struct shmemi_deep_target *target, size_t size)
{
    const struct shmemi_far_side far = shmemi_deep_far(target);
    struct shmemi_deep_left *left = NULL;
    if (size <= (size_t)SHMEMI_DEEP_BUFFERS_MAX * SHMEMI_PIPELINE_SMALL)
        left = calloc(1, sizeof *left);
    if (!left)
        return NULL;
    left->size = size;
    if (take_buffers(left, &far))
        return left;
    free(left);
    return NULL;
}

char *shmemi_deep_left_piece(const struct shmemi_deep_left *left, size_t at, size_t *nbytes_p)
{
    size_t rest = left->size - at;
    *nbytes_p = rest < SHMEMI_PIPELINE_SMALL ? rest : SHMEMI_PIPELINE_SMALL;
    return at < left->size ? left->buffers[at / SHMEMI_PIPELINE_SMALL] : NULL;
}

void shmemi_deep_left_is_get(struct shmemi_deep_left *left, const struct shmemi_graph *graph)
{
    left->graph = *graph;
    left->is_get = true;
}

void shmemi_deep_hand_over(struct shmemi_ctx *ctx, struct shmemi_deep_left *left)
{
    left->next = atomic_load_explicit(&ctx->deep_left, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&ctx->deep_left, &left->next, left, memory_order_release,
                                                  memory_order_relaxed))
        continue;
    shmemi_pending_expect(&ctx->transport.pending, SHMEMI_PENDING_DEEP);
}

struct shmemi_deep_left *shmemi_deep_take_left(struct shmemi_ctx *ctx)
{
    if (!atomic_load_explicit(&ctx->deep_left, memory_order_relaxed))
        return NULL;
    return atomic_exchange_explicit(&ctx->deep_left, NULL, memory_order_acquire);
}

static void scatter(struct shmemi_deep_left *left)
{
    size_t nbytes;
    char *bytes;
    for (size_t at = 0; (bytes = shmemi_deep_left_piece(left, at, &nbytes)); at += nbytes)
        shmemi_image_scatter(&left->graph, at, bytes, nbytes);
    shmemi_graph_close(&left->graph);
}

void shmemi_deep_finish(struct shmemi_deep_left *left)
{
    while (left) {
        struct shmemi_deep_left *next = left->next;
        if (left->is_get)
            scatter(left);
        give_buffers(left);
        free(left);
        left = next;
    }
}
