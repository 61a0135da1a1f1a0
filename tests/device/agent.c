/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library's agent (src/device/ring.c) for threads.cc: in place of the drivers, memory of the same process. What the
 * agent calls is here, so that nothing but the protocol of the ring is between the threads.
 */
#define _GNU_SOURCE
#include "device/ring.h"

#include "base/log.h"
#include "base/thread/patience.h"
#include "base/thread/thread_start.h"
#include "gpu/thread_cores.h"
#include "instrument/measure.h"
#include "instrument/watchdog.h"
#include "transport/drivers/table.h"
#include "transport/progress.h"
#include "transport/threads.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *copies;
static size_t copy_bytes;

/* The ring of a PE, whose copy is one of those that lie side by side. */
struct shmemi_device_ring *ring_of(int pe, bool is_served, void *all_copies, size_t nbytes);
struct shmemi_device_ring *ring_of(int pe, bool is_served, void *all_copies, size_t nbytes)
{
    const struct shmemi_device_agent *agent;
    const struct shmemi_place user = {.object = (char *)all_copies + pe};
    copies = all_copies;
    copy_bytes = nbytes;
    return shmemi_device_ring(&user, is_served, &agent) ? NULL : agent->for_kernels;
}

/* Begin a wait for what kernels have handed to all agents, and ask whether it is over. */
static struct shmemi_device_drain drains[2];
bool begin_drain(unsigned which);
bool begin_drain(unsigned which)
{
    drains[which] = (struct shmemi_device_drain){0};
    return shmemi_device_is_drained(&drains[which]);
}
bool is_drained(unsigned which);
bool is_drained(unsigned which)
{
    return shmemi_device_is_drained(&drains[which]);
}

static void update(char *word, const struct shmemi_amo *amo, char *reply)
{
    const uint64_t old = shmemi_amo_apply(word, amo);
    if (reply)
        memcpy(reply, &old, amo->size);
}

static void put(struct shmemi_device_entry *entry, char *there, const char *slot)
{
    const void *local = (const void *)(uintptr_t)entry->local; /* NOLINT */
    const void *source = entry->what & SHMEMI_DEVICE_INLINE ? (const void *)&entry->value : local ? local : slot;
    uint64_t *signal = (uint64_t *)(void *)(copies + (size_t)entry->pe * copy_bytes + entry->extra);
    if (entry->nbytes == 8 || entry->nbytes == 4)
        update(there, &(struct shmemi_amo){SHMEMI_AMO_SET, (unsigned)entry->nbytes, *(const uint64_t *)source, 0},
               NULL);
    else if (entry->nbytes == 2)
        __atomic_store_n((uint16_t *)(void *)there, *(const uint16_t *)source, __ATOMIC_RELAXED);
    else
        memcpy(there, source, entry->nbytes);
    if (entry->what & SHMEMI_DEVICE_SIGNAL)
        __atomic_store_n(signal, entry->value, __ATOMIC_RELEASE);
    if (entry->what & SHMEMI_DEVICE_ADD)
        __atomic_fetch_add(signal, entry->value, __ATOMIC_ACQ_REL);
}

int shmemi_device_execute(struct shmemi_device_agent *agent, struct shmemi_device_entry *entry, char *slot)
{
    char *there = copies + (size_t)entry->pe * copy_bytes + entry->offset;
    void *local = (void *)(uintptr_t)entry->local; /* NOLINT */
    const struct shmemi_amo amo = {(enum shmemi_amo_op)(entry->what >> SHMEMI_DEVICE_AMO_SHIFT),
                                   (unsigned)entry->nbytes, entry->value, entry->extra};
    (void)agent;
    if ((entry->what & SHMEMI_DEVICE_KINDS) == SHMEMI_DEVICE_PUT)
        put(entry, there, slot);
    else if ((entry->what & SHMEMI_DEVICE_KINDS) == SHMEMI_DEVICE_GET)
        memcpy(local ? local : slot, there, entry->nbytes);
    else
        update(there, &amo, entry->what & SHMEMI_DEVICE_REPLY ? slot : NULL);
    return 0;
}

