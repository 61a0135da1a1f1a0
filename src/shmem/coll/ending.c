/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of a program that did not call shmem_finalize. Its PE waits for the others as shmem_finalize would, but looks
 * at each of them: the barrier of shmem_finalize would also meet a barrier that another PE has called elsewhere, and
 * the two would go on as if they were at the same place.
 */
#include "shmem/coll/collectives.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

enum { FIRST_PAUSE_US = 50, LONGEST_PAUSE_US = 20000 };

struct wait_for_end {
    struct shmemi_call call;
    int pe;
};

void shmemi_begin_ending(void)
{
    atomic_store_explicit(&shmemi_team_world.collective->mine->is_ending, 1, memory_order_release);
}

/* Add to a word in the workspace of a PE; *old_p: its value before. at: where it is in the workspace. */
static int add_to_word(int pe, size_t at, uint64_t value, uint64_t *old_p)
{
    const struct shmemi_view *view = shmemi_region_view(&shmemi_heap_region, pe);
    const struct shmemi_amo amo = {.op = SHMEMI_AMO_ADD, .size = sizeof value, .operand = value};
    struct shmemi_context *context = shmemi_context_of(SHMEM_CTX_DEFAULT);
    if (!view)
        return -ENOMEM;
    return view->driver->amo(context, view, shmemi_team_workspace(&shmemi_team_world) + at, &amo, old_p);
}

static int read_word(int pe, size_t at, uint64_t *value_p)
{
    return add_to_word(pe, at, 0, value_p);
}

static void describe(const struct shmemi_call *call, char *text, size_t size)
{
    snprintf(text, size, "for PE %d to end", ((const struct wait_for_end *)call)->pe);
}

/* Whether the PE has come to a synchronisation of all PEs that this one has not begun. */
static int is_expected_by(int pe, bool *is_expected_p)
{
    uint64_t theirs = 0;
    int rc = read_word(pe, offsetof(struct shmemi_workspace, syncs_begun), &theirs);
    *is_expected_p = theirs > shmemi_team_world.collective->syncs_begun;
    return rc;
}

static int wait_until_ends(int pe)
{
    unsigned pause = FIRST_PAUSE_US;
    for (;;) {
        uint64_t is_ending = 0;
        bool is_expected = false;
        int rc = is_expected_by(pe, &is_expected);
        if (!rc)
            rc = read_word(pe, offsetof(struct shmemi_workspace, is_ending), &is_ending);
        if (rc || is_ending)
            return rc;
        if (is_expected) {
            shmemi_error("the program ends without shmem_finalize, but PE %d waits for this PE in a barrier, or in "
                         "another routine that all PEs call",
                         pe);
            return -EPROTO;
        }
        usleep(pause);
        pause = pause * 2 < LONGEST_PAUSE_US ? pause * 2 : LONGEST_PAUSE_US;
    }
}

int shmemi_end_without_finalize(void)
{
    struct wait_for_end wait = {
        .call = {.routine = "the end of the program", .activity = SHMEMI_AT_BARRIER, .describe = describe}};
    uint64_t others = 0;
    int rc = add_to_word(0, offsetof(struct shmemi_workspace, unfinished), 1, &others);
    if (!rc && !others)
        shmemi_warn("the program ends without shmem_finalize; it is finalised now, which waits for all PEs");
    shmemi_begin_ending();
    shmemi_call_begin(&wait.call);
    for (wait.pe = 0; wait.pe < shmemi_job.n_pes && !rc; wait.pe++)
        rc = wait_until_ends(wait.pe);
    shmemi_call_end(&wait.call);
    return rc;
}
