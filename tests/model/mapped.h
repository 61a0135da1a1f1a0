/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mapped buffers of a device: whole ones, parts of larger ones, sub-buffers, memory of pools. One thread of a PE calls.
 */
#ifndef MODEL_MAPPED_H
#define MODEL_MAPPED_H

#include "tester.h"

/* Collective: opens this PE's device; false on every PE if one has none, or if memory of this kind cannot be mapped. */
bool mapped_open(void);
void mapped_close(void);
/* Bytes in front of the mapped part. */
size_t mapped_before(int way);
/* Collective. */
void mapped_make(struct drawn_object *object);
void mapped_free(struct drawn_object *object);
void *mapped_argument(struct drawn_object *object); /* what shmmap was given */
void mapped_free_buffer(struct buffer *buffer);     /* one that is not mapped; queues may hold something */
void mapped_write(struct drawn_object *object, size_t at, const void *source, size_t nbytes);
void mapped_read(struct drawn_object *object, size_t at, void *dest, size_t nbytes);

/* A queue of the device: a CUstream or cl_command_queue; shmemx_NAME_on_queue is used for the latter. */
void *mapped_queue(int number);
bool mapped_has_queues_of_opencl(void);
void mapped_finish(int number);
void mapped_complete(void); /* what all queues hold, and what it has sent */
struct device *mapped_device(void);

/* Optional: part of a buffer as an object of its own, which shmmap takes; NULL where the kind has none. */
struct buffer *mapped_sub_buffer(struct buffer *buffer, size_t at, size_t nbytes);
void mapped_free_sub_buffer(struct buffer *sub_buffer);

#endif
