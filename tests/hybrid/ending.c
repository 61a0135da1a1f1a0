/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unusual ends of hybrid jobs: ending CASE. The last PE ends the job while the others wait.
 */
#include "check.h"

#include <mpi.h>

enum { EXIT_STATUS = 5 };

static void last_one_exits(int status)
{
    static long never;
    if (shmem_my_pe() == shmem_n_pes() - 1)
        shmem_global_exit(status);
    shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
}

static void exit_with_both(void)
{
    MPI_Init(NULL, NULL);
    shmem_init();
    last_one_exits(EXIT_STATUS);
}

static void exit_shmem_first(void)
{
    shmem_init();
    MPI_Init(NULL, NULL);
    last_one_exits(EXIT_STATUS);
}

static void exit_after_mpi(void)
{
    MPI_Init(NULL, NULL);
    shmem_init();
    MPI_Finalize();
    last_one_exits(EXIT_STATUS);
}

static void exit_zero_after_mpi(void)
{
    MPI_Init(NULL, NULL);
    shmem_init();
    MPI_Finalize();
    last_one_exits(0);
}

static void misuse_after_mpi(void)
{
    long private = 0;
    shmem_init();
    MPI_Init(NULL, NULL);
    MPI_Finalize();
    shmem_barrier_all();
    if (shmem_my_pe() == shmem_n_pes() - 1)
        shmem_long_p(&private, 1, 0);
    shmem_barrier_all();
}

/* Ends without shmem_finalize, because of an error. */
static void leave_after_mpi(void)
{
    static long never;
    shmem_init();
    MPI_Init(NULL, NULL);
    MPI_Finalize();
    if (shmem_my_pe() == shmem_n_pes() - 1)
        exit(EXIT_STATUS);
    shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
}

/* Ends without shmem_finalize, since after start_pes the end of the program finalises. */
static void return_after_mpi(void)
{
    start_pes(0);
    MPI_Init(NULL, NULL);
    MPI_Finalize();
}

/* MPI is finalised before SHMEM is initialised. */
static void init_after_mpi(void)
{
    MPI_Init(NULL, NULL);
    MPI_Finalize();
    shmem_init();
    check_end();
}

static void again_after_mpi(void)
{
    shmem_init();
    shmem_finalize();
    MPI_Init(NULL, NULL);
    MPI_Finalize();
    shmem_init();
    check_end();
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"exit_with_both", exit_with_both},     {"exit_shmem_first", exit_shmem_first},
    {"exit_after_mpi", exit_after_mpi},     {"exit_zero_after_mpi", exit_zero_after_mpi},
    {"misuse_after_mpi", misuse_after_mpi}, {"leave_after_mpi", leave_after_mpi},
    {"return_after_mpi", return_after_mpi}, {"init_after_mpi", init_after_mpi},
    {"again_after_mpi", again_after_mpi},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(argv[1], cases[i].name))
            continue;
        cases[i].run();
        return 0;
    }
    fprintf(stderr, "ending: no such case\n");
    return 2;
}
