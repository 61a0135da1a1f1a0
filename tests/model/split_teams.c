/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The teams of a program. One entry stands for all teams that a collective split makes: rows of a grid, parts of nodes.
 */
#include "tester.h"

enum split_how { WORLD, NODE, STRIDED, AXIS_X, AXIS_Y, N_HOWS };

static shmem_team_t others[TEAMS_MAX]; /* of splits that make two teams */

int team_members(int team, int group, int *members)
{
    int n = 0;
    for (int pe = 0; pe < job.n; pe++) {
        if (program.teams[team].group[pe] != group)
            continue;
        members[program.teams[team].rank[pe]] = pe;
        n++;
    }
    return n;
}

/* ---- Drawing --------------------------------------------------------------------------------------------------------- */

static void draw_world(struct drawn_team *team)
{
    team->n_groups = 1;
    for (int pe = 0; pe < job.n; pe++)
        team->rank[pe] = pe;
}

static void draw_nodes(struct drawn_team *team)
{
    team->n_groups = 0;
    for (int pe = 0; pe < job.n; pe++) {
        const int first = job.node[pe];
        team->group[pe] = pe == first ? team->n_groups++ : team->group[first];
        team->rank[pe] = pe == first ? 0 : team->rank[pe];
        for (int other = first; other < pe; other++)
            team->rank[pe] += job.node[other] == first;
    }
}

/* The arguments of a split of n PEs. */
static void strided(const struct drawn_team *team, int n, int *start, int *stride, int *size)
{
    *start = team->start % n;
    *stride = team->stride;
    *size = *stride > 0 ? (n - 1 - *start) / *stride + 1 : *start / -*stride + 1;
    if (*size > 1 && team->start / n % 3 == 0)
        (*size)--;
}

static void split_strided(struct drawn_team *team, int n, const int *members)
{
    int start, stride, size;
    strided(team, n, &start, &stride, &size);
    for (int i = 0; i < size; i++) {
        const int pe = members[start + i * stride];
        team->group[pe] = team->n_groups;
        team->rank[pe] = i;
    }
    team->n_groups++;
}

static void split_grid(struct drawn_team *team, int n, const int *members)
{
    const int range = team->stride < n ? team->stride : n, rows = (n + range - 1) / range;
    for (int i = 0; i < n; i++) {
        const int x = i % range, y = i / range, pe = members[i];
        team->group[pe] = team->n_groups + (team->how == AXIS_X ? y : x);
        team->rank[pe] = team->how == AXIS_X ? x : y;
    }
    team->n_groups += team->how == AXIS_X ? rows : range;
}

static void draw_split(struct drawn_team *team)
{
    int members[PES_MAX];
    team->n_groups = 0;
    for (int group = 0; group < program.teams[team->parent].n_groups; group++) {
        const int n = team_members(team->parent, group, members);
        team->how == STRIDED ? split_strided(team, n, members) : split_grid(team, n, members);
    }
}

void teams_draw(struct random_numbers *numbers)
{
    static const int strides[] = {1, 1, 2, 3, -1, -2};
    program.n_teams = 0;
    for (int i = 0; i < TEAMS_MAX; i++) {
        struct drawn_team *team = &program.teams[program.n_teams];
        *team = (struct drawn_team){.how = i < 2 ? i : STRIDED + (int)below(numbers, 3)};
        for (int pe = 0; pe < PES_MAX; pe++)
            team->group[pe] = team->how == WORLD ? 0 : -1;
        team->parent = (int)below(numbers, (size_t)(program.n_teams ? program.n_teams : 1));
        team->start = (int)below(numbers, 60);
        team->stride = team->how == STRIDED ? strides[below(numbers, 6)] : 1 + (int)below(numbers, 5);
        if (team->how == WORLD)
            draw_world(team);
        else if (team->how == NODE)
            draw_nodes(team);
        else
            draw_split(team);
        program.n_teams++;
    }
}

/* ---- Making ---------------------------------------------------------------------------------------------------------- */

static void make_strided(const struct drawn_team *team, shmem_team_t parent, shmem_team_t *new)
{
    int start, stride, size;
    strided(team, shmem_team_n_pes(parent), &start, &stride, &size);
    const int rc = shmem_team_split_strided(parent, start, stride, size, NULL, 0, new);
    if (rc != 0)
        wrong(-1, "shmem_team_split_strided(%d, %d, %d) of %d PEs returned %d", start, stride, size,
              shmem_team_n_pes(parent), rc);
}

static void make_grid(const struct drawn_team *team, shmem_team_t parent, shmem_team_t *new, shmem_team_t *other)
{
    const bool is_x = team->how == AXIS_X;
    const int rc = shmem_team_split_2d(parent, team->stride, NULL, 0, is_x ? new : other, NULL, 0, is_x ? other : new);
    if (rc != 0)
        wrong(-1, "shmem_team_split_2d(%d) returned %d", team->stride, rc);
}

static void check_team(int number)
{
    const struct drawn_team *team = &program.teams[number];
    int members[PES_MAX];
    const int group = team->group[job.me], n = group < 0 ? -1 : team_members(number, group, members);
    if (shmem_team_n_pes(team->handle) != n || shmem_team_my_pe(team->handle) != (n < 0 ? -1 : team->rank[job.me]))
        wrong(-1, "%s: PE %d of %d instead of %d of %d", team_text(number), shmem_team_my_pe(team->handle),
              shmem_team_n_pes(team->handle), n < 0 ? -1 : team->rank[job.me], n);
    for (int i = 0; i < n; i++)
        if (shmem_team_translate_pe(team->handle, i, SHMEM_TEAM_WORLD) != members[i])
            wrong(-1, "%s: member %d is PE %d instead of %d", team_text(number), i,
                  shmem_team_translate_pe(team->handle, i, SHMEM_TEAM_WORLD), members[i]);
}

void teams_make(void)
{
    for (int i = 0; i < program.n_teams; i++) {
        struct drawn_team *team = &program.teams[i];
        const shmem_team_t parent = program.teams[team->parent].handle;
        team->handle = team->how == WORLD  ? SHMEM_TEAM_WORLD
                       : team->how == NODE ? SHMEM_TEAM_SHARED
                                           : SHMEM_TEAM_INVALID;
        others[i] = SHMEM_TEAM_INVALID;
        if (team->how == STRIDED && parent != SHMEM_TEAM_INVALID)
            make_strided(team, parent, &team->handle);
        if (team->how >= AXIS_X && parent != SHMEM_TEAM_INVALID)
            make_grid(team, parent, &team->handle, &others[i]);
        check_team(i);
    }
}

void teams_destroy(void)
{
    for (int i = program.n_teams; i--;) {
        if (program.teams[i].how >= STRIDED)
            shmem_team_destroy(program.teams[i].handle);
        shmem_team_destroy(others[i]);
    }
}

const char *team_text(int number)
{
    static const char *const hows[N_HOWS] = {"world", "shared", "split_strided", "split_2d x", "split_2d y"};
    static char texts[2][80];
    static int turn;
    const struct drawn_team *team = &program.teams[number];
    char *text = texts[turn++ % 2];
    if (team->how < STRIDED)
        snprintf(text, sizeof texts[0], "team %s", hows[team->how]);
    else
        snprintf(text, sizeof texts[0], "team #%d (%s of #%d: start %d, stride or range %d)", number, hows[team->how],
                 team->parent, team->start, team->stride);
    return text;
}
