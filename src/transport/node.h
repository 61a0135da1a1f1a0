/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The node segment: one piece of memory that all PEs of a node have mapped.
 *
 * The lowest PE of the node makes it as a memfd and hands the descriptor to the others (handout.h): nothing is left
 * behind when PEs are killed, and no ptrace rights are needed. Nobody else can open it, nor change its size.
 *
 *      | node header | control of PE 0, 1, ... | record of PE 0, 1, ... | staging of PE 0, 1, ... | heap of PE 0, 1, ... |
 */
#ifndef SHMEMI_NODE_H
#define SHMEMI_NODE_H

#include "base/system/cache_line.h"
#include "bootstrap/job.h"
#include "transport/driver.h"
#include "transport/request.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SHMEMI_RING_ENTRIES = 256,
    SHMEMI_RECORD_BYTES = 512,
    SHMEMI_STAGING_SLOTS_MAX = 64,
};

#define SHMEMI_CACHE_ALIGNED _Alignas(SHMEMI_CACHE_LINE)

/* Requests of the node's PEs to one of them: many producers, and that PE's service thread as the consumer. An entry
 * belongs to the producer when sequence equals its ticket, to the consumer when it is one more. */
struct shmemi_ring_entry {
    SHMEMI_CACHE_ALIGNED _Atomic uint64_t sequence;
    struct shmemi_request request;
};

struct shmemi_ring {
    SHMEMI_CACHE_ALIGNED _Atomic uint64_t tail; /* next ticket for a producer; relaxed: the entry has the order */
    SHMEMI_CACHE_ALIGNED uint64_t head;         /* used by the consumer only */
    struct shmemi_ring_entry entry[SHMEMI_RING_ENTRIES];
};

struct shmemi_control {
    struct shmemi_ring ring;
    /* Not 0: the PE's service thread sleeps, and whoever brings work for it must ring its doorbell. */
    SHMEMI_CACHE_ALIGNED _Atomic uint32_t service_sleeps;
    uint64_t doorbell; /* number of its name (doorbell.h) */
    /* This PE's requests without a slot that their owners have completed, by set. */
    SHMEMI_CACHE_ALIGNED _Atomic uint64_t slotless_settled[SHMEMI_SLOTLESS_SETS];
    _Atomic uint32_t slotless_failed; /* relaxed: set before slotless_settled is raised by a release */
    SHMEMI_CACHE_ALIGNED _Atomic uint32_t slot_state[SHMEMI_STAGING_SLOTS_MAX];
    _Atomic uint32_t barriers; /* entered by this PE: shows those that wait in one who has not come */
};

struct shmemi_node_header {
    uint64_t magic;
    uint64_t size;                /* of the whole segment */
    _Atomic uint64_t pulse_sent;  /* when a PE of the node sent the last sign of life (ucx/pulse.c) */
    _Atomic uint32_t is_cut_off;  /* a PE of the node has found that another host is lost */
    _Atomic uint32_t is_given_up; /* a PE of the node ends the job (shmemi_node_end_first) */
    _Atomic uint64_t time_zero;   /* of traces: shmemi_clock when the first PE of the node had seen all others come */
    SHMEMI_CACHE_ALIGNED _Atomic uint32_t arrived;         /* PEs in the present barrier */
    SHMEMI_CACHE_ALIGNED _Atomic uint32_t epoch;           /* barriers completed */
    SHMEMI_CACHE_ALIGNED char record[SHMEMI_RECORD_BYTES]; /* a result that the leader publishes to all */
};

struct shmemi_node {
    struct shmemi_node_header *header; /* the segment's start */
    size_t size;
    size_t heap_size;
    size_t heap_offset; /* of the first PE's heap */
    size_t staging_offset;
    size_t staging_size; /* per PE */
    int fd;
    int doorbell;       /* this PE's datagram socket, which wakes its service thread */
    uint64_t handout;   /* on the lowest PE: number of the socket that hands out the segment; 0: there is none */
    void (*look)(void); /* who waits in a barrier of the node calls it now and then; NULL until it is set */
};

extern struct shmemi_node shmemi_node;

/* Two steps, before and after the bootstrap's fence: bind makes the doorbell and, on the lowest PE, the segment; join
 * hands it out and maps it. handout is the lowest PE's number of that name, as it came through the bootstrap; heap_size
 * is a multiple of 2 MiB, of which at most rarely_used bytes are for what few jobs do. */
int shmemi_node_bind(size_t heap_size, size_t rarely_used);
int shmemi_node_join(uint64_t handout);
void shmemi_node_leave(void);

/* Page-lock the staging area of this PE, or those of all PEs of the node, for a kind of memory: copies between them and
 * the GPU are faster then. What is page-locked already stays so. The first is tried once for each kind and may be called
 * by any thread before each transfer; the second is for one thread. And the reverse, for all kinds. */
void shmemi_node_pin_own_staging(const struct shmemi_memory *memory);
void shmemi_node_pin_staging(const struct shmemi_memory *memory);
void shmemi_node_unpin_staging(void);

/* Map this PE's heap at an address that the caller chooses, replacing what is mapped there. */
int shmemi_node_map_heap(void *address);

static inline struct shmemi_control *shmemi_node_control(int node_rank)
{
    char *first = (char *)shmemi_node.header + sizeof *shmemi_node.header;
    return (struct shmemi_control *)first + node_rank;
}

/* What each PE shows to the others (shmemi_exchange_publish). The records lie side by side, because every PE reads all of
 * them at its start: in the control blocks each would be a page of its own. */
static inline char *shmemi_node_record(int node_rank)
{
    return (char *)shmemi_node_control(shmemi_job.node_n_pes) + (size_t)node_rank * SHMEMI_RECORD_BYTES;
}

/* What each PE is bound to. The sets lie side by side, because every PE reads all of them; they are there once the node was
 * joined. */
static inline cpu_set_t *shmemi_node_binding(int node_rank)
{
    return (cpu_set_t *)(void *)shmemi_node_record(shmemi_job.node_n_pes) + node_rank;
}

static inline char *shmemi_node_staging(int node_rank)
{
    return (char *)shmemi_node.header + shmemi_node.staging_offset + (size_t)node_rank * shmemi_node.staging_size;
}

static inline char *shmemi_node_heap(int node_rank)
{
    return (char *)shmemi_node.header + shmemi_node.heap_offset + (size_t)node_rank * shmemi_node.heap_size;
}

/* Wait for all PEs of the node. Memory effects before it are visible after it. */
void shmemi_node_barrier(void);

/* Has a PE come to the barrier in which this PE is, or farther? */
bool shmemi_node_has_come(int node_rank);

/* Before this PE ends the job for a reason that other PEs of the node find out, too: the first one does it and says why, and
 * the others leave it to that one for some seconds. */
void shmemi_node_end_first(void);

/* A PE of this node has gone, as a system call that touches it says. The launcher knows what became of it and ends the job;
 * this PE must not be the first to end, or it would be blamed. If the launcher does not, end the job and name that PE. */
_Noreturn void shmemi_node_end_lost(int pe) __attribute__((cold));

/* For the watchdog: append a list of the PEs of the node that have requests left in their rings. */
void shmemi_describe_rings(char *text, size_t size);

#endif