uint64_t shmemi_amo_apply(void *word, const struct shmemi_amo *amo)
{
    enum { ORDER = __ATOMIC_ACQ_REL };
    uint64_t expected = amo->compare;
    unsigned expected_half = (unsigned)amo->compare, value_half = (unsigned)amo->operand;
    const bool is_long = amo->size == 8;
    uint64_t *w = word;
    unsigned *h = word;
    switch (amo->op) {
    case SHMEMI_AMO_FETCH:
        return is_long ? __atomic_load_n(w, __ATOMIC_ACQUIRE) : __atomic_load_n(h, __ATOMIC_ACQUIRE);
    case SHMEMI_AMO_ADD:
        return is_long ? __atomic_fetch_add(w, amo->operand, ORDER) : __atomic_fetch_add(h, value_half, ORDER);
    case SHMEMI_AMO_AND:
        return is_long ? __atomic_fetch_and(w, amo->operand, ORDER) : __atomic_fetch_and(h, value_half, ORDER);
    case SHMEMI_AMO_OR:
        return is_long ? __atomic_fetch_or(w, amo->operand, ORDER) : __atomic_fetch_or(h, value_half, ORDER);
    case SHMEMI_AMO_XOR:
        return is_long ? __atomic_fetch_xor(w, amo->operand, ORDER) : __atomic_fetch_xor(h, value_half, ORDER);
    case SHMEMI_AMO_COMPARE_SWAP:
        if (is_long)
            __atomic_compare_exchange_n(w, &expected, amo->operand, false, ORDER, __ATOMIC_ACQUIRE);
        else
            __atomic_compare_exchange_n(h, &expected_half, value_half, false, ORDER, __ATOMIC_ACQUIRE);
        return is_long ? expected : expected_half;
    default:
        return is_long ? __atomic_exchange_n(w, amo->operand, ORDER) : __atomic_exchange_n(h, value_half, ORDER);
    }
}

/* ---- The rest of what the agent calls ---------------------------------------------------------------------------- */

int shmemi_device_out_of_memory(void)
{
    return -ENOMEM;
}

int shmemi_device_copy_of(const struct shmemi_place *user, const void *bytes, size_t nbytes, void **copy_p)
{
    (void)user;
    *copy_p = malloc(nbytes);
    memcpy(*copy_p, bytes, nbytes);
    return 0;
}

int shmemi_device_write(const struct shmemi_place *user, void *copy, const void *bytes, size_t nbytes)
{
    (void)user;
    memcpy(copy, bytes, nbytes);
    return 0;
}

void shmemi_device_free(const struct shmemi_place *user, void *copy)
{
    (void)user;
    free(copy);
}

/* Operations are not complete before so many words have been put, if that is not 0. */
static unsigned long words_needed, words_put;
void need_words(unsigned long n);
void need_words(unsigned long n)
{
    __atomic_store_n(&words_needed, n, __ATOMIC_RELEASE);
}
void note_word(void);
void note_word(void)
{
    __atomic_fetch_add(&words_put, 1, __ATOMIC_ACQ_REL);
}

int shmemi_drivers_quiet(struct shmemi_context *context)
{
    (void)context;
    while (__atomic_load_n(&words_put, __ATOMIC_ACQUIRE) < __atomic_load_n(&words_needed, __ATOMIC_ACQUIRE))
        sched_yield();
    return 0;
}

int shmemi_collect_session_begin(struct shmemi_context *context, size_t expected)
{
    (void)context;
    (void)expected;
    return 0;
}

void shmemi_collect_close(struct shmemi_context *context)
{
    (void)context;
}

int shmemi_device_waits_open(struct shmemi_device_agent *agent)
{
    (void)agent;
    return 0;
}

void shmemi_device_waits_close(struct shmemi_device_agent *agent)
{
    (void)agent;
}

void shmemi_watchdog_stop(void)
{
}

_Thread_local struct shmemi_call *shmemi_present_call;
struct shmemi_measure shmemi_measure;
void shmemi_measure_from_kernel(enum shmemi_from_kernel what, struct shmemi_trace_transfer *event)
{
    (void)what;
    (void)event;
}

bool shmemi_cores_are_shared(void)
{
    return true;
}

bool shmemi_threads_are_guests(void)
{
    return true;
}

unsigned shmemi_work(enum shmemi_turn turn)
{
    (void)turn;
    return 0;
}

void shmemi_threads_enter(const char *name, const char *short_name)
{
    (void)name;
    (void)short_name;
}

enum shmemi_rest shmemi_rest(enum shmemi_patience patience, unsigned turn)
{
    (void)patience;
    if (turn > 16)
        usleep(20);
    return SHMEMI_HAS_NAPPED;
}

int shmemi_thread_start(pthread_t *thread_p, const char *what, void *(*run)(void *), void *argument)
{
    (void)what;
    return -pthread_create(thread_p, NULL, run, argument);
}

enum shmemi_log_level shmemi_log_level;
void shmemi_log_write(enum shmemi_log_level level, const char *format, ...)
{
    fprintf(stderr, "%d: %s\n", (int)level, format);
}

void shmemi_fatal(const char *format, ...)
{
    fprintf(stderr, "%s\n", format);
    abort();
}
