/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives [9.10]: what the files of shmem/coll share.
 *
 * Every collective has two levels. Inside a node the members load from and store to each other's workspaces
 * (levels/within_node.c); between nodes the leaders, one per node, exchange words, records and data through the views'
 * drivers (levels/leaders.c). A member may read another's source only after the owner has entered. It may write into
 * another's dest once the owner has entered the team's collective before this one: the owner then no longer reads what
 * the one before that brought, so programs may alternate two dests without synchronising. There is no static state,
 * since several threads may run collectives of different teams.
 */
#ifndef SHMEMI_COLLECTIVES_H
#define SHMEMI_COLLECTIVES_H

#include "shmem/coll/call.h"
#include "shmem/coll/choice.h"
#include "shmem/coll/op.h"
#include "shmem/team.h"
#include "transport/drivers/table.h"
#include "transport/node.h"
#include "transport/drivers/presence.h"

#include <stdatomic.h>

enum {
    SHMEMI_LINES = 32,        /* members of a node are less than this many operations apart */
    SHMEMI_SCRATCH_SLOTS = 8, /* the same for operations that use scratch */
    SHMEMI_LINE_BYTES = 56,   /* data in a line */
    SHMEMI_SCRATCH_BYTES = 2048,
    SHMEMI_CARRIER_BYTES = SHMEMI_SCRATCH_BYTES, /* the most that one operation carries through the workspace */
    SHMEMI_ROUNDS = 21, /* 19 in which the distance doubles up to SHMEMI_NODES_MAX, 2 for nodes beyond a power of two */
    SHMEMI_FOLD = SHMEMI_ROUNDS - 2,   /* from a node beyond a power of two */
    SHMEMI_UNFOLD = SHMEMI_ROUNDS - 1, /* to it */
    SHMEMI_NODES_MAX = 1 << (SHMEMI_ROUNDS - 2),
    SHMEMI_LEADER_BYTES = 1024, /* data in a record between leaders */
    SHMEMI_FLAGS = 2,
};

/* A cache line that its owner writes and others poll. It holds data of the operation with this number. */
struct shmemi_line {
    SHMEMI_CACHE_ALIGNED char data[SHMEMI_LINE_BYTES];
    _Atomic uint64_t number;
};

/* A team's shared memory in the heap of each member. It is never cleared: all numbers in it only grow. */
struct shmemi_workspace {
    struct shmemi_line arrival[SHMEMI_LINES]; /* its owner has arrived; data: the owner's contribution */
    struct shmemi_line release[SHMEMI_LINES]; /* its owner releases the others; data: from the owner to all */
    SHMEMI_CACHE_ALIGNED char scratch[SHMEMI_SCRATCH_SLOTS][SHMEMI_SCRATCH_BYTES]; /* data too long for a line */

    /* Leaders of other nodes write here the number of the operation that they have reached. */
    SHMEMI_CACHE_ALIGNED _Atomic uint64_t synced[SHMEMI_ROUNDS];
    _Atomic uint64_t reduced[SHMEMI_ROUNDS];
    _Atomic uint64_t collected[SHMEMI_ROUNDS];
    _Atomic uint64_t joined[SHMEMI_ROUNDS];
    _Atomic uint64_t delivered[SHMEMI_FLAGS];
    _Atomic uint64_t entered[SHMEMI_ROUNDS]; /* by those to whom this leader delivers in a tree, by distance */
    union {
        SHMEMI_CACHE_ALIGNED char record[2][SHMEMI_ROUNDS][SHMEMI_LEADER_BYTES]; /* of reductions */
        char partial[2 * SHMEMI_ROUNDS * SHMEMI_LEADER_BYTES];                   /* in rounds, by members of any node */
    };
    SHMEMI_CACHE_ALIGNED _Atomic uint64_t granted[SHMEMI_ROUNDS]; /* rounds: the piece that the owner may send */
    _Atomic uint64_t received[SHMEMI_ROUNDS];                     /* and the one that it has been sent */

    /* Used in the workspace of SHMEM_TEAM_WORLD only, for the last barrier of all PEs (ending.c). The words that other PEs write
     * have bits of enum shmemi_end_action. */
    SHMEMI_CACHE_ALIGNED _Atomic uint64_t has_arrived; /* the owner has */
    _Atomic uint64_t all_have_arrived;                 /* on leaders: for the other PEs of the node */
    _Atomic uint64_t ended[SHMEMI_ROUNDS];             /* from leaders of other nodes */
    _Atomic uint64_t unfinished;                       /* on PE 0: number of PEs that ended without shmem_finalize */
    _Atomic uint64_t waited; /* seconds that the owner has waited for another PE (shmemi_watch_tell) */
};

