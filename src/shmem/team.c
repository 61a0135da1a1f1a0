/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams [9.4]. All PEs of the parent make a team together: they agree on a free workspace, and then on whether all have
 * succeeded. If one PE fails, no PE gets a team.
 */
#include "shmem/check/check.h"
#include "shmem/team.h"

#include <stdlib.h>
#include <string.h>

static struct shmemi_pool pool = SHMEMI_POOL(struct shmemi_team, 1 << 12);

struct shmemi_team shmemi_team_world = {.my_pe = -1, .n_pes = -1}, shmemi_team_shared = {.my_pe = -1, .n_pes = -1};

enum { SLOT_WORLD, SLOT_SHARED };

static struct {
    pthread_mutex_t lock; /* protects the lists, since threads may work on different teams */
    struct shmemi_team *made;
} teams = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct shmemi_team *shmemi_require_team(const char *routine, shmem_team_t handle)
{
    shmemi_require_init(routine);
    if (handle == SHMEM_TEAM_WORLD || handle == SHMEM_TEAM_SHARED || shmemi_pool_holds(&pool, handle))
        return shmemi_team_of(handle);
    if (handle == SHMEM_TEAM_INVALID)
        shmemi_fatal("%s: the team is SHMEM_TEAM_INVALID", routine);
    shmemi_fatal("%s: %p is not a team, or was destroyed", routine, (void *)handle);
}

/* ---- Members ----------------------------------------------------------------------------------------------------- */

int shmemi_team_position(const struct shmemi_team *team, int world_pe)
{
    if (team->world_pes || team->stride == 0) {
        for (int i = 0; i < team->n_pes; i++)
            if (shmemi_team_world_pe(team, i) == world_pe)
                return i;
        return -1;
    }
    int distance = world_pe - team->start, position = distance / team->stride;
    return distance % team->stride == 0 && position >= 0 && position < team->n_pes ? position : -1;
}

static void add_to_part(struct shmemi_team_part *part, int pe, bool is_me)
{
    if (is_me)
        part->me = part->n;
    part->pes[part->n++] = pe;
}

/* Find the members on this node, and the first member of each node. */
static int find_parts(struct shmemi_team *team)
{
    bool *seen = calloc((size_t)shmemi_job.n_nodes, sizeof *seen);
    team->node = (struct shmemi_team_part){.me = -1, .pes = calloc((size_t)shmemi_job.node_n_pes, sizeof(int))};
    team->leaders = (struct shmemi_team_part){.me = -1, .pes = calloc((size_t)shmemi_job.n_nodes, sizeof(int))};
    if (!seen || !team->node.pes || !team->leaders.pes) {
        free(seen);
        shmemi_error("out of memory for a team of %d PEs", team->n_pes);
        return -ENOMEM;
    }
    for (int i = 0; i < team->n_pes; i++) {
        int node = shmemi_job.node_of[shmemi_team_world_pe(team, i)];
        if (node == shmemi_job.node)
            add_to_part(&team->node, i, i == team->my_pe);
        if (!seen[node])
            add_to_part(&team->leaders, i, i == team->my_pe);
        seen[node] = true;
    }
    free(seen);
    int *fewer = realloc(team->leaders.pes, (size_t)team->leaders.n * sizeof *fewer); /* there may be many more nodes */
    team->leaders.pes = fewer ? fewer : team->leaders.pes;
    return 0;
}

/* Set the members: `size` members of the parent from `start` on. The team is a row of the world if the parent is. */
static int set_members(struct shmemi_team *team, const struct shmemi_team *parent, int start, int stride, int size)
{
    team->n_pes = size;
    team->start = shmemi_team_world_pe(parent, start);
    team->stride = stride * parent->stride;
    if (!parent->world_pes)
        return 0;
    team->world_pes = malloc((size_t)size * sizeof *team->world_pes);
    if (!team->world_pes) {
        shmemi_error("out of memory for a team of %d PEs", size);
        return -ENOMEM;
    }
    for (int i = 0; i < size; i++)
        team->world_pes[i] = shmemi_team_world_pe(parent, start + i * stride);
    return 0;
}

/* ---- Making and destroying --------------------------------------------------------------------------------------- */

static int open_team(struct shmemi_team *team, unsigned slot, uint64_t number)
{
    team->slot = slot;
    team->first_number = number;
    int rc = find_parts(team);
    return rc ? rc : shmemi_collective_open(team, number);
}

static void keep(struct shmemi_team *team)
{
    pthread_mutex_lock(&teams.lock);
    team->next = teams.made;
    teams.made = team;
    pthread_mutex_unlock(&teams.lock);
}

