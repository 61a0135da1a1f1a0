/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small programs of the kinds that people write, each with one mistake if the second argument is racy, and without it
 * otherwise. The two accesses that race stand in lines that end with the program's name. races.test runs them with 3 PEs.
 */
#include "choose.h"

#include <omp.h>
#include <stdlib.h>

enum { CELLS = 16, STEPS = 4 };

static bool is_racy;
static int sum; /* what is computed, so that nothing is left out */

static void right_only(void (*order)(void))
{
    if (!is_racy)
        order();
}

/* A stencil whose halo cells are written by the neighbours; the mistake: they may still be read. */
static void stencil_1d(void)
{
    static double field[CELLS + 2], next[CELLS + 2];
    for (int step = 0; step < STEPS; step++) {
        shmem_double_p(&field[CELLS + 1], field[1], left); // stencil_1d
        shmem_double_p(&field[0], field[CELLS], right);
        shmem_barrier_all();
        for (int i = 1; i <= CELLS; i++)
            next[i] = (field[i - 1] + field[i]) / 2;
        if (me == 1 && step == 1)
            next[CELLS] += field[CELLS + 1]; // stencil_1d
        right_only(shmem_barrier_all);
        memcpy(&field[1], &next[1], CELLS * sizeof field[0]);
    }
}

/* A column of a matrix goes to the neighbour; the mistake: sync does not complete the transfer. */
static void stencil_columns(void)
{
    double *grid = shmem_calloc(CELLS * CELLS, sizeof *grid);
    for (int step = 0; step < STEPS; step++) {
        shmem_double_iput(&grid[0], &grid[CELLS - 2], CELLS, CELLS, CELLS, right); // stencil_columns
        (is_racy ? shmem_sync_all : shmem_barrier_all)();
        for (int row = 0; row < CELLS; row++)
            sum += (int)grid[row * CELLS]; // stencil_columns
        shmem_barrier_all();
    }
    shmem_free(grid);
}

/* Vertices that a level reaches are put into the queues of their owners; the mistake: a level ends with a sync. */
static void bfs_levels(void)
{
    static int queue[64], n_queued;
    static unsigned visited[4];
    for (int level = 0; level < 2; level++) {
        for (int vertex = me; vertex < 12; vertex += 2) {
            const int owner = vertex % n_pes;
            if (shmem_uint_atomic_fetch_or(&visited[level], 1u << vertex, owner) & 1u << vertex)
                continue;
            const int slot = shmem_int_atomic_fetch_inc(&n_queued, owner);
            shmem_int_p(&queue[slot], vertex, owner); // bfs_levels
        }
        (is_racy ? shmem_sync_all : shmem_barrier_all)();
        const int n = shmem_int_atomic_fetch(&n_queued, me);
        for (int i = 0; i < n; i++)
            sum += queue[i]; // bfs_levels
        shmem_barrier_all();
    }
}

/* Workers take jobs from a queue on PE 0; the mistake: one looks at the head before it has the lock. */
static void locked_queue(void)
{
    static long lock;
    static int head, jobs[CELLS];
    for (int taken = 0; taken < 3; taken++) {
        if (is_racy)
            sum += shmem_int_g(&head, 0); // locked_queue
        shmem_set_lock(&lock);
        const int mine = shmem_int_g(&head, 0);
        sum += shmem_int_g(&jobs[mine], 0);
        shmem_int_p(&head, mine + 1, 0); // locked_queue
        shmem_clear_lock(&lock);
    }
}

/* The mistake: what belongs to this PE itself is counted by a plain increment. */
static void histogram(void)
{
    static long bins[8];
    for (int i = 0; i < 40; i++) {
        const int bin = (i * 7 + me) % 24, owner = bin / 8;
        if (is_racy && owner == me)
            bins[bin % 8]++; // histogram
        else
            shmem_long_atomic_inc(&bins[bin % 8], owner); // histogram
    }
    shmem_barrier_all();
    sum += (int)bins[3];
}

