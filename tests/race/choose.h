/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs of which the argument chooses one; without an argument their names are printed.
 */
#ifndef RACE_CHOOSE_H
#define RACE_CHOOSE_H

#include <shmem.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct program {
    const char *name;
    void (*run)(void);
};

#define PROGRAM(NAME)                                                                                                  \
    {                                                                                                                  \
#NAME, NAME                                                                                                    \
    }

static int me, n_pes, right, left;

static void do_nothing(void)
{
}

/* open and close: before the program, and after it. */
static int run_chosen_between(int argc, char **argv, const struct program *programs, size_t n, void (*open)(void),
                              void (*close)(void))
{
    int provided, status = 1;
    for (size_t i = 0; argc < 2 && i < n; i++)
        puts(programs[i].name);
    if (argc < 2)
        return 0;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided))
        return 1;
    me = shmem_my_pe();
    n_pes = shmem_n_pes();
    right = (me + 1) % n_pes;
    left = (me + n_pes - 1) % n_pes;
    open();
    shmem_barrier_all();
    for (size_t i = 0; i < n; i++)
        if (!strcmp(programs[i].name, argv[1])) {
            programs[i].run();
            status = 0;
        }
    close();
    shmem_finalize();
    return status;
}

static inline int run_chosen(int argc, char **argv, const struct program *programs, size_t n)
{
    return run_chosen_between(argc, argv, programs, n, do_nothing, do_nothing);
}

#endif
