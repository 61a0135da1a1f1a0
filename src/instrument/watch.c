/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the calls of this process that have waited for longer than SHMEM_WATCHDOG says, and reports them.
 */
#include "instrument/watch.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/tuning.h"
#include "bootstrap/job.h"
#include "instrument/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LISTED_PES_MAX = 16, NAMED_PES_MAX = 4 };

_Thread_local struct shmemi_call *shmemi_present_call;
bool shmemi_watch_is_on;

static uint64_t patience;      /* nanoseconds; 0: the watchdog is off */
static _Atomic uint64_t *told; /* where shmemi_watch_count writes */

int (*shmemi_watch_process_of)(int pe);
static _Thread_local struct {
    unsigned n;
    int pe[NAMED_PES_MAX];
} named; /* in the present description */

void shmemi_watch_open(void)
{
    patience = (uint64_t)shmemi_settings.watchdog * 1000000000u;
    shmemi_watch_is_on = patience || shmemi_settings.trace[0];
}

void shmemi_watch_close(void)
{
    shmemi_watch_is_on = false;
    patience = 0;
}

const char *shmemi_present_routine(void)
{
    const char *routine = NULL;
    for (const struct shmemi_call *call = shmemi_present_call; call; call = call->outer)
        if (call->routine)
            routine = call->routine;
    return routine;
}

void shmemi_append(char *text, size_t size, const char *format, ...)
{
    va_list args;
    size_t length = strlen(text);
    va_start(args, format);
    vsnprintf(text + length, size - length, format, args);
    va_end(args);
}

void shmemi_name_process(int pe)
{
    if (named.n < NAMED_PES_MAX)
        named.pe[named.n++] = pe;
}

void shmemi_append_pe(char *text, size_t size, unsigned *n_p, int pe)
{
    unsigned n = (*n_p)++;
    if (n < LISTED_PES_MAX)
        shmemi_append(text, size, n ? ", %d" : "PE %d", pe);
    else if (n == LISTED_PES_MAX)
        shmemi_append(text, size, " and more");
    shmemi_name_process(pe);
}

/* Ask the innermost call that has a describe function what it waits for. */
static void describe(const struct shmemi_call *call, char *text, size_t size)
{
    text[0] = '\0';
    named.n = 0;
    while (call && !call->describe)
        call = call->outer;
    if (call)
        call->describe(call, text, size);
}

void shmemi_watch_describe(char *text, size_t size)
{
    describe(shmemi_present_call, text, size);
}

/* The processes, for a debugger that is to be attached to them: those of the PEs that are waited for, then this one. */
static void append_processes(char *text, size_t size)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    shmemi_append(text, size, " (");
    for (unsigned i = 0; i < named.n && shmemi_watch_process_of; i++) {
        const int pe = named.pe[i], process = shmemi_watch_process_of(pe);
        if (process)
            shmemi_append(text, size, "PE %d is process %d on %s; ", pe, process, shmemi_job_host_name(pe));
        else
            shmemi_append(text, size, "PE %d is on %s; ", pe, shmemi_job_host_name(pe));
    }
    shmemi_append(text, size, "PE %d itself is process %d on %s)", shmemi_job.pe, (int)getpid(), host);
    named.n = 0;
}

void shmemi_watch_speak(uint64_t waited, const char *where, const char *text)
{
    char processes[384] = "";
    append_processes(processes, sizeof processes);
    shmemi_log_write(SHMEMI_LOG_WARN, "has waited for %.0f s in %s%s%s%s", (double)waited * 1e-9, where,
                     text[0] ? ": " : "", text, processes);
}

static void speak(const struct shmemi_call *call, uint64_t waited)
{
    char text[512];
    const char *routine = shmemi_present_routine();
    describe(call, text, sizeof text);
    shmemi_watch_speak(waited, routine ? routine : "the library", text);
}

bool shmemi_watch_is_due(uint64_t waited, uint64_t *spoken_p)
{
    if (!patience || waited < patience || waited < 2 * *spoken_p)
        return false;
    *spoken_p = waited;
    named.n = 0;
    return true;
}

/* For how long this call has been seen waiting. */
static uint64_t waited_in(struct shmemi_call *call)
{
    const uint64_t now = shmemi_clock();
    if (!call->seen_at) {
        call->seen_at = now;
        call->spoken = 0;
    }
    return now - call->seen_at;
}

void shmemi_watch(void)
{
    static _Thread_local unsigned turns;
    shmemi_trace_rest();
    struct shmemi_call *call = shmemi_present_call;
    if (!patience || !call || ++turns % SHMEMI_WATCH_TURNS_PER_LOOK)
        return;
    const uint64_t waited = waited_in(call);
    if (shmemi_watch_is_due(waited, &call->spoken))
        speak(call, waited);
}

/* ---- for other PEs ----------------------------------------------------------------------------------------------- */

/* Calls that end when another PE does something, not when memory or a GPU has. */
static const bool waits_for_pes[SHMEMI_ACTIVITIES + 1] = {
    [SHMEMI_AT_BARRIER] = true, [SHMEMI_AT_COLLECTIVE] = true, [SHMEMI_AT_WAIT] = true,
    [SHMEMI_AT_LOCK] = true,    [SHMEMI_AT_RUNTIME] = true,
};

void shmemi_watch_tell(_Atomic uint64_t *seconds)
{
    told = seconds;
}

void shmemi_watch_count(void)
{
    struct shmemi_call *call = shmemi_present_call;
    while (call && call->outer)
        call = call->outer;
    if (!told || !call || !waits_for_pes[call->activity])
        return;
    atomic_store_explicit(told, waited_in(call) / 1000000000u, memory_order_relaxed);
}
