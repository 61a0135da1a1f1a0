/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ring (shmem/mapshmem/device_types.h) as the host sees it, and the agent: a thread that carries out what kernels have
 * written there, by the ordinary drivers, so that every route and every check serves.
 */
#ifndef SHMEMI_DEVICE_RING_H
#define SHMEMI_DEVICE_RING_H

#include "base/system/cache_line.h"
#include "device/device.h"
#include "transport/driver.h"

enum { SHMEMI_DEVICE_ENTRIES = 512, SHMEMI_DEVICE_SLOT_BYTES = 16384 };
enum { SHMEMI_DEVICE_SMALL_BYTES = 512, SHMEMI_DEVICE_SMALL_MOST = 4096 };

/* A small put that the agent has taken out of the ring. */
struct shmemi_device_small {
    struct shmemi_device_entry entry;
    char *bytes; /* NULL: they are in the entry */
};

struct shmemi_device_progress {
    _Alignas(SHMEMI_CACHE_LINE) unsigned long long freed, done; /* as kernels read them */
};

/* A ring, of which each user has one, and what the agent's thread needs to serve it, from the first view on that asks for
 * that until the end. */
struct shmemi_device_agent {
    struct shmemi_place user;
    struct shmemi_device_ring *for_kernels; /* in the user's memory */
    struct shmemi_device_agent *next;       /* of all */
    void *block;                            /* NULL: nobody serves it. What follows lies there: page-locked memory */
    struct shmemi_device_entry *entries;
    char *slots;
    struct shmemi_device_progress *progress;
    /* Used by the thread only: */
    uint64_t issued, done, freed;         /* tickets */
    bool is_taken[SHMEMI_DEVICE_ENTRIES]; /* of those that are issued and not done: out of the ring */
    struct shmemi_device_small *small;    /* SHMEMI_DEVICE_SMALL_MOST: those that are under way, ... */
    unsigned n_small;                     /* ... and how many there are */
    char *bytes;                          /* of them: room for as many as there are entries */
    unsigned n_bytes;                     /* pieces in use */
    struct shmemi_context context;
    struct shmemi_device_agent *next_served;
    /* What kernels of the user wait for (waits.c): NULL without a watchdog. */
    struct shmemi_device_wait *waits;
    struct {
        uint64_t since, spoken; /* what has been said of each */
    } told[SHMEMI_DEVICE_WAITS];
};

/* Newest first; none is removed before the end. */
extern _Atomic(struct shmemi_device_agent *) shmemi_device_agents;

/* The agent of a user, made when it is first asked for, which serves the ring when it is first asked to. 0 or -errno,
 * logged: then nothing has changed. With a lock of the caller's held. (ring_users.c) */
int shmemi_device_ring(const struct shmemi_place *user, bool is_served, const struct shmemi_device_agent **agent_p);
/* End all agents. No kernel uses a ring or waits any more. */
void shmemi_device_rings_close(void);

/* The thread serves an agent from now on; it is started with the first. 0 or -errno, logged. And its end. (ring.c) */
int shmemi_device_agent_serve(struct shmemi_device_agent *agent);
void shmemi_device_agents_stop(void);

/* Make the places of waits if SHMEM_WATCHDOG is set, and free them. 0 or -errno, logged. (waits.c) */
int shmemi_device_waits_open(struct shmemi_device_agent *agent);
void shmemi_device_waits_close(struct shmemi_device_agent *agent);

/* Start what an entry asks for; the context's quiet completes it. 0 or -errno, logged. (execute.c) */
int shmemi_device_execute(struct shmemi_device_agent *agent, struct shmemi_device_entry *entry, char *slot);

#endif
