/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels that exchange their halos by themselves (shmemx_device.h): the frame stores what neighbours need into their
 * messages, and tells them. Included behind kernel.h, once for each precision, by CUDA and by a test that plays kernels
 * by threads. Defined before it, besides what kernel.h needs:
 *   STEP, PERSIST, WITH_STEP, WITH_PERSIST   names of the kernels, and what is in front of them
 *   NEIGHBORS, VIEW                          types of parameters that are passed by value
 *   SHARED_PLANS(plan), N_GROUPS             two plans that a group shares; how many groups there are
 *   meet_all_begin(word), meet_all_end(word, value)   a group has come (by one work-item); the word has this value
 *
 * Words count what has come from each direction: every group of a neighbour's frame adds 1 for each exchange. A frame
 * waits for all groups of all neighbours, and those of its own that wrote to a neighbour have waited for that one. So
 * when it writes what is for exchange k + 1, the neighbour has told of exchange k, behind its last reading of k - 1,
 * which lay in the same place.
 */
#ifndef STENCIL2D_KERNEL_DIRECT_H
#define STENCIL2D_KERNEL_DIRECT_H
FUNCTION WORD *words_of(void *messages, const struct launch_plan *p)
{
    return (WORD *)((char *)messages + p->words);
}

/* All work-items of a group share the copying. */
FUNCTION void load_plan(struct launch_plan *to, const struct launch_plan *from)
{
    const int n = (int)(sizeof(*to) / sizeof(long));

    for (int i = LOCAL_ROW * GROUP_WIDTH + LOCAL_COL; i < n; i += GROUP)
        ((long *)to)[i] = ((const long *)from)[i];
}
#endif

/* One group of the frame, of an iteration that may be the first of its round, the last, or both. */
FUNCTION void exchange_frame(const REAL *in, REAL *out, REAL *messages, const struct launch_plan *p, long group,
                             long exchange, to_neighbors to, REAL center, REAL cardinal, REAL diagonal)
{
    WORD *words = words_of(messages, p);
    const int d = LOCAL_ROW == 0 && LOCAL_COL < DIRECTIONS ? LOCAL_COL : HERE;

    if (p->arrived[d] >= 0)
        shmemx_device_signal_wait_until(shmemx_device_thread_t(), *to.view, words + d, SHMEM_CMP_GE,
                                        (WORD)(exchange * to.neighbors->groups[d]));
    meet_group();
    compute_frame(in, out, messages, p, group, to, center, cardinal, diagonal);
    meet_group();
    if (p->leaving[d] >= 0)
        shmemx_device_signal_add(*to.view, words + (DIRECTIONS - 1 - d), 1, to.neighbors->pe[d]);
}

/* One iteration; the next launch follows it. */
WITH_STEP void STEP(const REAL *RESTRICT in, REAL *RESTRICT out, REAL *messages, PLAN plan, NEIGHBORS neighbors,
                    VIEW view, REAL center, REAL cardinal, REAL diagonal)
{
    const to_neighbors to = {&view, &neighbors};

    if (GROUP_ID >= plan.frame_groups)
        compute_inside(in, out, &plan, (int)(GROUP_ID - plan.frame_groups), center, cardinal, diagonal);
    else
        exchange_frame(in, out, messages, &plan, GROUP_ID, plan.wait_for, to, center, cardinal, diagonal);
}

FUNCTION void compute_iteration(const REAL *in, REAL *out, REAL *messages, const struct launch_plan *p, long exchange,
                                to_neighbors to, REAL center, REAL cardinal, REAL diagonal)
{
    for (long group = GROUP_ID; group < p->groups; group += N_GROUPS)
        if (group < p->frame_groups)
            exchange_frame(in, out, messages, p, group, exchange, to, center, cardinal, diagonal);
        else
            compute_inside(in, out, p, (int)(group - p->frame_groups), center, cardinal, diagonal);
}

/* Whole rounds. Plans are those of the iterations of a round, for even and then for odd exchanges. All groups run at the
 * same time, and meet after each iteration; what neighbours wait for is under way meanwhile. */
WITH_PERSIST void PERSIST(REAL *even, REAL *odd, REAL *messages, const struct launch_plan *plans, NEIGHBORS neighbors,
                          VIEW view, const struct rounds_plan rounds, REAL center, REAL cardinal, REAL diagonal)
{
    SHARED_PLANS(plan);
    const to_neighbors to = {&view, &neighbors};
    const long n = rounds.count * rounds.width;
    long exchange = rounds.exchange, i = 0;

    load_plan(&plan[0], &plans[exchange % 2 * rounds.width]);
    meet_group();
    for (long number = 0; number < n; number++) {
        const struct launch_plan *p = &plan[number % 2];
        REAL *in = (rounds.cur + number) % 2 == 0 ? even : odd;
        REAL *out = (rounds.cur + number) % 2 == 0 ? odd : even;

        compute_iteration(in, out, messages, p, exchange - rounds.before, to, center, cardinal, diagonal);
        meet_group();
        if (LOCAL_ROW == GROUP_HEIGHT - 1 && LOCAL_COL == 0)
            meet_all_begin(words_of(messages, p) + DIRECTIONS);
        if (++i == rounds.width) {
            i = 0;
            exchange++;
        }
        load_plan(&plan[(number + 1) % 2], &plans[exchange % 2 * rounds.width + i]);
        if (LOCAL_ROW == GROUP_HEIGHT - 1 && LOCAL_COL == 0)
            meet_all_end(words_of(messages, p) + DIRECTIONS, (WORD)(rounds.done + (number + 1) * N_GROUPS));
        meet_group();
    }
}
