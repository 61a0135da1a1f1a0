/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams [9.4]: strided and two-dimensional splits of the world, of teams and of SHMEM_TEAM_SHARED, with every stride
 * and shape; the members by number, in both directions; configurations; errors, which leave no team on any PE; teams
 * that are made and destroyed again and again, and more teams than possible. Each team is tested by a message around
 * its members.
 */
#include "check.h"

#include <stdbool.h>

enum { AGAIN = 300, TOO_MANY = 400, PES_MAX = 64 };

static uint64_t mailbox;

static void expect(const char *what, int found, int expected)
{
    CHECK_THAT(found == expected, "%s is %d, expected %d", what, found, expected);
}

/* ---- a team whose members are known ------------------------------------------------------------------------------ */

/* Every member puts its number to the next one, over a context of the team. */
static void check_message(shmem_team_t team, const int *world_pes, int n, int me)
{
    shmem_ctx_t context;
    shmem_team_t of_context;
    CHECK(!shmem_team_create_ctx(team, 0, &context));
    CHECK(!shmem_ctx_get_team(context, &of_context) && of_context == team);
    mailbox = 0;
    CHECK(!shmem_team_sync(team));
    shmem_ctx_uint64_atomic_add(context, &mailbox, (uint64_t)world_pes[me] + 1000, (me + 1) % n);
    shmem_ctx_quiet(context);
    CHECK(!shmem_team_sync(team));
    expect("the message of the member before", (int)shmem_uint64_atomic_fetch(&mailbox, shmem_my_pe()),
           world_pes[(me + n - 1) % n] + 1000);
    shmem_ctx_destroy(context);
}

static void check_numbers(shmem_team_t team, const int *world_pes, int n, int me)
{
    int position[PES_MAX];
    expect("shmem_team_my_pe", shmem_team_my_pe(team), me);
    expect("shmem_team_n_pes", shmem_team_n_pes(team), n);
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        position[pe] = -1;
    for (int i = 0; i < n; i++) {
        position[world_pes[i]] = i;
        expect("shmem_team_translate_pe to the world", shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD),
               world_pes[i]);
        expect("shmem_team_translate_pe to itself", shmem_team_translate_pe(team, i, team), i);
        CHECK(shmem_team_ptr(team, &mailbox, i) == shmem_ptr(&mailbox, world_pes[i]));
    }
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        expect("shmem_team_translate_pe from the world", shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, team),
               position[pe]);
    expect("shmem_team_translate_pe of no member", shmem_team_translate_pe(team, n, SHMEM_TEAM_WORLD), -1);
    expect("shmem_team_translate_pe of PE -1", shmem_team_translate_pe(team, -1, SHMEM_TEAM_WORLD), -1);
    expect("shmem_team_translate_pe to no team", shmem_team_translate_pe(team, 0, SHMEM_TEAM_INVALID), -1);
    CHECK(!shmem_team_ptr(team, &mailbox, n) && !shmem_team_ptr(team, &mailbox, -1));
}

/* The team has these members in this order; SHMEM_TEAM_INVALID if this PE is not among them. */
static void check_team(shmem_team_t team, const int *world_pes, int n)
{
    int me = -1;
    for (int i = 0; i < n; i++)
        if (world_pes[i] == shmem_my_pe())
            me = i;
    if (me < 0) {
        CHECK(team == SHMEM_TEAM_INVALID);
        return;
    }
    CHECK(team != SHMEM_TEAM_INVALID);
    check_numbers(team, world_pes, n, me);
    check_message(team, world_pes, n, me);
}

static void members_of(shmem_team_t team, int *world_pes)
{
    for (int i = 0; i < shmem_team_n_pes(team); i++)
        world_pes[i] = shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD);
}

/* ---- strided splits ---------------------------------------------------------------------------------------------- */

static bool is_inside(int n, int start, int stride, int size)
{
    if (size < 1 || (stride == 0 && size > 1))
        return false;
    for (int i = 0; i < size; i++)
        if (start + i * stride < 0 || start + i * stride >= n)
            return false;
    return true;
}

static shmem_team_t split(shmem_team_t parent, int start, int stride, int size)
{
    int parent_pes[PES_MAX], world_pes[PES_MAX];
    shmem_team_t team = SHMEM_TEAM_WORLD;
    int rc = shmem_team_split_strided(parent, start, stride, size, NULL, 0, &team);
    members_of(parent, parent_pes);
    if (!is_inside(shmem_team_n_pes(parent), start, stride, size)) {
        CHECK_THAT(rc && team == SHMEM_TEAM_INVALID, "a split into %d PEs from %d by %d of %d PEs did not fail", size,
                   start, stride, shmem_team_n_pes(parent));
        return SHMEM_TEAM_INVALID;
    }
    CHECK_THAT(!rc, "a split into %d PEs from %d by %d of %d PEs failed with %d", size, start, stride,
               shmem_team_n_pes(parent), rc);
    for (int i = 0; i < size; i++)
        world_pes[i] = parent_pes[start + i * stride];
    check_team(team, world_pes, size);
    return team;
}

