/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations in a queue or stream of the program: transfers, words and messages that the next PE's queue waits for and
 * sends on. The queues are completed when the lane has played all steps of the epoch.
 */
#include "mapped.h"

#include <stdlib.h>

enum queued { Q_PUT, Q_GET, Q_PUT_SIGNAL, Q_IPUT, Q_IGET, Q_P, Q_G, Q_ADD, Q_FETCH_ADD, Q_SWAP, Q_MESSAGE, N_QUEUED };
static const char *const names[N_QUEUED] = {"putmem",
                                            "getmem",
                                            "putmem_signal",
                                            "uint32_iput",
                                            "uint64_iget",
                                            "ulong_p",
                                            "ulong_g",
                                            "ulong_atomic_add",
                                            "ulong_atomic_fetch_add",
                                            "ulong_atomic_swap",
                                            "putmem_signal, wait and put"};

/* clang-format off */
#define IN_QUEUE(q, NAME, ...)                                                                                         \
    do {                                                                                                               \
        if (mapped_has_queues_of_opencl())                                                                             \
            shmemx_##NAME##_on_queue(__VA_ARGS__, mapped_queue((q)->queue), 0, NULL, NULL);                            \
        else                                                                                                           \
            shmemx_##NAME##_on_stream(__VA_ARGS__, mapped_queue((q)->queue));                                          \
    } while (0)
/* clang-format on */

static bool is_word(const struct drawn_queued *q)
{
    return q->what >= Q_P && q->what <= Q_SWAP;
}

static bool reads_there(const struct drawn_queued *q)
{
    return q->what == Q_GET || q->what == Q_IGET || q->what == Q_G;
}

/* The own side is written. */
static bool writes_here(const struct drawn_queued *q)
{
    return reads_there(q) || q->what == Q_FETCH_ADD || q->what == Q_SWAP;
}

static bool has_here(const struct drawn_queued *q)
{
    return q->what != Q_P && q->what != Q_ADD;
}

static bool has_signal(const struct drawn_queued *q)
{
    return q->what == Q_PUT_SIGNAL || q->what == Q_MESSAGE;
}

/* ---- Drawing --------------------------------------------------------------------------------------------------------- */

static void draw_shapes(struct random_numbers *numbers, struct drawn_queued *q)
{
    const size_t size = q->what == Q_IPUT ? 4 : 8;
    q->there = q->here = shape_of(is_word(q) ? 8 : size_draw(numbers, program.objects[q->object].size));
    if (q->what != Q_IPUT && q->what != Q_IGET)
        return;
    q->there = (struct byte_shape){size, below(numbers, 60), 1, 0, 0};
    q->here = q->there;
    q->there.row_pitch = size * between(numbers, 1, 6);
    q->here.row_pitch = size * between(numbers, 1, 6);
}

static bool draw_third(struct random_numbers *numbers, struct drawn_queued *q)
{
    q->third = (int)below(numbers, (size_t)job.n);
    q->third_object = (int)below(numbers, (size_t)program.n_objects);
    return q->what != Q_MESSAGE ||
           claim_anywhere(numbers, q->third_object, &q->third, 1, &q->there, 1, CLAIM_WRITE, &q->third_at);
}

static bool overlaps_itself(const struct drawn_step *step)
{
    const struct drawn_queued *q = &step->queued;
    return has_here(q) && step->actor == q->target && q->object == q->here_object &&
           q->at < q->here_at + shape_extent(&q->here) && q->here_at < q->at + shape_extent(&q->there);
}

static bool draw(struct drawn_step *step, struct random_numbers *numbers)
{
    struct drawn_queued *q = &step->queued;
    const struct byte_shape word = shape_of(8);
    step->lane = 0;
    if (!job.has_device)
        return false;
    q->what = (int)below(numbers, N_QUEUED);
    q->queue = (int)below(numbers, 2);
    q->target = (int)below(numbers, (size_t)job.n);
    q->object = (int)below(numbers, (size_t)program.n_objects);
    q->here_object = (int)below(numbers, (size_t)program.n_objects);
    q->signal_object = (int)below(numbers, (size_t)program.n_objects);
    q->adds = one_in(numbers, 2);
    draw_shapes(numbers, q);
    const size_t align = is_word(q) ? 8 : q->what == Q_IPUT || q->what == Q_IGET ? q->there.width : 1;
    return claim_anywhere(numbers, q->object, &q->target, 1, &q->there, align,
                          reads_there(q) ? CLAIM_READ : CLAIM_WRITE, &q->at) &&
           (!has_here(q) || claim_anywhere(numbers, q->here_object, &step->actor, 1, &q->here, align,
                                           writes_here(q) ? CLAIM_WRITE : CLAIM_READ, &q->here_at)) &&
           (!has_signal(q) ||
            claim_anywhere(numbers, q->signal_object, &q->target, 1, &word, 8, CLAIM_WRITE, &q->signal_at)) &&
           draw_third(numbers, q) && !overlaps_itself(step);
}

/* ---- The model ------------------------------------------------------------------------------------------------------- */

static uint64_t changed(const struct drawn_step *step, uint64_t old)
{
    const struct drawn_queued *q = &step->queued;
    const uint64_t value = step_key(step, 1);
    return q->what == Q_ADD || q->what == Q_FETCH_ADD || (has_signal(q) && q->adds) ? old + value : value;
}

