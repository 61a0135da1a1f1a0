/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each PE puts its number into the next one, and prints what it has got, and on which host. The PE with the given number
 * (-1: each) ends in the given way: ends [exit|signal|assert|global|forever|forget|late PE]. The first five come before the
 * put, while the others wait; assert: as UCX ends its process after an error of its own; forget: without shmem_finalize,
 * with status 0; late: with a status after shmem_finalize. ends aftermath PE FILE: that PE exits as with exit, and the one
 * before it asserts when FILE, which the first one makes, is there.
 */
#include <shmem.h>

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void assertion_fails(void)
{
    static const char line[] = "[vhost0:99   :0:99]      tcp_ep.c:478  Assertion `!(ep->flags & TX)' failed\n";
    if (write(STDERR_FILENO, line, sizeof line - 1) > 0)
        abort();
}

static void end_both(const char *file, bool is_first)
{
    if (is_first && creat(file, 0600) >= 0)
        _exit(7);
    while (access(file, F_OK))
        usleep(1000);
    assertion_fails();
}

static void end(const char *how)
{
    if (!strcmp(how, "exit"))
        exit(7);
    if (!strcmp(how, "signal"))
        raise(SIGSEGV);
    if (!strcmp(how, "assert"))
        assertion_fails();
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
    if (argc > 3 && me + 1 >= atoi(argv[2]) && me <= atoi(argv[2]))
        end_both(argv[3], me == atoi(argv[2]));
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