struct shmemi_collective_state {
    struct shmemi_choices choices;
    uint64_t leaders_number;
    uint64_t piece_number;    /* of the last piece sent in rounds */
    unsigned reductions;      /* number of reductions between leaders so far: selects the set of records */
    unsigned deliveries;      /* number of broadcasts between leaders since the leaders last synchronised */
    unsigned deliveries_most; /* how many there may be before they have to synchronise again */
    uint64_t confirmed;       /* number of the last broadcast, if its leaders have confirmed that they entered it */
    int confirmed_root;       /* leader from which that came */
    int *by_node;             /* leaders in the order of their nodes; NULL: they are in that order */

    /* What a synchronisation of a small node needs, in one cache line: */
    SHMEMI_CACHE_ALIGNED struct shmemi_workspace *mine;
    bool spins;          /* no other PE needs this core, so this PE may spin while it waits */
    bool awaits_records; /* rounds may have left leaders behind that still use the memory of their records */
    bool may_lag;        /* a broadcast over nodes may have left members behind since all of them last synchronised */
    uint64_t number;     /* number of operations begun inside the node */
    uint64_t known_entered;          /* number of an operation that all members of the node are known to have entered */
    struct shmemi_workspace *node[]; /* workspace of each member of the node, mapped here */
};

/* ---- memory (shmem/coll/arguments.c) ----------------------------------------------------------------------------- */

/* A symmetric argument: the same range in every member's memory. */
struct shmemi_symmetric {
    const struct shmemi_region *region; /* NULL if it has no bytes */
    size_t offset;
    char *host; /* this PE's copy if that is host memory */
};

/* Find a symmetric argument. Ends the job, naming the routine, if the bytes are not symmetric memory. */
struct shmemi_symmetric shmemi_symmetric_of(const char *routine, const void *address, size_t nbytes);
/* Find a source argument. The standard requires it to be symmetric, but programs pass local variables and other libraries
 * accept them. A source in private host memory has no region, and other members cannot read it. */
struct shmemi_symmetric shmemi_source_of(const char *routine, const void *address, size_t nbytes);
static inline bool shmemi_is_private(const struct shmemi_symmetric *memory)
{
    return !memory->region;
}

/* Where a member's copy is mapped in this process as host memory, or NULL. */
static inline char *shmemi_mapped_copy(const struct shmemi_symmetric *memory, int world_pe)
{
    const struct shmemi_view *view = shmemi_region_near_view(memory->region, world_pe);
    char *mapped = view ? shmemi_view_host(view) : NULL;
    return mapped ? mapped + memory->offset : NULL;
}

/* This PE's own copy, from byte `at` on. */
struct shmemi_place shmemi_own_place(const struct shmemi_symmetric *memory, size_t at);

/* Initialiser of a context for one transfer to each member: small transfers to GPU memory are collected, as one kernel
 * launch costs less than several. */
#define SHMEMI_TO_ALL                                                                                                  \
    {                                                                                                                  \
        .in_session = true                                                                                             \
    }

/* Complete the transfers of a context, which inside a node seldom has any pending. */
static inline int shmemi_complete(struct shmemi_context *context)
{
    return shmemi_context_has_pending(context) ? shmemi_drivers_quiet(context) : 0;
}

/* Transfers between a member's copy and private host memory or this PE's own copy. shmemi_complete completes them. */
int shmemi_copy_to(struct shmemi_context *context, const struct shmemi_symmetric *dest, size_t at, const void *source,
                   size_t nbytes, int world_pe);
int shmemi_copy_from(struct shmemi_context *context, void *dest, const struct shmemi_symmetric *source, size_t at,
                     size_t nbytes, int world_pe);
/* Read from this PE's own memory, which may be private. */
int shmemi_read_own(struct shmemi_context *context, void *into, const struct shmemi_symmetric *memory, size_t nbytes);
int shmemi_send(struct shmemi_context *context, const struct shmemi_symmetric *dest, size_t dest_at,
                const struct shmemi_symmetric *source, size_t source_at, size_t nbytes, int world_pe);
int shmemi_fetch(struct shmemi_context *context, const struct shmemi_symmetric *dest, size_t dest_at,
                 const struct shmemi_symmetric *source, size_t source_at, size_t nbytes, int world_pe);
/* Send a block to this PE itself. A large block of GPU memory is copied beside the context's transfers, which are to be
 * started before: then *own waits for it, otherwise quiet of the context completes it. Wait for it in any case. */
