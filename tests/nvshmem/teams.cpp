/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams of NVSHMEM's interface: predefined ones, splits, numbers that are used again, the most of them, and collectives in
 * them. Usage: teams PES, how many a node has.
 */
#include "expect.h"

#include <cstdlib>
#include <vector>

static int me, n;

static void check_predefined(int per_node)
{
    int major, minor, patch;
    EXPECT(nvshmem_team_my_pe(NVSHMEM_TEAM_WORLD) == me && nvshmem_team_n_pes(NVSHMEM_TEAM_WORLD) == n);
    EXPECT(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) == me % per_node);
    EXPECT(nvshmem_team_n_pes(NVSHMEMX_TEAM_NODE) == nvshmem_team_n_pes(NVSHMEM_TEAM_SHARED));
    EXPECT(nvshmem_team_my_pe(NVSHMEM_TEAM_INVALID) == -1 && nvshmem_team_n_pes(17) == -1);
    const bool is_regular = n % per_node == 0;
    EXPECT(nvshmem_team_my_pe(NVSHMEMX_TEAM_SAME_MYPE_NODE) == (is_regular ? me / per_node : -1));
    EXPECT(nvshmem_team_n_pes(NVSHMEMX_TEAM_SAME_MYPE_NODE) == (is_regular ? n / per_node : -1));
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    EXPECT(major * 10000 + minor * 100 + patch == NVSHMEM_VENDOR_VERSION);
}

/* A sum over the team, which has this PE. */
static bool adds_up(nvshmem_team_t team, int expected)
{
    int *words = static_cast<int *>(nvshmem_malloc(2 * sizeof(int))); /* the others of the world make one, too */
    words[0] = me + 1;
    const bool right = team == NVSHMEM_TEAM_INVALID ||
                       (nvshmem_int_sum_reduce(team, words + 1, words, 1) == 0 && words[1] == expected);
    nvshmem_free(words);
    return right;
}

static void check_split()
{
    nvshmem_team_t even, x, y, none;
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    EXPECT(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, &config, 0, &even) == 0);
    EXPECT((even != NVSHMEM_TEAM_INVALID) == (me % 2 == 0));
    int sum = 0;
    for (int pe = 0; pe < n; pe += 2)
        sum += pe + 1;
    EXPECT(adds_up(even, sum));
    if (even != NVSHMEM_TEAM_INVALID) {
        EXPECT(nvshmem_team_translate_pe(even, me / 2, NVSHMEM_TEAM_WORLD) == me);
        EXPECT(nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, me, even) == me / 2);
        EXPECT(nvshmem_barrier(even) == 0 && nvshmem_team_sync(even) == 0 && nvshmem_sync(even) == 0);
    }
    EXPECT(nvshmem_team_split_2d(NVSHMEM_TEAM_WORLD, 2, &config, 0, &x, &config, 0, &y) == 0);
    EXPECT(nvshmem_team_my_pe(x) == me % 2 && nvshmem_team_my_pe(y) == me / 2 && x != y);
    EXPECT(nvshmem_team_split_strided(NVSHMEM_TEAM_INVALID, 0, 1, 1, &config, 0, &none) != 0 &&
           none == NVSHMEM_TEAM_INVALID);
    nvshmem_team_destroy(x);
    nvshmem_team_destroy(y);
    nvshmem_team_destroy(even);
    EXPECT(nvshmem_barrier(x) != 0);
}

/* Numbers run out, and come back. PE 0 has one team more than the others. */
static void check_most()
{
    std::vector<nvshmem_team_t> teams;
    nvshmem_team_t alone, team;
    EXPECT(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &alone) == 0);
    while (nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == 0)
        teams.push_back(team);
    EXPECT(team == NVSHMEM_TEAM_INVALID && teams.size() == 32 - 4 - 1);
    for (nvshmem_team_t each : teams)
        EXPECT(each != alone && adds_up(each, n * (n + 1) / 2));
    for (nvshmem_team_t each : teams)
        nvshmem_team_destroy(each);
    EXPECT(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == 0 && team == teams[0]);
    nvshmem_team_destroy(team);
    nvshmem_team_destroy(alone);
}

int main(int argc, char **argv)
{
    nvshmem_init();
    me = nvshmem_my_pe(), n = nvshmem_n_pes();
    check_predefined(argc > 1 ? atoi(argv[1]) : n);
    check_split();
    check_most();
    check_split();
    return finish();
}
