/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives [9.10]: what the files coll_*.c share.
 *
 * Every collective has two levels. Inside a node the members see each other's workspaces by load and store (shmem/coll/node.c);
 * between nodes the leaders, one per node, exchange words, records and data through the views' drivers (shmem/coll/leaders.c).
 * A dest may be written as soon as the writer has entered: the program guarantees that it is ready everywhere. A source
 * may be read by others only after its owner has entered. Nothing is static: teams may be at work in several threads.
 */
#ifndef SHMEMI_COLLECTIVES_H
#define SHMEMI_COLLECTIVES_H

#include "shmem/coll/choice.h"
#include "shmem/coll/op.h"
#include "shmem/team.h"
#include "transport/drivers/table.h"
#include "transport/node.h"

#include <stdatomic.h>

enum {
    SHMEMI_LINES = 32,        /* operations that the members of a node may be apart, and one */
    SHMEMI_SCRATCH_SLOTS = 8, /* the same of those that use scratch */
    SHMEMI_LINE_BYTES = 56,   /* of data in a line */
    SHMEMI_SCRATCH_BYTES = 2048,
    SHMEMI_CARRIER_BYTES = SHMEMI_SCRATCH_BYTES, /* most that one operation carries through the workspace */
    SHMEMI_ROUNDS = 18,         /* of an algorithm that doubles its reach: 2^16 nodes, and two that fold */
    SHMEMI_LEADER_BYTES = 1024, /* of data in a record between leaders */
    SHMEMI_FLAGS = 16,
};

/* A cache line that its owner writes and others poll: the data belong to the operation with this number. */
struct shmemi_line {
    SHMEMI_CACHE_ALIGNED char data[SHMEMI_LINE_BYTES];
    _Atomic uint64_t number;
};

/* A team's shared memory in the heap of each member. It is never cleared: all numbers in it only grow. */
struct shmemi_workspace {
    struct shmemi_line arrival[SHMEMI_LINES]; /* its owner has entered; data: what it contributes */
    struct shmemi_line release[SHMEMI_LINES]; /* data: what the owner gives to all */
    SHMEMI_CACHE_ALIGNED char scratch[SHMEMI_SCRATCH_SLOTS][SHMEMI_SCRATCH_BYTES]; /* data too long for a line */

    /* Written by leaders of other nodes: the operation that the writer has reached. */
    SHMEMI_CACHE_ALIGNED _Atomic uint64_t synced[SHMEMI_ROUNDS];
    _Atomic uint64_t reduced[SHMEMI_ROUNDS];
    _Atomic uint64_t collected[SHMEMI_ROUNDS];
    _Atomic uint64_t delivered[SHMEMI_FLAGS];
    union {
        SHMEMI_CACHE_ALIGNED char record[2][SHMEMI_ROUNDS][SHMEMI_LEADER_BYTES]; /* of reductions */
        char partial[2 * SHMEMI_ROUNDS * SHMEMI_LEADER_BYTES];                   /* of scans, by members of any node */
    };
    SHMEMI_CACHE_ALIGNED _Atomic uint64_t scanned[SHMEMI_ROUNDS];
};

struct shmemi_collective_state {
    struct shmemi_workspace *mine;
    bool spins;             /* nobody needs this core while this PE waits */
    uint64_t number;        /* of node operations begun */
    uint64_t known_entered; /* all members of the node have entered this one */
    uint64_t leaders_number;
    uint64_t scan_number;
    unsigned reductions; /* between leaders so far: which set of records is next */
    unsigned deliveries; /* between leaders since they were last in step */
    struct shmemi_choices choices;
    int *leader_of_node;             /* the leader of a node of the job, -1 when the team has none there */
    struct shmemi_workspace *node[]; /* of each member of the node, mapped here */
};

/* ---- memory (shmem/coll/memory.c) -------------------------------------------------------------------------------------- */