static void forget(struct shmemi_team *team)
{
    pthread_mutex_lock(&teams.lock);
    for (struct shmemi_team **link = &teams.made; *link; link = &(*link)->next) {
        if (*link != team)
            continue;
        *link = team->next;
        break;
    }
    pthread_mutex_unlock(&teams.lock);
}

static void close_team(struct shmemi_team *team)
{
    shmemi_team_slot_raise_number(team->slot, shmemi_team_stream_close(team));
    if (team->collective)
        shmemi_team_slot_raise_number(team->slot, shmemi_collective_close(team));
    free(team->node.pes);
    free(team->leaders.pes);
    free(team->world_pes);
}

static bool is_member(const struct shmemi_team *parent, const struct shmemi_team_plan *plan)
{
    for (int i = 0; i < plan->size; i++)
        if (plan->start + i * plan->stride == parent->my_pe)
            return true;
    return false;
}

static shmem_team_config_t config_of(const struct shmemi_team_plan *plan)
{
    shmem_team_config_t config = {.num_contexts = 0};
    if (plan->config && (plan->config_mask & SHMEM_TEAM_NUM_CONTEXTS))
        config.num_contexts = plan->config->num_contexts;
    return config;
}

static struct shmemi_team *make_team(const struct shmemi_team *parent, const struct shmemi_team_plan *plan,
                                     unsigned slot, uint64_t number)
{
    struct shmemi_team *team = shmemi_pool_take(&pool);
    if (!team) {
        shmemi_error("out of memory for a team");
        return NULL;
    }
    team->config = config_of(plan);
    int rc = set_members(team, parent, plan->start, plan->stride, plan->size);
    if (!rc) {
        team->my_pe = shmemi_team_position(team, shmemi_job.pe);
        rc = open_team(team, slot, number);
    }
    if (!rc)
        return team;
    close_team(team);
    shmemi_pool_give_back(&pool, team);
    return NULL;
}

/* Undo the making of a team, which is NULL if this PE has none, and free its slot. */
static void unmake(struct shmemi_team *team, unsigned slot)
{
    if (team)
        close_team(team);
    shmemi_pool_give_back(&pool, team);
    shmemi_team_release_slot(slot);
}

/* Make the team of each plan that has this PE as a member, in the plan's slot. 0, or -ENOMEM if one cannot be made. */
static int make_own_teams(struct shmemi_team *parent, const struct shmemi_team_plan *plans, const unsigned *slots,
                          unsigned n, shmem_team_t *made)
{
    uint64_t numbers[SHMEMI_TEAM_PLANS];
    for (unsigned i = 0; i < n; i++)
        numbers[i] = shmemi_team_slot_number(slots[i]);
    int rc = shmemi_collective_agree(parent, SHMEMI_AGREE_MAX, numbers, n);
    for (unsigned i = 0; i < n && !rc; i++) {
        if (!is_member(parent, &plans[i]))
            continue;
        made[i] = make_team(parent, &plans[i], slots[i], numbers[i]);
        rc = made[i] ? 0 : -ENOMEM;
    }
    return rc;
}

/* Whether every member of the parent has succeeded: 0 on all of them, or an error on all. */
static int agree_on_success(struct shmemi_team *parent, int rc)
{
    uint64_t succeeded = !rc;
    int rc_agree = shmemi_collective_agree(parent, SHMEMI_AGREE_AND, &succeeded, 1);
    if (rc || rc_agree)
        return rc ? rc : rc_agree;
    return succeeded ? 0 : -ENOMEM;
}

int shmemi_teams_make(const char *routine, struct shmemi_team *parent, const struct shmemi_team_plan *plans, unsigned n,
                      shmem_team_t *made)
{
    unsigned slots[SHMEMI_TEAM_PLANS];
    struct shmemi_call call = {.routine = routine, .activity = SHMEMI_AT_RUNTIME};
    shmemi_call_begin(&call);
    int rc = shmemi_team_reserve_slots(parent, n, slots);
    const bool has_slots = !rc;
    if (has_slots)
        rc = agree_on_success(parent, make_own_teams(parent, plans, slots, n, made));
    shmemi_call_end(&call);
    for (unsigned i = 0; i < n && has_slots; i++) {
        if (!rc && made[i]) {
            keep(made[i]);
            continue;
        }
        unmake(made[i], slots[i]);
        made[i] = SHMEM_TEAM_INVALID;
    }
    return rc;
}

static void destroy_contexts(struct shmemi_team *team)
{
    while (team->contexts)
        shmemi_context_free(team->contexts);
}

