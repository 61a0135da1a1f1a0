/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What each thread of this process is doing in the library, as a stack of calls, and the watchdog that reports a call
 * that waits for too long (SHMEM_WATCHDOG). The calls also give a trace its names (instrument/measure.h).
 *
 * A function that may wait puts a record on its own stack between begin and end. That costs a few stores, and only
 * outside of fast paths. The clock is not read before a wait has lasted long enough to yield the core.
 */
#ifndef SHMEMI_WATCH_H
#define SHMEMI_WATCH_H

#include "base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shmemi_activity {
    SHMEMI_AT_TRANSFER, /* an operation on memory that the program has called */
    SHMEMI_AT_BARRIER,  /* this and the following ones have a line each in the statistics */
    SHMEMI_AT_COLLECTIVE,
    SHMEMI_AT_QUIET,
    SHMEMI_AT_FENCE,
    SHMEMI_AT_WAIT,
    SHMEMI_AT_LOCK,
    SHMEMI_AT_DEEP,
    SHMEMI_AT_RUNTIME, /* the library's own agreements: start, shmmap */
    SHMEMI_ACTIVITIES,
    SHMEMI_AT_DETAIL = SHMEMI_ACTIVITIES, /* what the call around it waits for at the moment */
};

struct shmemi_call {
    const char *routine; /* public routine; NULL: that of the enclosing call */
    enum shmemi_activity activity;
    /* Says what the call waits for at this moment, in one phrase without a newline; NULL: nothing to add. Must not wait
     * for anything itself; the state that it reads may have changed meanwhile. */
    void (*describe)(const struct shmemi_call *call, char *text, size_t size);

    struct shmemi_call *outer;
    uint64_t begin;   /* instrument/measure.h: time at which it was entered */
    uint64_t seen_at; /* time at which it was first seen waiting; 0: not yet */
    uint64_t spoken;  /* watchdog: how long it had waited at the last report */
};

/* The innermost call of this thread, or NULL. */
extern _Thread_local struct shmemi_call *shmemi_present_call __attribute__((tls_model("initial-exec")));

/* Begin and end a call. The caller sets the fields that begin does not set. */
static inline __attribute__((always_inline)) void shmemi_call_begin(struct shmemi_call *call)
{
    call->outer = shmemi_present_call;
    call->seen_at = 0;
    shmemi_present_call = call;
}

static inline __attribute__((always_inline)) void shmemi_call_end(const struct shmemi_call *call)
{
    shmemi_present_call = call->outer;
}

/* True when waiting threads should call shmemi_watch. */
extern bool shmemi_watch_is_on;

/* Take the watchdog's interval from the settings. */
void shmemi_watch_open(void);
void shmemi_watch_close(void);

/* Called by a waiting thread from time to time: logs a report when it has waited for too long, and again each time that
 * the length of the wait has doubled. */
void shmemi_watch(void);

/* For waits that are no calls of this process's threads. Is a wait of so many nanoseconds to be reported? *spoken_p is 0 when
 * the wait begins, and belongs to this function. And the report: where the wait is, and what it is for (or ""). */
bool shmemi_watch_is_due(uint64_t waited, uint64_t *spoken_p);
void shmemi_watch_speak(uint64_t waited, const char *where, const char *text);

/* Where this PE writes for others how many seconds it has waited for another PE in the same public call: the number goes
 * on to grow only while it waits. For a PE of which one thread calls the library. NULL: nowhere. */
void shmemi_watch_tell(_Atomic uint64_t *seconds);
/* Called by a waiting thread each time that it sleeps: writes that number. */
void shmemi_watch_count(void);

/* Write what the calling thread waits for, as its calls describe it; nothing if none does. */
void shmemi_watch_describe(char *text, size_t size);

/* The public routine that this thread is in, or NULL. */
const char *shmemi_present_routine(void);

/* How the watchdog finds out the process of a PE: 0 if this PE does not know it. Set at the end of shmem_init. */
extern int (*shmemi_watch_process_of)(int pe);

/* Append to a text of this size, never past its end. */
void shmemi_append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Append " and PE n" or the like to a list of PEs, which is cut off after some. Set *n_p to 0 before the first. */
void shmemi_append_pe(char *text, size_t size, unsigned *n_p, int pe);
/* For a description: it has named this PE, by whatever words. The report then says which process that is; of some PEs only. */
void shmemi_name_process(int pe);

#endif
