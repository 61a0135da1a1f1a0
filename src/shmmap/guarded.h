/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SHMEM_CHECK: the blocks of the symmetric heap under guard. Each block has guard bytes on both sides. A block that the
 * program frees is filled, and rests for a while before its memory is given out again. Whoever writes into guards or
 * resting blocks is found out later; transfers that leave their block, or go to a freed one, at once.
 *
 * Offsets are those in the heap region. All decisions depend on the sequence of allocations alone, which is the same on
 * all PEs, so blocks stay symmetric. Any thread may call these. Those that find a mistake end the job.
 */
#ifndef SHMEMI_GUARDED_H
#define SHMEMI_GUARDED_H

#include "base/system/cache_line.h"

#include <stdbool.h>
#include <stddef.h>

enum { SHMEMI_GUARD_BYTES = SHMEMI_CACHE_LINE }; /* blocks stay aligned to lines */

/* Begin to guard a block that was allocated, or has another size now. routine: who made it, for messages. */
void shmemi_guarded_made(const char *routine, size_t offset, size_t size);

/* Whether a block that is in use starts here. Ends the job when the block was freed before. */
bool shmemi_guarded_is_live(const char *routine, size_t offset);

/* Free the block at offset: it rests, and the oldest resting ones go back to the heap. -EINVAL when none starts there. */
int shmemi_guarded_free(const char *routine, size_t offset);

/* Give all resting blocks back to the heap, which is full. False when there are none. */
bool shmemi_guarded_flush(const char *routine);

/* Bytes of the heap that resting blocks take up. */
size_t shmemi_guarded_resting(void);

/* Look at the guards of all blocks, and at all resting ones. */
void shmemi_guarded_check_all(const char *routine);

/* Whether a range of the heap lies in one block that is in use. what: "" or "the local buffer ", for the message. */
void shmemi_guarded_check_range(const char *routine, const char *what, const void *address, size_t nbytes);

/* Forget all blocks: the heap is closed. */
void shmemi_guarded_close(void);

#endif