int shmemi_send_to_self(struct shmemi_context *context, struct shmemi_event *own, const struct shmemi_symmetric *dest,
                        size_t dest_at, const struct shmemi_symmetric *source, size_t source_at, size_t nbytes);
int shmemi_own_wait(struct shmemi_event *own);
/* Copy this PE's source to its dest; complete on return. Does nothing if they are the same. */
int shmemi_copy_own(const struct shmemi_symmetric *dest, const struct shmemi_symmetric *source, size_t nbytes);
/* Whether this is GPU memory in which all members of a node reach each other's copies directly, so that a transfer is
 * one copy by the GPU. All members find the same for a dest; for a source they may not, since it may be private. */
static inline bool shmemi_is_device(const struct shmemi_symmetric *dest)
{
    return dest->region && dest->region->is_reached_directly;
}

/* A broadcast inside a node by parts (shmem/coll/levels/broadcast_parts.c), of at least three members. */
struct shmemi_parts {
    struct shmemi_team *team;
    const struct shmemi_symmetric *dest, *source;
    size_t nbytes;
    int root; /* rank */
    bool root_keeps_dest;
    uint64_t number;
};
int shmemi_broadcast_parts(const struct shmemi_parts *parts);
/* ---- GPU memory (shmem/coll/device.c) ---------------------------------------------------------------------------- */

/* A range of bytes that one PE combines for the members of a part of a team. */
struct shmemi_device_work {
    const struct shmemi_team *team;
    const struct shmemi_team_part *among;
    const struct shmemi_op *op;
    enum shmemi_combine_form form;
    const struct shmemi_symmetric *from, *to;
    int first;     /* index in `among` of the left operand; the others follow cyclically */
    int n_targets; /* how many of `among` get the result; prefixes: all of them, and first is 0 */
};
/* Where a member's copy is; false if no device of this PE reaches it. A copy to n places, by one kernel, as below. */
bool shmemi_device_place(const struct shmemi_symmetric *memory, size_t at, int world_pe, struct shmemi_place *place_p);
int shmemi_copy_by_device(const struct shmemi_place *source, const struct shmemi_place *dest, int n, size_t nbytes);
/* Complete on return. -ENOTSUP if no device can do it; nothing has been done then. */
int shmemi_combine_by_device(const struct shmemi_device_work *work, size_t at, size_t nbytes);
/* ---- inside a node (shmem/coll/levels/within_node.c) ------------------------------------------------------------- */

static inline int shmemi_node_world_pe(const struct shmemi_team *team, int rank)
{
    return shmemi_team_world_pe(team, team->node.pes[rank]);
}

/* The rank of a member in this node, or -1. */
int shmemi_node_rank_of_member(const struct shmemi_team *team, int member);

/* Begin an operation that carries at most nbytes, and return its number. Then the lines and, if needed, the scratch
 * memory of that number may be written. */
uint64_t shmemi_node_enter(struct shmemi_team *team, size_t nbytes);

/* Where a member's contribution lies, and its data for all members. */
static inline char *shmemi_node_arrival(const struct shmemi_team *team, int rank, uint64_t number, size_t nbytes)
{
    struct shmemi_workspace *workspace = team->collective->node[rank];
    return nbytes <= SHMEMI_LINE_BYTES ? workspace->arrival[number % SHMEMI_LINES].data
                                       : workspace->scratch[number % SHMEMI_SCRATCH_SLOTS];
}
static inline char *shmemi_node_release_data(const struct shmemi_team *team, int rank, uint64_t number, size_t nbytes)
{
    struct shmemi_workspace *workspace = team->collective->node[rank];
    return nbytes <= SHMEMI_LINE_BYTES ? workspace->release[number % SHMEMI_LINES].data
                                       : workspace->scratch[number % SHMEMI_SCRATCH_SLOTS];
}

/* Announce that this PE has arrived and its contribution is ready; wait until another member, or all, have arrived.
 * Every member arrives exactly once in each operation. */
void shmemi_node_arrive(struct shmemi_team *team, uint64_t number);
void shmemi_node_await(struct shmemi_team *team, int rank, uint64_t number);
void shmemi_node_await_all(struct shmemi_team *team, uint64_t number);
/* Wait until a member has entered the operation with this number or a later one; cheap where that is known. */
void shmemi_node_await_entered(struct shmemi_team *team, int rank, uint64_t number);
/* Note that all members have entered the operation. */
static inline void shmemi_node_all_entered(struct shmemi_team *team, uint64_t number)
{
    team->collective->known_entered = number;
}

/* Announce this PE's data for all members; wait for those of a member. */
void shmemi_node_give(struct shmemi_team *team, uint64_t number);
void shmemi_node_take(struct shmemi_team *team, int rank, uint64_t number);