/* Blocks go round a ring by signals; the mistake: nobody waits until the block before has been used. */
static void pipeline(void)
{
    static int block[CELLS], made[CELLS];
    static uint64_t full, used;
    for (uint64_t i = 1; i <= STEPS; i++) {
        made[0] = (int)i;
        if (!is_racy && i > 1)
            shmem_signal_wait_until(&used, SHMEM_CMP_GE, i - 1);
        shmem_int_put_signal(block, made, CELLS, &full, i, SHMEM_SIGNAL_SET, right); // pipeline
        shmem_signal_wait_until(&full, SHMEM_CMP_GE, i);
        for (int k = 0; k < CELLS; k++)
            sum += block[k]; // pipeline
        shmem_uint64_atomic_set(&used, i, left);
    }
}

/* Each thread has a context; the mistake: two of them put to one place. */
static void thread_contexts(void)
{
    static int slots[4];
#pragma omp parallel num_threads(2)
    {
        const int thread = omp_get_thread_num(), slot = is_racy ? 0 : thread;
        shmem_ctx_t ctx;
        if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx))
            shmem_global_exit(1);
        shmem_ctx_int_p(ctx, &slots[slot], thread, right); // thread_contexts
        shmem_ctx_quiet(ctx);
        shmem_ctx_destroy(ctx);
    }
}

/* A grid of 3 x 1 PEs; the mistake: those of a row put, those of a column wait for each other. */
static void rows_and_columns(void)
{
    static int value, seen;
    shmem_team_t row, column;
    shmem_team_split_2d(SHMEM_TEAM_WORLD, 3, NULL, 0, &row, NULL, 0, &column);
    shmem_int_p(&value, me, right); // rows_and_columns
    shmem_quiet();
    shmem_team_sync(is_racy ? column : row);
    seen = value; // rows_and_columns
    shmem_barrier_all();
    sum += seen;
}

/* Two buffers by turns; the mistake: one is filled again while it may still be sent. */
static void double_buffer(void)
{
    static int target[2][CELLS];
    int *buffer[2] = {malloc(CELLS * sizeof(int)), malloc(CELLS * sizeof(int))};
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < CELLS; i++)
            buffer[step % 2][i] = step + i; // double_buffer
        if (!is_racy)
            shmem_quiet();
        shmem_int_put_nbi(target[step % 2], buffer[step % 2], CELLS, right); // double_buffer
        if (!is_racy)
            shmem_quiet();
        else
            shmem_fence();
    }
    shmem_quiet();
    free(buffer[0]);
    free(buffer[1]);
}

/* A buffer that is sent is given back; the mistake: before quiet. */
static void freed_source(void)
{
    static int target[CELLS];
    int *buffer = calloc(CELLS, sizeof *buffer);
    shmem_int_put_nbi(target, buffer, CELLS, right); // freed_source
    right_only(shmem_quiet);
    free(buffer); // freed_source
    shmem_barrier_all();
}

/* A transpose; the mistake: its result is fetched from a PE that may not have it yet. */
static void transpose(void)
{
    static double rows[3 * CELLS], columns[3 * CELLS];
    rows[me] = me;
    shmem_double_alltoall(SHMEM_TEAM_WORLD, columns, rows, CELLS); // transpose
    right_only(shmem_barrier_all);
    sum += (int)shmem_double_g(&columns[2], right); // transpose
    shmem_barrier_all();
}

/* PE 0 has a letter box for each PE; the mistake: it opens another one than that whose flag it has seen. */
static void letter_boxes(void)
{
    static int box[3], flag[3], done[3];
    if (me > 0) {
        shmem_int_p(&box[me], 10 * me, 0); // letter_boxes
        shmem_fence();
        shmem_int_p(&flag[me], 1, 0);
    }
    done[0] = 1;
    for (int n = 1; me == 0 && n < n_pes; n++) {
        const size_t i = shmem_int_wait_until_any(flag, 3, done, SHMEM_CMP_EQ, 1);
        done[i] = 1;
        sum += box[is_racy ? 3 - i : i]; // letter_boxes
    }
}

