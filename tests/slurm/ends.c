/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each PE puts its number into the next one, and prints what it has got, and on which host. The PE with the given number
 * (-1: each) ends in the given way: ends [exit|signal|global|forever|forget|late PE]. The first four come before the put,
 * while the others wait; forget: without shmem_finalize, with status 0; late: with a status after shmem_finalize.
 */
#include <shmem.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void end(const char *how)
{
    if (!strcmp(how, "exit"))
        exit(7);
    if (!strcmp(how, "signal"))
        raise(SIGSEGV);
    if (!strcmp(how, "global"))
        shmem_global_exit(9);
    if (!strcmp(how, "forever"))
        pause();
}

int main(int argc, char **argv)
{
    shmem_init();
    const int me = shmem_my_pe(), n_pes = shmem_n_pes();
    const char *how = argc > 2 && (atoi(argv[2]) == me || atoi(argv[2]) < 0) ? argv[1] : "";
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    long *got = shmem_malloc(sizeof *got);
    *got = -1;
    shmem_barrier_all();
    end(how);
    shmem_long_p(got, me, (me + 1) % n_pes);
    shmem_barrier_all();
    printf("PE %d of %d on %s has %ld\n", me, n_pes, host, *got);
    shmem_free(got);
    if (!strcmp(how, "forget"))
        return 0;
    shmem_finalize();
    return strcmp(how, "late") ? 0 : 3;
}