/* A symmetric argument: the same bytes of every member. */
struct shmemi_symmetric {
    const struct shmemi_region *region; /* NULL when it has no bytes */
    size_t offset;
    char *host; /* this PE's copy when that is host memory */
};

/* Ends the job, naming the routine, when the bytes are not symmetric memory. */
struct shmemi_symmetric shmemi_symmetric_of(const char *routine, const void *address, size_t nbytes);
/* The same for what this PE contributes. The standard wants that symmetric too, but programs pass local variables, and
 * other libraries let them: private host memory has no region, and others cannot read it. */
struct shmemi_symmetric shmemi_source_of(const char *routine, const void *address, size_t nbytes);
static inline bool shmemi_is_private(const struct shmemi_symmetric *memory)
{
    return !memory->region;
}

/* Where a member's copy is mapped in this process as host memory, or NULL. */
static inline char *shmemi_mapped_copy(const struct shmemi_symmetric *memory, int world_pe)
{
    char *mapped = shmemi_view_host(&memory->region->view[world_pe]);
    return mapped ? mapped + memory->offset : NULL;
}

/* This PE's own copy, from byte `at` on. */
struct shmemi_place shmemi_own_place(const struct shmemi_symmetric *memory, size_t at);

/* The context of one transfer to each member: small ones to GPU memory wait for each other, as one launch costs less than
 * several. */
#define SHMEMI_TO_ALL                                                                                                  \
    {                                                                                                                  \
        .lists.is_patient = true                                                                                       \
    }

/* Complete the transfers of a context, which is seldom necessary inside a node. */
static inline int shmemi_complete(struct shmemi_context *context)
{
    return shmemi_context_has_pending(context) ? shmemi_drivers_quiet(context) : 0;
}

/* Transfers between bytes of a member's copy and private host memory or this PE's own copy, done by shmemi_complete. */
int shmemi_copy_to(struct shmemi_context *context, const struct shmemi_symmetric *dest, size_t at, const void *source,
                   size_t nbytes, int world_pe);
int shmemi_copy_from(struct shmemi_context *context, void *dest, const struct shmemi_symmetric *source, size_t at,
                     size_t nbytes, int world_pe);
/* From this PE's own memory, which may be private. */
int shmemi_read_own(struct shmemi_context *context, void *into, const struct shmemi_symmetric *memory, size_t nbytes);
int shmemi_send(struct shmemi_context *context, const struct shmemi_symmetric *dest, size_t dest_at,
                const struct shmemi_symmetric *source, size_t source_at, size_t nbytes, int world_pe);
int shmemi_fetch(struct shmemi_context *context, const struct shmemi_symmetric *dest, size_t dest_at,
                 const struct shmemi_symmetric *source, size_t source_at, size_t nbytes, int world_pe);
/* From this PE's source to its dest, complete on return; nothing when they are the same. */
int shmemi_copy_own(const struct shmemi_symmetric *dest, const struct shmemi_symmetric *source, size_t nbytes);

/* Is this GPU memory, in which the members of a node all reach each other's copies, so that a transfer is one copy by the
 * GPU? All members know the same of a dest; of a source they need not, since it may be private. */
static inline bool shmemi_is_device(const struct shmemi_symmetric *dest)
{
    return dest->region && dest->region->is_reached_directly;
}

/* ---- GPU memory (shmem/coll/device.c) ---------------------------------------------------------------------------------- */

/* Some bytes of all members of a part, combined by one of them. */
struct shmemi_device_work {
    const struct shmemi_team *team;
    const struct shmemi_team_part *among;
    const struct shmemi_op *op;
    enum shmemi_combine_form form;
    const struct shmemi_symmetric *from, *to;
    int first;     /* of `among`: the left operand; the others follow cyclically */
    int n_targets; /* so many of `among` get the result; prefixes: all, with first 0 */
};
/* Complete on return. -ENOTSUP, and nothing has been done, when no device can: the CPU does it then. */
int shmemi_combine_by_device(const struct shmemi_device_work *work, size_t at, size_t nbytes);

