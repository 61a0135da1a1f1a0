/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast: in the root's node first, then among the leaders, then in the other nodes.
 */
#include "shmem/coll/collectives.h"

/* ---- inside a node ----------------------------------------------------------------------------------------------- */

/* From the source of a rank into every dest, the root's own only unless root_keeps_dest. */
struct node_broadcast {
    struct shmemi_team *team;
    const struct shmemi_symmetric *dest, *source;
    size_t nbytes;
    int root; /* rank */
    bool root_keeps_dest;
    uint64_t number;
    struct shmemi_context context;
};

static bool is_root(const struct node_broadcast *broadcast)
{
    return broadcast->team->node.me == broadcast->root;
}

static int send_to(struct node_broadcast *broadcast, int rank)
{
    if (rank == broadcast->root && broadcast->root_keeps_dest)
        return 0;
    shmemi_node_await_entered(broadcast->team, rank, broadcast->number - 1);
    return shmemi_send(&broadcast->context, broadcast->dest, 0, broadcast->source, 0, broadcast->nbytes,
                       shmemi_node_world_pe(broadcast->team, rank));
}

static int broadcast_eager(struct node_broadcast *broadcast)
{
    struct shmemi_team *team = broadcast->team;
    struct shmemi_context *context = &broadcast->context;
    char *released = shmemi_node_release_data(team, broadcast->root, broadcast->number, broadcast->nbytes);
    int rc;
    shmemi_node_arrive(team, broadcast->number);
    if (!is_root(broadcast)) {
        shmemi_node_take(team, broadcast->root, broadcast->number);
        rc = shmemi_copy_to(context, broadcast->dest, 0, released, broadcast->nbytes, shmemi_job.pe);
        return rc ? rc : shmemi_complete(context);
    }
    rc = shmemi_read_own(context, released, broadcast->source, broadcast->nbytes);
    if (!rc)
        rc = shmemi_complete(context);
    if (!rc)
        shmemi_node_give(team, broadcast->number);
    if (!rc)
        rc = send_to(broadcast, broadcast->root);
    return rc ? rc : shmemi_complete(context);
}

static int broadcast_push(struct node_broadcast *broadcast)
{
    struct shmemi_team *team = broadcast->team;
    int rc = 0;
    shmemi_node_arrive(team, broadcast->number);
    if (!is_root(broadcast)) {
        shmemi_node_take(team, broadcast->root, broadcast->number);
        return 0;
    }
    for (int i = 1; i <= team->node.n && !rc; i++)
        rc = send_to(broadcast, (broadcast->root + i) % team->node.n);
    if (!rc)
        rc = shmemi_complete(&broadcast->context);
    if (!rc)
        shmemi_node_give(team, broadcast->number);
    return rc;
}

/* Whether the root of a pull has pushed instead, since its source is private; its release line says so. */
static bool *root_has_pushed(const struct node_broadcast *broadcast)
{
    return (bool *)shmemi_node_release_data(broadcast->team, broadcast->root, broadcast->number, sizeof(bool));
}

static int offer(struct node_broadcast *broadcast)
{
    const int n = shmemi_is_private(broadcast->source) ? broadcast->team->node.n : 1;
    int rc = 0;
    *root_has_pushed(broadcast) = n > 1;
    if (n == 1)
        shmemi_node_give(broadcast->team, broadcast->number);
    for (int i = 0; i < n && !rc; i++)
        rc = send_to(broadcast, (broadcast->root + i) % broadcast->team->node.n);
    if (!rc)
        rc = shmemi_complete(&broadcast->context);
    if (n > 1 && !rc)
        shmemi_node_give(broadcast->team, broadcast->number);
    return rc;
}

static int pull(struct node_broadcast *broadcast)
{
    shmemi_node_take(broadcast->team, broadcast->root, broadcast->number);
    if (*root_has_pushed(broadcast))
        return 0;
    if (shmemi_is_private(broadcast->source))
        shmemi_fatal("broadcast: the source is symmetric on the root but not on this PE");
    int rc = shmemi_fetch(&broadcast->context, broadcast->dest, 0, broadcast->source, 0, broadcast->nbytes,
                          shmemi_node_world_pe(broadcast->team, broadcast->root));
    return rc ? rc : shmemi_complete(&broadcast->context);
}