/* Broadcast rank 0's dest into those of the others. */
int shmemi_node_spread(struct shmemi_team *team, const struct shmemi_symmetric *dest, size_t nbytes);

/* An operation that only synchronises the node. */
void shmemi_node_sync(struct shmemi_team *team);

/* The children of a rank, first .. end - 1, in the tree that gathers at rank 0. */
struct shmemi_children {
    int first, end;
};
struct shmemi_children shmemi_node_children(const struct shmemi_team *team, int rank);

/* Gather: wait until all children have arrived, then arrive, except rank 0, which now knows that all have entered.
 * Release: rank 0 arrives and announces its data, for which the others wait. */
void shmemi_node_gather(struct shmemi_team *team, uint64_t number);
void shmemi_node_release(struct shmemi_team *team, uint64_t number);

/* ---- between nodes (shmem/coll/levels/leaders.c) ----------------------------------------------------------------- */

static inline bool shmemi_is_leader(const struct shmemi_team *team)
{
    return team->leaders.me >= 0;
}
static inline int shmemi_leader_world_pe(const struct shmemi_team *team, int leader)
{
    return shmemi_team_world_pe(team, team->leaders.pes[leader]);
}

/* The leader of a member's node (sync.c). */
int shmemi_leader_of_member(const struct shmemi_team *team, int member);

/* Wait until a word, which that PE or leader writes, reaches the number, and advance communication meanwhile. Ends the job if
 * that PE has ended (transport/drivers/presence.h). */
void shmemi_await_word(const _Atomic uint64_t *word, uint64_t number, int world_pe);
static inline void shmemi_await_leader(const struct shmemi_team *team, int leader, const _Atomic uint64_t *word,
                                       uint64_t number)
{
    shmemi_await_word(word, number, shmemi_leader_world_pe(team, leader));
}

/* Write a number into a word of a member's workspace, ordered after all earlier puts to that member on this context. */
int shmemi_notify(struct shmemi_team *team, struct shmemi_context *context, int world_pe, const _Atomic uint64_t *word,
                  uint64_t number);
/* Put data into another member's workspace, at the place that `mine` has in this PE's workspace. */
int shmemi_put_to_workspace(struct shmemi_team *team, struct shmemi_context *context, int world_pe, const void *mine,
                            const void *source, size_t nbytes);

int shmemi_leaders_sync(struct shmemi_team *team);
/* Note that all leaders have entered the current collective. */
void shmemi_leaders_all_entered(struct shmemi_team *team);
/* Wait until all leaders have entered the collective before this one, so that their dests may be written. */
int shmemi_leaders_await_entered(struct shmemi_team *team);
/* The leaders' last synchronisation, which does not complete its own messages. On return every leader has completed
 * everything that it sent before, so that each may now close its connections. */
int shmemi_leaders_sync_last(struct shmemi_team *team);
/* Combine private memory over the leaders: at most SHMEMI_LEADER_BYTES, the result in place. */
int shmemi_leaders_reduce(struct shmemi_team *team, const struct shmemi_op *op, void *data, size_t nbytes);

/* ---- a part of the elements for each member (shmem/coll/levels/sliced.c) ----------------------------------------- */

/* The slice of one of n members that share the work on nbytes: whole cache lines, so that no two members write to the
 * same line. */
struct shmemi_slice {
    size_t start, end;
};
static inline struct shmemi_slice shmemi_slice_of(size_t nbytes, int n, int member)
{
    size_t lines = nbytes / SHMEMI_CACHE_LINE + !!(nbytes % SHMEMI_CACHE_LINE);
    size_t each = lines / (size_t)n, more = lines % (size_t)n, i = (size_t)member;
    size_t start = (each * i + (i < more ? i : more)) * SHMEMI_CACHE_LINE;
    size_t end = start + (each + (i < more)) * SHMEMI_CACHE_LINE;
    return (struct shmemi_slice){start < nbytes ? start : nbytes, end < nbytes ? end : nbytes};
}

/* One member's work on its part: it combines `from` of the members `among` into `to` of the first n_targets of them. */
struct shmemi_pass {
    struct shmemi_team *team;
    const struct shmemi_team_part *among;
    const struct shmemi_op *op;
    const struct shmemi_symmetric *from, *to;
    int n_targets;
    struct shmemi_context context[2]; /* for blocks with even and with odd numbers */
    size_t block_bytes;
    char *buffer; /* two sets, each a block from every one of `among` and one for the sum; NULL if all is mapped */
};