/* ---- inside a node (shmem/coll/node.c) --------------------------------------------------------------------------------- */

static inline int shmemi_node_world_pe(const struct shmemi_team *team, int rank)
{
    return shmemi_team_world_pe(team, team->node.pes[rank]);
}

/* The rank of a member in this node, or -1. */
int shmemi_node_rank_of_member(const struct shmemi_team *team, int member);

/* Begin an operation that carries at most nbytes: its number. The lines and, if it needs it, the scratch of that number
 * may be written afterwards. */
uint64_t shmemi_node_enter(struct shmemi_team *team, size_t nbytes);

/* Where the data of a member's contribution, or of what it gives to all, lie. */
static inline char *shmemi_node_arrival(const struct shmemi_team *team, int rank, uint64_t number, size_t nbytes)
{
    struct shmemi_workspace *workspace = team->collective->node[rank];
    return nbytes <= SHMEMI_LINE_BYTES ? workspace->arrival[number % SHMEMI_LINES].data
                                       : workspace->scratch[number % SHMEMI_SCRATCH_SLOTS];
}
static inline char *shmemi_node_gift(const struct shmemi_team *team, int rank, uint64_t number, size_t nbytes)
{
    struct shmemi_workspace *workspace = team->collective->node[rank];
    return nbytes <= SHMEMI_LINE_BYTES ? workspace->release[number % SHMEMI_LINES].data
                                       : workspace->scratch[number % SHMEMI_SCRATCH_SLOTS];
}

/* Tell that this PE has come, and its contribution is there; wait for that of another, or of all. Every member arrives
 * exactly once in each operation. */
void shmemi_node_arrive(struct shmemi_team *team, uint64_t number);
void shmemi_node_await(struct shmemi_team *team, int rank, uint64_t number);
void shmemi_node_await_all(struct shmemi_team *team, uint64_t number);
/* All members are known to have entered. */
static inline void shmemi_node_all_entered(struct shmemi_team *team, uint64_t number)
{
    team->collective->known_entered = number;
}

/* Give something to all members; wait for it. */
void shmemi_node_give(struct shmemi_team *team, uint64_t number);
void shmemi_node_take(struct shmemi_team *team, int rank, uint64_t number);

/* From the source of a rank into every dest of the node; of the rank itself only if it is told so. */
struct shmemi_node_broadcast {
    const struct shmemi_symmetric *dest, *source;
    size_t nbytes;
    int root; /* rank */
    bool root_keeps_dest;
};
int shmemi_node_broadcast(struct shmemi_team *team, const struct shmemi_node_broadcast *args);
/* The same from rank 0's dest into those of the others. */
int shmemi_node_spread(struct shmemi_team *team, const struct shmemi_symmetric *dest, size_t nbytes);

/* An operation that only synchronises the node. */
void shmemi_node_sync(struct shmemi_team *team);

/* The tree that gathers at rank 0: the children of a rank are first .. end - 1. */
struct shmemi_children {
    int first, end;
};
struct shmemi_children shmemi_node_children(const struct shmemi_team *team, int rank);

/* Wait until all children have arrived, then arrive; rank 0 then knows that all have entered, and it has yet to arrive
 * and to give, for which the others wait. */
void shmemi_node_gather(struct shmemi_team *team, uint64_t number);
void shmemi_node_release(struct shmemi_team *team, uint64_t number);

/* ---- between nodes (shmem/coll/leaders.c) ------------------------------------------------------------------------------ */

static inline bool shmemi_is_leader(const struct shmemi_team *team)
{
    return team->leaders.me >= 0;
}
static inline int shmemi_leader_world_pe(const struct shmemi_team *team, int leader)
{
    return shmemi_team_world_pe(team, team->leaders.pes[leader]);
}