/* A member arrives when it has read what it needs from the root's source. */
static int broadcast_pull(struct node_broadcast *broadcast)
{
    struct shmemi_team *team = broadcast->team;
    int rc = is_root(broadcast) ? offer(broadcast) : pull(broadcast);
    if (rc)
        return rc;
    shmemi_node_arrive(team, broadcast->number);
    if (is_root(broadcast))
        shmemi_node_await_all(team, broadcast->number);
    return 0;
}

static int broadcast_parts(struct node_broadcast *broadcast)
{
    return shmemi_broadcast_parts(&(struct shmemi_parts){broadcast->team, broadcast->dest, broadcast->source,
                                                         broadcast->nbytes, broadcast->root, broadcast->root_keeps_dest,
                                                         broadcast->number});
}

static int broadcast_in_node(struct node_broadcast *broadcast)
{
    struct shmemi_team *team = broadcast->team;
    if (team->node.n == 1) {
        int rc = send_to(broadcast, broadcast->root);
        return rc ? rc : shmemi_complete(&broadcast->context);
    }
    broadcast->number = shmemi_node_enter(team, broadcast->nbytes);
    switch (shmemi_choose_for(&team->collective->choices, SHMEMI_COLLECTIVE_broadcast,
                              shmemi_is_device(broadcast->dest), broadcast->nbytes)) {
    case SHMEMI_broadcast_eager:
        return broadcast_eager(broadcast);
    case SHMEMI_broadcast_push:
        return broadcast_push(broadcast);
    case SHMEMI_broadcast_parts:
        return team->node.n > 2 ? broadcast_parts(broadcast) : broadcast_pull(broadcast);
    default:
        return broadcast_pull(broadcast);
    }
}

int shmemi_node_spread(struct shmemi_team *team, const struct shmemi_symmetric *dest, size_t nbytes)
{
    struct node_broadcast broadcast = {
        .team = team, .dest = dest, .source = dest, .nbytes = nbytes, .root_keeps_dest = true};
    return broadcast_in_node(&broadcast);
}

/* ---- between nodes: from the root's leader to the dest of the others ---------------------------------------------
 *
 * Each broadcast has a flag, which says that the data have arrived. Leaders that only send could run ahead of the
 * others, reuse a flag too early, and write into a dest that a program still reads. So before the second of several
 * broadcasts in a row all leaders synchronise; and from then on, as long as they are trees from the same root, each
 * leader tells the one that delivers to it that it has entered, and that one waits for this before it delivers the next.
 * If the root changes, they synchronise before every second one. */

struct leaders_broadcast {
    struct shmemi_team *team;
    const struct shmemi_symmetric *dest;
    const struct shmemi_symmetric *have; /* where this leader has the data: dest, or source on the root itself */
    size_t nbytes;
    int root; /* leader */
    _Atomic uint64_t *flag;
    uint64_t number;
    uint64_t before; /* number of the broadcast before, if who delivers has to wait until the others have entered it */
    bool confirms;   /* leaders say that they have entered */
    struct shmemi_context context;
};

static int deliver(struct leaders_broadcast *broadcast, int leader, struct shmemi_slice bytes)
{
    if (bytes.start == bytes.end)
        return 0;
    return shmemi_send(&broadcast->context, broadcast->dest, bytes.start, broadcast->have, bytes.start,
                       bytes.end - bytes.start, shmemi_leader_world_pe(broadcast->team, leader));
}

static int deliver_with_flag(struct leaders_broadcast *broadcast, int leader, struct shmemi_slice bytes)
{
    int rc = deliver(broadcast, leader, bytes);
    return rc ? rc
              : shmemi_notify(broadcast->team, &broadcast->context, shmemi_leader_world_pe(broadcast->team, leader),
                              broadcast->flag, broadcast->number);
}

static _Atomic uint64_t *entered_at(const struct leaders_broadcast *broadcast, int reach)
{
    return &broadcast->team->collective->mine->entered[__builtin_ctz((unsigned)reach)];
}

/* The leader that delivers to this one, `reach` before it. */
static int deliverer(const struct leaders_broadcast *broadcast, int reach)
{
    return (broadcast->team->leaders.me + broadcast->team->leaders.n - reach) % broadcast->team->leaders.n;
}