static void foresee_word(const struct drawn_step *step, unsigned char *there)
{
    uint64_t word;
    memcpy(&word, there, 8);
    if (writes_here(&step->queued))
        memcpy(model_at(step->queued.here_object, step->actor, step->queued.here_at), &word, 8);
    if (step->queued.what == Q_G)
        return;
    word = changed(step, word);
    memcpy(there, &word, 8);
}

static void foresee(const struct drawn_step *step)
{
    const struct drawn_queued *q = &step->queued;
    unsigned char *there = model_at(q->object, q->target, q->at);
    unsigned char *here = model_at(q->here_object, step->actor, q->here_at);
    if (is_word(q))
        foresee_word(step, there);
    else if (reads_there(q))
        shape_copy(here, &q->here, there, &q->there);
    else
        shape_copy(there, &q->there, here, &q->here);
    if (q->what == Q_MESSAGE)
        shape_copy(model_at(q->third_object, q->third, q->third_at), &q->there, there, &q->there);
    if (has_signal(q)) {
        uint64_t word;
        memcpy(&word, model_at(q->signal_object, q->target, q->signal_at), 8);
        word = changed(step, word);
        memcpy(model_at(q->signal_object, q->target, q->signal_at), &word, 8);
    }
}

/* ---- The library ----------------------------------------------------------------------------------------------------- */

static void enqueue_word(const struct drawn_step *step, void *there, void *here)
{
    const struct drawn_queued *q = &step->queued;
    const uint64_t value = step_key(step, 1);
    switch (q->what) {
    case Q_P:
        IN_QUEUE(q, ulong_p, there, value, q->target);
        break;
    case Q_G:
        IN_QUEUE(q, ulong_g, here, there, q->target);
        break;
    case Q_ADD:
        IN_QUEUE(q, ulong_atomic_add, there, value, q->target);
        break;
    case Q_FETCH_ADD:
        IN_QUEUE(q, ulong_atomic_fetch_add, here, there, value, q->target);
        break;
    default:
        IN_QUEUE(q, ulong_atomic_swap, here, there, value, q->target);
    }
}

static void enqueue_transfer(const struct drawn_step *step, void *there, void *here)
{
    const struct drawn_queued *q = &step->queued;
    uint64_t *signal = (uint64_t *)address_of(q->signal_object, q->signal_at);
    const ptrdiff_t there_stride = (ptrdiff_t)(q->there.row_pitch / (q->there.width ? q->there.width : 1)),
                    here_stride = (ptrdiff_t)(q->here.row_pitch / (q->here.width ? q->here.width : 1));
    switch (q->what) {
    case Q_PUT:
        IN_QUEUE(q, putmem, there, here, q->there.width, q->target);
        break;
    case Q_GET:
        IN_QUEUE(q, getmem, here, there, q->there.width, q->target);
        break;
    case Q_IPUT:
        IN_QUEUE(q, uint32_iput, there, here, there_stride, here_stride, q->there.rows, q->target);
        break;
    case Q_IGET:
        IN_QUEUE(q, uint64_iget, here, there, here_stride, there_stride, q->there.rows, q->target);
        break;
    default:
        IN_QUEUE(q, putmem_signal, there, here, q->there.width, signal, step_key(step, 1),
                 q->adds ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, q->target);
    }
}

/* The receiver's queue waits for the signal and puts what came to a third PE. */
static void enqueue_answer(const struct drawn_step *step)
{
    const struct drawn_queued *q = &step->queued;
    uint64_t after;
    memcpy(&after, model_at(q->signal_object, q->target, q->signal_at), 8);
    IN_QUEUE(q, signal_wait_until, (uint64_t *)address_of(q->signal_object, q->signal_at), SHMEM_CMP_EQ, after);
    IN_QUEUE(q, putmem, address_of(q->third_object, q->third_at), address_of(q->object, q->at), q->there.width,
             q->third);
}

static void play(struct drawn_step *step)
{
    const struct drawn_queued *q = &step->queued;
    void *there = address_of(q->object, q->at), *here = has_here(q) ? address_of(q->here_object, q->here_at) : NULL;
    if (step->actor == job.me)
        is_word(q) ? enqueue_word(step, there, here) : enqueue_transfer(step, there, here);
    if (q->what == Q_MESSAGE && q->target == job.me)
        enqueue_answer(step);
}

static void print(const struct drawn_step *step, FILE *out)
{
    const struct drawn_queued *q = &step->queued;
    fprintf(out, "queue %d of PE %d: %s, PE %d, %s + %zu, %zu x %zu bytes at %zu", q->queue, step->actor,
            names[q->what], q->target, object_text(q->object), q->at, q->there.rows, q->there.width,
            q->there.row_pitch);
    if (has_here(q))
        fprintf(out, "; here %s + %zu at %zu", object_text(q->here_object), q->here_at, q->here.row_pitch);
    if (has_signal(q))
        fprintf(out, "; signal %s %s + %zu", q->adds ? "added" : "set", object_text(q->signal_object), q->signal_at);
    if (q->what == Q_MESSAGE)
        fprintf(out, "; then to PE %d, %s + %zu", q->third, object_text(q->third_object), q->third_at);
}

const struct step_family queued_steps = {"queued", 5, draw, foresee, play, NULL, print};