/* The leader of a member's node. */
static inline int shmemi_leader_of_member(const struct shmemi_team *team, int member)
{
    return team->collective->leader_of_node[shmemi_job.node_of[shmemi_team_world_pe(team, member)]];
}

/* Wait for a word that other nodes may write, too: other work goes on meanwhile. */
void shmemi_await_word(const _Atomic uint64_t *word, uint64_t number);

/* Write a number into a word of a member's workspace, after everything that was put there before on this context. */
int shmemi_notify(struct shmemi_team *team, struct shmemi_context *context, int world_pe, const _Atomic uint64_t *word,
                  uint64_t number);
/* Put data into another member's workspace, where this PE has `mine`. */
int shmemi_put_to_workspace(struct shmemi_team *team, struct shmemi_context *context, int world_pe, const void *mine,
                            const void *source, size_t nbytes);

int shmemi_leaders_sync(struct shmemi_team *team);
/* The last meeting of the leaders, who complete nothing of it: on return each has completed all that it sent before.
 * Whoever is first to end its connections then spoils nobody's. */
int shmemi_leaders_part(struct shmemi_team *team);
/* Combine private memory over the leaders: at most SHMEMI_LEADER_BYTES, the result in place. */
int shmemi_leaders_reduce(struct shmemi_team *team, const struct shmemi_op *op, void *data, size_t nbytes);

/* ---- whole collectives on what is known to be right -------------------------------------------------------------- */

/* Combine private memory over the team: at most SHMEMI_CARRIER_BYTES; result may be contribution. */
int shmemi_reduce_private(struct shmemi_team *team, const struct shmemi_op *op, void *result, const void *contribution,
                          size_t nbytes);

struct shmemi_copy_args {
    struct shmemi_symmetric dest, source;
    size_t nbytes;          /* that this PE contributes; all contribute as much, but for collect */
    const uint64_t *starts; /* collect: where the blocks start in dest, and where the last one ends */
    bool root_keeps_dest;   /* broadcast: the dest of the root is not written */
};
int shmemi_broadcast(struct shmemi_team *team, const struct shmemi_copy_args *args, int root);
int shmemi_fcollect(struct shmemi_team *team, const struct shmemi_copy_args *args);
/* dest is known to be right only when all lengths are known. */
int shmemi_collect(const char *routine, struct shmemi_team *team, void *dest, struct shmemi_copy_args *args);
int shmemi_alltoall(struct shmemi_team *team, const struct shmemi_copy_args *args);

/* Of the elements of an alltoalls: in units of elements. */
struct shmemi_alltoall_strides {
    size_t size, nelems;
    size_t dest, source;
};
int shmemi_alltoalls(struct shmemi_team *team, const struct shmemi_copy_args *args,
                     const struct shmemi_alltoall_strides *strides);

/* The part of a member when n share the work on nbytes: whole cache lines, so that nobody writes where another does. */
struct shmemi_part {
    size_t start, end;
};
static inline struct shmemi_part shmemi_part_of(size_t nbytes, int n, int member)
{
    size_t lines = nbytes / SHMEMI_CACHE_LINE + !!(nbytes % SHMEMI_CACHE_LINE);
    size_t each = lines / (size_t)n, more = lines % (size_t)n, i = (size_t)member;
    size_t start = (each * i + (i < more ? i : more)) * SHMEMI_CACHE_LINE;
    size_t end = start + (each + (i < more)) * SHMEMI_CACHE_LINE;
    return (struct shmemi_part){start < nbytes ? start : nbytes, end < nbytes ? end : nbytes};
}

struct shmemi_reduce_args {
    const struct shmemi_op *op;
    struct shmemi_symmetric dest, source;
    size_t nbytes;
};
int shmemi_reduce(struct shmemi_team *team, const struct shmemi_reduce_args *args);
/* Prefix sums in the order of the team; exclusive: without the PE's own, 0 on the first. */
int shmemi_scan(struct shmemi_team *team, const struct shmemi_reduce_args *args, bool exclusive);

#endif
