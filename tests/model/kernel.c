/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels that communicate: each PE runs a block that puts, gets, signals, waits and combines with the blocks of the
 * others. Where there is no GPU, threads of the CPU play them.
 */
#include "kernel.h"

#include <stdlib.h>

enum { TEAMS = 2, ALIGN = 64, MOST = 70000, FRESH = 0x11 };

static char *work[TEAMS];
static shmemx_device_team_t teams[TEAMS];

static int team_of(const struct drawn_kernel *k)
{
    return k->team == 0 ? 0 : program.kernel_team;
}

static bool is_collective(const struct kernel_op *o)
{
    return o->what >= K_BROADCAST;
}

static size_t element(const struct kernel_op *o)
{
    return o->type == K_INT || o->type == K_FLOAT ? 4 : 8;
}

/* ---- Work areas ------------------------------------------------------------------------------------------------------ */

void kernels_make(void)
{
    const size_t nbytes = SHMEMX_DEVICE_WORK_BYTES(job.n, program.kernel_piece);
    for (int i = 0; program.has_kernels && i < TEAMS; i++) {
        const struct drawn_team *team = &program.teams[i == 0 ? 0 : program.kernel_team];
        work[i] = shmem_align(64, nbytes);
        if (!work[i])
            wrong(-1, "no %zu bytes for kernels", nbytes);
        memset(work[i], 0, nbytes);
        if (team->group[job.me] >= 0 && shmemx_device_team_view(team->handle, work[i], nbytes, &teams[i]) != 0)
            wrong(-1, "shmemx_device_team_view failed");
    }
    if (program.has_kernels)
        shmem_barrier_all();
}

void kernels_free(void)
{
    for (int i = 0; program.has_kernels && i < TEAMS; i++)
        shmem_free(work[i]);
}

/* ---- Drawing --------------------------------------------------------------------------------------------------------- */

static bool draw_place(struct random_numbers *numbers, const struct drawn_kernel *k, struct kernel_op *o)
{
    static const size_t words[] = {1, 2, 4, 8};
    const struct byte_shape word = shape_of(8);
    size_t at = 0, align = 1;
    if (o->what == K_WORD)
        o->n = align = words[below(numbers, 4)];
    else if (o->what == K_ADD)
        o->n = align = 8;
    else
        o->n = size_draw(numbers, MOST);
    const struct byte_shape shape = shape_of(o->n);
    const int owner = o->pe, mode = o->what == K_GET || (o->what == K_WORD && o->is_special) ? CLAIM_READ : CLAIM_WRITE;
    if (!claim_anywhere(numbers, k->object, &owner, 1, &shape, align, mode, &at))
        return false;
    o->at = at;
    if (o->what == K_MESSAGE && !claim_anywhere(numbers, k->object, &owner, 1, &word, 8, CLAIM_WRITE, &at))
        return false;
    o->signal_at = at;
    return true;
}

/* Bytes of a collective: each piece is a message of every PE to every other, which would take minutes with very many. */
static size_t most_of_collective(void)
{
    const size_t messages = 100000, pieces = messages / ((size_t)job.n * (size_t)job.n);
    const size_t most = pieces * program.kernel_piece;
    return most < MOST ? most : MOST;
}

static bool draw_op(struct random_numbers *numbers, struct drawn_kernel *k, struct kernel_op *o)
{
    *o = (struct kernel_op){.what = (int)below(numbers, N_KERNEL_OPS),
                            .group = (int)below(numbers, 3),
                            .type = (int)below(numbers, N_KERNEL_TYPES),
                            .actor = (int)below(numbers, (size_t)job.n),
                            .pe = (int)below(numbers, (size_t)job.n),
                            .root = (int)below(numbers, 60),
                            .is_special = one_in(numbers, 2),
                            .value = next(numbers) | 1};
    if (is_collective(o))
        o->n = o->what == K_SYNC ? 0 : size_draw(numbers, most_of_collective()) / element(o) * element(o);
    else if (!draw_place(numbers, k, o))
        return false;
    unsigned long *const places[] = {&o->source, &o->dest, &o->seen};
    for (int i = 0; i < 3; i++) {
        k->scratch += ALIGN;
        *places[i] = k->scratch + (is_collective(o) || o->what == K_WORD ? 0 : below(numbers, 16));
        k->scratch = (k->scratch + o->n + ALIGN) / ALIGN * ALIGN;
    }
    k->scratch += ALIGN;
    return true;
}

