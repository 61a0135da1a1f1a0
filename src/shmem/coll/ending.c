/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of a program that did not call shmem_finalize. Its PE waits for the others as shmem_finalize would, but looks
 * at each of them: the barrier of shmem_finalize would also meet a barrier that another PE has called elsewhere, and
 * the two would go on as if they were at the same place.
 *
 * The other PEs may wait for something that this PE would have done: a signal, its part in a reduction. That is known
 * when all of them have waited for SHMEM_TIMEOUT. The first PE that ends so looks for it; the job would hang for ever.
 */
#include "shmem/coll/collectives.h"

#include "base/settings.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FIRST_PAUSE_US = 50, LONGEST_PAUSE_US = 20000, SECONDS_BETWEEN_LOOKS = 2 };

struct wait_for_end {
    struct shmemi_call call;
    int pe;
    uint64_t *waited; /* by each PE, when last looked at; NULL: this PE does not look for a job that hangs */
    uint64_t look_at; /* when to look again, by shmemi_clock */
    bool seems_vain;  /* at the last look all waited; one of them may just have got what it waited for */
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

void shmemi_tell_waits(bool on)
{
    bool is_single = shmemi_thread_level() < SHMEM_THREAD_MULTIPLE;
    shmemi_watch_tell(on && is_single ? &shmemi_team_world.collective->mine->waited : NULL);
}

/* Whether the PE has come to a synchronisation of all PEs that this one has not begun. */
static int is_expected_by(int pe, bool *is_expected_p)
{
    uint64_t theirs = 0;
    int rc = read_word(pe, offsetof(struct shmemi_workspace, syncs_begun), &theirs);
    *is_expected_p = theirs > shmemi_team_world.collective->syncs_begun;
    return rc;
}

/* Has the PE not ended, and waited for SHMEM_TIMEOUT, up to now? Its number of seconds has grown since the last look.
 * *last_p: that number. */
static int look_at(int pe, uint64_t *last_p, bool *is_ending_p, bool *waits_p)
{
    uint64_t ending = 0, waited = 0;
    int rc = read_word(pe, offsetof(struct shmemi_workspace, is_ending), &ending);
    if (!rc && !ending)
        rc = read_word(pe, offsetof(struct shmemi_workspace, waited), &waited);
    *is_ending_p = ending;
    *waits_p = waited > *last_p && waited >= shmemi_settings.timeout;
    *last_p = waited;
    return rc;
}

/* Refuse to wait for PEs that all wait. */
static int look_at_others(struct wait_for_end *wait)
{
    int n_waiting = 0, n_busy = 0, rc = 0, example = 0;
    for (int pe = 0; pe < shmemi_job.n_pes && !rc; pe++) {
        bool is_ending = false, waits = false;
        rc = look_at(pe, &wait->waited[pe], &is_ending, &waits);
        n_waiting += waits;
        n_busy += !waits && !is_ending;
        example = waits ? pe : example;
    }
    const bool seemed_vain = wait->seems_vain;
    wait->seems_vain = n_waiting && !n_busy;
    if (rc || !wait->seems_vain || !seemed_vain)
        return rc;
    shmemi_error(
        "the program ends without shmem_finalize, but PE %d%s waited for %zu s (SHMEM_TIMEOUT) and no other PE "
        "goes on: it waits for something that only PEs which have ended could do",
        example, n_waiting > 1 ? " and others have" : " has", shmemi_settings.timeout);
    return -EPROTO;
}

/* The first look comes after SHMEM_TIMEOUT: before, nobody can have waited for so long in vain. */
static void begin_looking(struct wait_for_end *wait)
{
    if (shmemi_settings.timeout)
        wait->waited = calloc((size_t)shmemi_job.n_pes, sizeof *wait->waited);
    wait->look_at = shmemi_clock() + shmemi_settings.timeout * 1000000000u;
}

static int look_in_time(struct wait_for_end *wait)
{
    if (!wait->waited || shmemi_clock() < wait->look_at)
        return 0;
    wait->look_at = shmemi_clock() + SECONDS_BETWEEN_LOOKS * 1000000000ull;
    return look_at_others(wait);
}

static int wait_until_ends(struct wait_for_end *wait)
{
    const int pe = wait->pe;
    unsigned pause = FIRST_PAUSE_US;
    for (;;) {
        uint64_t is_ending = 0;
        bool is_expected = false;
        int rc = is_expected_by(pe, &is_expected);
        if (!rc)
            rc = read_word(pe, offsetof(struct shmemi_workspace, is_ending), &is_ending);
        if (!rc && !is_ending && !is_expected)
            rc = look_in_time(wait);
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
    if (!others)
        begin_looking(&wait);
    shmemi_call_begin(&wait.call);
    for (wait.pe = 0; wait.pe < shmemi_job.n_pes && !rc; wait.pe++)
        rc = wait_until_ends(&wait);
    shmemi_call_end(&wait.call);
    free(wait.waited);
    return rc;
}