/* Wait until that leader, or the root, has delivered. */
static void await_delivery(const struct leaders_broadcast *broadcast, int leader)
{
    shmemi_await_leader(broadcast->team, leader, broadcast->flag, broadcast->number);
}

/* Tell the leader that delivers to this one that this one has entered. */
static int confirm(struct leaders_broadcast *broadcast, int reach)
{
    const int to = deliverer(broadcast, reach);
    return shmemi_notify(broadcast->team, &broadcast->context, shmemi_leader_world_pe(broadcast->team, to),
                         entered_at(broadcast, reach), broadcast->number);
}

static struct shmemi_slice part(const struct leaders_broadcast *broadcast, int number)
{
    return shmemi_slice_of(broadcast->nbytes, broadcast->team->leaders.n, number);
}

/* Parts first to end - 1. */
static struct shmemi_slice parts(const struct leaders_broadcast *broadcast, int first, int end)
{
    return (struct shmemi_slice){part(broadcast, first).start, part(broadcast, end - 1).end};
}

/* Everything, or the part of the leader at the distance `to` from the root and those that it has to hand on. */
static int deliver_in_tree(struct leaders_broadcast *broadcast, int to, int reach, bool all)
{
    const int n = broadcast->team->leaders.n, leader = (broadcast->root + to) % n;
    const struct shmemi_slice bytes =
        all ? (struct shmemi_slice){0, broadcast->nbytes} : parts(broadcast, to, to + reach < n ? to + reach : n);
    if (broadcast->before)
        shmemi_await_leader(broadcast->team, leader, entered_at(broadcast, reach), broadcast->before);
    return deliver_with_flag(broadcast, leader, bytes);
}

static int distance_from_root(const struct leaders_broadcast *broadcast)
{
    return (broadcast->team->leaders.me - broadcast->root + broadcast->team->leaders.n) % broadcast->team->leaders.n;
}

/* Binomial tree: a leader at distance d from the root receives from the one at distance d without d's lowest bit, and hands
 * on what it gets. */
static int hand_down(struct leaders_broadcast *broadcast, bool all)
{
    const int n = broadcast->team->leaders.n, distance = distance_from_root(broadcast);
    int reach = 1, rc = 0;
    while (reach < n && !(distance & reach))
        reach *= 2;
    if (distance && broadcast->confirms)
        rc = confirm(broadcast, reach);
    if (distance && !rc)
        await_delivery(broadcast, deliverer(broadcast, reach));
    for (reach /= 2; reach > 0 && !rc; reach /= 2)
        if (distance + reach < n)
            rc = deliver_in_tree(broadcast, distance + reach, reach, all);
    return rc;
}

static int deliver_by_tree(struct leaders_broadcast *broadcast)
{
    int rc = hand_down(broadcast, true);
    return rc ? rc : shmemi_complete(&broadcast->context);
}

/* The root sends each leader a part, which that leader sends on to all others but the root. */
static int deliver_by_scatter(struct leaders_broadcast *broadcast)
{
    const int n = broadcast->team->leaders.n, me = broadcast->team->leaders.me;
    int rc = 0;
    if (me != broadcast->root)
        await_delivery(broadcast, broadcast->root);
    for (int i = 1; i < n && me == broadcast->root && !rc; i++) {
        int leader = (me + i) % n;
        rc = deliver_with_flag(broadcast, leader, part(broadcast, leader));
    }
    for (int i = 1; i < n && !rc; i++) {
        int leader = (me + i) % n;
        if (leader != broadcast->root)
            rc = deliver(broadcast, leader, part(broadcast, me));
    }
    if (!rc)
        rc = shmemi_complete(&broadcast->context);
    return rc ? rc : shmemi_leaders_sync(broadcast->team);
}

/* ---- many nodes: parts by a tree, then dissemination. Parts are numbered by distance from the root. -------------- */

/* Deliver parts first to first + count - 1 to the leader at a distance from the root. */
static int deliver_parts(struct leaders_broadcast *broadcast, int distance, int first, int count)
{
    return count ? deliver(broadcast, (broadcast->root + distance) % broadcast->team->leaders.n,
                           parts(broadcast, first, first + count))
                 : 0;
}

