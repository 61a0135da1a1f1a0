/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The profiling interface: this program's own shmem_putmem takes the place of the library's and calls pshmem_putmem.
 */
#include "check.h"

#include <pshmem.h>

static int n_calls;
static size_t n_bytes;
static char target[100];
static long n_pes;

void shmem_putmem(void *dest, const void *source, size_t nelems, int pe)
{
    n_calls++;
    n_bytes += nelems;
    pshmem_putmem(dest, source, nelems, pe);
}

int main(void)
{
    char source[100];
    pshmem_init();
    check_fill(source, sizeof source, (unsigned)shmem_my_pe());
    shmem_putmem(target, source, 60, check_target(1));
    shmem_putmem(target + 60, source + 60, 40, check_target(1));
    shmem_barrier_all();
    check_bytes("interposed shmem_putmem", target, sizeof target, (unsigned)check_origin(1));
    CHECK_THAT(n_calls == 2 && n_bytes == 100, "%d calls with %zu bytes were seen, expected 2 with 100", n_calls,
               n_bytes);
    /* other routines of the library do not call the public name */
    shmem_char_put(target, source, 10, check_target(1));
    pshmem_quiet();
    long one = 1;
    pshmem_long_sum_reduce(SHMEM_TEAM_WORLD, &n_pes, &one, 1);
    CHECK(n_pes == pshmem_n_pes());
    CHECK(n_calls == 2);
    return check_end();
}
