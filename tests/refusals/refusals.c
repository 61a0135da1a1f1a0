/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What becomes of each step of the library when one of the calls that it makes is refused: memory, a thread, a descriptor,
 * a mapping, something of UCX or OpenCL (refuse.h).
 *
 * refusals trial [once|forever] [STEP...]: each call of each step on one PE at a time. The step fails where it should (on
 * all PEs, or on that one), what was there before works, nothing is left, and the step can be taken afterwards.
 * refusals full: shmmap where the window has no room, and where no number is left.
 * refusals ending STEP PE K [once|forever]: of the steps that end the job when they fail, the K-th call of that PE; K 0
 * prints how many calls each PE makes.
 */
#include "steps.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- All PEs know ------------------------------------------------------------------------------------------------- */

static int maximum(int here)
{
    static int mine, most;
    mine = here;
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &most, &mine, 1);
    shmem_sync_all();
    return most;
}

static int number_of(bool here)
{
    static int mine, sum;
    mine = here;
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    shmem_sync_all();
    return sum;
}

/* ---- Trials ------------------------------------------------------------------------------------------------------- */

struct trial {
    const struct step *step;
    int pe, k;
    bool forever;
    const char *refused; /* on that PE: the function; NULL: all its calls were carried out */
};

static void check_results(const struct trial *trial, int rc)
{
    const int n_failed = number_of(rc != 0), me = shmem_my_pe();
    const bool was_refused = maximum(trial->refused != NULL);
    const char *what = trial->refused ? trial->refused : "a call of another PE";
    CHECK_THAT(!rc || was_refused, "%s fails (%d) although nothing is refused", trial->step->name, rc);
    if (trial->step->fails_on == ON_ALL_PES)
        CHECK_THAT(n_failed == 0 || n_failed == shmem_n_pes(), "%s, call %d of PE %d (%s) refused: %d of %d PEs fail",
                   trial->step->name, trial->k, trial->pe, what, n_failed, shmem_n_pes());
    else
        CHECK_THAT(!rc || me == trial->pe, "%s fails (%d), but call %d of PE %d was refused", trial->step->name, rc,
                   trial->k, trial->pe);
    if (rc && me == trial->pe)
        CHECK_THAT(shmemx_last_error(), "%s, %s refused: nothing is logged", trial->step->name, what);
}

static void check_held(const struct trial *trial, const struct refuse_held *before, struct refuse_held now, long slack,
                       const char *when)
{
    /* threads that have been joined may still be listed for a moment */
    for (int i = 0; i < 200 && now.threads > before->threads; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        now.threads = refuse_held().threads;
    }
    const bool is_same = labs(now.blocks - before->blocks) <= slack && now.mapped == before->mapped &&
                         now.objects == before->objects && now.files == before->files && now.threads == before->threads;
    if (!is_same)
        refuse_print_since(before->n_taken);
    CHECK_THAT(is_same,
               "%s, call %d of PE %d (%s) refused, %s: before and now: %ld %ld blocks, %ld %ld bytes mapped, %ld %ld "
               "OpenCL objects, %ld %ld files, %ld %ld threads",
               trial->step->name, trial->k, trial->pe, trial->refused ? trial->refused : "none", when, before->blocks,
               now.blocks, before->mapped, now.mapped, before->objects, now.objects, before->files, now.files,
               before->threads, now.threads);
}

/* What is held after each shmem_init is the same, but for routes to other PEs that the barriers in it may or may not have
 * used. What a refusal left would add up. */
static void start_again(const struct trial *trial)
{
    static struct refuse_held first;
    const struct refuse_held held = steps_start_again();
    if (trial->pe == 0 && trial->k == 1)
        first = held;
    else
        check_held(trial, &first, held, shmem_n_pes(), "and all over again");
}

/* When OpenCL's threads have let go of what is over. */
static struct refuse_held held_at_rest(void)
{
    enum { ALIKE = 5, MOST = 200 };
    struct refuse_held held = refuse_held();
    for (int i = 0, n_alike = 0; i < MOST && n_alike < ALIKE; i++) {
        const long objects = held.objects;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        held = refuse_held();
        n_alike = held.objects == objects ? n_alike + 1 : 0;
    }
    return held;
}

