/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers from which nonblocking puts are under way. The link to the next is in the buffer itself, behind the data.
 */
#include "shmem/deep.h"

struct shmemi_deep_buffer {
    struct shmemi_deep_buffer *next;
    char *bytes;
};
_Static_assert(SHMEMI_DEEP_BUFFER + sizeof(struct shmemi_deep_buffer) <= SHMEMI_PIPELINE_SMALL, "room for the link");

void shmemi_deep_leave_buffer(struct shmemi_context *context, char *buffer)
{
    struct shmemi_deep_buffer *link = (struct shmemi_deep_buffer *)(buffer + SHMEMI_DEEP_BUFFER);
    link->bytes = buffer;
    link->next = atomic_load_explicit(&context->left_buffers, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&context->left_buffers, &link->next, link, memory_order_release,
                                                  memory_order_relaxed))
        continue;
    shmemi_pending_expect(&context->pending, SHMEMI_PENDING_BUFFERS);
}

struct shmemi_deep_buffer *shmemi_deep_take_left(struct shmemi_context *context)
{
    if (!atomic_load_explicit(&context->left_buffers, memory_order_relaxed))
        return NULL;
    return atomic_exchange_explicit(&context->left_buffers, NULL, memory_order_acquire);
}

void shmemi_deep_give_back(struct shmemi_deep_buffer *buffers)
{
    while (buffers) {
        struct shmemi_deep_buffer *next = buffers->next;
        shmemi_pipeline_give_buffer(buffers->bytes);
        buffers = next;
    }
}