/* In each round a leader sends all the parts that it has from its own on; the root has no use for any. */
static int put_together(struct leaders_broadcast *broadcast, int distance)
{
    struct shmemi_workspace *mine = broadcast->team->collective->mine;
    const int n = broadcast->team->leaders.n;
    int rc = 0;
    for (int round = 0, have = 1; have < n && !rc; round++, have *= 2) {
        const int to = (distance - have + n) % n, count = have < n - have ? have : n - have;
        const int before_end = distance + count < n ? count : n - distance;
        if (to)
            rc = deliver_parts(broadcast, to, distance, before_end);
        if (to && !rc)
            rc = deliver_parts(broadcast, to, 0, count - before_end);
        if (!rc)
            rc = shmemi_notify(broadcast->team, &broadcast->context,
                               shmemi_leader_world_pe(broadcast->team, (broadcast->root + to) % n),
                               &mine->collected[round], broadcast->number);
        if (!rc)
            shmemi_await_leader(broadcast->team, (broadcast->team->leaders.me + have) % n, &mine->collected[round],
                                broadcast->number);
    }
    return rc;
}

static int deliver_by_halving(struct leaders_broadcast *broadcast)
{
    int rc = hand_down(broadcast, false);
    if (!rc)
        rc = put_together(broadcast, distance_from_root(broadcast));
    shmemi_leaders_all_entered(broadcast->team);
    return rc ? rc : shmemi_complete(&broadcast->context);
}

/* All leaders decide alike: they have taken part in the same operations. */
static int begin(struct leaders_broadcast *broadcast, bool is_tree)
{
    struct shmemi_collective_state *state = broadcast->team->collective;
    const bool continues = is_tree && state->confirmed && state->confirmed == state->leaders_number &&
                           state->confirmed_root == broadcast->root;
    const bool synchronises = !continues && state->deliveries >= state->deliveries_most;
    int rc = continues ? 0 : shmemi_leaders_await_entered(broadcast->team);
    broadcast->before = continues ? state->confirmed : 0;
    broadcast->confirms = is_tree && (continues || synchronises);
    broadcast->flag = &state->mine->delivered[state->deliveries % SHMEMI_FLAGS];
    if (++state->deliveries == 2 * SHMEMI_FLAGS) /* however many there are */
        state->deliveries = SHMEMI_FLAGS;
    broadcast->number = ++state->leaders_number;
    state->confirmed = broadcast->confirms ? broadcast->number : 0;
    state->confirmed_root = broadcast->root;
    return rc;
}

static int leaders_broadcast(struct shmemi_team *team, const struct shmemi_copy_args *args, int root)
{
    struct shmemi_collective_state *state = team->collective;
    struct leaders_broadcast broadcast = {.team = team,
                                          .dest = &args->dest,
                                          .nbytes = args->nbytes,
                                          .have = root == team->my_pe ? &args->source : &args->dest,
                                          .root = shmemi_leader_of_member(team, root)};
    const enum shmemi_algorithm algorithm =
        shmemi_choose(&state->choices, SHMEMI_COLLECTIVE_leaders_broadcast, args->nbytes);
    int rc = begin(&broadcast, algorithm == SHMEMI_leaders_broadcast_tree);
    if (rc)
        return rc;
    switch (algorithm) {
    case SHMEMI_leaders_broadcast_tree:
        return deliver_by_tree(&broadcast);
    case SHMEMI_leaders_broadcast_scatter:
        return deliver_by_scatter(&broadcast);
    default:
        return deliver_by_halving(&broadcast);
    }
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

int shmemi_broadcast(struct shmemi_team *team, const struct shmemi_copy_args *args, int root)
{
    struct node_broadcast in_node = {.team = team,
                                     .dest = &args->dest,
                                     .source = &args->source,
                                     .nbytes = args->nbytes,
                                     .root = shmemi_node_rank_of_member(team, root),
                                     .root_keeps_dest = args->root_keeps_dest};
    int rc = 0;
    if (!args->nbytes)
        return 0;
    team->collective->may_lag = team->leaders.n > 1;
    if (in_node.root >= 0)
        rc = broadcast_in_node(&in_node);
    if (!rc && team->leaders.n > 1 && shmemi_is_leader(team))
        rc = leaders_broadcast(team, args, root);
    if (!rc && in_node.root < 0)
        rc = shmemi_node_spread(team, &args->dest, args->nbytes);
    return rc;
}