/* Returns whether a call was refused. */
static bool try(struct trial *trial)
{
    struct refuse_held before;
    const bool is_victim = shmem_my_pe() == trial->pe;
    if (trial->step->is_fresh)
        start_again(trial);
    shmem_barrier_all();
    before = held_at_rest();
    shmem_barrier_all();
    shmemx_last_error();
    if (is_victim)
        refuse_arm(trial->k, trial->forever);
    int rc = trial->step->take();
    trial->refused = is_victim ? refuse_disarm() : NULL;
    check_results(trial, rc);
    if (!rc)
        trial->step->undo();
    steps_check_all("after a step");
    if (!trial->step->is_fresh)
        check_held(trial, &before, held_at_rest(), 0, "after it");
    CHECK_THAT(!trial->step->take(), "%s fails after it was refused once (call %d of PE %d)", trial->step->name,
               trial->k, trial->pe);
    trial->step->undo();
    steps_check_all("after the next step");
    return maximum(trial->refused != NULL);
}

static void warm_up(const struct step *step)
{
    for (int i = 0; i < 2 && !step->is_fresh; i++) {
        CHECK_THAT(!step->take(), "%s fails", step->name);
        step->undo();
        steps_check_all("before");
    }
}

/* Every call of every PE. */
static int try_all(const struct step *step, bool forever)
{
    int n = 0;
    warm_up(step);
    for (int pe = 0; pe < shmem_n_pes(); pe++) {
        struct trial trial = {.step = step, .pe = pe, .k = 1, .forever = forever};
        while (try(&trial))
            trial.k++;
        n += trial.k - 1;
    }
    return n;
}

static bool is_named(const char *name, char **names, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return n == 0;
}

static int run_trials(int argc, char **argv)
{
    const bool forever = argc > 0 && !strcmp(argv[0], "forever");
    const int skip = argc > 0 && (forever || !strcmp(argv[0], "once"));
    shmem_init();
    steps_open();
    for (const struct step *step = steps; step->name; step++) {
        if (!is_named(step->name, argv + skip, argc - skip) || !step->exists())
            continue;
        int n = try_all(step, forever);
        if (shmem_my_pe() == 0)
            printf("trials: %s: %d\n", step->name, n);
        fflush(stdout);
    }
    steps_close();
    return check_end();
}

/* ---- Steps that end the job ----------------------------------------------------------------------------------------- */

static const struct ending *find_ending(const char *name)
{
    const struct ending *ending = endings;
    while (ending->name && strcmp(ending->name, name) != 0)
        ending++;
    if (ending->name)
        return ending;
    fprintf(stderr, "refusals: no step %s\n", name);
    exit(2);
}

/* The number of this PE, before it is initialised, as launchers give it. */
static int number_from_launcher(void)
{
    static const char *const names[] = {"PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i]));
    return 0;
}

static int run_ending(char **argv, int argc)
{
    const struct ending *ending = find_ending(argv[0]);
    const int victim = atoi(argv[1]), k = atoi(argv[2]), me = number_from_launcher();
    const bool forever = argc > 3 && !strcmp(argv[3], "forever");
    ending->prepare();
    if (!k || me == victim)
        refuse_arm(k ? k : -1, forever);
    ending->take();
    const int count = refuse_count();
    refuse_disarm();
    for (int pe = 0; pe < shmem_n_pes() && !k; pe++) {
        shmem_barrier_all();
        if (pe == shmem_my_pe())
            printf("calls: %d %d\n", pe, count);
        fflush(stdout);
    }
    ending->finish();
    return check_end();
}

/* ---- What is full -------------------------------------------------------------------------------------------------- */

static int run_full(void)
{
    setenv("SHMEM_SYMMETRIC_SIZE", "1m", 1);
    setenv("SHMEM_MAP_WINDOW", "192m", 1);
    shmem_init();
    steps_open();
    steps_fill_window();
    steps_close();
    shmem_finalize();
    setenv("SHMEM_MAP_WINDOW", "32g", 1);
    shmem_init();
    steps_open();
    steps_take_all_numbers();
    steps_close();
    return check_end();
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "full"))
        return run_full();
    if (argc > 1 && !strcmp(argv[1], "trial"))
        return run_trials(argc - 2, argv + 2);
    if (argc > 4 && !strcmp(argv[1], "ending"))
        return run_ending(argv + 2, argc - 2);
    fprintf(stderr, "usage: refusals trial [once|forever] [STEP...] | full | ending STEP PE K [once|forever]\n");
    return 2;
}
