/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams [9.4]: their members, the place of the members' workspaces, and the state of their collectives.
 */
#ifndef SHMEMI_TEAM_H
#define SHMEMI_TEAM_H

#include "shmem/internal.h"
#include "shmmap/symmetric.h"

#include <pthread.h>

/* Some of the members of a team, as PE numbers of the team, ascending. */
struct shmemi_team_part {
    int n;
    int me; /* position of this PE, or -1 if it is not among them */
    int *pes;
};

struct shmemi_team {
    int my_pe; /* -1 before shmem_init */
    int n_pes;

    /* Numbers in SHMEM_TEAM_WORLD: start + i * stride, or world_pes[i] if the members do not form such a row. */
    int start, stride;
    int *world_pes;

    shmem_team_config_t config;
    bool is_active_set;          /* made for the deprecated collectives; no program has a handle */
    unsigned slot;               /* number of the workspace, the same on all members */
    struct shmemi_ctx *contexts; /* created on this team and not yet destroyed */
    struct shmemi_team *next;    /* in the list of teams that the program made */

    struct shmemi_team_part node;               /* members on this PE's node */
    struct shmemi_team_part leaders;            /* the lowest member of each node */
    struct shmemi_collective_state *collective; /* state of the collectives: shmem/coll */
    uint64_t first_number;                      /* of its collectives, the same on all members */
    struct shmemi_team_stream *_Atomic stream; /* what its collectives in streams need: shmem/coll/stream/on_stream.c */
};

extern struct shmemi_team shmemi_team_world, shmemi_team_shared;

/* The team of a handle. The predefined handles are small numbers, not addresses; SHMEM_TEAM_INVALID gives NULL. */
static inline struct shmemi_team *shmemi_team_of(shmem_team_t handle)
{
    if (handle == SHMEM_TEAM_WORLD)
        return &shmemi_team_world;
    return handle == SHMEM_TEAM_SHARED ? &shmemi_team_shared : handle;
}

/* The handle of a team that is not the world. */
static inline shmem_team_t shmemi_team_handle(struct shmemi_team *team)
{
    return team == &shmemi_team_shared ? SHMEM_TEAM_SHARED : team;
}

/* Number in SHMEM_TEAM_WORLD of a member. */
static inline int shmemi_team_world_pe(const struct shmemi_team *team, int pe)
{
    return team->world_pes ? team->world_pes[pe] : team->start + pe * team->stride;
}

/* The members' workspace of a team: at this offset in the heap region, in every member's heap. A slot below
 * SHMEMI_TEAMS_MAX is that of a team, the one SHMEMI_TEAMS_MAX above it that of the team's duplicate for streams. */
static inline size_t shmemi_team_workspace(const struct shmemi_team *team)
{
    return SHMEMI_WORKSPACE_OFFSET + (size_t)team->slot * SHMEMI_WORKSPACE_BYTES;
}

/* Fill in SHMEM_TEAM_WORLD and SHMEM_TEAM_SHARED. Symmetric memory must be open. */
int shmemi_teams_open(void);
/* Complete what was issued on contexts that the program has created, by any thread. */
void shmemi_teams_quiet(void);
/* Complete what was issued on a list of contexts: on all of them, or only on those with operations under way. */
void shmemi_contexts_quiet(struct shmemi_ctx *first, bool all);
extern _Atomic unsigned shmemi_n_contexts; /* relaxed: a thread counts those of others when it knows of them */
/* In a barrier: programs expect that of it, although the specification asks for a quiet of each context. */
static inline void shmemi_complete_contexts(void)
{
    if (shmemi_unlikely(atomic_load_explicit(&shmemi_n_contexts, memory_order_relaxed)))
        shmemi_teams_quiet();
}
/* In a sync, which completes nothing: deliver what contexts hold back. */
static inline void shmemi_deliver_held(void)
{
    if (shmemi_unlikely(atomic_load_explicit(&shmemi_pending_is_held, memory_order_relaxed))) {
        shmemi_quiet(&shmemi_default_ctx);
        shmemi_teams_quiet();
    }
}
/* Destroy the teams that are left. */
void shmemi_teams_close(void);

/* The team of a handle; ends the job, naming the routine, when the library is not initialised or the handle is
 * SHMEM_TEAM_INVALID. */
struct shmemi_team *shmemi_require_team(const char *routine, shmem_team_t handle);

/* Position of a PE of the world in a team, or -1. */
int shmemi_team_position(const struct shmemi_team *team, int world_pe);

