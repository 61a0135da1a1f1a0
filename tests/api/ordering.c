/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Message passing between neighbours: data, fence, flag. A PE that sees the flag sees the data. Data and flag lie in
 * the heap or in static data, in every combination; the flag is put or set atomically. Puts of all sizes, which may
 * take different ways, keep their order, too.
 */
#include "check.h"

#include <stdbool.h>

enum { ROUNDS = 10000, ANSWERED = 1000, WORDS = 9 };

struct mailbox {
    long data[WORDS];
    long flag; /* number of the last round whose data is there */
    long answer;
};

static struct mailbox static_box;

/* Where data and flag of one test lie. */
struct boxes {
    struct mailbox *data, *flag;
};

static void send_round(const struct boxes *boxes, long round, int pe)
{
    long data[WORDS];
    for (int i = 0; i < WORDS; i++)
        data[i] = round;
    shmem_long_put(boxes->data->data, data, WORDS - 1, pe);
    shmem_long_p(&boxes->data->data[WORDS - 1], round, pe);
    shmem_fence();
    if (round % 2)
        shmem_long_p(&boxes->flag->flag, round, pe);
    else
        shmem_long_atomic_set(&boxes->flag->flag, round, pe);
}

static void check_data(const struct boxes *boxes, long least, long most)
{
    for (int i = 0; i < WORDS; i++) {
        long found = __atomic_load_n(&boxes->data->data[i], __ATOMIC_RELAXED);
        CHECK_THAT(found >= least && found <= most, "the flag says round %ld, but word %d is of round %ld", least, i,
                   found);
    }
}

/* The sender does not wait: data may be newer than the flag, never older. */
static void check_stream(const struct boxes *boxes)
{
    long seen = 0;
    for (long round = 1; round <= ROUNDS; round++) {
        send_round(boxes, round, check_target(1));
        if (shmem_long_test(&boxes->flag->flag, SHMEM_CMP_GT, seen)) {
            seen = __atomic_load_n(&boxes->flag->flag, __ATOMIC_ACQUIRE);
            check_data(boxes, seen, ROUNDS);
        }
    }
    shmem_long_wait_until(&boxes->flag->flag, SHMEM_CMP_EQ, ROUNDS);
    check_data(boxes, ROUNDS, ROUNDS);
}

/* The sender waits for an answer: data is of exactly this round. */
static void check_answered(const struct boxes *boxes)
{
    for (long round = 1; round <= ANSWERED; round++) {
        send_round(boxes, round, check_target(1));
        shmem_long_wait_until(&boxes->flag->flag, SHMEM_CMP_EQ, round);
        check_data(boxes, round, round);
        shmem_long_atomic_set(&boxes->flag->answer, round, check_origin(1));
        shmem_long_wait_until(&boxes->flag->answer, SHMEM_CMP_EQ, round);
    }
}

static void run(void (*check)(const struct boxes *), const struct boxes *boxes)
{
    *boxes->data = *boxes->flag = (struct mailbox){0};
    shmem_barrier_all();
    check(boxes);
    shmem_barrier_all();
}

/* After quiet the data is at the target, also for a third PE. */
static void check_quiet(struct mailbox *box)
{
    int me = shmem_my_pe();
    *box = (struct mailbox){0};
    shmem_barrier_all();
    for (long round = 1; round <= 200; round++) {
        shmem_long_put_nbi(&box->data[0], &round, 1, check_target(1));
        shmem_quiet();
        long found = shmem_long_g(&box->data[0], check_target(1));
        CHECK_THAT(found == round, "PE %d: after shmem_quiet the target has %ld, expected %ld", me, found, round);
    }
    shmem_barrier_all();
}

/* A fence keeps puts of all sizes, one word and an atomic operation in order. `block` has MOST words and `words` two. */
enum { MOST = 20000, SIZES = 300 };

static size_t size_of_round(long round)
{
    static const size_t sizes[] = {1, 2, 24, 25, 300, 4000, 5000, MOST};
    return sizes[(size_t)round % (sizeof sizes / sizeof sizes[0])];
}

static void check_round(const long *block, const long *words, long round)
{
    const size_t n = size_of_round(round);
    shmem_long_wait_until((long *)&words[1], SHMEM_CMP_EQ, 2 * round + 1);
    CHECK_THAT(words[0] == round, "the first put of round %ld is missing: %ld", round, words[0]);
    CHECK_THAT(block[0] == round && block[n - 1] == round,
               "the put of %zu words of round %ld is not complete: %ld, %ld", n, round, block[0], block[n - 1]);
}

static void check_sizes(void)
{
    long *block = check_shmem_malloc(MOST * sizeof *block), *words = check_shmem_malloc(2 * sizeof *words);
    long *source = check_malloc(MOST * sizeof *source);
    memset(words, 0, 2 * sizeof *words);
    shmem_barrier_all();
    for (long round = 1; round <= SIZES; round++) {
        const int pe = check_target(1);
        for (size_t i = 0; i < size_of_round(round); i++)
            source[i] = round;
        shmem_long_p(&words[0], round, pe);
        shmem_fence();
        shmem_long_put_nbi(block, source, size_of_round(round), pe);
        shmem_fence();
        shmem_long_p(&words[1], 2 * round, pe);
        shmem_fence();
        shmem_long_atomic_inc(&words[1], pe);
        check_round(block, words, round);
        shmem_barrier_all();
    }
    free(source);
    shmem_free(words);
    shmem_free(block);
}

int main(void)
{
    shmem_init();
    struct mailbox *heap_box = check_shmem_malloc(sizeof *heap_box);
    const struct boxes boxes[] = {
        {heap_box, heap_box}, {&static_box, &static_box}, {heap_box, &static_box}, {&static_box, heap_box}};
    for (int i = 0; i < 4; i++) {
        run(check_stream, &boxes[i]);
        run(check_answered, &boxes[i]);
    }
    check_quiet(heap_box);
    check_quiet(&static_box);
    check_sizes();
    shmem_free(heap_box);
    return check_end();
}
