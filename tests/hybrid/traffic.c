/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transfers of the hybrid tests: by SHMEM and by MPI between the same processes, each checked by the other.
 */
#include "traffic.h"

#include "check.h"

#include <mpi.h>

enum { WORDS = 5000, PES_MAX = 64 };

static int pe_of_rank[PES_MAX], rank_of_pe[PES_MAX]; /* static data: symmetric too */

static long word(int owner, int round, int i)
{
    return (long)owner * 1000003 + (long)round * 7919 + i;
}

static void expect_words(const char *what, const long *words, int owner, int round)
{
    for (int i = 0; i < WORDS; i++)
        CHECK_THAT(words[i] == word(owner, round, i), "%s: word %d is %ld, expected %ld", what, i, words[i],
                   word(owner, round, i));
}

static void fill_words(long *words, int owner, int round)
{
    for (int i = 0; i < WORDS; i++)
        words[i] = word(owner, round, i);
}

/* SHMEM distributes the MPI ranks of PEs, MPI distributes the PEs of ranks: each table must invert the other. */
void traffic_learn_numbers(void)
{
    int rank, size, me = shmem_my_pe(), n = shmem_n_pes();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_THAT(size == n && n <= PES_MAX, "MPI has %d processes, SHMEM has %d PEs", size, n);
    MPI_Allgather(&me, 1, MPI_INT, pe_of_rank, 1, MPI_INT, MPI_COMM_WORLD);
    for (int pe = 0; pe < n; pe++)
        shmem_int_p(&rank_of_pe[me], rank, pe);
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++) {
        CHECK_THAT(rank_of_pe[pe] >= 0 && rank_of_pe[pe] < n, "PE %d says that its rank is %d", pe, rank_of_pe[pe]);
        CHECK_THAT(pe_of_rank[rank_of_pe[pe]] == pe, "PE %d has rank %d, whose PE is %d", pe, rank_of_pe[pe],
                   pe_of_rank[rank_of_pe[pe]]);
    }
}

/* A ring in which SHMEM and MPI take turns: a put from PE to PE, then a message with that memory to the next rank. */
static void ring(int round)
{
    int me = shmem_my_pe(), n = shmem_n_pes(), rank = rank_of_pe[me];
    int next = (me + 1) % n, previous = (me + n - 1) % n;
    long *mine = shmem_malloc(WORDS * sizeof *mine), *put = shmem_malloc(WORDS * sizeof *put);
    long *received = shmem_malloc(WORDS * sizeof *received);
    CHECK(mine && put && received);
    fill_words(mine, me, round);
    shmem_barrier_all();
    shmem_long_put(put, mine, WORDS, next);
    shmem_barrier_all();
    expect_words("put by SHMEM", put, previous, round);
    MPI_Sendrecv(put, WORDS, MPI_LONG, (rank + 1) % n, round, received, WORDS, MPI_LONG, (rank + n - 1) % n, round,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int sender = pe_of_rank[(rank + n - 1) % n];
    expect_words("passed on by MPI", received, (sender + n - 1) % n, round);
    shmem_barrier_all(); /* all have received, their memory may be read */
    shmem_long_get(mine, received, WORDS, next);
    int next_sender = pe_of_rank[(rank_of_pe[next] + n - 1) % n];
    expect_words("got by SHMEM", mine, (next_sender + n - 1) % n, round);
    shmem_barrier_all();
    shmem_free(received);
    shmem_free(put);
    shmem_free(mine);
}

/* Sums by MPI_Allreduce, by shmem_long_sum_reduce and by atomics on PE 0. */
static void sums(int round)
{
    static long total;
    long *mine = shmem_malloc(sizeof *mine), *sum = shmem_malloc(sizeof *sum), by_mpi = 0;
    *mine = word(shmem_my_pe(), round, 1);
    total = 0;
    shmem_barrier_all();
    MPI_Allreduce(mine, &by_mpi, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sum, mine, 1);
    shmem_long_atomic_add(&total, *mine, 0);
    shmem_barrier_all();
    long by_atomics = shmem_long_g(&total, 0);
    CHECK_THAT(*sum == by_mpi, "the sum is %ld by SHMEM, %ld by MPI", *sum, by_mpi);
    CHECK_THAT(by_atomics == by_mpi, "the sum is %ld by atomics, %ld by MPI", by_atomics, by_mpi);
    shmem_barrier_all();
    shmem_free(sum);
    shmem_free(mine);
}

void traffic_both(int round)
{
    ring(round);
    sums(round);
}

void traffic_shmem(int round)
{
    int me = shmem_my_pe(), n = shmem_n_pes();
    long *words = shmem_malloc(WORDS * sizeof *words), *got = malloc(WORDS * sizeof *got);
    CHECK(words && got);
    fill_words(got, me, round);
    shmem_long_put(words, got, WORDS, (me + 1) % n);
    shmem_barrier_all();
    expect_words("put by SHMEM alone", words, (me + n - 1) % n, round);
    shmem_long_get(got, words, WORDS, (me + 1) % n);
    expect_words("got by SHMEM alone", got, me, round);
    shmem_barrier_all();
    free(got);
    shmem_free(words);
}

static void require(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void traffic_mpi(int round)
{
    int rank, size, left = -1, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int mine = rank + round;
    MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 0, &left, 1, MPI_INT, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    require(left == (rank + size - 1) % size + round, "MPI alone: a wrong message");
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    require(sum == size * (size - 1) / 2 + size * round, "MPI alone: a wrong sum");
}