static bool draw(struct drawn_step *step, struct random_numbers *numbers)
{
    struct drawn_kernel *k = &step->kernel;
    k->object = (int)below(numbers, (size_t)program.n_objects);
    k->team = (int)below(numbers, TEAMS);
    k->threads = 1 + (int)below(numbers, job.n > 6 ? 2 : 5);
    k->n_ops = 0;
    k->scratch = 0;
    step->lane = 0;
    const enum object_kind kind = program.objects[k->object].kind;
    if (!program.has_kernels || kind == IN_STATIC || !kernels_reach(kind == IN_MAPPED))
        return false;
    for (size_t tries = between(numbers, 1, KERNEL_OPS_MAX); tries--;)
        if (draw_op(numbers, k, &k->ops[k->n_ops]))
            k->n_ops++;
    return k->n_ops > 0;
}

/* ---- The model ------------------------------------------------------------------------------------------------------- */

static double number_of(const struct drawn_step *step, int op, int pe, size_t i)
{
    return (double)(mix(step_key(step, 4) + (uint64_t)op * 131 + (uint64_t)pe * 0x100000001b3 + i) % 100);
}

static void store_number(const struct kernel_op *o, unsigned char *bytes, size_t i, double number)
{
    const int as_int = (int)number;
    const long as_long = (long)number;
    const float as_float = (float)number;
    const void *const values[] = {&as_int, &as_long, &as_float, &number};
    memcpy(bytes + i * element(o), values[o->type], element(o));
}

static void source_of(const struct drawn_step *step, int op, int pe, unsigned char *bytes)
{
    const struct kernel_op *o = &step->kernel.ops[op];
    if (!is_collective(o)) {
        pattern_fill(bytes, o->n, step_key(step, 5) + (uint64_t)op * 131 + (uint64_t)pe);
        return;
    }
    for (size_t i = 0; i < o->n / element(o); i++)
        store_number(o, bytes, i, number_of(step, op, pe, i));
}

static void foresee_signal(const struct drawn_step *step, const struct kernel_op *o)
{
    unsigned char *word = model_at(step->kernel.object, o->pe, o->signal_at);
    uint64_t value = o->value, old;
    memcpy(&old, word, 8);
    if (o->is_special)
        value += old;
    memcpy(word, &value, 8);
}

static void foresee(const struct drawn_step *step)
{
    for (int op = 0; op < step->kernel.n_ops; op++) {
        const struct kernel_op *o = &step->kernel.ops[op];
        unsigned char *there = model_at(step->kernel.object, o->pe, o->at);
        uint64_t word;
        if (o->what == K_PUT || o->what == K_MESSAGE || (o->what == K_WORD && !o->is_special))
            source_of(step, op, o->actor, there);
        if (o->what == K_MESSAGE)
            foresee_signal(step, o);
        if (o->what == K_ADD) {
            memcpy(&word, there, 8);
            word += o->value;
            memcpy(there, &word, 8);
        }
    }
}

static double combined(const struct drawn_step *step, int op, const int *members, int n, size_t i)
{
    const struct kernel_op *o = &step->kernel.ops[op];
    double result = number_of(step, op, members[o->what == K_BROADCAST ? o->root % n : 0], i);
    for (int rank = 1; rank < n && o->what != K_BROADCAST; rank++) {
        const double number = number_of(step, op, members[rank], i);
        if (o->what == K_SUM)
            result += number;
        else if ((o->what == K_MIN) == (number < result))
            result = number;
    }
    return result;
}

/* What private memory holds at the end: as it was, but for what came and what was written over. */
static void expect_collective(const struct drawn_step *step, int op, unsigned char *scratch)
{
    const struct kernel_op *o = &step->kernel.ops[op];
    const int team = team_of(&step->kernel);
    int members[PES_MAX];
    const int n = team_members(team, program.teams[team].group[job.me], members);
    for (size_t i = 0; i < o->n / element(o); i++)
        store_number(o, scratch + o->seen, i, combined(step, op, members, n, i));
    if (!o->is_special)
        memcpy(scratch + o->dest, scratch + o->seen, o->n);
    memset(scratch + o->source, K_SCRIBBLE, o->n);
}

