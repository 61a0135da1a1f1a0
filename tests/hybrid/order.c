/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI and OpenSHMEM in one program, in every order [annex D]: order FIRST-INITIALISED FIRST-FINALISED, each "mpi" or
 * "shmem". While only one of them is initialised, it works alone; SHMEM is initialised and finalised several times
 * while MPI remains.
 */
#include "check.h"
#include "traffic.h"

#include <mpi.h>

enum { ROUNDS = 3 };

static int is_word(const char *text, const char *word)
{
    return !strcmp(text, word);
}

static void init_both(int mpi_first)
{
    int provided;
    if (mpi_first) {
        MPI_Init(NULL, NULL);
        traffic_mpi(1);
        shmem_init();
    } else {
        shmem_init();
        traffic_shmem(1);
        MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    }
}

static void finalize_both(int mpi_first)
{
    int finalized, initialized;
    if (mpi_first) {
        MPI_Finalize();
        traffic_shmem(2);
        shmem_finalize();
    } else {
        shmem_finalize();
        traffic_mpi(2);
        MPI_Finalize();
    }
    MPI_Finalized(&finalized);
    shmem_query_initialized(&initialized);
    if (finalized && !initialized)
        return;
    fprintf(stderr, "at the end: MPI finalised %d, SHMEM initialised %d\n", finalized, initialized);
    exit(1);
}

static void check_end_of_test(int me)
{
    if (me == 0)
        puts("ok");
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    init_both(is_word(argv[1], "mpi"));
    int me = shmem_my_pe();
    for (int round = 1; round <= ROUNDS; round++) {
        traffic_learn_numbers();
        traffic_both(round);
        if (round == ROUNDS)
            break;
        shmem_finalize();
        traffic_mpi(round);
        shmem_init();
        CHECK_THAT(shmem_my_pe() == me, "the PE's number changed from %d to %d", me, shmem_my_pe());
    }
    finalize_both(is_word(argv[2], "mpi"));
    check_end_of_test(me);
    return 0;
}