/* Every possible triplet, and those just outside the range. */
static void check_all_triplets(shmem_team_t parent)
{
    const int n = shmem_team_n_pes(parent);
    for (int start = -1; start <= n; start++)
        for (int stride = -n; stride <= n; stride++)
            for (int size = 0; size <= n + 1; size++) {
                if (n > 4 && (start * 31 + stride * 7 + size + 1000) % 11)
                    continue; /* a sample is enough */
                shmem_team_destroy(split(parent, start, stride, size));
            }
    const shmem_team_t none = split(parent, 0, 0, 2);
    CHECK(none == SHMEM_TEAM_INVALID && split(parent, 0, 1, -1) == SHMEM_TEAM_INVALID);
}

/* PEs belong to different parents, and each splits its own. */
static void check_nested(void)
{
    const int n = shmem_n_pes();
    shmem_team_t evens = split(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2);
    shmem_team_t odds = n > 1 ? split(SHMEM_TEAM_WORLD, 1, 2, n / 2) : SHMEM_TEAM_INVALID;
    shmem_team_t mine = shmem_my_pe() % 2 ? odds : evens;
    const int half = shmem_team_n_pes(mine);
    shmem_team_t reversed = split(mine, half - 1, -1, half);
    shmem_team_t again = split(reversed, half - 1, -1, half);
    expect("position after two reversals", shmem_team_my_pe(again), shmem_team_my_pe(mine));
    expect("shmem_team_translate_pe between teams", shmem_team_translate_pe(reversed, 0, again), half - 1);
    shmem_team_t single = split(again, shmem_team_n_pes(again) - 1, 0, 1);
    shmem_team_destroy(single);
    shmem_team_destroy(reversed); /* its child lives on */
    CHECK(!shmem_team_sync(again));
    shmem_team_destroy(again);
    shmem_team_destroy(evens);
    shmem_team_destroy(odds);
}

/* ---- two-dimensional splits -------------------------------------------------------------------------------------- */

static void check_2d(shmem_team_t parent, int xrange)
{
    const int n = shmem_team_n_pes(parent), me = shmem_team_my_pe(parent), width = xrange < n ? xrange : n;
    int parent_pes[PES_MAX], row[PES_MAX], column[PES_MAX], in_row = 0, in_column = 0;
    const shmem_team_config_t configs[2] = {{.num_contexts = 2}, {.num_contexts = 5}};
    shmem_team_config_t found = {.num_contexts = -1};
    shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;
    int rc = shmem_team_split_2d(parent, xrange, &configs[0], SHMEM_TEAM_NUM_CONTEXTS, &x, &configs[1],
                                 SHMEM_TEAM_NUM_CONTEXTS, &y);
    CHECK_THAT(!rc, "shmem_team_split_2d of %d PEs with rows of %d failed with %d", n, xrange, rc);
    members_of(parent, parent_pes);
    for (int i = 0; i < n; i++) {
        if (i / width == me / width)
            row[in_row++] = parent_pes[i];
        if (i % width == me % width)
            column[in_column++] = parent_pes[i];
    }
    check_team(x, row, in_row);
    check_team(y, column, in_column);
    expect("x of this PE", shmem_team_my_pe(x), me % width);
    expect("y of this PE", shmem_team_my_pe(y), me / width);
    CHECK(!shmem_team_get_config(x, SHMEM_TEAM_NUM_CONTEXTS, &found) && found.num_contexts == 2);
    CHECK(!shmem_team_get_config(y, SHMEM_TEAM_NUM_CONTEXTS, &found) && found.num_contexts == 5);
    shmem_team_destroy(y);
    shmem_team_destroy(x);
}

static void check_all_shapes(shmem_team_t parent)
{
    shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;
    for (int xrange = 1; xrange <= shmem_team_n_pes(parent) + 2; xrange++)
        check_2d(parent, xrange);
    CHECK(shmem_team_split_2d(parent, 0, NULL, 0, &x, NULL, 0, &y) != 0);
    CHECK(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID);
}

/* ---- handles, configurations, pointers --------------------------------------------------------------------------- */

static void check_invalid(void)
{
    shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;
    shmem_team_config_t config = {.num_contexts = 77};
    expect("shmem_team_my_pe of no team", shmem_team_my_pe(SHMEM_TEAM_INVALID), -1);
    expect("shmem_team_n_pes of no team", shmem_team_n_pes(SHMEM_TEAM_INVALID), -1);
    expect("shmem_team_translate_pe from no team", shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD),
           -1);
    CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0);
    CHECK(config.num_contexts == 77);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &x) != 0 && x == SHMEM_TEAM_INVALID);
    x = SHMEM_TEAM_WORLD;
    CHECK(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &x, NULL, 0, &y) != 0);
    CHECK(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID);
    CHECK(!shmem_team_ptr(SHMEM_TEAM_INVALID, &mailbox, 0));
    shmem_team_destroy(SHMEM_TEAM_INVALID);
}