/* Stores straight into the neighbour's memory; the mistake: it does not wait for them. */
static void direct_stores(void)
{
    int *shared = shmem_malloc(CELLS * sizeof *shared);
    int *there = shmem_ptr(shared, right);
    for (int i = 0; there && i < CELLS; i++)
        there[i] = me + i; // direct_stores
    if (!there)
        shmem_global_exit(1);
    right_only(shmem_barrier_all);
    for (int i = 0; i < CELLS; i++)
        sum += shared[i]; // direct_stores
    shmem_free(shared);
}

/* A message in a static structure, and a counter that tells of it; the mistake: no fence between the two. */
static void counted_message(void)
{
    static struct message {
        int kind, length;
        char text[24];
    } message, received;
    static int n_messages;
    if (me == 2) {
        message = (struct message){1, 5, "hello"};
        shmem_putmem(&received, &message, sizeof message, 0); // counted_message
        right_only(shmem_fence);
        shmem_int_atomic_inc(&n_messages, 0);
    }
    if (me == 0) {
        while (shmem_int_atomic_fetch(&n_messages, 0) == 0)
            ;
        sum += received.length; // counted_message
    }
}

/* Each PE puts every third element; the mistake: one begins beside its place. */
static void interleaved(void)
{
    static float all[3 * CELLS], own[CELLS];
    const int first = is_racy && me == 2 ? 1 : me;
    shmem_float_iput(&all[first], own, 3, 1, CELLS, 0); // interleaved
    shmem_barrier_all();
    sum += (int)all[4];
}

/* A sum over all; the mistake: a neighbour puts into what may still be summed. */
static void summed_source(void)
{
    static int parts[CELLS], total[CELLS];
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, total, parts, CELLS); // summed_source
    right_only(shmem_barrier_all);
    shmem_int_p(&parts[3], 1, right); // summed_source
    shmem_barrier_all();
}

/* Numbers are given out; the mistake: by a get and a put. */
static void tickets(void)
{
    static int next;
    for (int i = 0; i < 5; i++) {
        if (!is_racy) {
            sum += shmem_int_atomic_fetch_inc(&next, 0);
            continue;
        }
        const int mine = shmem_int_g(&next, 0); // tickets
        shmem_int_p(&next, mine + 1, 0);        // tickets
        shmem_quiet();
    }
}

/* A hash table with a lock for each bucket; the mistake: that of the next bucket is taken. */
static void buckets(void)
{
    static long locks[4];
    static int count[4];
    for (int i = 0; i < 6; i++) {
        const int bucket = (i + me) % 4, guard = is_racy && me == 1 ? (bucket + 1) % 4 : bucket;
        shmem_set_lock(&locks[guard]);
        const int n = shmem_int_g(&count[bucket], 2); // buckets
        shmem_int_p(&count[bucket], n + 1, 2);        // buckets
        shmem_clear_lock(&locks[guard]);
    }
}

/* PE 0 tells all of a setting, and changes it; the mistake: without waiting for those who still read theirs. */
static void settings(void)
{
    static int setting, told;
    for (int round = 0; round < 3; round++) {
        if (me == 0)
            setting = round;
        shmem_int_broadcast(SHMEM_TEAM_WORLD, &told, &setting, 1, 0); // settings
        sum += told;
        if (!is_racy)
            shmem_sync_all();
        if (me == 0)
            shmem_int_p(&told, 7, 1); // settings
        shmem_barrier_all();
    }
}

static const struct program programs[] = {
    PROGRAM(stencil_1d),    PROGRAM(stencil_columns), PROGRAM(bfs_levels),      PROGRAM(locked_queue),
    PROGRAM(histogram),     PROGRAM(pipeline),        PROGRAM(thread_contexts), PROGRAM(rows_and_columns),
    PROGRAM(double_buffer), PROGRAM(freed_source),    PROGRAM(transpose),       PROGRAM(letter_boxes),
    PROGRAM(direct_stores), PROGRAM(counted_message), PROGRAM(interleaved),     PROGRAM(summed_source),
    PROGRAM(tickets),       PROGRAM(buckets),         PROGRAM(settings),
};

int main(int argc, char **argv)
{
    is_racy = argc > 2 && !strcmp(argv[2], "racy");
    const int status = run_chosen(argc, argv, programs, sizeof programs / sizeof *programs);
    return sum == -1 ? 1 : status;
}
