/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The timeline that SHMEM_TRACE asks for, in Chrome's trace format, which chrome://tracing and ui.perfetto.dev open. A
 * PE is a process in it, a thread a thread; requests of other PEs and copies by a GPU have tracks of their own.
 *
 * While the program runs every PE writes a file of its own, NAME.PE.json for NAME.json, through a buffer of fixed size.
 * What is in the file is complete JSON after each write, so that a program that is killed leaves one too. At the end
 * PE 0 puts them together; with %p in the name, which stands for the PE, they stay apart.
 *
 * All may be called by any thread; what is recorded while there is no trace is dropped.
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

/* Make this PE's file. The settings have been read. -errno, logged, when that is not possible. */
int shmemi_trace_open(void);
/* All PEs have just met. *zero, which the PEs of the node share and which was 0 at first, becomes the time at which the
 * first of them came here: that is where the timeline begins. */
void shmemi_trace_start(_Atomic uint64_t *zero);
/* Write what is left; a line when something could not be written. */
void shmemi_trace_close(void);
/* The same in a process that is about to end: does not wait for locks. */
void shmemi_trace_last(void);
/* PE 0, when all have closed theirs. */
void shmemi_trace_merge(void);

/* This thread is at rest: what it has recorded some time ago can go to the file. */
void shmemi_trace_rest(void);

/* Name this thread. The text stays. */
void shmemi_trace_name_thread(const char *name);

void shmemi_trace_transfer(const struct shmemi_trace_transfer *transfer);
void shmemi_trace_served(const struct shmemi_trace_transfer *request);
void shmemi_trace_span(const char *name, const char *category, uint64_t begin, uint64_t end);
/* A copy on the track of a device's queue. */
void shmemi_trace_copy(const char *device, int number, unsigned queue, const char *name, uint64_t nbytes,
                       uint64_t begin, uint64_t end);

#endif