static void check_predefined(void)
{
    int pes[PES_MAX];
    shmem_team_config_t config = {.num_contexts = 77};
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        pes[pe] = pe;
    check_team(SHMEM_TEAM_WORLD, pes, shmem_n_pes());
    CHECK(shmem_team_n_pes(SHMEM_TEAM_SHARED) >= 1);
    members_of(SHMEM_TEAM_SHARED, pes);
    check_team(SHMEM_TEAM_SHARED, pes, shmem_team_n_pes(SHMEM_TEAM_SHARED));
    CHECK(!shmem_team_get_config(SHMEM_TEAM_WORLD, 0, NULL)); /* asks for no field */
    CHECK(!shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, &config) && config.num_contexts >= 0);
}

/* The heaps of a shared team's members are reachable by load and store. */
static void check_shared_memory(void)
{
    uint64_t *word = check_shmem_malloc(sizeof *word);
    *word = (uint64_t)shmem_my_pe();
    shmem_barrier_all();
    for (int i = 0; i < shmem_team_n_pes(SHMEM_TEAM_SHARED); i++) {
        const uint64_t *direct = shmem_team_ptr(SHMEM_TEAM_SHARED, word, i);
        CHECK_THAT(direct, "PE %d of SHMEM_TEAM_SHARED has a heap that is not reachable", i);
        expect("a word through shmem_team_ptr", (int)*direct,
               shmem_team_translate_pe(SHMEM_TEAM_SHARED, i, SHMEM_TEAM_WORLD));
    }
    shmem_free(word);
}

static void check_config(void)
{
    const shmem_team_config_t config = {.num_contexts = 4};
    shmem_team_config_t found = {.num_contexts = 77};
    shmem_team_t team;
    const int n = shmem_n_pes();
    CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, SHMEM_TEAM_NUM_CONTEXTS, &team));
    CHECK(!shmem_team_get_config(team, 0, &found) && found.num_contexts == 77);
    CHECK(!shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &found) && found.num_contexts == 4);
    shmem_team_destroy(team);
    CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, 0, &team)); /* masked: the default */
    CHECK(!shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &found) && found.num_contexts == 0);
    shmem_team_destroy(team);
}

/* ---- many -------------------------------------------------------------------------------------------------------- */

static void check_again_and_again(void)
{
    const int n = shmem_n_pes(), me = shmem_my_pe();
    for (int i = 0; i < AGAIN; i++) {
        shmem_team_t team;
        const int size = 1 + i % n, start = i % (n - size + 1);
        CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, start, 1, size, NULL, 0, &team));
        CHECK((team != SHMEM_TEAM_INVALID) == (me >= start && me < start + size));
        if (team != SHMEM_TEAM_INVALID)
            CHECK(!shmem_team_sync(team));
        shmem_team_destroy(team);
    }
}

/* Create teams until one is refused, on all PEs at once; after some are destroyed there is room again. */
static void check_too_many(void)
{
    static shmem_team_t teams[TOO_MANY];
    int made = 0, pes[PES_MAX];
    static int counts[PES_MAX];
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        pes[pe] = pe;
    while (made < TOO_MANY && !shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &teams[made]))
        made++;
    CHECK_THAT(made > 200 && made < TOO_MANY, "%d teams were made", made);
    CHECK(teams[made] == SHMEM_TEAM_INVALID);
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        shmem_int_p(&counts[shmem_my_pe()], made, pe);
    shmem_barrier_all();
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        expect("teams that another PE made", counts[pe], made);
    check_team(teams[made - 1], pes, shmem_n_pes());
    shmem_team_t x, y;
    shmem_team_destroy(teams[made / 2]); /* room for one, but not for two */
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &x, NULL, 0, &y) != 0);
    CHECK(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID);
    CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &teams[made / 2]));
    for (int i = 0; i < made; i++)
        shmem_team_destroy(teams[i]);
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    CHECK_THAT(shmem_n_pes() <= PES_MAX, "this test runs with at most %d PEs", PES_MAX);
    check_invalid();
    check_predefined();
    check_shared_memory();
    check_all_triplets(SHMEM_TEAM_WORLD);
    check_all_triplets(SHMEM_TEAM_SHARED);
    check_nested();
    check_all_shapes(SHMEM_TEAM_WORLD);
    check_all_shapes(SHMEM_TEAM_SHARED);
    shmem_team_t reversed = split(SHMEM_TEAM_WORLD, shmem_n_pes() - 1, -1, shmem_n_pes());
    check_all_shapes(reversed);
    shmem_team_destroy(reversed);
    check_config();
    check_again_and_again();
    check_too_many();
    return check_end();
}
