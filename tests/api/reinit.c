/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Initialisation and finalisation, again and again; nested ones count [9.1.1].
 */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

enum { TIMES = 20 };

static long static_word;

static void check_use(long round)
{
    long *heap_word = check_shmem_malloc(sizeof *heap_word);
    *heap_word = -1;
    shmem_barrier_all();
    shmem_long_p(heap_word, round, check_target(1));
    shmem_long_atomic_add(&static_word, round, check_target(1));
    shmem_barrier_all();
    CHECK_THAT(*heap_word == round, "initialisation %ld: heap word is %ld", round, *heap_word);
    CHECK_THAT(static_word == round * (round + 1) / 2, "initialisation %ld: static word is %ld", round, static_word);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap_word, heap_word, 1);
    CHECK(*heap_word == round * shmem_n_pes());
    shmem_free(heap_word);
}

static void expect_initialized(int expected)
{
    int found;
    shmem_query_initialized(&found);
    if (!!found == expected)
        return;
    fprintf(stderr, "shmem_query_initialized says %d, expected %d\n", found, expected);
    exit(1);
}

/* A child process that exits must not end its parent's connection to the launcher. */
static void fork_a_child(void)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        exit(0);
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0)
        return;
    fprintf(stderr, "a child process ended with status %#x\n", status);
    exit(1);
}

int main(void)
{
    int me = 0, n = 0;
    for (long round = 1; round <= TIMES; round++) {
        expect_initialized(0);
        shmem_init();
        CHECK_THAT(round == 1 || (me == shmem_my_pe() && n == shmem_n_pes()), "the PE's number changed");
        me = shmem_my_pe();
        n = shmem_n_pes();
        shmem_init(); /* nested: only counts */
        check_use(round);
        shmem_finalize();
        expect_initialized(1);
        shmem_barrier_all(); /* still works */
        if (round == TIMES)
            break;
        shmem_finalize();
        if (round == 1)
            fork_a_child();
    }
    check_end();
    expect_initialized(0);
    shmem_finalize(); /* one too many: has no effect */
    return 0;
}
