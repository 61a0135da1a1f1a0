/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The timeline that SHMEM_TRACE requests, in Chrome's trace format, which chrome://tracing and ui.perfetto.dev open. In
 * it a PE is a process and a thread a thread; requests of other PEs and copies by a GPU have tracks of their own.
 *
 * While the program runs every PE writes a file of its own, NAME.PE.json for NAME.json, through a buffer of fixed size.
 * The file is complete JSON after each write, so even a killed program leaves a readable file. At the end PE 0 joins
 * the files of all PEs; with %p in the name, which stands for the PE, they stay separate.
 *
 * Any thread may call these functions; events recorded while there is no trace are dropped.
 */
#ifndef SHMEMI_TRACE_H
#define SHMEMI_TRACE_H

#include <stdint.h>

struct shmemi_trace_transfer {
    const char *name, *category, *route;
    int pe; /* the other one */
    uint32_t region;
    uint64_t offset, nbytes;
    uint64_t begin, end; /* shmemi_clock */
};

/* Make this PE's file, after the settings have been read. -errno, logged, when that is not possible. */
int shmemi_trace_open(void);
/* Call after a barrier of all PEs. *zero, which the PEs of the node share and which is 0 at first, becomes the time of
 * the node's first call of this function: the timeline begins there. */
void shmemi_trace_start(_Atomic uint64_t *zero);
/* Flush and close; logs one line if a write failed. */
void shmemi_trace_close(void);
/* Flush and close in a process that is about to end: does not wait for locks. */
void shmemi_trace_last(void);
/* Join the files of all PEs; called by PE 0 when all have closed theirs. */
void shmemi_trace_merge(void);

/* Called by a thread that has nothing to do: writes out events that have waited in the buffer for some time. */
void shmemi_trace_rest(void);

/* Name this thread. `name` is not copied and must stay valid. */
void shmemi_trace_name_thread(const char *name);

/* Something about this PE that viewers show beside its name: at most 300 bytes, without quotes and backslashes. */
void shmemi_trace_label(const char *label);

void shmemi_trace_transfer(const struct shmemi_trace_transfer *transfer);
void shmemi_trace_served(const struct shmemi_trace_transfer *request);
void shmemi_trace_span(const char *name, const char *category, uint64_t begin, uint64_t end);
/* Record a copy on the track of a device's queue. */
void shmemi_trace_copy(const char *device, int number, unsigned queue, const char *name, uint64_t nbytes,
                       uint64_t begin, uint64_t end);

#endif