static void expect_op(const struct drawn_step *step, int op, unsigned char *scratch)
{
    const struct kernel_op *o = &step->kernel.ops[op];
    const unsigned char *there = model_at(step->kernel.object, o->pe, o->at);
    const bool is_mine = o->actor == job.me;
    if (is_collective(o))
        expect_collective(step, op, scratch);
    if (is_mine && (o->what == K_GET || (o->what == K_WORD && o->is_special)))
        memcpy(scratch + o->dest, there, o->n);
    if ((is_mine && o->what == K_GET && !o->is_special) || (o->pe == job.me && o->what == K_MESSAGE))
        memcpy(scratch + o->seen, there, o->n);
    if (is_mine && (o->what == K_MESSAGE || (o->what == K_PUT && !o->is_special)))
        memset(scratch + o->source, K_SCRIBBLE, o->n);
}

/* ---- The library ----------------------------------------------------------------------------------------------------- */

static bool takes_part(const struct drawn_kernel *k, const struct kernel_op *o)
{
    if (is_collective(o))
        return program.teams[team_of(k)].group[job.me] >= 0;
    return o->actor == job.me || (o->what == K_MESSAGE && o->pe == job.me);
}

static void check(const struct drawn_step *step, const unsigned char *found, const unsigned char *expected)
{
    const struct drawn_kernel *k = &step->kernel;
    for (size_t i = 0; memcmp(found, expected, k->scratch) != 0 && i < k->scratch; i++) {
        int op = k->n_ops - 1;
        while (op > 0 && k->ops[op].source > i)
            op--;
        EXPECT(
            step, found[i] == expected[i],
            "operation %d of the kernel: byte %lu of private memory (source %lu, dest %lu, seen on return %lu) is %#x "
            "instead of %#x",
            op, i, k->ops[op].source, k->ops[op].dest, k->ops[op].seen, found[i], expected[i]);
    }
}

/* The object as kernels address it: symmetric memory of the heap, or the program's own pointer. */
static char *own_copy(int number)
{
    const struct drawn_object *object = &program.objects[number];
    return object_is_host(object) ? object->base : (char *)object->buffer + object->before;
}

static void play(struct drawn_step *step)
{
    const struct drawn_kernel *k = &step->kernel;
    struct kernel_op ops[KERNEL_OPS_MAX];
    struct kernel_scene scene = {.team = teams[k->team], .ops = ops, .own = own_copy(k->object)};
    unsigned char *found = model_malloc(k->scratch + 8), *expected = model_malloc(k->scratch + 8);
    memset(found, FRESH, k->scratch);
    for (int op = 0; op < k->n_ops; op++)
        if (takes_part(k, &k->ops[op])) {
            ops[scene.n_ops] = k->ops[op];
            source_of(step, op, job.me, found + k->ops[op].source);
            if (k->ops[op].what == K_MESSAGE && k->ops[op].pe == job.me)
                memcpy(&ops[scene.n_ops].dest, model_at(k->object, job.me, k->ops[op].signal_at), 8);
            scene.n_ops++;
        }
    memcpy(expected, found, k->scratch);
    for (int op = 0; op < k->n_ops; op++)
        if (takes_part(k, &k->ops[op]))
            expect_op(step, op, expected);
    scene.scratch = found;
    EXPECT(step, shmemx_device_view(address_of(k->object, 0), &scene.view) == 0, "shmemx_device_view failed");
    if (program.teams[team_of(k)].group[job.me] < 0)
        scene.team = teams[0];
    kernels_run(&scene, k->scratch, (unsigned)k->threads);
    check(step, found, expected);
    free(found);
    free(expected);
}

static void print(const struct drawn_step *step, FILE *out)
{
    static const char *const names[] = {"put",       "get",        "put_signal", "p or g",     "atomic_add",
                                        "broadcast", "sum_reduce", "min_reduce", "max_reduce", "sync or barrier"};
    static const char *const groups[] = {"block", "warp", "thread"}, *const types[] = {"int", "long", "float",
                                                                                       "double"};
    const struct drawn_kernel *k = &step->kernel;
    fprintf(out, "%d threads, %s, %s, pieces of %zu bytes:", k->threads, object_text(k->object), team_text(team_of(k)),
            program.kernel_piece);
    for (int op = 0; op < k->n_ops; op++) {
        const struct kernel_op *o = &k->ops[op];
        fprintf(out, "\n    %s%s, %lu bytes", names[o->what], o->is_special ? " (special)" : "", o->n);
        if (is_collective(o))
            fprintf(out, " of %s, root %d", types[o->type], o->root);
        else
            fprintf(out, " by a %s of PE %d, PE %d, at %lu", groups[o->group], o->actor, o->pe, o->at);
    }
}

const struct step_family kernels = {"kernel", 2, draw, foresee, play, NULL, print};
