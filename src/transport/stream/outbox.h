/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The outbox: page-locked host memory to which queues of the program copy the sources of puts, so that they go on while
 * the agent sends the data from there. Any thread may take room and give it back.
 */
#ifndef SHMEMI_STREAM_OUTBOX_H
#define SHMEMI_STREAM_OUTBOX_H

#include "base/tuning.h"
#include "gpu/memory.h"

/* Make it now, before streams wait, for a kind whose page-locking may wait for them. For other kinds it is made when it is
 * first needed. */
void shmemi_outbox_prepare(const struct shmemi_memory *memory);

/* Room for nbytes, 1 to SHMEMI_OUTBOX_LONGEST, that the devices of the kind of memory copy to. Never waits, since the
 * room in use may come back only after the program has gone on: NULL when there is none. */
void *shmemi_outbox_take(const struct shmemi_memory *memory, size_t nbytes);
void shmemi_outbox_give(void *room);

/* Give the memory back to the system; no room is in use. */
void shmemi_outbox_close(void);

#endif