/* Each of `among` combines its part of nbytes; by a device if that can do it and is asked for. */
int shmemi_combine_parts(struct shmemi_pass *pass, size_t nbytes, bool by_device);
/* Combine a slice that is not empty, by the CPU. */
int shmemi_combine_slice(struct shmemi_pass *pass, const struct shmemi_slice *slice);

/* ---- over any nodes, in rounds between members at doubling distances (shmem/coll/levels/rounds.c) ---------------- */

/* Filled in by who uses it: the team, and how many rounds of how many bytes there are, alike on all members. */
struct shmemi_rounds {
    struct shmemi_team *team;
    int n;
    size_t bytes[SHMEMI_ROUNDS]; /* that each member sends in a round */

    struct shmemi_context data, grants;
    struct shmemi_symmetric landing;
    size_t half;
    uint64_t number, granted; /* of the present piece, and of the last one that was granted */
    int granting;             /* the round of that piece */
    size_t granted_bytes;     /* of that round */
};

/* Begin: pieces land in the workspace or, if a round has more than two of them there, in these bytes of the team's memory,
 * as many as in a round at least, if they are host memory of every member (NULL: none). Then every round, in order:
 * bytes[round] from `out` to the member that far after this one, the last being followed by the first, and as many from
 * the one before into `in`. Then the end, which proves that all members have entered: there were rounds_of(n) rounds,
 * none of them empty. */
int shmemi_rounds_begin(struct shmemi_rounds *rounds, const struct shmemi_symmetric *landing, size_t nbytes);
int shmemi_rounds_next(struct shmemi_rounds *rounds, int round, const char *out, char *in);
int shmemi_rounds_end(struct shmemi_rounds *rounds);

/* How often the distance doubles until it reaches n. */
int shmemi_rounds_of(int n);
/* Spread a word of each member: words[my_pe] is this one's, the others are filled in. */
int shmemi_gather_words(struct shmemi_team *team, uint64_t *words);

/* ---- whole collectives, whose arguments have been checked -------------------------------------------------------- */

/* Combine private memory over the team: at most SHMEMI_CARRIER_BYTES; result and contribution may be the same. */
int shmemi_reduce_private(struct shmemi_team *team, const struct shmemi_op *op, void *result, const void *contribution,
                          size_t nbytes);

struct shmemi_copy_args {
    struct shmemi_symmetric dest, source;
    size_t nbytes;          /* what this PE contributes; equal on all members, except in collect */
    const uint64_t *starts; /* collect: offsets of the blocks in dest, and the end of the last one */
    bool root_keeps_dest;   /* broadcast: the dest of the root is not written */
};
int shmemi_broadcast(struct shmemi_team *team, const struct shmemi_copy_args *args, int root);
int shmemi_fcollect(struct shmemi_team *team, const struct shmemi_copy_args *args);
/* dest is checked here, since its size is the sum of all lengths. */
int shmemi_collect(const char *routine, struct shmemi_team *team, void *dest, struct shmemi_copy_args *args);
int shmemi_alltoall(struct shmemi_team *team, const struct shmemi_copy_args *args);
/* On one node: each member contributes this many bytes through its workspace, and takes args->nbytes from each, which
 * begin at byte `at` of the contribution. */
int shmemi_exchange_eager(struct shmemi_team *team, const struct shmemi_copy_args *args, size_t contribution,
                          size_t at);

int shmemi_alltoalls(struct shmemi_team *team, const struct shmemi_copy_args *args,
                     const struct shmemi_collective_args *strides);

struct shmemi_reduce_args {
    const struct shmemi_op *op;
    struct shmemi_symmetric dest, source;
    size_t nbytes;
};
int shmemi_reduce(struct shmemi_team *team, const struct shmemi_reduce_args *args);
/* Prefix sums in the order of the team. exclusive: without the PE's own contribution, so 0 on the first PE. */
int shmemi_scan(struct shmemi_team *team, const struct shmemi_reduce_args *args, bool exclusive);

/* ---- the end (shmem/coll/ending.c) ------------------------------------------------------------------------------- */

/* What PEs want to do together when all have come to their end. */
enum shmemi_end_action { SHMEMI_END_STATS = 1, SHMEMI_END_TRACE = 2, SHMEMI_END_ACTION_BITS = 2 };

/* Wait until all PEs have come to their end; *actions_p: those of this PE, on return those of all together. This PE,
 * which has completed all that it has sent, says for what reason it ends. 0, or logs an error and returns -errno: the job
 * would hang, since all others have waited for SHMEM_TIMEOUT. */
int shmemi_final_barrier(enum shmemi_presence presence, unsigned *actions_p);

#endif