void shmemi_team_destroy(struct shmemi_team *team)
{
    unsigned slot = team->slot;
    destroy_contexts(team);
    forget(team);
    close_team(team);
    shmemi_team_release_slot(slot);
    shmemi_pool_give_back(&pool, team);
}

/* ---- Predefined teams -------------------------------------------------------------------------------------------- */

static int open_world(void)
{
    shmemi_team_world = (struct shmemi_team){
        .my_pe = shmemi_job.pe,
        .n_pes = shmemi_job.n_pes,
        .start = 0,
        .stride = 1,
    };
    return open_team(&shmemi_team_world, SLOT_WORLD, 0);
}

static int open_shared(void)
{
    const int n = shmemi_job.node_n_pes, *pes = shmemi_job.node_pes;
    int stride = n > 1 ? pes[1] - pes[0] : 1;
    bool is_row = true;
    for (int i = 0; i < n; i++)
        is_row = is_row && pes[i] == pes[0] + i * stride;
    shmemi_team_shared = (struct shmemi_team){
        .my_pe = shmemi_job.node_rank,
        .n_pes = n,
        .start = pes[0],
        .stride = stride,
    };
    if (!is_row) {
        shmemi_team_shared.world_pes = malloc((size_t)n * sizeof(int));
        if (!shmemi_team_shared.world_pes)
            return -ENOMEM;
        memcpy(shmemi_team_shared.world_pes, pes, (size_t)n * sizeof(int));
    }
    return open_team(&shmemi_team_shared, SLOT_SHARED, 0);
}

struct shmemi_team *shmemi_team_make_active_set(int start, int stride, int size, unsigned slot, uint64_t number)
{
    struct shmemi_team *team = shmemi_pool_take(&pool);
    if (!team) {
        shmemi_error("out of memory for an active set of %d PEs", size);
        return NULL;
    }
    *team = (struct shmemi_team){.my_pe = (shmemi_job.pe - start) / stride,
                                 .n_pes = size,
                                 .start = start,
                                 .stride = stride,
                                 .is_active_set = true};
    if (open_team(team, slot, number)) {
        close_team(team);
        shmemi_pool_give_back(&pool, team);
        return NULL;
    }
    keep(team);
    return team;
}

struct shmemi_team *shmemi_team_find_active_set(int start, int stride, int size)
{
    pthread_mutex_lock(&teams.lock);
    struct shmemi_team *team = teams.made;
    while (team && !(team->is_active_set && team->start == start && team->stride == stride && team->n_pes == size))
        team = team->next;
    pthread_mutex_unlock(&teams.lock);
    return team;
}

int shmemi_teams_open(void)
{
    shmemi_team_slots_open();
    shmemi_team_reserve_slot(SLOT_WORLD);
    shmemi_team_reserve_slot(SLOT_SHARED);
    int rc = open_world();
    return rc ? rc : open_shared();
}

/* The lock keeps other threads from destroying contexts meanwhile. */
void shmemi_teams_quiet(void)
{
    const bool some_hold = atomic_exchange(&shmemi_pending_is_held, false);
    pthread_mutex_lock(&teams.lock);
    for (const struct shmemi_team *team = teams.made; team; team = team->next)
        shmemi_contexts_quiet(team->contexts, some_hold);
    shmemi_contexts_quiet(shmemi_team_shared.contexts, some_hold);
    shmemi_contexts_quiet(shmemi_team_world.contexts, some_hold);
    pthread_mutex_unlock(&teams.lock);
}

void shmemi_teams_close(void)
{
    while (teams.made)
        shmemi_team_destroy(teams.made);
    destroy_contexts(&shmemi_team_world);
    destroy_contexts(&shmemi_team_shared);
    close_team(&shmemi_team_shared);
    close_team(&shmemi_team_world);
    shmemi_team_world = shmemi_team_shared = (struct shmemi_team){.my_pe = -1, .n_pes = -1};
}

void shmemi_team_add_context(struct shmemi_team *team, struct shmemi_ctx *ctx)
{
    pthread_mutex_lock(&teams.lock);
    ctx->next = team->contexts;
    ctx->link = &team->contexts;
    if (ctx->next)
        ctx->next->link = &ctx->next;
    team->contexts = ctx;
    atomic_fetch_add(&shmemi_n_contexts, 1);
    pthread_mutex_unlock(&teams.lock);
}

void shmemi_team_remove_context(struct shmemi_ctx *ctx)
{
    pthread_mutex_lock(&teams.lock);
    *ctx->link = ctx->next;
    if (ctx->next)
        ctx->next->link = ctx->link;
    atomic_fetch_sub(&shmemi_n_contexts, 1);
    pthread_mutex_unlock(&teams.lock);
}
