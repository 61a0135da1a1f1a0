/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data handed on between the members of a team in rounds, over any nodes: in round k each member sends some bytes to the
 * member 2^k after it, and receives as many from the one 2^k before it. So a member has few partners, and sends few
 * messages, however large the team is.
 *
 * What comes in lands in symmetric memory of the receiver, which is used in two halves: pieces of at most a half take
 * turns in them: the workspace or, for what would be more than two pieces there, dest. A member grants the next piece
 * to its sender once it has taken out the one before the last; the first two when it enters. Nothing is sent without
 * that, so nobody's memory is written before its owner is in the operation, or after it has left. Pieces are numbered,
 * alike on all members, and a member takes part in all of them in the same order, so no circle of members can wait for
 * each other.
 */
#include "shmem/coll/collectives.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The PE of the member 2^round after this one (before it, if sign is -1); after the last member comes the first. */
static int partner(const struct shmemi_rounds *rounds, int round, int sign)
{
    const int64_t n = rounds->team->n_pes, at = rounds->team->my_pe + sign * ((int64_t)1 << round);
    return shmemi_team_world_pe(rounds->team, (int)((at + n) % n));
}

/* Grants the next piece to its sender, which then may send it. */
static int grant_next(struct shmemi_rounds *rounds)
{
    while (rounds->granting < rounds->n && rounds->granted_bytes >= rounds->bytes[rounds->granting]) {
        rounds->granting++;
        rounds->granted_bytes = 0;
    }
    if (rounds->granting == rounds->n)
        return 0;
    rounds->granted_bytes += rounds->half;
    rounds->granted++;
    return shmemi_notify(rounds->team, &rounds->grants, partner(rounds, rounds->granting, -1),
                         &rounds->team->collective->mine->granted[rounds->granting], rounds->granted);
}

static size_t landing_of(const struct shmemi_rounds *rounds)
{
    return rounds->number % 2 * rounds->half;
}

static int send_piece(struct shmemi_rounds *rounds, int round, const char *bytes, size_t nbytes)
{
    struct shmemi_workspace *mine = rounds->team->collective->mine;
    const int world_pe = partner(rounds, round, 1);
    const struct shmemi_view *view = shmemi_region_view(rounds->landing.region, world_pe);
    const struct shmemi_transfer put = {.context = &rounds->data,
                                        .view = view,
                                        .offset = rounds->landing.offset + landing_of(rounds),
                                        .mine = shmemi_place_host(bytes),
                                        .shape = shmemi_shape_linear(nbytes),
                                        .is_put = true,
                                        .is_blocking = true};
    shmemi_await_word(&mine->granted[round], rounds->number, world_pe);
    int rc = shmemi_op_transfer(&put);
    return rc ? rc : shmemi_notify(rounds->team, &rounds->data, world_pe, &mine->received[round], rounds->number);
}

static void receive_piece(const struct shmemi_rounds *rounds, int round, char *bytes, size_t nbytes)
{
    shmemi_await_word(&rounds->team->collective->mine->received[round], rounds->number, partner(rounds, round, -1));
    memcpy(bytes, rounds->landing.host + landing_of(rounds), nbytes);
}

int shmemi_rounds_next(struct shmemi_rounds *rounds, int round, const char *out, char *in)
{
    int rc = 0;
    for (size_t at = 0, nbytes; at < rounds->bytes[round] && !rc; at += nbytes) {
        const size_t left = rounds->bytes[round] - at;
        nbytes = left < rounds->half ? left : rounds->half;
        rounds->number++;
        rc = send_piece(rounds, round, out + at, nbytes);
        if (rc)
            return rc;
        receive_piece(rounds, round, in + at, nbytes);
        rc = grant_next(rounds);
    }
    return rc;
}

/* Where the leaders' records lie, which no leader may send while another is still in a round. */
static void land_in_workspace(struct shmemi_rounds *rounds)
{
    struct shmemi_workspace *mine = rounds->team->collective->mine;
    rounds->landing = (struct shmemi_symmetric){
        .region = &shmemi_heap_region,
        .offset = shmemi_team_workspace(rounds->team) + offsetof(struct shmemi_workspace, partial),
        .host = mine->partial,
    };
    rounds->half = sizeof mine->partial / 2;
    rounds->team->collective->awaits_records = true;
}

/* Are these bytes better than the workspace? The heap and static data are host memory on every member. */
static bool lands_in(const struct shmemi_rounds *rounds, const struct shmemi_symmetric *memory)
{
    size_t most = 0;
    for (int round = 0; round < rounds->n; round++)
        most = rounds->bytes[round] > most ? rounds->bytes[round] : most;
    return most > sizeof rounds->team->collective->mine->partial && memory && memory->host &&
           memory->region->id < SHMEMI_REGION_FIRST_MAPPED;
}

int shmemi_rounds_begin(struct shmemi_rounds *rounds, const struct shmemi_symmetric *landing, size_t nbytes)
{
    rounds->number = rounds->granted = rounds->team->collective->piece_number;
    if (lands_in(rounds, landing)) {
        rounds->landing = *landing;
        rounds->half = nbytes / 16 * 8;
    } else {
        land_in_workspace(rounds);
    }
    int rc = grant_next(rounds);
    return rc ? rc : grant_next(rounds);
}

int shmemi_rounds_end(struct shmemi_rounds *rounds)
{
    rounds->team->collective->piece_number = rounds->number;
    rounds->team->collective->may_lag = false;
    shmemi_leaders_all_entered(rounds->team);
    int rc = shmemi_complete(&rounds->data);
    return rc ? rc : shmemi_complete(&rounds->grants);
}

int shmemi_rounds_of(int n)
{
    int rounds = 0;
    while ((int64_t)1 << rounds < n)
        rounds++;
    return rounds;
}

/* ---- a word of each member to all -------------------------------------------------------------------------------- */

/* Words are kept in the order of the distance from this member back to theirs; in each round a member hands on all that
 * it has, as far as they are needed. */
int shmemi_gather_words(struct shmemi_team *team, uint64_t *words)
{
    const int n = team->n_pes, me = team->my_pe;
    struct shmemi_rounds rounds = {.team = team, .n = shmemi_rounds_of(n)};
    uint64_t *have = malloc((size_t)n * sizeof *have);
    if (!have) {
        shmemi_error("out of memory for a word of each of %d PEs", n);
        return -ENOMEM;
    }
    have[0] = words[me];
    for (int round = 0, count = 1; round < rounds.n; round++, count *= 2)
        rounds.bytes[round] = (size_t)(count < n - count ? count : n - count) * sizeof *have;
    int rc = shmemi_rounds_begin(&rounds, NULL, 0);
    for (int round = 0; round < rounds.n && !rc; round++)
        rc = shmemi_rounds_next(&rounds, round, (const char *)have, (char *)(have + ((size_t)1 << round)));
    if (!rc)
        rc = shmemi_rounds_end(&rounds);
    for (int i = 0; i < n && !rc; i++)
        words[(me - i + n) % n] = have[i];
    free(have);
    return rc;
}
