/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program: drawn from its seed, and run.
 */
#include "random_program.h"

#include "kernel.h"
#include "mapped.h"

#include <pthread.h>
#include <stdlib.h>

struct drawn_program program;

static pthread_barrier_t lanes_meet;

uint64_t step_key(const struct drawn_step *step, int part)
{
    return mix(program.seed * 1000003 + (uint64_t)step->number * 16 + (uint64_t)part);
}

/* ---- Drawing --------------------------------------------------------------------------------------------------------- */

static const struct step_family *family_draw(struct random_numbers *numbers)
{
    size_t sum = 0, at;
    for (int i = 0; families[i]; i++)
        sum += families[i]->weight;
    at = below(numbers, sum);
    for (int i = 0;; i++) {
        if (at < families[i]->weight)
            return families[i];
        at -= families[i]->weight;
    }
}

static void step_draw(int epoch, uint64_t seed)
{
    struct random_numbers numbers = {mix(seed)};
    struct drawn_step *step = &program.steps[program.n_steps];
    const int mark = claims_mark();
    *step = (struct drawn_step){.family = family_draw(&numbers), .number = program.n_steps, .epoch = epoch};
    step->lane = (int)below(&numbers, (size_t)program.n_lanes);
    step->actor = (int)below(&numbers, (size_t)job.n);
    if (step->family->draw(step, &numbers))
        program.n_steps++;
    else
        claims_return(mark);
}

void program_draw(uint64_t seed)
{
    static const size_t pieces[] = {16, 256, 4096, 16384, 16400, 40000, 70000};
    struct random_numbers numbers = {mix(seed ^ 0x6d6f64656c)};
    memset(&program, 0, sizeof program);
    program.seed = seed;
    program.scale = one_in(&numbers, 30) && job.n <= 4 ? 2 : one_in(&numbers, job.n > 8 ? 12 : 4);
    program.n_lanes = job.has_threads && one_in(&numbers, 2) ? 1 + (int)below(&numbers, LANES_MAX) : 1;
    program.ends_job = one_in(&numbers, 40);
    program.has_kernels = job.has_kernels && one_in(&numbers, 3);
    program.kernel_team = (int)below(&numbers, TEAMS_MAX);
    program.kernel_piece = pieces[below(&numbers, sizeof pieces / sizeof pieces[0])];
    memset(program.is_kept, true, sizeof program.is_kept);
    objects_draw(&numbers);
    teams_draw(&numbers);
    contexts_draw(&numbers);
    program.n_epochs = 1 + (int)below(&numbers, EPOCHS_MAX);
    for (int epoch = 0; epoch < program.n_epochs; epoch++) {
        const int tries = 3 + (int)below(&numbers, (size_t)(STEPS_MAX / EPOCHS_MAX - 3));
        claims_clear();
        for (int i = 0; i < tries; i++)
            step_draw(epoch, next(&numbers));
    }
}

/* ---- Running --------------------------------------------------------------------------------------------------------- */

static bool is_due(const struct drawn_step *step, int epoch)
{
    return step->epoch == epoch && program.is_kept[step->number];
}

/* MODEL_SPOIL=FAMILY: a step of that family also changes a byte that it should not, to test the tester. */
static void spoil(const struct drawn_step *step)
{
    const char *family = getenv("MODEL_SPOIL");
    if (family && !strcmp(family, step->family->name) && step->actor == job.me)
        program.objects[0].memory[program.objects[0].whole - 1] ^= 1;
}

static void play_step(struct drawn_step *step)
{
    step->family->play(step);
    spoil(step);
}

static void play_lane(int lane, int epoch)
{
    pthread_barrier_wait(&lanes_meet);
    contexts_begin_epoch(lane);
    for (int i = 0; i < program.n_steps; i++)
        if (is_due(&program.steps[i], epoch) && program.steps[i].lane == lane)
            play_step(&program.steps[i]);
    if (lane == 0)
        mapped_complete();
    pthread_barrier_wait(&lanes_meet);
    contexts_complete(lane);
    pthread_barrier_wait(&lanes_meet);
}

static void *lane_main(void *argument)
{
    const int lane = *(int *)argument;
    contexts_make(lane);
    for (int epoch = 0; epoch < program.n_epochs; epoch++)
        play_lane(lane, epoch);
    contexts_destroy(lane);
    return NULL;
}

/* All puts and updates are complete, by one way or another. */
static void complete_all(int epoch)
{
    static long sync_words[SHMEM_BARRIER_SYNC_SIZE] = {SHMEM_SYNC_VALUE};
    switch ((program.seed + (uint64_t)epoch) % 5) {
    case 0:
        shmem_quiet();
        shmem_sync_all();
        break;
    case 1:
        shmem_quiet();
        shmem_team_sync(SHMEM_TEAM_WORLD);
        break;
    case 2:
        shmem_barrier(0, 0, job.n, sync_words);
        break;
    default:
        shmem_barrier_all();
    }
}

static void run_epoch(int epoch)
{
    for (int i = 0; i < program.n_steps; i++)
        if (is_due(&program.steps[i], epoch))
            program.steps[i].family->foresee(&program.steps[i]);
    play_lane(0, epoch);
    complete_all(epoch);
    for (int i = 0; i < program.n_steps; i++)
        if (is_due(&program.steps[i], epoch) && program.steps[i].family->end)
            program.steps[i].family->end(&program.steps[i]);
    objects_compare(epoch);
    shmem_sync_all();
}

void program_run(void)
{
    pthread_t threads[LANES_MAX];
    int lanes[LANES_MAX];
    objects_make();
    teams_make();
    kernels_make();
    pthread_barrier_init(&lanes_meet, NULL, (unsigned)program.n_lanes);
    for (int i = 1; i < program.n_lanes; i++) {
        lanes[i] = i;
        if (pthread_create(&threads[i], NULL, lane_main, &lanes[i]) != 0)
            wrong(-1, "no thread");
    }
    contexts_make(0);
    for (int epoch = 0; epoch < program.n_epochs; epoch++)
        run_epoch(epoch);
    contexts_destroy(0);
    for (int i = 1; i < program.n_lanes; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&lanes_meet);
    kernels_free();
    teams_destroy();
    objects_free();
}

/* ---- Text ------------------------------------------------------------------------------------------------------------ */

void step_print(const struct drawn_step *step, FILE *out)
{
    fprintf(out, "  step %d, epoch %d, lane %d: %s: ", step->number, step->epoch, step->lane, step->family->name);
    step->family->print(step, out);
    fputc('\n', out);
}

void program_print(FILE *out)
{
    fprintf(out, "program %llu, %d PEs, %d lanes, %d epochs%s\n", (unsigned long long)program.seed, job.n,
            program.n_lanes, program.n_epochs, program.ends_job ? ", then shmem_finalize" : "");
    for (int i = 0; i < program.n_objects; i++) {
        const struct drawn_object *object = &program.objects[i];
        fprintf(out, "  %s: %zu bytes, %zu before, %zu after, way %d\n", object_text(i), object->size, object->before,
                object->whole - object->before - object->size, object->way);
    }
    for (int i = 0; i < program.n_teams; i++)
        fprintf(out, "  %s\n", team_text(i));
    for (int i = 0; i < program.n_contexts; i++)
        if (program.is_kept[STEPS_MAX + i])
            fprintf(out, "  %s\n", context_text(i));
    for (int i = 0; i < program.n_steps; i++)
        if (program.is_kept[i])
            step_print(&program.steps[i], out);
}
