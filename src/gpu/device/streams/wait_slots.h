/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots of streams in which kernels wait for words. A kernel that waits is one of those that the GPU runs at the same time,
 * so that a few streams have a slot, and the others wait by operations of the driver.
 */
#ifndef SHMEMI_WAIT_SLOTS_H
#define SHMEMI_WAIT_SLOTS_H

#include "gpu/memory.h"

enum { SHMEMI_WAIT_SLOTS = 16 };

struct shmemi_wait_slot {
    void *stream;
    bool is_taken, is_marked; /* is_marked: `over` is behind the last wait */
    unsigned users;           /* threads that enqueue a wait now */
    void *over;               /* NULL: none yet */
};

struct shmemi_gpu_context;

/* A slot for a kernel that waits in the stream; NULL: there is none now. It is left when the kernel has been launched.
 * With the context current. */
struct shmemi_wait_slot *shmemi_wait_slot_take(const struct shmemi_stream *stream);
void shmemi_wait_slot_leave(const struct shmemi_stream *stream, struct shmemi_wait_slot *slot);
/* All streams of the context have done what was enqueued: nobody has a slot any more. */
void shmemi_wait_slots_free(struct shmemi_gpu_context *context);

#endif
