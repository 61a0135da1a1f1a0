/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives over all PEs [9.10]: barrier, sync, broadcast, fcollect. Reductions are in reduce.c.
 *
 * Data moves by the same puts as the user's, on a context of their own, so that a collective never waits for the
 * user's transfers.
 */
#include "shmem/collectives.h"
#include "shmem/team.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "transport/exchange.h"

enum { ROUNDS_MAX = 32 };

struct workspace {
    _Atomic uint64_t reached[2][ROUNDS_MAX]; /* sync, agree */
    uint64_t record[2][ROUNDS_MAX][SHMEMI_AGREE_WORDS_MAX];
};

struct shmemi_collective_state {
    uint64_t number;
};

int shmemi_collective_open(struct shmemi_team *team, uint64_t number)
{
    team->collective = calloc(1, sizeof *team->collective);
    if (!team->collective)
        return -ENOMEM;
    team->collective->number = number;
    return 0;
}

uint64_t shmemi_collective_close(struct shmemi_team *team)
{
    uint64_t number = team->collective->number;
    free(team->collective);
    return number;
}

static struct workspace *workspace_of(const struct shmemi_team *team)
{
    return (struct workspace *)(shmemi_heap_region.base + shmemi_team_workspace(team));
}

static size_t offset_of(const void *address)
{
    return (size_t)((const char *)address - shmemi_heap_region.base);
}

static void announce(struct shmemi_context *context, const struct shmemi_view *view, const _Atomic uint64_t *word,
                     uint64_t number)
{
    struct shmemi_amo set = {.op = SHMEMI_AMO_SET, .size = 8, .operand = number};
    shmemi_require(view->driver->amo(context, view, offset_of((const void *)word), &set, NULL));
}

static void disseminate(struct shmemi_team *team, int kind, enum shmemi_agree_op op, uint64_t *words, unsigned n)
{
    struct shmemi_context context = {0};
    struct workspace *mine = workspace_of(team);
    const uint64_t number = ++team->collective->number;
    for (int round = 0, distance = 1; distance < team->n_pes; round++, distance *= 2) {
        int to = shmemi_team_world_pe(team, (team->my_pe + distance) % team->n_pes);
        const struct shmemi_view *view = &shmemi_heap_region.view[to];
        uint64_t *record = mine->record[number % 2][round];
        struct shmemi_place source = shmemi_place_host(words);
        unsigned spins = 0;
        if (n)
            shmemi_require(view->driver->put(&context, view, offset_of(record), &source, n * sizeof *words));
        shmemi_fence(&context);
        announce(&context, view, &mine->reached[kind][round], number);
        while (atomic_load_explicit(&mine->reached[kind][round], memory_order_acquire) < number)
            shmemi_progress(&spins);
        for (unsigned i = 0; i < n; i++)
            words[i] = op == SHMEMI_AGREE_AND ? words[i] & record[i] : words[i] > record[i] ? words[i] : record[i];
    }
    shmemi_quiet(&context);
}

int shmemi_collective_sync(struct shmemi_team *team)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    disseminate(team, 0, SHMEMI_AGREE_AND, NULL, 0);
    return 0;
}

int shmemi_collective_agree(struct shmemi_team *team, enum shmemi_agree_op op, uint64_t *words, unsigned n)
{
    disseminate(team, 1, op, words, n);
    return 0;
}

void shmemi_sync_world(void)
{
    shmemi_require(shmemi_collective_sync(SHMEM_TEAM_WORLD));
}

void shmemi_barrier_world(void)
{
    shmemi_quiet(&shmemi_default_context);
    shmemi_sync_world();
}

void shmemi_check_world(const char *routine, shmem_team_t team)
{
    shmemi_require_team(routine, team);
    if (team != SHMEM_TEAM_WORLD)
        shmemi_fatal("%s: the team is not SHMEM_TEAM_WORLD, the only one so far", routine);
}

SHMEMI_API(void, barrier_all, (void))
{
    shmemi_check_world("shmem_barrier_all", SHMEM_TEAM_WORLD);
    shmemi_barrier_world();
}

SHMEMI_API(void, sync_all, (void))
{
    shmemi_check_world("shmem_sync_all", SHMEM_TEAM_WORLD);
    shmemi_sync_world();
}

SHMEMI_API(int, team_sync, (shmem_team_t team))
{
    shmemi_require_team("shmem_team_sync", team);
    return shmemi_collective_sync(team);
}

/* The root puts to every PE, itself included, in an order that spreads the load; the barrier tells that all is there. */
static int broadcast(const char *routine, shmem_team_t team, void *dest, const void *source, size_t nbytes, int root)
{
    struct shmemi_context context = {0};
    shmemi_check_world(routine, team);
    if ((unsigned)root >= (unsigned)shmemi_job.n_pes)
        shmemi_fatal("%s: the root %d is out of range, the team has PEs 0 to %d", routine, root, shmemi_job.n_pes - 1);
    if (shmemi_job.pe == root) {
        for (int i = 1; i <= shmemi_job.n_pes; i++)
            shmemi_put_nbi(&context, routine, dest, source, nbytes, (root + i) % shmemi_job.n_pes);
        shmemi_quiet(&context);
    }
    shmemi_sync_world();
    return 0;
}

static int fcollect(const char *routine, shmem_team_t team, void *dest, const void *source, size_t nbytes)
{
    struct shmemi_context context = {0};
    shmemi_check_world(routine, team);
    char *mine = (char *)dest + (size_t)shmemi_job.pe * nbytes;
    for (int i = 0; i < shmemi_job.n_pes; i++)
        shmemi_put_nbi(&context, routine, mine, source, nbytes, (shmemi_job.pe + i) % shmemi_job.n_pes);
    shmemi_quiet(&context);
    shmemi_sync_world();
    return 0;
}

/* clang-format off */
#define DEFINE_COLLECTIVES(BROADCAST, FCOLLECT, ELEMENT, SIZE)                                                         \
    SHMEMI_API(int, BROADCAST, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems, int PE_root))  \
    { return broadcast("shmem_" #BROADCAST, team, dest, source, shmemi_bytes_of(nelems, SIZE), PE_root); }             \
    SHMEMI_API(int, FCOLLECT, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems))                \
    { return fcollect("shmem_" #FCOLLECT, team, dest, source, shmemi_bytes_of(nelems, SIZE)); }
#define DEFINE_TYPE(NAME, TYPE, ...) DEFINE_COLLECTIVES(NAME##_broadcast, NAME##_fcollect, TYPE, sizeof(TYPE))
/* clang-format on */

SHMEMI_FOR_RMA_TYPES(DEFINE_TYPE, )
DEFINE_COLLECTIVES(broadcastmem, fcollectmem, void, 1)