/* ---- Making and destroying ---------------------------------------------------------------------------------------- */

/* A team that this PE is to be a member of: PEs of the parent. */
struct shmemi_team_plan {
    int start, stride, size;
    const shmem_team_config_t *config;
    long config_mask;
};

enum { SHMEMI_TEAM_PLANS = 2 }; /* made at the same time: the two axes of a grid */

/* Make a team of each plan, each in a slot of its own. Members of the parent with the same plan form a team; on others
 * made[i] stays SHMEM_TEAM_INVALID. Collective over the parent; returns 0 on all PEs, or an error on all. */
int shmemi_teams_make(const char *routine, struct shmemi_team *parent, const struct shmemi_team_plan *plans, unsigned n,
                      shmem_team_t *made);
/* After the team's last sync. */
void shmemi_team_destroy(struct shmemi_team *team);

/* ---- Slots of workspaces (shmem/team_slots.c). Any thread. ------------------------------------------------------- */

/* Make all slots free, and reset the numbers of their collectives. */
void shmemi_team_slots_open(void);
/* Choose n slots that are free on all members of the parent, and reserve them on this PE. Collective over the parent.
 * -ENOSPC, logged by the parent's first PE, if there are fewer. */
int shmemi_team_reserve_slots(struct shmemi_team *parent, unsigned n, unsigned *chosen);
bool shmemi_team_reserve_slot(unsigned slot); /* false if it is taken */
void shmemi_team_release_slot(unsigned slot);
/* The highest operation number that collectives have used in a slot. */
uint64_t shmemi_team_slot_number(unsigned slot);
void shmemi_team_slot_raise_number(unsigned slot, uint64_t number);
/* Bitmap of the slots that are free on this PE, and the highest operation number that any collective has used. */
void shmemi_team_free_slots(uint64_t *bitmap, uint64_t *number_p);

/* Link a context to the team on which it was created, and unlink it. Any thread. */
void shmemi_team_add_context(struct shmemi_team *team, struct shmemi_ctx *ctx);
void shmemi_team_remove_context(struct shmemi_ctx *ctx);

/* Destroy a context (context.c). */
void shmemi_context_free(struct shmemi_ctx *ctx);

/* ---- Teams of active sets (shmem/coll/active_set.c), whose members agree on the slot themselves ------------
 * Any thread. shmemi_teams_close destroys these teams. */

/* Make a team of PEs of SHMEM_TEAM_WORLD. Logs an error and returns NULL if there is no memory. */
struct shmemi_team *shmemi_team_make_active_set(int start, int stride, int size, unsigned slot, uint64_t number);
/* NULL if it has not been made yet. */
struct shmemi_team *shmemi_team_find_active_set(int start, int stride, int size);

/* ---- Collectives for the library's own use (shmem/coll) -------------------------------------------------------------
 * All members call a team's collectives in the same order, one thread at a time per team. 0 or -errno. */

/* Begin the collectives of a team whose slot is set. Their numbers continue after `number`, the highest that any member
 * has used in this slot for earlier teams. The workspace is never cleared, because a PE outside the new team may still
 * read flags of the old team's last synchronisation; so everything in a workspace is compared with numbers that only
 * grow. All members must have called this before the first collective. */
int shmemi_collective_open(struct shmemi_team *team, uint64_t number);
/* The highest number used so far; the last collective of a team is a sync. */
uint64_t shmemi_collective_close(struct shmemi_team *team);

/* Collectives in streams (shmem/coll/stream/on_stream.c): wait until this PE has taken part in all that its streams have been
 * given, which all members do before the team's last sync; end what serves them, and return the highest number used. */
void shmemi_team_stream_drain(struct shmemi_team *team);
uint64_t shmemi_team_stream_close(struct shmemi_team *team);

/* Wait for all members. Stores before it are visible to the members after it; completes no transfer. */
int shmemi_collective_sync(struct shmemi_team *team);
/* Wait for all members on behalf of a public routine; `delivers`: send first what the contexts of this PE hold back. */
void shmemi_sync_in(const char *routine, struct shmemi_team *team, bool delivers);

/* Combine words of private memory over the members; all get the same result. */
enum shmemi_agree_op { SHMEMI_AGREE_AND, SHMEMI_AGREE_MAX };
enum { SHMEMI_AGREE_WORDS_MAX = 6 };
int shmemi_collective_agree(struct shmemi_team *team, enum shmemi_agree_op op, uint64_t *words, unsigned n);

#endif
