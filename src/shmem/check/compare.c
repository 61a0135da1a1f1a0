/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SHMEM_CHECK: whether all PEs of a team make the same collective call. Before each collective the members combine short
 * records of their calls, always in the same way, so that different collectives meet here and not in each other's
 * algorithms.
 */
#include "shmem/check/check.h"
#include "shmem/coll/collectives.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 64, LAST_WORDS_S = 5 };

struct call_record {
    char routine[NAME_BYTES];
    uint64_t value[SHMEMI_CHECK_ARGUMENTS];
};
enum { WORDS = sizeof(struct call_record) / sizeof(uint64_t) };
static_assert(2 * sizeof(struct call_record) <= SHMEMI_LEADER_BYTES, "two records must fit into one message");

static struct call_record make_record(const char *routine, const struct shmemi_check_arguments *arguments)
{
    struct call_record record = {0};
    strncpy(record.routine, routine, sizeof record.routine - 1);
    for (int i = 0; arguments && i < SHMEMI_CHECK_ARGUMENTS; i++)
        record.value[i] = arguments->of[i].value;
    return record;
}

static void maximum(struct shmemi_team *team, uint64_t *words, size_t n)
{
    shmemi_require(
        shmemi_reduce_private(team, &shmemi_ops[SHMEMI_OP_max][SHMEMI_KIND_U64], words, words, n * sizeof *words));
}

/* The least of all words is the complement of the greatest complement. */
static bool all_are_equal(struct shmemi_team *team, const struct call_record *mine)
{
    uint64_t words[2 * WORDS];
    bool equal = true;
    memcpy(words, mine, sizeof *mine);
    for (int i = 0; i < WORDS; i++)
        words[WORDS + i] = ~words[i];
    maximum(team, words, 2 * WORDS);
    for (int i = 0; i < WORDS; i++)
        equal = equal && words[i] == ~words[WORDS + i];
    return equal;
}

/* The record of a member: all others contribute zeros. */
static struct call_record record_of(struct shmemi_team *team, int member, const struct call_record *mine)
{
    uint64_t words[WORDS] = {0};
    struct call_record record;
    if (team->my_pe == member)
        memcpy(words, mine, sizeof *mine);
    maximum(team, words, WORDS);
    memcpy(&record, words, sizeof record);
    return record;
}

/* The first member whose record is not this one. There is one. */
static int first_other(struct shmemi_team *team, const struct call_record *mine, const struct call_record *other)
{
    uint64_t word = memcmp(mine, other, sizeof *mine) ? ~(uint64_t)team->my_pe : 0;
    maximum(team, &word, 1);
    return (int)~word;
}

static _Noreturn void report(const struct shmemi_team *team, const struct shmemi_check_arguments *arguments,
                             const struct call_record *mine, const struct call_record *theirs, int member)
{
    const int here = shmemi_team_world_pe(team, 0), there = shmemi_team_world_pe(team, member);
    int i = 0;
    if (strcmp(mine->routine, theirs->routine))
        shmemi_fatal("%s: PE %d calls it, but PE %d of the same team calls %s", mine->routine, here, there,
                     theirs->routine);
    while (mine->value[i] == theirs->value[i])
        i++;
    shmemi_fatal("%s: %s differs: %" PRIu64 " on PE %d, but %" PRIu64 " on PE %d", mine->routine, arguments->of[i].name,
                 mine->value[i], here, theirs->value[i], there);
}

void shmemi_compare_calls(const char *routine, struct shmemi_team *team, const struct shmemi_check_arguments *arguments)
{
    const struct call_record mine = make_record(routine, arguments);
    struct shmemi_call call = {.routine = routine, .activity = SHMEMI_AT_COLLECTIVE};
    shmemi_check_thread(routine, &shmemi_default_ctx.transport);
    shmemi_call_begin(&call);
    if (!all_are_equal(team, &mine)) {
        const struct call_record first = record_of(team, 0, &mine);
        const int other = first_other(team, &mine, &first);
        const struct call_record theirs = record_of(team, other, &mine);
        if (team->my_pe == 0)
            report(team, arguments, &first, &theirs, other);
        sleep(LAST_WORDS_S); /* the first PE ends the job */
        shmemi_give_up();
    }
    shmemi_call_end(&call);
}
